//! The lines of a summary, styled.

use std::fmt::Write as _;

use anstyle::Style;
use indicatif::HumanBytes;

use crate::text::columns::Table;
use crate::text::printable::printable;
use crate::text::quantities::counted;
use crate::text::styles::{HEADING, QUIET};
use crate::text::wrap::{LINE_COLUMNS_MAX, wrap};

/// Lanes whose labels, last regions and gaps are listed, and pairs of lanes whose overlap is.
pub const LISTED_LANES_MAX: usize = 12;

/// The lines so far.
#[derive(Default)]
pub struct Lines {
    text: String,
}

impl Lines {
    /// A line without a style.
    pub fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// A line in a style.
    pub fn styled(&mut self, style: Style, line: &str) {
        let _ = writeln!(self.text, "{style}{}{style:#}", line.trim_end());
    }

    /// An empty line and a heading.
    pub fn heading(&mut self, heading: &str) {
        self.line("");
        self.styled(HEADING, heading);
    }

    /// Text of any length, wrapped, with its continuation lines indented.
    pub fn wrapped(&mut self, style: Style, text: &str) {
        for (number, line) in wrap(&printable(text), LINE_COLUMNS_MAX - 2)
            .iter()
            .enumerate()
        {
            let indent = if number == 0 { "" } else { "  " };
            self.styled(style, &format!("{indent}{line}"));
        }
    }

    /// A table.
    pub fn table(&mut self, table: &Table) {
        self.text += &table.text();
    }

    /// Says how many items a list leaves out, if any.
    pub fn more(&mut self, count: usize, listed: usize, what: &str) {
        if let Some(more @ 1..) = count.checked_sub(listed) {
            let more = counted(more as u64, what);
            self.styled(QUIET, &format!("  … and {more} more, see --json"));
        }
    }

    pub fn into_text(self) -> String {
        self.text
    }
}

/// A number of bytes; nothing for none.
pub fn bytes_text(bytes: u64) -> String {
    match bytes {
        0 => String::new(),
        bytes => HumanBytes(bytes).to_string(),
    }
}

/// A correlation id; nothing for none.
pub fn correlation_text(correlation_id: u64) -> String {
    match correlation_id {
        0 => String::new(),
        id => id.to_string(),
    }
}

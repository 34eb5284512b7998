//! The output formats, a file or folder each, and which of them writes an output. To delete one, delete its file or folder, its lines here and its
//! tests.
//!
//! May use `tracks`, `figures`, `text`, `input`, `output`. No format uses another.

mod chrome;
mod page;
mod perfetto;
mod seed;
mod table;

use std::io::{self, Write};
use std::sync::Arc;

use clap::ValueEnum;
use indicatif::HumanCount;

use crate::formats::chrome::Chrome;
use crate::formats::page::HtmlPage;
use crate::formats::perfetto::Perfetto;
use crate::formats::seed::Seed;
use crate::formats::table::{Csv, JsonLines};
use crate::input::captures::Captures;
use crate::input::conversion::{write_all, write_selected};
use crate::input::filter::Filter;
use crate::input::follow::follow;
use crate::input::format::{FollowedFormat, Format};
use crate::input::outcome::Outcome;
use crate::input::selection::Selection;
use crate::output::file::Output;
use crate::output::signals::Stop;
use crate::tracks::extras::Extras;

/// A format, as the command line names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormatName {
    /// Chrome's trace JSON, for Perfetto, chrome://tracing and speedscope
    Chrome,
    /// Perfetto's own format: a sixth of the size, exact at any time
    Perfetto,
    /// A JSON object a line, for scripts and query engines
    Jsonl,
    /// The same columns as comma-separated values
    Csv,
    /// A page for any browser, offline: timeline, tables and charts
    Html,
    /// The document of the in-memory tracer, byte for byte, for scripts that read it; of one capture
    Seed,
}

/// Writes the JSON document of a difference as a page.
pub type DifferencePage = fn(&mut dyn Write, &str) -> io::Result<()>;

impl FormatName {
    /// The format of an output by its extension, in lower case. Chrome's, if the extension belongs to no other.
    pub fn of_extension(extension: &str) -> Self {
        match extension {
            "pftrace" | "perfetto-trace" => Self::Perfetto,
            "jsonl" | "ndjson" => Self::Jsonl,
            "csv" => Self::Csv,
            "html" | "htm" => Self::Html,
            _ => Self::Chrome,
        }
    }

    /// Why the format cannot be written while its captures are recorded; None: it can.
    pub fn why_not_followed(self) -> Option<&'static str> {
        match self {
            Self::Html => {
                Some("the page is made from the whole capture, which --follow does not wait for")
            }
            Self::Seed => Some(
                "the document of the in-memory tracer begins with the number of dropped events, which --follow cannot know",
            ),
            _ => None,
        }
    }

    /// What makes a whole of an output that is still being written.
    pub fn tail(self) -> &'static [u8] {
        match self {
            Self::Chrome => chrome::TAIL,
            _ => b"",
        }
    }

    /// Why the format cannot hold that many captures; None: it can.
    pub fn why_not_merged(self, captures: usize) -> Option<String> {
        match self {
            Self::Seed if captures > 1 => Some(format!(
                "the document of the in-memory tracer has no place for {} captures",
                HumanCount(captures as u64)
            )),
            _ => None,
        }
    }

    /// How the format shows a difference of two captures; None: as text.
    pub fn difference_page(self) -> Option<DifferencePage> {
        match self {
            Self::Html => Some(page::write_difference),
            _ => None,
        }
    }
}

/// Writes the captures in a format; until `stop`, if there is one, while they are recorded.
pub fn write(
    format: FormatName,
    extras: Extras,
    for_spreadsheets: bool,
    captures: &mut Captures,
    filter: &mut Filter,
    output: &mut Output,
    stop: Option<&Arc<Stop>>,
) -> io::Result<Vec<Outcome>> {
    let mut run = Run {
        filter,
        quiet: output.is_terminal(),
        stop,
    };
    match format {
        FormatName::Chrome if stop.is_some() && !output.has_tail() => {
            let format = Chrome::without_tail(captures, extras, output);
            run.follow_or_write(captures, format)
        }
        FormatName::Chrome => {
            let format = Chrome::new(captures, extras, output);
            run.follow_or_write(captures, format)
        }
        FormatName::Perfetto => {
            let format = Perfetto::new(captures, extras, output)?;
            run.follow_or_write(captures, format)
        }
        FormatName::Jsonl => run.follow_or_write(captures, JsonLines::new(output)),
        FormatName::Csv => {
            let format = Csv::new(output, for_spreadsheets)?;
            run.follow_or_write(captures, format)
        }
        FormatName::Html => run.write(captures, HtmlPage::new(output)),
        FormatName::Seed => {
            let format = Seed::new(&captures[0], output)?;
            run.write(captures, format)
        }
    }
}

/// Writes the page of the selected events.
pub fn write_page(captures: &Captures, selection: &Selection, page: impl Write) -> io::Result<()> {
    write_selected(captures, selection, HtmlPage::new(page)).map(drop)
}

/// How the captures are read.
struct Run<'run> {
    filter: &'run mut Filter,
    /// Without a progress bar.
    quiet: bool,
    stop: Option<&'run Arc<Stop>>,
}

impl Run<'_> {
    fn write(&mut self, captures: &Captures, format: impl Format) -> io::Result<Vec<Outcome>> {
        write_all(captures, self.filter, format, self.quiet)
    }

    fn follow_or_write(
        &mut self,
        captures: &mut Captures,
        format: impl FollowedFormat,
    ) -> io::Result<Vec<Outcome>> {
        match self.stop {
            Some(stop) => follow(captures, self.filter, format, stop),
            None => self.write(captures, format),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_extension_has_its_format() {
        for (extension, format) in [
            ("json", FormatName::Chrome),
            ("pftrace", FormatName::Perfetto),
            ("perfetto-trace", FormatName::Perfetto),
            ("jsonl", FormatName::Jsonl),
            ("ndjson", FormatName::Jsonl),
            ("csv", FormatName::Csv),
            ("html", FormatName::Html),
            ("htm", FormatName::Html),
            ("", FormatName::Chrome),
        ] {
            assert_eq!(FormatName::of_extension(extension), format, "{extension}");
        }
    }
}

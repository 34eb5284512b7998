//! The verdict on captures, as a line each and as an exit code.

use std::fmt::Display;
use std::path::Path;

use hrx_trace_reader::{Ending, Report};

use crate::text::words::{counted, ending_words, losses_text};

/// Intact, but the writer died.
const WRITER_DIED: u8 = 3;
/// Something that was recorded cannot be believed.
const DAMAGED: u8 = 4;

/// The verdict on each, and the worst.
pub fn verdicts<'read>(read: impl Iterator<Item = (&'read Path, &'read Report)>) -> (String, u8) {
    let verdicts = read.map(|(path, report)| verdict(&path.display(), report));
    verdicts.fold((String::new(), 0), |(lines, worst), (line, code)| {
        (lines + &line, worst.max(code))
    })
}

/// Records that a live writer is just writing are no damage, nor is what a full table or a wrapping ring did not keep.
fn verdict(name: &impl Display, report: &Report) -> (String, u8) {
    let damaged = report.account.torn > 0 || report.open_torn > 0 || !report.damages.is_empty();
    let (verdict, code) = match (damaged, report.ending) {
        (true, _) => ("damaged", DAMAGED),
        (false, Ending::WriterDied) => ("intact", WRITER_DIED),
        (false, Ending::Finished | Ending::Live) => ("intact", 0),
    };
    let mut line = format!(
        "{name}: {verdict}, {}: {} (host-observed)",
        ending_words(report.ending),
        counted(report.account.recovered, "event"),
    );
    if let Some(losses) = losses_text(report) {
        line.push_str("; ");
        line.push_str(&losses);
    }
    line.push('\n');
    (line, code)
}

//! The verdict on a capture, as a line and as an exit code.

use std::fmt::Display;
use std::process::ExitCode;

use hrx_trace_reader::{Ending, Report};

use crate::words::{counted, ending_words, losses_text};

/// Intact, but the writer died.
const WRITER_DIED: u8 = 3;
/// Something that was recorded cannot be believed.
const DAMAGED: u8 = 4;

/// Records that a live writer is just writing are no damage, nor is what a full table or a wrapping ring did not keep.
pub fn verdict(name: &impl Display, report: &Report) -> (String, ExitCode) {
    let damaged = report.account.torn > 0 || report.open_torn > 0 || !report.damages.is_empty();
    let (verdict, code) = match (damaged, report.ending) {
        (true, _) => ("damaged", DAMAGED.into()),
        (false, Ending::WriterDied) => ("intact", WRITER_DIED.into()),
        (false, Ending::Finished | Ending::Live) => ("intact", ExitCode::SUCCESS),
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

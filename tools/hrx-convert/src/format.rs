//! What every output format is to the rest of the command: something that is given the captures first, then every event in the order of completion,
//! then what became of each capture.
//!
//! Every time that a format is given lies on the common timeline of the captures (see [`crate::captures`]); a single capture's own is that timeline.
//! A format holds no capture: each call brings it along, so that a capture can be read on while it is written.

use std::io;

use hrx_trace_reader::{Event, Report};

use crate::captures::{Capture, Captures};
use crate::progress::Watched;

/// What became of one capture, all times on the common timeline.
#[derive(Debug)]
pub struct Outcome {
    /// The reader's account, and what was running.
    pub report: Report,
}

/// Writes one output.
pub trait Writer: Sized {
    /// Writes a completed region.
    fn event(&mut self, capture: &Capture, event: &Event) -> io::Result<()>;

    /// Completes the output. One outcome for each capture, in their order.
    fn finish(self, captures: &Captures, outcomes: &[Outcome]) -> io::Result<()>;
}

/// A format that can be written while its captures are recorded.
pub trait Followed: Writer {
    /// Hands everything on to whoever reads the output.
    fn flush(&mut self) -> io::Result<()>;
}

/// Writes all captures from their first event to their last. `quiet`: without a progress bar.
pub fn write_all(
    captures: &Captures,
    mut writer: impl Writer,
    quiet: bool,
) -> io::Result<Vec<Outcome>> {
    let mut events = captures.events();
    for (index, event) in Watched::new(events.by_ref(), quiet) {
        writer.event(&captures[index], &event)?;
    }
    let outcomes = events.finish();
    writer.finish(captures, &outcomes)?;
    Ok(outcomes)
}

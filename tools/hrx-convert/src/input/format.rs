//! The trait of every output format. A format is given every event in the order of completion, of all captures merged or of one capture after the
//! other, and then the outcome of each capture.
//!
//! Every time that a format is given lies on the common timeline (see [`crate::input::captures`]); a single capture's own timeline is that timeline.
//! A format holds no capture: each call passes it, so that a capture can be read on while its output is written.

use std::io;

use hrx_trace_reader::Event;

use crate::input::captures::{Capture, Captures};
use crate::input::outcome::Outcome;

/// Writes one output in one format.
pub trait Format: Sized {
    /// Whether it is given one capture after the other instead of all merged: for formats that keep a lot of state for each capture.
    const ONE_BY_ONE: bool = false;

    /// Announces, before the first event, how many are to come. Only called if the filter leaves out nothing but the beginning; events that
    /// it leaves out after all are reported by [`Self::left_out`].
    fn expect(&mut self, _events: u64) {}

    /// The filter left out an event.
    fn left_out(&mut self) {}

    /// Writes a completed region.
    fn event(&mut self, capture: &Capture, event: &Event) -> io::Result<()>;

    /// Writes a mark or a value. Formats that show regions alone leave it out.
    fn moment(&mut self, _capture: &Capture, _event: &Event) -> io::Result<()> {
        self.left_out();
        Ok(())
    }

    /// Called after the last event of a capture. With [`Self::ONE_BY_ONE`], that is before the first event of the next one.
    fn ended(&mut self, _capture: &Capture, _outcome: &Outcome) -> io::Result<()> {
        Ok(())
    }

    /// Completes the output. There is one outcome for each capture, in their order; a format notes in it what it had no room for.
    fn finish(self, captures: &Captures, outcomes: &mut [Outcome]) -> io::Result<()>;
}

/// A format that can be written while its captures are being recorded.
pub trait FollowedFormat: Format {
    /// Makes everything written so far visible to readers of the output.
    fn flush(&mut self) -> io::Result<()>;
}

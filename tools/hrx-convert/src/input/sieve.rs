//! The filter at work on one capture: which of its events reach the format, and what was left out.

use std::io;

use hrx_trace_reader::{Event, Kind, Report};

use crate::input::captures::Capture;
use crate::input::filter::Filter;
use crate::input::format::Format;
use crate::input::outcome::Outcome;

/// Passes the events of one capture on, and counts those that it does not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sieve {
    filtered_out: u64,
    first_ns: Option<u64>,
}

impl Sieve {
    /// Passes the event to the format if the filter admits it.
    #[inline]
    pub fn pass<F: Format>(
        &mut self,
        filter: &mut Filter,
        format: &mut F,
        capture: &Capture,
        event: &Event,
    ) -> io::Result<()> {
        if !filter.admits(capture, event) {
            self.filtered_out += 1;
            format.left_out();
            return Ok(());
        }
        let start_ns = event.start_ns;
        self.first_ns = Some(self.first_ns.map_or(start_ns, |first| first.min(start_ns)));
        match event.kind {
            Kind::Region => format.event(capture, event),
            _ => format.moment(capture, event),
        }
    }

    /// The outcome, once all events of the capture have been passed.
    pub fn outcome(self, filter: &mut Filter, capture: &Capture, report: Report) -> Outcome {
        let mut outcome = Outcome::new(report);
        outcome.filtered_out = self.filtered_out;
        filter.apply(capture, &mut outcome, self.first_ns);
        outcome
    }
}

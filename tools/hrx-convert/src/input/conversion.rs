//! What every output format is to the rest of the command: something that is given the captures first, then every event in the order of completion,
//! or of one capture after the other, then what became of each capture.
//!
//! Every time that a format is given lies on the common timeline of the captures (see [`crate::input::captures`]); a single capture's own is that timeline.
//! A format holds no capture: each call brings it along, so that a capture can be read on while it is written.

use std::io;
use std::time::Instant;

use hrx_trace_reader::{Event, Report};

use crate::input::captures::{Capture, Captures, MergedEvents};
use crate::input::filter::Filter;
use crate::input::read_ahead::read_ahead;
use crate::output::progress::Watched;

/// What became of one capture, all times on the common timeline.
#[derive(Debug)]
pub struct Outcome {
    /// The reader's account, and what was running; only those open regions that are shown, and from the beginning of the first region that is.
    pub report: Report,
    /// Whether a filter was asked for: then the next two are said even if they are 0.
    pub is_filtered: bool,
    /// Events that could be shown, and that the filter left out.
    pub filtered_out: u64,
    /// Open regions that the filter left out.
    pub open_filtered_out: u64,
    /// Where the window ends, if that is before the capture does.
    pub until_ns: Option<u64>,
}

impl Outcome {
    /// What is left of a capture without a filter.
    pub fn new(report: Report) -> Self {
        Self {
            report,
            is_filtered: false,
            filtered_out: 0,
            open_filtered_out: 0,
            until_ns: None,
        }
    }

    /// The last moment that is shown: the window's end, or the last moment known.
    pub fn last_shown_ns(&self) -> u64 {
        self.until_ns.unwrap_or(self.report.last_ns)
    }

    /// Events that are shown.
    pub fn shown(&self) -> u64 {
        let recovered = self.report.account.recovered;
        recovered.saturating_sub(self.filtered_out)
    }
}

/// Writes one output.
pub trait Writer: Sized {
    /// Whether it is given one capture after the other, whenever its events ended: for what remembers much of each.
    const ONE_BY_ONE: bool = false;

    /// So many events are to come, less those that are left out: told before the first, if only the beginning is.
    fn expect(&mut self, _events: u64) {}

    /// An event is left out.
    fn left_out(&mut self) {}

    /// Writes a completed region.
    fn event(&mut self, capture: &Capture, event: &Event) -> io::Result<()>;

    /// The capture has come to its end. With [`Self::ONE_BY_ONE`], before the first event of the next.
    fn ended(&mut self, _capture: &Capture, _outcome: &Outcome) -> io::Result<()> {
        Ok(())
    }

    /// Completes the output. One outcome for each capture, in their order.
    fn finish(self, captures: &Captures, outcomes: &[Outcome]) -> io::Result<()>;
}

/// A format that can be written while its captures are recorded.
pub trait Followed: Writer {
    /// Hands everything on to whoever reads the output.
    fn flush(&mut self) -> io::Result<()>;
}

/// What a filter leaves of one capture's events, as they go by.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sieve {
    filtered_out: u64,
    first_ns: Option<u64>,
}

impl Sieve {
    /// Writes the event if the filter admits it.
    #[inline]
    pub fn pass(
        &mut self,
        filter: &mut Filter,
        writer: &mut impl Writer,
        capture: &Capture,
        event: &Event,
    ) -> io::Result<()> {
        if !filter.admits(capture, event) {
            self.filtered_out += 1;
            writer.left_out();
            return Ok(());
        }
        let start_ns = event.start_ns;
        self.first_ns = Some(self.first_ns.map_or(start_ns, |first| first.min(start_ns)));
        writer.event(capture, event)
    }

    /// What became of the capture, once all its events have gone by.
    pub fn outcome(self, filter: &mut Filter, capture: &Capture, report: Report) -> Outcome {
        let mut outcome = Outcome::new(report);
        outcome.filtered_out = self.filtered_out;
        filter.apply(capture, &mut outcome, self.first_ns);
        outcome
    }
}

/// Writes all captures from their first event to their last. `quiet`: without a progress bar.
pub fn write_all<W: Writer>(
    captures: &Captures,
    filter: &mut Filter,
    mut writer: W,
    quiet: bool,
) -> io::Result<Vec<Outcome>> {
    let began = Instant::now();
    let mut sieves = vec![Sieve::default(); captures.len()];
    let mut outcomes = Vec::with_capacity(captures.len());
    for part in captures.parts(W::ONE_BY_ONE) {
        let events = MergedEvents::new(part, filter.since_ns());
        let (written, events) = read_ahead(events, |ahead| {
            if let Some(events) = ahead.size_hint().1
                && filter.admits_what_is_read()
            {
                writer.expect(events as u64);
            }
            Watched::new(ahead, began, quiet).try_for_each(|(index, event)| {
                sieves[index].pass(filter, &mut writer, &captures[index], &event)
            })
        });
        written?;
        for (capture, report) in part.iter().zip(events.finish()) {
            let outcome = sieves[capture.index].outcome(filter, capture, report);
            writer.ended(capture, &outcome)?;
            outcomes.push(outcome);
        }
    }
    writer.finish(captures, &outcomes)?;
    Ok(outcomes)
}

/// Writes all there is of the captures.
#[cfg(test)]
pub fn write_everything(captures: &Captures, writer: impl Writer) -> Vec<Outcome> {
    let mut everything = Filter::new(&Default::default(), captures).expect("a filter");
    write_all(captures, &mut everything, writer, true).expect("memory")
}

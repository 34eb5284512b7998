//! The outcome of reading one capture: the reader's report, what a filter left out, and what the output had no room for.

use hrx_trace_reader::{Ending, Report, Trace};

use crate::input::captures::Capture;
use crate::input::other_lanes::LaneCount;

/// The outcome for one capture. All times are nanoseconds on the common timeline.
#[derive(Debug)]
pub struct Outcome {
    /// The reader's report, reduced to what is shown: its open regions are those that the filter admits, and its `first_ns` is the start of the
    /// first region that is shown.
    pub report: Report,
    /// Whether there was a filter: then outputs state the next two even if they are 0.
    pub is_filtered: bool,
    /// Recovered events that the filter left out.
    pub filtered_out: u64,
    /// Open regions that the filter left out.
    pub open_filtered_out: u64,
    /// The end of the selected window, if that is before the end of the capture.
    pub until_ns: Option<u64>,
    /// Lanes that have no track of their own in the output, but share one. Known once the format has finished.
    pub other_lanes: Option<LaneCount>,
    /// Regions that the output has no track for. Known once the format has finished.
    pub not_drawn: u64,
}

impl Outcome {
    /// The outcome without a filter.
    pub fn new(report: Report) -> Self {
        Self {
            report,
            is_filtered: false,
            filtered_out: 0,
            open_filtered_out: 0,
            until_ns: None,
            other_lanes: None,
            not_drawn: 0,
        }
    }

    /// The last moment that is shown: the end of the window, or the last moment known.
    pub fn last_shown_ns(&self) -> u64 {
        self.until_ns.unwrap_or(self.report.last_ns)
    }

    /// Until when open regions are drawn beside those of other captures: all to [`Self::end_ns`], or a nanosecond longer if one began only then. Perfetto takes an end
    /// at the moment of the beginning for none.
    pub fn open_until_ns(&self, capture: &Capture) -> u64 {
        let begun_ns = self.report.open_regions.iter().map(|open| open.start_ns);
        let newest_ns = begun_ns.max().unwrap_or_default();
        self.end_ns(capture).max(newest_ns.saturating_add(1))
    }

    /// Where the drawing of a capture ends: at the end of the window, or as far as [`running_until`] knows.
    pub fn end_ns(&self, capture: &Capture) -> u64 {
        let (known_ns, _) = running_until(&capture.trace, &self.report, capture.shift_ns);
        self.until_ns.unwrap_or(known_ns)
    }

    /// The number of events that are shown.
    pub fn shown(&self) -> u64 {
        let recovered = self.report.account.recovered;
        recovered.saturating_sub(self.filtered_out)
    }
}

/// Until when an open region ran, and whether its end was seen: then a witness saw the process end at that moment, by the capture's own clock. Otherwise it is the last
/// sign of life, and the region ran at least so long.
pub fn running_until(trace: &Trace, report: &Report, shift_ns: u64) -> (u64, bool) {
    let seen = trace.witness().filter(|witness| witness.seen_exactly);
    match seen {
        // What a finished capture left open is nothing that its process was doing when it ended.
        Some(witness) if report.ending != Ending::Finished => {
            let seen_ns = witness.seen_ns.saturating_add(shift_ns);
            (seen_ns.max(report.last_ns), true)
        }
        _ => (report.last_ns, false),
    }
}

/// Whether the capture has every event from its start on. `complete_since_ns` does not tell: it may be 0 although something was overwritten
/// before the first moment had passed.
pub fn is_complete(report: &Report) -> bool {
    (report.account.overwritten, report.account.overtaken) == (0, 0)
}

/// From the start of the first region to the last moment known, in nanoseconds; 0 without regions.
pub fn span_ns(report: &Report) -> u64 {
    report
        .first_ns
        .map_or(0, |first_ns| report.last_ns.saturating_sub(first_ns))
}

//! Which events are shown: a window of time, lanes, labels, failures, durations, correlation ids. An event must meet all conditions given.
//!
//! Events that are left out are counted. Losses are always those of the whole capture: the lane of a lost event is unknown. An open region obeys the
//! same rules, with the time it has run so far as its duration; it has not failed.

use std::collections::BTreeSet;

use globset::{GlobSet, GlobSetBuilder};
use hrx_trace_reader::{Event, Label, OpenRegion};

use crate::input::captures::{Capture, Captures};
use crate::input::labels::{LabelCache, name_of};
use crate::input::option_values::{DurationNs, TimeBound};
use crate::input::outcome::Outcome;
use crate::input::selection::Selection;

/// A selection resolved on the timeline of the captures.
#[derive(Debug)]
pub struct Filter {
    from_ns: u64,
    to_ns: u64,
    lanes: BTreeSet<u32>,
    failed: bool,
    labels: Option<GlobSet>,
    min_duration_ns: u64,
    correlations: BTreeSet<u64>,
    /// Whether each label matches.
    matches: LabelCache<bool>,
    is_everything: bool,
}

impl Filter {
    /// # Errors
    /// The label patterns together are too large for one matcher.
    pub fn new(selection: &Selection, captures: &Captures) -> Result<Self, globset::Error> {
        let time_ns = |bound: TimeBound| match bound {
            TimeBound::AfterStart(DurationNs(ns)) => ns,
            TimeBound::BeforeEnd(DurationNs(ns)) => captures.latest_ns().saturating_sub(ns),
        };
        let from = selection.last.map(TimeBound::BeforeEnd).or(selection.from);
        let labels = match selection.label.as_slice() {
            [] => None,
            globs => {
                let mut set = GlobSetBuilder::new();
                for glob in globs {
                    set.add(glob.clone());
                }
                Some(set.build()?)
            }
        };
        let mut filter = Self {
            from_ns: from.map_or(0, time_ns),
            to_ns: selection.to.map_or(u64::MAX, time_ns),
            lanes: selection.lane.iter().copied().collect(),
            failed: selection.failed,
            labels,
            min_duration_ns: selection.min_duration.map_or(0, |duration| duration.0),
            correlations: selection.correlation.iter().copied().collect(),
            matches: LabelCache::new(),
            is_everything: false,
        };
        filter.is_everything = filter.from_ns == 0 && filter.admits_what_is_read();
        Ok(filter)
    }

    /// Whether it leaves out nothing but what ended before [`Self::since_ns`], which need not be read.
    pub fn admits_what_is_read(&self) -> bool {
        (self.to_ns, self.min_duration_ns) == (u64::MAX, 0)
            && self.lanes.is_empty()
            && !self.failed
            && self.labels.is_none()
            && self.correlations.is_empty()
    }

    /// Nothing that ended before this is shown; in nanoseconds on the common timeline.
    pub fn since_ns(&self) -> u64 {
        self.from_ns
    }

    /// Whether the event is shown.
    #[inline]
    pub fn admits(&mut self, capture: &Capture, event: &Event) -> bool {
        self.is_everything
            || (event.end_ns() >= self.from_ns
                && event.start_ns < self.to_ns
                && event.duration_ns >= self.min_duration_ns
                && (event.failed || !self.failed)
                && self.admits_names(capture, event.lane, event.correlation_id, event.label_id))
    }

    fn admits_open(&mut self, capture: &Capture, region: &OpenRegion, last_ns: u64) -> bool {
        self.is_everything
            || (last_ns >= self.from_ns
                && region.start_ns < self.to_ns
                && last_ns.saturating_sub(region.start_ns) >= self.min_duration_ns
                && !self.failed
                && self.admits_names(capture, region.lane, region.correlation_id, region.label_id))
    }

    fn admits_names(
        &mut self,
        capture: &Capture,
        lane: u32,
        correlation_id: u64,
        label_id: u32,
    ) -> bool {
        (self.lanes.is_empty() || self.lanes.contains(&lane))
            && (self.correlations.is_empty() || self.correlations.contains(&correlation_id))
            && self.admits_label(capture, label_id)
    }

    fn admits_label(&mut self, capture: &Capture, label_id: u32) -> bool {
        let Some(globs) = &self.labels else {
            return true;
        };
        if let Some(matches) = self.matches.get(capture, label_id) {
            return *matches;
        }
        let matches = globs.is_match(&*name_of(&capture.trace, label_id));
        // A label that cannot be read now may be complete later.
        if capture.trace.label(label_id) != Label::Unreadable {
            self.matches.put(capture, label_id, matches);
        }
        matches
    }

    /// Removes the open regions that are not shown, and reduces the outcome to the window that is. `first_ns` is the earliest start of the events
    /// shown.
    pub fn apply(&mut self, capture: &Capture, outcome: &mut Outcome, first_ns: Option<u64>) {
        if self.is_everything {
            return;
        }
        let report = &mut outcome.report;
        let last_ns = report.last_ns;
        let before = report.open_regions.len();
        report
            .open_regions
            .retain(|region| self.admits_open(capture, region, last_ns));
        outcome.open_filtered_out = (before - report.open_regions.len()) as u64;
        let open_starts = report.open_regions.iter().map(|region| region.start_ns);
        report.first_ns = open_starts.chain(first_ns).min();
        outcome.is_filtered = true;
        outcome.until_ns = Some(self.to_ns).filter(|to_ns| *to_ns < last_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::merge::MergedEvents;
    use hrx_trace_format::Record;
    use hrx_trace_format::record::FLAG_FAILED;
    use hrx_trace_tests::capture::{Capture as Made, region, running};

    /// The ends of the events that are shown, and the starts of the open regions.
    fn shown(options: &[&str]) -> (Vec<u64>, Vec<u64>) {
        let mut made = Made::new(16);
        let [gemm, copy] = ["gemm/4", "copy"].map(|label| made.label(label));
        let record = |lane, start_ns, duration_ns, label_id| Record {
            label_id,
            correlation_id: start_ns,
            ..region(lane, start_ns, duration_ns)
        };
        made.record(record(1, 1_000, 500, gemm))
            .record(Record {
                flags: FLAG_FAILED,
                ..record(0, 2_000, 1_000, copy)
            })
            .record(record(1, 3_000, 0, 0))
            .record(record(7, 100, 4_900, gemm));
        made.open(
            0,
            hrx_trace_format::OpenRecord {
                label_id: gemm,
                ..running(1, 2_500)
            },
        );
        made.open(
            1,
            hrx_trace_format::OpenRecord {
                correlation_id: 9,
                ..running(0, 6_000)
            },
        );
        let captures = Captures::of_bytes([made.bytes()]);
        let selection = Selection::from_options(options).expect("options");
        let mut filter = Filter::new(&selection, &captures).expect("a filter");
        let mut events = MergedEvents::new(captures.iter().as_slice(), 0);
        let admitted: Vec<Event> = events
            .by_ref()
            .map(|(_, event)| event)
            .filter(|event| filter.admits(&captures[0], event))
            .collect();
        let mut outcome = Outcome::new(events.finish().remove(0));
        let first_ns = admitted.iter().map(|event| event.start_ns).min();
        filter.apply(&captures[0], &mut outcome, first_ns);
        let open = outcome.report.open_regions.iter();
        let starts: Vec<u64> = open.map(|region| region.start_ns).collect();
        assert_eq!(
            outcome.report.first_ns,
            starts.iter().copied().chain(first_ns).min()
        );
        (admitted.iter().map(Event::end_ns).collect(), starts)
    }

    #[test]
    fn what_each_option_shows() {
        for (options, ends, open) in [
            (
                &[][..],
                &[1_500, 3_000, 3_000, 5_000][..],
                &[2_500, 6_000][..],
            ),
            (&["--from", "3us"], &[3_000, 3_000, 5_000], &[2_500, 6_000]),
            (&["--from", "3001ns"], &[5_000], &[2_500, 6_000]),
            (&["--to", "2us"], &[1_500, 5_000], &[]),
            (&["--to", "2001ns"], &[1_500, 3_000, 5_000], &[]),
            // The capture ends with the start of the newest open region.
            (&["--last", "1us"], &[5_000], &[2_500, 6_000]),
            (
                &["--from", "end-3us", "--to", "end"],
                &[3_000, 3_000, 5_000],
                &[2_500],
            ),
            (&["--lane", "upload,7"], &[3_000, 5_000], &[6_000]),
            (
                &["--lane", "0", "--lane", "1"],
                &[1_500, 3_000, 3_000],
                &[2_500, 6_000],
            ),
            (&["--failed"], &[3_000], &[]),
            (&["--label", "gemm*"], &[1_500, 5_000], &[2_500]),
            (
                &["--label", "native*", "--label", "{copy,x}"],
                &[3_000, 3_000],
                &[6_000],
            ),
            (&["--min-duration", "1us"], &[3_000, 5_000], &[2_500]),
            (&["--correlation", "2000,9"], &[3_000], &[6_000]),
            (
                &["--lane", "compute", "--label", "gemm*", "--to", "1s"],
                &[1_500],
                &[2_500],
            ),
        ] {
            assert_eq!(
                shown(options),
                (ends.to_vec(), open.to_vec()),
                "{options:?}"
            );
        }
    }
}

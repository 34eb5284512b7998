//! Which events are shown: a window of time, lanes, threads, labels, groups, failures, durations, correlation ids. An event must meet all conditions given.
//!
//! Events that are left out are counted. Losses are always those of the whole capture: the lane of a lost event is unknown. An open region obeys the
//! same rules, with the time it has run so far as its duration; it has not failed.

use std::collections::{BTreeSet, HashMap};

use globset::{GlobSet, GlobSetBuilder};
use hrx_trace_format::LANE_NAMES;
use hrx_trace_reader::{Event, Name, OpenRegion};

use crate::input::captures::{Capture, Captures};
use crate::input::choice::Choice;
use crate::input::labels::{LabelCache, name_of};
use crate::input::option_values::{DurationNs, TimeBound};
use crate::input::outcome::Outcome;
use crate::input::selection::{Selection, SelectionError};

/// Lanes of which it is kept whether they match: more than most programs have.
const LANES_KEPT_MAX: usize = 1 << 16;
/// Names of lanes that an error lists.
const NAMES_LISTED_MAX: usize = 32;

/// A selection resolved on the timeline of the captures.
#[derive(Debug)]
pub struct Filter {
    from_ns: u64,
    to_ns: u64,
    lanes: Vec<Choice>,
    threads: Vec<Choice>,
    groups: Vec<Choice>,
    /// By capture and lane: whether the lane is chosen, and whether its group is.
    lane_matches: HashMap<(usize, u32), (bool, bool)>,
    failed: bool,
    labels: Option<GlobSet>,
    min_duration_ns: u64,
    correlations: BTreeSet<u64>,
    /// Whether each label matches, and whether its group does.
    matches: LabelCache<(bool, bool)>,
    is_everything: bool,
}

impl Filter {
    /// # Errors
    /// The window ends before it begins, or the label patterns together are too large for one matcher.
    pub fn new(selection: &Selection, captures: &Captures) -> Result<Self, SelectionError> {
        let time_ns = |bound: TimeBound| match bound {
            TimeBound::AfterStart(DurationNs(ns)) => ns,
            TimeBound::BeforeEnd(DurationNs(ns)) => captures.latest_ns().saturating_sub(ns),
        };
        let (from, to) = selection.window();
        let from_ns = from.map_or(0, time_ns);
        let to_ns = to.map_or(u64::MAX, time_ns);
        if from_ns > to_ns {
            return Err(SelectionError::Reversed { from_ns, to_ns });
        }
        let labels = match selection.label.as_slice() {
            [] => None,
            globs => {
                let mut set = GlobSetBuilder::new();
                for glob in globs {
                    set.add(glob.clone());
                }
                Some(set.build().map_err(SelectionError::Labels)?)
            }
        };
        for choice in selection.lane.iter().filter(|choice| choice.is_name()) {
            named_lane(choice, captures)?;
        }
        let mut filter = Self {
            from_ns,
            to_ns,
            lanes: selection.lane.clone(),
            threads: selection.thread.clone(),
            groups: selection.group.clone(),
            lane_matches: HashMap::new(),
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
            && self.threads.is_empty()
            && self.groups.is_empty()
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
                && (self.correlations.is_empty()
                    || self.correlations.contains(&event.correlation_id))
                && self.admits_names(capture, event.lane, event.label_id)
                && self.admits_thread(capture, event.thread_id, event.end_ns()))
    }

    fn admits_open(&mut self, capture: &Capture, region: &OpenRegion, last_ns: u64) -> bool {
        self.is_everything
            || (last_ns >= self.from_ns
                && region.start_ns < self.to_ns
                && last_ns.saturating_sub(region.start_ns) >= self.min_duration_ns
                && !self.failed
                && (self.correlations.is_empty()
                    || self.correlations.contains(&region.correlation_id))
                && self.admits_names(capture, region.lane, region.label_id)
                && self.admits_thread(capture, region.thread_id, region.start_ns))
    }

    /// Whether lane, label and group are chosen. A group is that of the label or that of the lane.
    fn admits_names(&mut self, capture: &Capture, lane: u32, label_id: u32) -> bool {
        let (lane, lane_group) = self.lane_matches(capture, lane);
        if !lane {
            return false;
        }
        let (label, label_group) = self.label_matches(capture, label_id);
        label && (lane_group || label_group)
    }

    /// At the moment `end_ns` of the timeline.
    fn admits_thread(&self, capture: &Capture, thread_id: u32, end_ns: u64) -> bool {
        if self.threads.is_empty() {
            return true;
        }
        let names = capture.names();
        let name = names.thread(thread_id, end_ns.saturating_sub(capture.shift_ns));
        self.threads.iter().any(|choice| {
            choice.is_number(thread_id) || name.is_some_and(|name| choice.is_called(&name.text))
        })
    }

    fn lane_matches(&mut self, capture: &Capture, lane: u32) -> (bool, bool) {
        if self.lanes.is_empty() && self.groups.is_empty() {
            return (true, true);
        }
        if let Some(matches) = self.lane_matches.get(&(capture.index, lane)) {
            return *matches;
        }
        let names = capture.names();
        let name = names.lane(lane);
        let is_called = |choice: &Choice| {
            let own = name.is_some_and(|name| choice.is_called(&name.text));
            let well_known = LANE_NAMES.get(lane as usize);
            own || well_known.is_some_and(|name| choice.is_called(name))
        };
        let chosen = |choice: &Choice| choice.is_number(lane) || is_called(choice);
        let group = name.map_or(0, |name| name.group);
        let matches = (
            self.lanes.is_empty() || self.lanes.iter().any(chosen),
            self.admits_group(capture, group),
        );
        if self.lane_matches.len() == LANES_KEPT_MAX {
            self.lane_matches.clear();
        }
        self.lane_matches.insert((capture.index, lane), matches);
        matches
    }

    fn label_matches(&mut self, capture: &Capture, label_id: u32) -> (bool, bool) {
        if self.labels.is_none() && self.groups.is_empty() {
            return (true, true);
        }
        if let Some(matches) = self.matches.get(capture, label_id) {
            return *matches;
        }
        let label = capture.trace.label(label_id);
        let group = match label {
            Name::Known { group, .. } => group,
            _ => 0,
        };
        let labels = self.labels.as_ref();
        let matches = (
            labels.is_none_or(|globs| globs.is_match(&*name_of(&capture.trace, label_id))),
            self.admits_group(capture, group),
        );
        // A label that cannot be read now may be complete later.
        if label != Name::Unreadable {
            self.matches.put(capture, label_id, matches);
        }
        matches
    }

    fn admits_group(&self, capture: &Capture, group: u32) -> bool {
        self.groups.is_empty()
            || match capture.trace.group(group) {
                Name::Known { text, .. } => {
                    self.groups.iter().any(|choice| choice.is_called(&text))
                }
                _ => false,
            }
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

/// # Errors
/// No lane is called so.
fn named_lane(choice: &Choice, captures: &Captures) -> Result<(), SelectionError> {
    let mut known: Vec<String> = LANE_NAMES.iter().map(|name| (*name).to_owned()).collect();
    if known.iter().any(|name| choice.is_called(name)) {
        return Ok(());
    }
    for capture in captures.iter() {
        let names = capture.trace.names();
        for lane in names.lanes() {
            if choice.is_called(&lane.text) {
                return Ok(());
            }
            if known.len() < NAMES_LISTED_MAX && !known.contains(&lane.text) {
                known.push(lane.text.clone());
            }
        }
    }
    Err(SelectionError::NoSuchLane {
        name: choice.text().to_owned(),
        known,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::merge::MergedEvents;
    use hrx_trace_format::name::NAME_LABEL;
    use hrx_trace_format::record::FLAG_FAILED;
    use hrx_trace_format::{Name, Record};
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

    #[test]
    fn lanes_threads_and_groups_by_name() {
        let mut made = Made::new(16);
        let [gpu, nccl] = ["GPU 0", "nccl"].map(|text| made.group(text));
        let reduce = made.name(&Name::of(NAME_LABEL, "all_reduce").in_group(nccl));
        let empty = made.label("");
        let stream = 1 << 31;
        made.name(&Name::lane(stream, "stream 3").in_group(gpu));
        made.name(&Name::thread(7, 0, "worker-3"));
        let record = |lane, start_ns, label_id, thread_id| Record {
            label_id,
            thread_id,
            ..region(lane, start_ns, 10)
        };
        made.record(record(stream, 100, 0, 7))
            .record(record(1, 200, reduce, 8))
            .record(record(1, 300, empty, 8));
        let captures = Captures::of_bytes([made.bytes()]);
        let shown = |options: &[&str]| {
            let selection = Selection::from_options(options).unwrap();
            let mut filter =
                Filter::new(&selection, &captures).map_err(|error| error.to_string())?;
            let events = captures[0].trace.events();
            let starts = events.filter(|event| filter.admits(&captures[0], event));
            Ok(starts.map(|event| event.start_ns).collect::<Vec<u64>>())
        };
        for (options, expected) in [
            (&["--lane", "stream 3"][..], vec![100]),
            (&["--lane", "stream*"], vec![100]),
            (&["--lane", "2147483648,compute"], vec![100, 200, 300]),
            (&["--thread", "worker-?"], vec![100]),
            (&["--thread", "8"], vec![200, 300]),
            (&["--group", "nccl,gpu 0"], vec![100, 200]),
            (&["--group", "nccl", "--lane", "stream 3"], vec![]),
            (&["--label", "native region"], vec![100]),
            (&["--label", "(empty)"], vec![300]),
            // A space counts, and a glob that fits nothing is no error.
            (&["--lane", " stream*"], vec![]),
        ] {
            assert_eq!(shown(options), Ok(expected), "{options:?}");
        }
        assert_eq!(
            shown(&["--lane", "stream"]),
            Err("no lane is called \"stream\": expected a number or one of upload, compute, download, NPU, host, stream 3".to_owned())
        );
    }
}

//! Compares what a viewer shows with what it must show.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use hrx_trace_tests::viewers::{CatapultSlice, TpSlice, lane_of};
use serde_json::{Value, json};

use crate::case::{Expected, Mark, Region};
use crate::output::Output;

const REGION: &str = "hrx.host-observed";
const CAPTURE: &str = "hrx.capture.host-observed";
const CAPTURE_TRACK: &str = "capture (host-observed)";
pub const LAST_MOMENT: &str = "unfinished at the last sign of life (host-observed)";

/// A slice, in the same form for every viewer.
#[derive(Clone, Debug)]
pub struct Shown {
    /// Unique in its process.
    track: i64,
    track_name: String,
    pid: i64,
    process_name: String,
    category: String,
    name: String,
    start_ns: i64,
    /// None: unfinished.
    duration_ns: Option<i64>,
    args: BTreeMap<String, Value>,
    /// The slice that it is drawn inside of, as an index into the list.
    parent: Option<usize>,
}

pub fn of_trace_processor(slices: &[TpSlice]) -> Vec<Shown> {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let places: BTreeMap<i64, usize> = (slices.iter().zip(0..))
        .map(|(slice, place)| (slice.id, place))
        .collect();
    slices
        .iter()
        .map(|slice| Shown {
            track: slice.track_id,
            track_name: match slice.tid {
                Some(_) => text(&slice.thread_name),
                None => text(&slice.track_name),
            },
            pid: slice.pid.unwrap_or(-1),
            process_name: text(&slice.process_name),
            category: text(&slice.category),
            name: text(&slice.name),
            start_ns: slice.ts_ns,
            duration_ns: (slice.dur_ns != -1).then_some(slice.dur_ns),
            args: slice.args.clone(),
            parent: slice.parent_id.map(|id| places[&id]),
        })
        .collect()
}

pub fn of_catapult(slices: &[CatapultSlice]) -> Vec<Shown> {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    slices
        .iter()
        .map(|slice| Shown {
            track: slice.tid,
            track_name: text(&slice.thread),
            pid: slice.pid,
            process_name: text(&slice.process),
            category: slice.category.clone(),
            name: slice.title.clone(),
            start_ns: slice.start_ns,
            duration_ns: (!slice.unfinished).then_some(slice.duration_ns),
            args: slice.args.clone(),
            parent: slice.parent,
        })
        .collect()
}

/// How a viewer changes what it reads.
pub struct View {
    /// The permitted error of a time, beyond what the output itself loses.
    tolerance_ns: fn(u64) -> u64,
    /// How it shows a name.
    name: fn(&str) -> String,
}

/// The trace processor shows JSON escapes as text, unless a quote is among them.
pub const PERFETTO_OF_JSON: View = View {
    tolerance_ns: |_| 0,
    name: |name| {
        if name.contains('"') {
            return name.to_owned();
        }
        let quoted = json!(name).to_string();
        quoted[1..quoted.len() - 1].to_owned()
    },
};

pub const PERFETTO: View = View {
    tolerance_ns: |_| 0,
    name: str::to_owned,
};

/// Catapult computes in milliseconds, as doubles: exact up to 2^51 ns, 26 days.
pub const CATAPULT: View = View {
    tolerance_ns: |time_ns| time_ns >> 51,
    name: str::to_owned,
};

/// A region to be compared with another.
#[derive(Debug)]
struct Row {
    /// Everything that distinguishes a region except its times, which may be rounded.
    key: String,
    start_ns: i64,
    /// None: unfinished.
    duration_ns: Option<i64>,
    /// Index of the slice; 0 for an expected region.
    index: usize,
}

impl Row {
    fn new(lane: &str, name: &str, args: impl Debug, times: (i64, Option<i64>)) -> Self {
        Self {
            key: format!("{lane}: {name:?} {args:?}"),
            start_ns: times.0,
            duration_ns: times.1,
            index: 0,
        }
    }

    fn of_regions(regions: &[Region], output: &Output, view: &View) -> Vec<Self> {
        let mut rows: Vec<_> = regions
            .iter()
            .map(|region| {
                let args = region.args.iter();
                let args = args.filter(|(name, _)| !output.without.contains(name));
                let args: BTreeMap<_, _> =
                    args.map(|(name, arg)| (*name, output.value(arg))).collect();
                let duration_ns = region.duration_ns.map(|ns| ns as i64);
                let times = (region.start_ns as i64, duration_ns);
                Self::new(&region.lane_name(), &(view.name)(&region.name), args, times)
            })
            .collect();
        rows.sort_by(Self::order);
        rows
    }

    fn of_slices(slices: &[Shown], process_name: &str) -> Vec<Self> {
        let regions = slices
            .iter()
            .enumerate()
            .filter(|(_, slice)| slice.category == REGION && slice.process_name == process_name);
        let mut rows: Vec<_> = regions
            .map(|(index, slice)| {
                let lane = lane_of(&slice.track_name);
                let times = (slice.start_ns, slice.duration_ns);
                Self {
                    index,
                    ..Self::new(lane, &slice.name, &slice.args, times)
                }
            })
            .collect();
        rows.sort_by(Self::order);
        rows
    }

    fn order(&self, other: &Self) -> Ordering {
        let rank = |row: &Self| (row.start_ns, row.duration_ns);
        (&self.key, rank(self)).cmp(&(&other.key, rank(other)))
    }

    /// Whether `other` may be inside it.
    fn contains(&self, other: &Self) -> bool {
        let end_ns = |row: &Self| {
            let end_ns = row
                .duration_ns
                .map(|duration_ns| row.start_ns + duration_ns);
            end_ns.unwrap_or(i64::MAX)
        };
        self.start_ns < other.start_ns && end_ns(other) <= end_ns(self)
    }
}

/// Asserts that a viewer shows what is expected of each process, and nothing else.
pub fn assert_shows(expected: &[Expected], output: &Output, view: &View, slices: &[Shown]) {
    let mut pids = BTreeSet::new();
    let mut shown = 0;
    for expected in expected {
        let what = format!("{}, {}", expected.what, output.name);
        let own = of_process(slices, expected);
        let own_pids: BTreeSet<_> = own.iter().map(|slice| slice.pid).collect();
        assert!(own_pids.len() <= 1, "{what}: {own_pids:?}");
        if let (Some(expected), Some(pid)) = (expected.pid, own_pids.first()) {
            assert_eq!(*pid, i64::from(expected), "{what}");
        }
        assert!(
            own_pids.is_disjoint(&pids),
            "{what}: two captures share a process"
        );
        pids.extend(own_pids);
        shown += own.len();
        assert_regions(&what, expected, output, view, slices);
        assert_tracks(&what, &own);
        assert_marks(&what, expected, output, view, &own);
    }
    let names: BTreeSet<_> = slices.iter().map(|slice| &slice.process_name).collect();
    assert_eq!(shown, slices.len(), "{}: {names:?}", output.what(expected));
}

/// Asserts that a viewer shows nothing unexpected. The region being written when the file ends may have no end yet.
pub fn assert_shows_a_part(expected: &Expected, output: &Output, view: &View, slices: &[Shown]) {
    let mut left = BTreeMap::<(String, i64), Vec<Option<i64>>>::new();
    for row in Row::of_regions(&expected.regions, output, view) {
        let durations = left.entry((row.key, row.start_ns)).or_default();
        durations.push(row.duration_ns);
    }
    let mut being_written = 0;
    for row in Row::of_slices(slices, &expected.process_name) {
        let what = format!("{}, {}: {row:?}", expected.what, output.name);
        let durations = left.get_mut(&(row.key, row.start_ns));
        let durations = durations.unwrap_or_else(|| panic!("{what} was not recorded"));
        match durations.iter().position(|ns| *ns == row.duration_ns) {
            Some(place) => drop(durations.remove(place)),
            None if row.duration_ns.is_none() => being_written += 1,
            None => panic!("{what} was recorded with a duration of {durations:?}"),
        }
    }
    assert!(being_written <= 1, "{}: {being_written}", output.name);
}

fn of_process<'a>(slices: &'a [Shown], expected: &Expected) -> Vec<&'a Shown> {
    let slices = slices.iter();
    let own = slices.filter(|slice| slice.process_name == expected.process_name);
    own.collect()
}

/// Asserts that exactly the expected regions are shown, each with its name, its times and its parent.
fn assert_regions(what: &str, process: &Expected, output: &Output, view: &View, slices: &[Shown]) {
    let expected = Row::of_regions(&process.regions, output, view);
    let shown = Row::of_slices(slices, &process.process_name);
    let keys = |rows: &[Row]| BTreeSet::from_iter(rows.iter().map(|row| row.key.clone()));
    let (expected_keys, shown_keys) = (keys(&expected), keys(&shown));
    let missing: Vec<_> = expected_keys.difference(&shown_keys).take(5).collect();
    let more: Vec<_> = shown_keys.difference(&expected_keys).take(5).collect();
    assert!(
        missing.is_empty() && more.is_empty() && shown.len() == expected.len(),
        "{what}: {} regions shown of {}; not shown: {missing:#?}; not recorded: {more:#?}",
        shown.len(),
        expected.len(),
    );
    for (expected, shown) in expected.iter().zip(&shown) {
        let near = |expected, shown| is_near(expected, shown, output, view);
        let same = near(expected.start_ns, shown.start_ns)
            && match (expected.duration_ns, shown.duration_ns) {
                // Its end is a moment of its own, as exact as its beginning is.
                (Some(duration_ns), Some(shown_ns)) if expected.key.contains("[unfinished]") => {
                    near(
                        expected.start_ns + duration_ns,
                        expected.start_ns + shown_ns,
                    )
                }
                // At the last moment that is shown, JSON has no later one for its end.
                (Some(1), None) => expected.start_ns >= 1 << 62,
                (Some(expected), Some(shown)) => near(expected, shown),
                (expected, shown) => expected == shown,
            };
        assert!(same, "{what}: {expected:?} is shown as {shown:?}");
    }

    // A region is drawn inside another only if its own thread recorded it inside it.
    let recorded: BTreeMap<usize, &Row> = shown
        .iter()
        .zip(&expected)
        .map(|(shown, expected)| (shown.index, expected))
        .collect();
    for (index, inner) in &recorded {
        if let Some(parent) = slices[*index].parent {
            let outer = recorded[&parent];
            let [own, others] = [*index, parent].map(|index| &slices[index].args["thread_id"]);
            assert!(
                outer.contains(inner) && own == others,
                "{what}: {inner:?} is inside {outer:?}"
            );
        }
    }
}

fn is_near(expected_ns: i64, shown_ns: i64, output: &Output, view: &View) -> bool {
    let ns = expected_ns.unsigned_abs();
    expected_ns.abs_diff(shown_ns) <= (output.tolerance_ns)(ns) + (view.tolerance_ns)(ns)
}

/// Asserts that no two lanes share a track, and no two tracks a name.
fn assert_tracks(what: &str, slices: &[&Shown]) {
    let mut names = BTreeMap::new();
    for slice in slices {
        let name = names.entry(slice.track).or_insert(&slice.track_name);
        assert_eq!(*name, &slice.track_name, "{what}");
    }
    let distinct: BTreeSet<_> = names.values().collect();
    assert_eq!(distinct.len(), names.len(), "{what}: {names:?}");
}

/// Asserts the marks: where the capture begins and ends, what is missing, and until when unfinished regions are known to have run.
fn assert_marks(what: &str, process: &Expected, output: &Output, view: &View, slices: &[&Shown]) {
    let (marks, regions): (Vec<&Shown>, Vec<&Shown>) =
        slices.iter().partition(|slice| slice.category == CAPTURE);
    let (last_moments, of_capture): (Vec<&Shown>, Vec<&Shown>) =
        marks.iter().partition(|mark| mark.name == LAST_MOMENT);

    let reaching: Vec<_> = last_moments.iter().map(|mark| mark.track).collect();
    // Beside other captures, what was running ends with its own, and has no such mark.
    let is_alone = process
        .regions
        .iter()
        .any(|region| region.duration_ns.is_none());
    let unfinished = (regions.iter()).filter(|slice| is_alone && slice.duration_ns.is_none());
    let unfinished: BTreeSet<_> = unfinished.map(|slice| slice.track).collect();
    assert_eq!(
        reaching.len(),
        unfinished.len(),
        "{what}: not one for each unfinished region"
    );
    assert_eq!(BTreeSet::from_iter(reaching), unfinished, "{what}");

    if !output.marks {
        assert_eq!(of_capture.len(), 0, "{what}: {of_capture:?}");
        return;
    }
    for mark in &of_capture {
        assert_eq!(lane_of(&mark.track_name), CAPTURE_TRACK, "{what}: {mark:?}");
    }
    let mark = |prefix: &str| {
        let marks = of_capture.iter();
        let mut marks = marks.filter(|mark| mark.name.starts_with(prefix));
        let mark = marks.next();
        assert!(marks.next().is_none(), "{what}: two marks {prefix:?}");
        mark
    };
    for (prefix, expected) in [("begin: ", &process.begin), ("end: ", &process.end)] {
        let Mark { at_ns, name } = expected;
        let shown = mark(prefix).unwrap_or_else(|| panic!("{what}: no mark {prefix:?}"));
        assert_eq!(&shown.name, name, "{what}");
        assert!(
            is_near(*at_ns as i64, shown.start_ns, output, view),
            "{what}: {shown:?} is not at {at_ns}"
        );
    }
    match (mark("losses: "), &process.losses[..]) {
        (None, []) => {}
        (Some(mark), [_, ..]) => {
            let mut rest = &*mark.name;
            for loss in &process.losses {
                let found = rest.split_once(loss);
                let (_, after) =
                    found.unwrap_or_else(|| panic!("{what}: {loss:?} is not in {mark:?}"));
                rest = after;
            }
        }
        (mark, losses) => panic!("{what}: found {mark:?}, expected {losses:?}"),
    }
}

//! Every case of the table in every output, as the real viewers read it: each region there once, on the track of its lane, by its name,
//! to the nanosecond, with all that was recorded of it; what is missing said on the timeline; and no complaint of the viewer's.

mod case;
mod output;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use hrx_trace_tests::viewers::{
    CatapultSlice, CatapultTrace, SpeedscopeTrace, Tools, TpSlice, TpTrace,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use case::{Case, Mark};
use output::{JSON, OUTPUTS, Output};

const REGION: &str = "hrx.host-observed";
const CAPTURE: &str = "hrx.capture.host-observed";
const CAPTURE_TRACK: &str = "capture (host-observed)";
const LAST_MOMENT: &str = "unfinished at the last known moment (host-observed)";

/// A slice, whoever shows it.
#[derive(Clone, Debug)]
struct Shown {
    /// Unique in the trace.
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
}

impl From<&TpSlice> for Shown {
    fn from(slice: &TpSlice) -> Self {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        Self {
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
        }
    }
}

impl From<&CatapultSlice> for Shown {
    fn from(slice: &CatapultSlice) -> Self {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        Self {
            track: slice.tid,
            track_name: text(&slice.thread),
            pid: slice.pid,
            process_name: text(&slice.process),
            category: slice.category.clone(),
            name: slice.title.clone(),
            start_ns: slice.start_ns,
            duration_ns: (!slice.unfinished).then_some(slice.duration_ns),
            args: slice.args.clone(),
        }
    }
}

/// What a viewer makes of what it reads.
struct View {
    /// How far off a time may be, beyond what the output itself loses.
    tolerance_ns: fn(u64) -> u64,
    /// How it shows a name.
    name: fn(&str) -> String,
}

/// The trace processor takes the escapes of JSON for text, unless a quote is among them.
const PERFETTO_OF_JSON: View = View {
    tolerance_ns: |_| 0,
    name: |name| {
        if name.contains('"') {
            return name.to_owned();
        }
        let quoted = json!(name).to_string();
        quoted[1..quoted.len() - 1].to_owned()
    },
};

const PERFETTO: View = View {
    tolerance_ns: |_| 0,
    name: str::to_owned,
};

/// Catapult computes in milliseconds, as doubles.
const CATAPULT: View = View {
    tolerance_ns: |time_ns| time_ns >> 50,
    name: str::to_owned,
};

/// Everything that distinguishes a region but its times, which may be rounded; and these.
type Row<'a> = (Key<'a>, (i64, Option<i64>));
type Key<'a> = (String, String, BTreeMap<&'a str, Value>);

/// The regions that a viewer shows are those of the case, the marks too, and every lane has tracks of its own.
fn assert_shows(case: &Case, output: &Output, view: &View, slices: &[Shown]) {
    let what = format!("{}, {}", case.name, output.name);
    let pid = i64::from(case.capture.identity.process_id);
    for slice in slices {
        assert_eq!(slice.pid, pid, "{what}: {slice:?}");
        assert_eq!(slice.process_name, "pipeline (host-observed)", "{what}");
    }

    let expected = case.regions(output.shown_ns_max);
    let expected_rows = expected.iter().map(|region| -> Row {
        let args = region.args.iter();
        let args = args.filter(|(name, _)| !output.absent.contains(name));
        let args = args.map(|(name, arg)| (*name, output.value(arg)));
        let times = (
            region.start_ns as i64,
            region.duration_ns.map(|ns| ns as i64),
        );
        (
            (
                region.lane_name(),
                (view.name)(&region.name),
                args.collect(),
            ),
            times,
        )
    });
    let shown = slices.iter().filter(|slice| slice.category == REGION);
    let shown_rows = shown.clone().map(|slice| -> Row {
        let args = slice.args.iter();
        let args = args.map(|(name, value)| (&**name, value.clone()));
        (
            (
                lane_of(&slice.track_name).to_owned(),
                slice.name.clone(),
                args.collect(),
            ),
            (slice.start_ns, slice.duration_ns),
        )
    });
    let expected_rows = sorted(expected_rows);
    let shown_rows = sorted(shown_rows);
    let expected_keys: BTreeSet<_> = expected_rows.iter().map(|row| text(&row.0)).collect();
    let shown_keys: BTreeSet<_> = shown_rows.iter().map(|row| text(&row.0)).collect();
    let missing: Vec<_> = expected_keys.difference(&shown_keys).take(5).collect();
    let more: Vec<_> = shown_keys.difference(&expected_keys).take(5).collect();
    assert!(
        missing.is_empty() && more.is_empty() && shown_rows.len() == expected_rows.len(),
        "{what}: {} regions shown of {}; not shown: {missing:#?}; not recorded: {more:#?}",
        shown_rows.len(),
        expected_rows.len(),
    );
    for (expected, shown) in expected_rows.iter().zip(&shown_rows) {
        let near = |expected: i64, shown: i64| {
            let expected_ns = expected.unsigned_abs();
            let most = (output.tolerance_ns)(expected_ns) + (view.tolerance_ns)(expected_ns);
            expected.abs_diff(shown) <= most
        };
        let (start_ns, duration_ns) = expected.1;
        let same = near(start_ns, shown.1.0)
            && match (duration_ns, shown.1.1) {
                (Some(expected), Some(shown)) => near(expected, shown),
                (expected, shown) => expected == shown,
            };
        assert!(same, "{what}: {expected:?} is shown as {shown:?}");
    }

    // Two lanes never share a track, nor two tracks a name.
    let mut names = BTreeMap::new();
    for slice in slices {
        let name = names.entry(slice.track).or_insert(&slice.track_name);
        assert_eq!(*name, &slice.track_name, "{what}");
    }
    let distinct: BTreeSet<_> = names.values().collect();
    assert_eq!(distinct.len(), names.len(), "{what}: {names:?}");

    let marks: Vec<_> = slices
        .iter()
        .filter(|slice| slice.category == CAPTURE)
        .collect();
    assert_eq!(
        marks.len() + shown.clone().count(),
        slices.len(),
        "{what}: slices of other categories"
    );
    assert_marks(case, &what, output, &marks, view);

    // Each track with something unfinished reaches to the last moment.
    let unfinished: BTreeSet<_> = shown
        .filter(|slice| slice.duration_ns.is_none())
        .map(|slice| slice.track)
        .collect();
    let reaching: Vec<_> = marks
        .iter()
        .filter(|mark| mark.name == LAST_MOMENT)
        .map(|mark| mark.track)
        .collect();
    assert_eq!(
        reaching.len(),
        unfinished.len(),
        "{what}: once on each track"
    );
    assert_eq!(BTreeSet::from_iter(reaching), unfinished, "{what}");
}

/// Where the capture begins and ends, and what is missing of it.
fn assert_marks(case: &Case, what: &str, output: &Output, marks: &[&Shown], view: &View) {
    let of_capture: Vec<_> = marks
        .iter()
        .filter(|mark| mark.track_name == CAPTURE_TRACK)
        .collect();
    let mark = |prefix: &str| {
        let mut marks = of_capture
            .iter()
            .filter(|mark| mark.name.starts_with(prefix));
        let mark = marks.next();
        assert!(marks.next().is_none(), "{what}: two marks {prefix}");
        mark
    };
    let (begin, end) = case.marks();
    for (prefix, expected) in [("begin: ", &begin), ("end: ", &end)] {
        let Mark { at_ns, name } = expected;
        let shown = mark(prefix).unwrap_or_else(|| panic!("{what}: no mark {prefix}"));
        assert_eq!(&shown.name, name, "{what}");
        let at_ns = (*at_ns).min(output.shown_ns_max);
        let most = (output.tolerance_ns)(at_ns) + (view.tolerance_ns)(at_ns);
        assert!(
            shown.start_ns.abs_diff(at_ns as i64) <= most,
            "{what}: {shown:?} is not at {at_ns}"
        );
    }
    match (mark("losses: "), &case.losses[..]) {
        (None, []) => {}
        (Some(mark), [_, ..]) => {
            let mut rest = &*mark.name;
            for loss in &case.losses {
                let found = rest.split_once(loss);
                rest = found
                    .unwrap_or_else(|| panic!("{what}: {loss:?} is not in {mark:?}"))
                    .1;
            }
        }
        (mark, losses) => panic!("{what}: {mark:?} says of {losses:?}"),
    }
}

fn sorted<'a>(rows: impl Iterator<Item = Row<'a>>) -> Vec<Row<'a>> {
    let mut rows: Vec<_> = rows.collect();
    rows.sort_by_cached_key(|row| (text(&row.0), row.1));
    rows
}

fn text(key: &Key) -> String {
    format!("{} {:?} {:?}", key.0, key.1, key.2)
}

/// "compute (2)" is a track of lane "compute".
fn lane_of(track_name: &str) -> &str {
    let sub_lane = track_name
        .strip_suffix(')')
        .and_then(|rest| rest.rsplit_once(" ("));
    match sub_lane {
        Some((lane, number)) if number.parse::<u32>().is_ok_and(|number| number >= 2) => lane,
        _ => track_name,
    }
}

fn assert_trace_processor(case: &Case, output: &Output, trace: &TpTrace) {
    assert_eq!(trace.faults(), [""; 0], "{}, {}", case.name, output.name);
    let relative = |slice: &TpSlice| {
        let shown = Shown::from(slice);
        let start_ns = shown.start_ns - output.epoch_ns;
        Shown { start_ns, ..shown }
    };
    let slices: Vec<_> = trace.slices.iter().map(relative).collect();
    let view = if output.extension.starts_with("json") {
        PERFETTO_OF_JSON
    } else {
        PERFETTO
    };
    assert_shows(case, output, &view, &slices);
}

/// The cases converted to one output.
struct Converted {
    /// Removed with this.
    _folder: TempDir,
    files: Vec<PathBuf>,
}

fn convert(cases: &[Case], outputs: &[Output]) -> Converted {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let captures: Vec<_> = cases
        .iter()
        .map(|case| {
            let name = format!("{}.hrxt", case.name);
            case.capture.write(folder.path(), &name)
        })
        .collect();
    let files = outputs
        .iter()
        .flat_map(|output| captures.iter().map(|capture| output.convert(capture)));
    Converted {
        files: files.collect(),
        _folder: folder,
    }
}

/// One start of the engine for all of them.
fn assert_in_trace_processor(cases: &[Case], outputs: &[Output]) {
    let Some(tools) = Tools::trace_processor() else {
        return;
    };
    let converted = convert(cases, outputs);
    let traces = tools.trace_processors(&converted.files);
    for (output, traces) in outputs.iter().zip(traces.chunks(cases.len())) {
        for (case, trace) in cases.iter().zip(traces) {
            assert_trace_processor(case, output, trace);
        }
    }
}

#[test]
fn every_case_in_the_trace_processor() {
    assert_in_trace_processor(&table::cases(), OUTPUTS);
}

#[test]
fn storms_in_the_trace_processor() {
    let seed = match std::env::var("HRX_STORM_SEED") {
        Ok(seed) => seed.parse().expect("HRX_STORM_SEED is a number"),
        Err(_) => std::process::id().into(),
    };
    eprintln!("HRX_STORM_SEED={seed} makes the same storms again");
    let storms = [
        table::storm("storm-of-ties", seed, 2_000, 100),
        table::storm("storm-of-overlaps", seed + 1, 10_000_000, 1_000_000),
        table::storm("storm-of-days", seed + 2, (1 << 43) * 900, 1 << 40),
    ];
    assert_in_trace_processor(&storms, OUTPUTS);
}

#[test]
fn every_case_in_catapult() {
    let Some(tools) = Tools::browser() else {
        return;
    };
    let cases = table::cases();
    let converted = convert(&cases, &[JSON]);
    for (case, trace) in cases.iter().zip(tools.catapult(&converted.files)) {
        assert_catapult(case, &trace);
    }
}

fn assert_catapult(case: &Case, trace: &CatapultTrace) {
    assert_eq!(trace.faults(), [""; 0], "{}", case.name);
    assert_eq!(trace.time_unit, "ns", "{}", case.name);
    let slices: Vec<_> = trace.slices.iter().map(Shown::from).collect();
    assert_shows(case, &JSON, &CATAPULT, &slices);
}

#[test]
fn main_cases_in_speedscope() {
    let Some(tools) = Tools::browser() else {
        return;
    };
    const MAIN: [&str; 8] = [
        "process-one-on-five-lanes",
        "three-deep",
        "partly-nested",
        "labels",
        "failed-regions",
        "open-at-death",
        "empty",
        "losses-of-every-kind",
    ];
    let mut cases = table::cases();
    cases.retain(|case| MAIN.contains(&&*case.name));
    assert_eq!(cases.len(), MAIN.len());
    let converted = convert(&cases, &[JSON]);
    for (case, trace) in cases.iter().zip(tools.speedscope(&converted.files)) {
        assert_speedscope(case, &trace);
    }
}

/// It shows names with their arguments, times relative to a track's first slice, and nothing without a duration.
fn assert_speedscope(case: &Case, trace: &SpeedscopeTrace) {
    let what = &case.name;
    if case.regions(u64::MAX).is_empty() {
        return;
    }
    assert_eq!(trace.error, None, "{what}");
    let (_, last_ns) = case.span_ns();
    let mut expected: Vec<_> = case
        .regions(u64::MAX)
        .into_iter()
        .map(|region| {
            let running_ns = last_ns - region.start_ns;
            let duration_ns = region.duration_ns.unwrap_or(running_ns);
            (region.lane_name(), region.name, duration_ns)
        })
        .filter(|(_, _, duration_ns)| *duration_ns > 0)
        .collect();
    expected.sort();
    let mut shown = Vec::new();
    for profile in &trace.profiles {
        let track = profile
            .name
            .split_once("), ")
            .expect("process and thread")
            .1;
        let track = track.rsplit_once(" (tid ").expect("a tid").0;
        assert_eq!(profile.unit, "microseconds", "{what}");
        let mut open: Vec<(&str, f64)> = Vec::new();
        for event in &profile.events {
            if event.kind == "O" {
                open.push((&event.name, event.at));
                continue;
            }
            let (name, at) = open.pop().expect("closed after it was opened");
            assert_eq!(name, event.name, "{what}: properly nested");
            let name = name.rsplit_once(" {\"").expect("arguments").0;
            let duration_ns = ((event.at - at) * 1e3).round() as u64;
            shown.push((lane_of(track).to_owned(), name.to_owned(), duration_ns));
        }
        assert!(open.is_empty(), "{what}: {open:?} never close");
    }
    shown.sort();
    assert_eq!(shown, expected, "{what}");
}

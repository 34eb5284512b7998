//! Every case of the table in every output, as the real viewers read it: each region is there once, on the track of its lane, under its name, exact to
//! the nanosecond and with everything recorded about it; the timeline says what is missing; and the viewer has no complaint.

mod case;
mod output;
mod shown;
mod table;

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Command;

use hrx_trace_reader::Trace;
use hrx_trace_tests::programs::PROGRAMS;
use hrx_trace_tests::seeds;
use hrx_trace_tests::viewers::{CatapultTrace, SpeedscopeTrace, Tools, TpTrace};
use tempfile::TempDir;

use case::{Arg, Case, Expected};
use output::{FOLLOWED, JSON, JSON_OUTPUTS, OUTPUTS, Output};
use shown::{CATAPULT, PERFETTO, PERFETTO_OF_JSON, View, lane_of};

/// Converted files, and what viewers must show of them.
struct Converted {
    /// Holds the files. Removed on drop.
    _folder: TempDir,
    files: Vec<PathBuf>,
    /// For each file: its output, and what is expected of the captures in it.
    contents: Vec<(&'static Output, Vec<Expected>)>,
}

/// Converts every case to every output, several cases in one file where the output says so.
fn convert(cases: &[Case], outputs: &'static [Output]) -> Converted {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (mut files, mut contents) = (Vec::new(), Vec::new());
    for output in outputs {
        let captures = folder.path().join(output.name);
        fs::create_dir(&captures).expect("a new folder");
        for cases in cases.chunks(output.together) {
            let (captures, expected) = output.lay_down(cases, &captures);
            files.push(output.convert(&captures));
            contents.push((output, expected));
        }
    }
    Converted {
        _folder: folder,
        files,
        contents,
    }
}

impl Converted {
    /// Starts the engine once for all files.
    fn assert_in_trace_processor(&self, tools: &Tools) {
        let traces = tools.trace_processors(&self.files);
        for ((output, expected), trace) in self.contents.iter().zip(traces) {
            assert_trace_processor(expected, output, &trace);
        }
    }
}

fn assert_trace_processor(expected: &[Expected], output: &Output, trace: &TpTrace) {
    assert_eq!(trace.faults(), [""; 0], "{}", output.what(expected));
    let slices = shown::of_trace_processor(&trace.slices);
    shown::assert_shows(expected, output, &view_of(output), &slices);
}

fn view_of(output: &Output) -> View {
    match output.extension {
        "pftrace" | "pftrace.gz" => PERFETTO,
        _ => PERFETTO_OF_JSON,
    }
}

fn assert_catapult(expected: &[Expected], output: &Output, trace: &CatapultTrace) {
    assert_eq!(trace.faults(), [""; 0], "{}", output.what(expected));
    assert_eq!(trace.time_unit, "ns");
    let slices = shown::of_catapult(&trace.slices);
    shown::assert_shows(expected, output, &CATAPULT, &slices);
}

/// Speedscope shows names with arguments, times relative to a track's first slice, and no slice of duration 0.
fn assert_speedscope(expected: &Expected, trace: &SpeedscopeTrace) {
    let what = &expected.what;
    assert_eq!(trace.error, None, "{what}");
    let mut expected: Vec<_> = expected
        .regions
        .iter()
        .map(|region| {
            let duration_ns = match (region.duration_ns, region.args.get("running_ns")) {
                (Some(duration_ns), _) => duration_ns,
                (None, Some(Arg::Integer(running_ns))) => *running_ns,
                (None, arg) => panic!("{arg:?}"),
            };
            (region.lane_name(), region.name.clone(), duration_ns)
        })
        .filter(|(_, _, duration_ns)| *duration_ns > 0)
        .collect();
    expected.sort();
    let mut shown = Vec::new();
    for profile in &trace.profiles {
        let (_, track) = profile.name.split_once("), ").expect("a process");
        let (track, _) = track.rsplit_once(" (tid ").expect("a tid");
        assert_eq!(profile.unit, "microseconds", "{what}");
        let mut open: Vec<(&str, f64)> = Vec::new();
        for event in &profile.events {
            if event.kind == "O" {
                open.push((&event.name, event.at));
                continue;
            }
            let (name, at) = open.pop().expect("a frame closes after it opens");
            assert_eq!(name, event.name, "{what}: frames are not nested");
            let (name, _) = name.rsplit_once(" {\"").expect("arguments");
            let duration_ns = ((event.at - at) * 1e3).round() as u64;
            shown.push((lane_of(track).to_owned(), name.to_owned(), duration_ns));
        }
        assert!(open.is_empty(), "{what}: {open:?} never close");
    }
    shown.sort();
    assert_eq!(shown, expected, "{what}");
}

#[test]
fn the_trace_processor_shows_every_case() {
    let Some(tools) = Tools::trace_processor() else {
        return;
    };
    convert(&table::cases(), OUTPUTS).assert_in_trace_processor(&tools);
}

#[test]
fn the_trace_processor_shows_random_captures() {
    let Some(tools) = Tools::trace_processor() else {
        return;
    };
    let seed = seeds::seed("the_trace_processor_shows_random_captures");
    let storms = [
        table::storm("storm-of-ties", seed, 2_000, 100),
        table::storm(
            "storm-of-overlaps",
            seed.wrapping_add(1),
            10_000_000,
            1_000_000,
        ),
        table::storm(
            "storm-of-days",
            seed.wrapping_add(2),
            (1 << 43) * 900,
            1 << 40,
        ),
    ];
    convert(&storms, OUTPUTS).assert_in_trace_processor(&tools);
}

/// A followed output can be opened while it grows: wherever it is cut, it loads and shows nothing wrong.
#[test]
fn the_trace_processor_opens_followed_outputs_wherever_they_are_cut() {
    const CASES: [&str; 4] = ["hundred-deep", "labels", "open-at-death", "several-rings"];
    const CUTS: u64 = 12;
    let Some(tools) = Tools::trace_processor() else {
        return;
    };
    let mut cases = table::cases();
    cases.retain(|case| CASES.contains(&&*case.name));
    assert_eq!(cases.len(), CASES.len());
    let seed = seeds::seed("the_trace_processor_opens_followed_outputs_wherever_they_are_cut");
    let mut random = table::Random(seed);
    let mut converted = convert(&cases, FOLLOWED);
    let files = converted.files.iter().map(|file| {
        let whole = fs::read(file).expect("the output");
        let cut = |_| {
            let bytes = random.below(whole.len() as u64 - 1) + 1;
            let cut = file.with_extension(format!("cut-at-{bytes}"));
            fs::write(&cut, &whole[..bytes as usize]).expect("a new file");
            cut
        };
        Vec::from_iter((0..CUTS).map(cut))
    });
    converted.files = files.flatten().collect();
    let traces = tools.trace_processors(&converted.files);
    let files = converted.files.iter().zip(&traces);
    for (index, (file, trace)) in files.enumerate() {
        let (output, expected) = &converted.contents[index / CUTS as usize];
        assert_eq!(trace.faults(), [""; 0], "{}", file.display());
        let slices = shown::of_trace_processor(&trace.slices);
        shown::assert_shows_a_part(&expected[0], output, &view_of(output), &slices);
    }
    let shown = traces.iter().map(|trace| trace.slices.len()).sum::<usize>();
    assert!(shown > 1_000, "{shown} slices");
}

/// The whole path: a real program is killed, and Perfetto shows what a reader finds in its capture.
#[test]
fn the_trace_processor_shows_the_killed_pipeline() {
    let Some(tools) = Tools::trace_processor() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let capture = folder.path().join("pipeline.hrxt");
    let killed = Command::new(&PROGRAMS.pipeline)
        .args(["--kill-after", "200", "--capacity", "500", "--out"])
        .arg(&capture)
        .output()
        .expect("the pipeline starts");
    assert_eq!(killed.status.signal(), Some(9), "{killed:?}");
    let trace = Trace::open(&capture).expect("a trace");
    let contents = OUTPUTS.iter().map(|output| {
        let timeline = output.timeline(trace.identity(), 0);
        (output, vec![Expected::of(&trace, timeline)])
    });
    let converted = Converted {
        files: Vec::from_iter(
            OUTPUTS
                .iter()
                .map(|output| output.convert(std::slice::from_ref(&capture))),
        ),
        contents: contents.collect(),
        _folder: folder,
    };
    let (_, expected) = &converted.contents[0];
    let durations = expected[0].regions.iter().map(|region| region.duration_ns);
    let completed = durations.clone().flatten().count();
    // Each of the five threads may have been inside `record`.
    assert!((495..=500).contains(&completed), "{completed}");
    assert!(durations.count() > completed, "no region is unfinished");
    converted.assert_in_trace_processor(&tools);
}

#[test]
fn catapult_shows_every_case() {
    let Some(tools) = Tools::browser() else {
        return;
    };
    let converted = convert(&table::cases(), JSON_OUTPUTS);
    let traces = tools.catapult(&converted.files);
    for ((output, expected), trace) in converted.contents.iter().zip(traces) {
        assert_catapult(expected, output, &trace);
    }
}

#[test]
fn speedscope_shows_the_main_cases() {
    let Some(tools) = Tools::browser() else {
        return;
    };
    const MAIN: [&str; 7] = [
        "process-one-on-five-lanes",
        "three-deep",
        "partly-nested",
        "labels",
        "failed-regions",
        "open-at-death",
        "losses-of-every-kind",
    ];
    let mut cases = table::cases();
    cases.retain(|case| MAIN.contains(&&*case.name));
    assert_eq!(cases.len(), MAIN.len());
    let converted = convert(&cases, &[JSON]);
    let traces = tools.speedscope(&converted.files);
    for ((_, expected), trace) in converted.contents.iter().zip(traces) {
        assert_speedscope(&expected[0], &trace);
    }
}

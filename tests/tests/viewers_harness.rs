//! The viewer harness can fail: it reports each known rule of a viewer when a file breaks it, and returns a file that
//! keeps them all as it was written.
//!
//! Each table takes one start of the viewer. A case is a file's events and what the viewer must make of them.

use std::fs;
use std::path::PathBuf;

use hrx_trace_tests::viewers::{CatapultTrace, SpeedscopeTrace, Tools, TpSlice, TpTrace};
use serde_json::json;
use tempfile::TempDir;

/// Keeps every rule: two lanes, args of each kind, a nested and a touching slice, an instant, a counter, a flow, an
/// unfinished slice, and a start after 26 days (2^51 - 1 ns, the last that is always exact).
const GOOD: &str = r#"{"displayTimeUnit":"ns","traceEvents":[
    {"ph":"M","pid":1,"name":"process_name","args":{"name":"pipeline"}},
    {"ph":"M","pid":1,"tid":2,"name":"thread_name","args":{"name":"compute"}},
    {"ph":"M","pid":1,"tid":3,"name":"thread_name","args":{"name":"download"}},
    {"ph":"X","pid":1,"tid":2,"ts":1.001,"dur":10.000,"name":"outer \"ü😀","cat":"hrx.host",
        "args":{"copied_bytes":9223372036854775807,"failed":true,"text":"18446744073709551615","ratio":0.5}},
    {"ph":"X","pid":1,"tid":2,"ts":1.001,"dur":0.001,"name":"inner"},
    {"ph":"X","pid":1,"tid":2,"ts":11.001,"dur":0.001,"name":"touching"},
    {"ph":"X","pid":1,"tid":3,"ts":2251799813685.247,"dur":0.001,"name":"late"},
    {"ph":"i","pid":1,"ts":5,"name":"marker","s":"p"},
    {"ph":"C","pid":1,"ts":5,"name":"copy rate","args":{"GB/s":1.5}},
    {"ph":"s","pid":1,"tid":2,"ts":1.001,"name":"flow","cat":"hrx","id":7},
    {"ph":"f","bp":"e","pid":1,"tid":2,"ts":11.001,"name":"flow","cat":"hrx","id":7},
    {"ph":"B","pid":1,"tid":2,"ts":20,"name":"open"}]}"#;

/// A file for each case, in a folder that lives as long as the first of the pair.
fn write_cases<'a>(contents: impl IntoIterator<Item = &'a str>) -> (TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |(index, text): (usize, &str)| {
        let path = folder.path().join(format!("case-{index}.json"));
        fs::write(&path, text).expect("the case is written");
        path
    };
    let files = contents.into_iter().enumerate().map(write).collect();
    (folder, files)
}

fn slice<'a>(trace: &'a TpTrace, name: &str) -> &'a TpSlice {
    trace
        .slices
        .iter()
        .find(|slice| slice.name.as_deref() == Some(name))
        .unwrap_or_else(|| panic!("no slice {name:?}"))
}

#[test]
fn trace_processor_returns_a_good_file_as_it_was_written() {
    let Some(tools) = Tools::trace_processor() else {
        return;
    };
    let (_folder, files) = write_cases([GOOD]);
    let traces = tools.trace_processors(&files);
    let trace = &traces[0];
    assert_eq!(trace.faults(), [""; 0]);
    let rows: Vec<_> = trace
        .slices
        .iter()
        .map(|slice| {
            (
                slice.ts_ns,
                slice.dur_ns,
                slice.tid,
                slice.depth,
                slice.name.as_deref().unwrap_or_default(),
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            (1_001, 10_000, Some(2), 0, "outer \"ü😀"),
            (1_001, 1, Some(2), 1, "inner"),
            (5_000, 0, None, 0, "marker"),
            (11_001, 1, Some(2), 0, "touching"),
            (20_000, -1, Some(2), 0, "open"),
            (2_251_799_813_685_247, 1, Some(3), 0, "late"),
        ]
    );
    let outer = slice(trace, "outer \"ü😀");
    assert_eq!(
        (outer.pid, outer.process_name.as_deref()),
        (Some(1), Some("pipeline"))
    );
    assert_eq!(
        (outer.thread_name.as_deref(), outer.category.as_deref()),
        (Some("compute"), Some("hrx.host"))
    );
    assert_eq!(
        json!(outer.args),
        json!({"copied_bytes": i64::MAX, "failed": true, "text": "18446744073709551615", "ratio": 0.5})
    );
    assert_eq!(slice(trace, "inner").parent_id, Some(outer.id));
    assert_eq!(slice(trace, "marker").pid, Some(1));
    let [flow] = &trace.flows[..] else {
        panic!("expected one flow: {:?}", trace.flows)
    };
    // It starts at the innermost slice at its time.
    assert_eq!(
        (flow.slice_out, flow.slice_in),
        (slice(trace, "inner").id, slice(trace, "touching").id)
    );
    let [counter] = &trace.counters[..] else {
        panic!("expected one sample: {:?}", trace.counters)
    };
    assert_eq!(
        (counter.ts_ns, counter.value, counter.name.as_deref()),
        (5_000, 1.5, Some("copy rate GB/s"))
    );
}

#[test]
fn trace_processor_shows_each_broken_rule() {
    let Some(tools) = Tools::trace_processor() else {
        return;
    };
    // The file, the complaint that the engine must make, and how many of the slices remain.
    let cases = [
        (
            "slices that overlap on one tid",
            r#"[{"ph":"X","pid":7,"tid":2,"ts":0,"dur":10,"name":"a"},{"ph":"X","pid":7,"tid":2,"ts":5,"dur":10,"name":"b"}]"#,
            "slice_drop_overlapping_complete_event = 1",
            1,
        ),
        (
            "tid 0 in process 1, which becomes tid 1",
            r#"[{"ph":"X","pid":1,"tid":0,"ts":0,"dur":10,"name":"a"},{"ph":"X","pid":1,"tid":1,"ts":5,"dur":10,"name":"b"}]"#,
            "slice_drop_overlapping_complete_event = 1",
            1,
        ),
        (
            "a negative start",
            r#"[{"ph":"X","pid":7,"tid":2,"ts":-1,"dur":10,"name":"a"}]"#,
            "trace_sorter_negative_timestamp_dropped = 1",
            0,
        ),
        (
            "no duration",
            r#"[{"ph":"X","pid":7,"tid":2,"ts":1,"name":"a"}]"#,
            "json_parser_failure = 1",
            0,
        ),
        (
            "not a number",
            r#"[{"ph":"X","pid":7,"tid":2,"ts":NaN,"dur":1,"name":"a"}]"#,
            "Invalid number",
            0,
        ),
        ("a byte order mark", "\u{feff}[]", "Unknown trace type", 0),
        (
            "an object cut short",
            r#"{"traceEvents":[{"ph":"X","pid":7,"tid":2,"ts":1,"dur":1,"name":"a"}"#,
            "incomplete",
            0,
        ),
    ];
    let (_folder, files) = write_cases(cases.map(|case| case.1).into_iter().chain([GOOD]));
    let traces = tools.trace_processors(&files);
    for (trace, (rule, _, complaint, slices)) in traces.iter().zip(cases) {
        let faults = trace.faults();
        assert!(
            faults.iter().any(|fault| fault.contains(complaint)),
            "{rule}: {faults:?}"
        );
        assert_eq!(trace.slices.len(), slices, "{rule}");
    }
    let after = traces.last().expect("the good file");
    assert_eq!(
        after.faults(),
        [""; 0],
        "a refused file spoiled the next one"
    );
    assert_eq!(after.slices.len(), 6);
}

#[test]
fn trace_processor_silently_changes_values_that_break_a_rule() {
    let Some(tools) = Tools::trace_processor() else {
        return;
    };
    let (_folder, files) = write_cases([
        r#"[{"ph":"X","pid":7,"tid":4294967297,"ts":0,"dur":1,"name":"a","args":{"big":18446744073709551615}}]"#,
        r#"[{"ph":"X","pid":7,"tid":2,"ts":1796000000000000.001,"dur":1,"name":"a"}]"#,
    ]);
    let traces = tools.trace_processors(&files);
    assert_eq!((traces[0].faults(), traces[1].faults()), (vec![], vec![]));
    let slice = &traces[0].slices[0];
    assert_ne!(slice.args["big"], json!(u64::MAX), "an integer above i64");
    assert_ne!(slice.tid, Some(4_294_967_297), "a tid above u32");
    assert_ne!(
        traces[1].slices[0].ts_ns, 1_796_000_000_000_000_001,
        "a time since 1970"
    );
}

#[test]
fn trace_processor_answers_other_queries() {
    let Some(tools) = Tools::trace_processor() else {
        return;
    };
    let (_folder, files) = write_cases([GOOD]);
    let answers = tools.query(
        &files,
        &["select max(ts) as last, 0.0 as zero, null as absent from slice"],
    );
    assert_eq!(
        json!(answers[0]),
        json!({"Ok": [[{"last": 2_251_799_813_685_247_i64, "zero": 0.0, "absent": null}]]})
    );
}

/// Two lanes of native tracks under process 1; the second ends after 36 years.
const WRITE_PFTRACE: &str = r#"
import sys
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace
trace = Trace()
def packet():
    packet = trace.packet.add()
    packet.trusted_packet_sequence_id = 1
    return packet
def event(timestamp, track, kind, name=None):
    it = packet()
    it.timestamp, it.track_event.track_uuid, it.track_event.type = timestamp, track, kind
    if name:
        it.track_event.name = name
        it.track_event.debug_annotations.add(name="copied_bytes", int_value=2**63 - 1)
process = packet().track_descriptor
process.uuid, process.process.pid, process.process.process_name = 1, 1, "pipeline"
for uuid, name in (2, "compute"), (3, "compute (2)"):
    track = packet().track_descriptor
    track.uuid, track.parent_uuid, track.name = uuid, 1, name
BEGIN, END = 1, 2
event(100, 2, BEGIN, "a"); event(150, 3, BEGIN, "b"); event(200, 2, END); event(2**60 + 1, 3, END)
open(sys.argv[1], "wb").write(trace.SerializeToString())
"#;

#[test]
fn trace_processor_reads_native_tracks_that_python_wrote() {
    let (Some(tools), Some(_)) = (Tools::trace_processor(), Tools::python()) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("native.pftrace");
    let status = tools
        .python_command()
        .args(["-c", WRITE_PFTRACE])
        .arg(&file)
        .status();
    assert!(status.expect("python3 starts").success());
    let traces = tools.trace_processors(&[file]);
    assert_eq!(traces[0].faults(), [""; 0]);
    let rows: Vec<_> = traces[0]
        .slices
        .iter()
        .map(|slice| {
            (
                slice.ts_ns,
                slice.dur_ns,
                slice.track_name.as_deref(),
                slice.pid,
                &slice.args["copied_bytes"],
            )
        })
        .collect();
    let most = json!(i64::MAX);
    assert_eq!(
        rows,
        [
            (100, 100, Some("compute"), Some(1), &most),
            (150, (1 << 60) - 149, Some("compute (2)"), Some(1), &most),
        ]
    );
}

#[test]
fn catapult_returns_a_good_file_as_it_was_written_and_shows_each_broken_rule() {
    let Some(tools) = Tools::browser() else {
        return;
    };
    let broken = [
        (
            "a control character in a name",
            "[{\"ph\":\"X\",\"pid\":7,\"tid\":2,\"ts\":1,\"dur\":1,\"name\":\"a\u{1}b\"}]",
        ),
        ("no name", r#"[{"ph":"X","pid":7,"tid":2,"ts":1,"dur":1}]"#),
        (
            "an unknown colour",
            r#"[{"ph":"X","pid":7,"tid":2,"ts":1,"dur":1,"name":"a","cname":"no such colour"}]"#,
        ),
        (
            "an unknown time unit",
            r#"{"displayTimeUnit":"us","traceEvents":[]}"#,
        ),
        (
            "an unknown phase",
            r#"[{"ph":"?","pid":7,"tid":2,"ts":1,"dur":1,"name":"a"}]"#,
        ),
        (
            "an object cut short",
            r#"{"traceEvents":[{"ph":"X","pid":7,"tid":2,"ts":1,"dur":1,"name":"a"}"#,
        ),
    ];
    let coarse = GOOD.replace(r#""displayTimeUnit":"ns""#, r#""displayTimeUnit":"ms""#);
    let (_folder, files) =
        write_cases(broken.map(|case| case.1).into_iter().chain([GOOD, &coarse]));
    let traces = tools.catapult(&files);
    for (trace, (rule, _)) in traces.iter().zip(broken) {
        assert!(!trace.faults().is_empty(), "{rule}");
    }

    let [.., trace, coarse] = &traces[..] else {
        panic!("expected the good files' traces first")
    };
    assert_eq!(trace.faults(), [""; 0]);
    assert_eq!(trace.time_unit, "ns");
    let rows: Vec<_> = trace
        .slices
        .iter()
        .map(|slice| {
            (
                slice.start_ns,
                slice.duration_ns,
                slice.tid,
                slice.depth,
                slice.unfinished,
                slice.title.as_str(),
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            (1_001, 10_000, 2, 0, false, "outer \"ü😀"),
            (1_001, 1, 2, 1, false, "inner"),
            (11_001, 1, 2, 0, false, "touching"),
            // Reaches to the last event of its thread, which it is itself.
            (20_000, 0, 2, 0, true, "open"),
            (2_251_799_813_685_247, 1, 3, 0, false, "late"),
        ]
    );
    let [outer, inner, ..] = &trace.slices[..] else {
        panic!("expected two slices or more")
    };
    assert_eq!(
        (inner.parent, inner.pid, inner.process.as_deref()),
        (Some(0), 1, Some("pipeline"))
    );
    assert_eq!(
        (outer.thread.as_deref(), outer.category.as_str()),
        (Some("compute"), "hrx.host")
    );
    assert_eq!(outer.args["failed"], json!(true));
    let [instant] = &trace.instants[..] else {
        panic!("expected one instant: {:?}", trace.instants)
    };
    assert_eq!(
        (
            instant.start_ns,
            instant.title.as_str(),
            instant.scope.as_str()
        ),
        (5_000, "marker", "process")
    );
    let [counter] = &trace.counters[..] else {
        panic!("expected one counter: {:?}", trace.counters)
    };
    assert_eq!(
        (counter.name.as_str(), counter.series.as_str(), counter.pid),
        ("copy rate", "GB/s", 1)
    );
    assert_eq!(
        (counter.samples[0].start_ns, counter.samples[0].value),
        (5_000, 1.5)
    );
    let [flow] = &trace.flows[..] else {
        panic!("expected one flow: {:?}", trace.flows)
    };
    assert_eq!(
        (flow.title.as_str(), flow.start_ns, flow.end_ns),
        ("flow", 1_001, 11_001)
    );

    let touching = |trace: &CatapultTrace| {
        trace
            .slices
            .iter()
            .find(|slice| slice.title == "touching")
            .map(|slice| slice.depth)
    };
    assert_eq!(touching(trace), Some(0));
    assert_eq!(coarse.time_unit, "ms");
    assert_ne!(
        touching(coarse),
        Some(0),
        "with milliseconds, catapult nests a slice that touches the one before"
    );
}

#[test]
fn speedscope_returns_a_good_file_as_it_was_written_and_shows_each_broken_rule() {
    let Some(tools) = Tools::browser() else {
        return;
    };
    let (_folder, files) = write_cases([
        GOOD,
        r#"{"traceEvents":[{"ph":"X","pid":7,"tid":2,"ts":1,"dur":1,"name":"a"}"#,
        r#"[{"ph":"X","pid":7,"tid":"two","ts":1,"dur":1,"name":"a"}]"#,
        r#"[{"ph":"X","pid":7,"tid":2,"ts":0,"dur":10,"name":"a"},{"ph":"X","pid":7,"tid":2,"ts":5,"dur":10,"name":"b"}]"#,
    ]);
    let traces = tools.speedscope(&files);
    let [good, cut, text_tid, overlap] = &traces[..] else {
        panic!("expected an answer for each file")
    };
    assert_eq!(good.error, None);
    let names: Vec<_> = good
        .profiles
        .iter()
        .map(|profile| (profile.name.as_str(), profile.unit.as_str()))
        .collect();
    assert_eq!(
        names,
        [
            ("pipeline (pid 1), compute (tid 2)", "microseconds"),
            ("pipeline (pid 1), download (tid 3)", "microseconds")
        ]
    );
    assert!(cut.error.is_some(), "an object cut short");
    assert!(text_tid.error.is_some(), "a tid that is text");
    assert_eq!(
        frames(overlap),
        [
            ("O", "a", 0.0),
            ("O", "b", 5.0),
            ("C", "b", 15.0),
            ("C", "a", 15.0)
        ],
        "a is not drawn out to the end of b"
    );
}

fn frames(trace: &SpeedscopeTrace) -> Vec<(&str, &str, f64)> {
    let events = trace.profiles.iter().flat_map(|profile| &profile.events);
    events
        .map(|event| (event.kind.as_str(), event.name.as_str(), event.at))
        .collect()
}

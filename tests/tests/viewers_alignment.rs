//! A trace of PyTorch's profiler beside one of ours, aligned by other people's code: Kineto's JSON and ours both say in `baseTimeNanoseconds` what
//! the wall clock showed at their zero. `VizTracer` merges by it.

use std::fs;
use std::process::Command;

use hrx_trace_tests::capture::{Capture, region};
use hrx_trace_tests::programs::PROGRAMS;
use hrx_trace_tests::viewers::Tools;
use serde_json::{Value, json};

/// Prints the profiler's document as it lies on the timeline of ours.
const ALIGN: &str = "
import json, sys
from viztracer.report_builder import get_json
ours = json.load(open(sys.argv[1]))
base = ours['baseTimeNanoseconds']
print(json.dumps(get_json((sys.argv[2], {'type': 'torch', 'base_offset': base}))))
";

#[test]
fn a_profilers_trace_is_aligned_by_the_wall_time_of_both_zeros() {
    let Some(tools) = Tools::python() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    // The origin of the timeline is the capture that began first, here the second.
    let mut late = Capture::new(2).attributes("rank=3\n");
    late.identity.epoch_monotonic_ns += 5_000_000;
    late.identity.epoch_realtime_ns += 5_000_000;
    late.record(region(1, 40_000, 7_000));
    let mut early = Capture::new(2).attributes("rank=3\n");
    early.record(region(0, 1_000, 500));
    let zero_ns = early.identity.epoch_realtime_ns;
    let files = [
        late.write(folder.path(), "late.hrxt"),
        early.write(folder.path(), "early.hrxt"),
    ];
    let ours = folder.path().join("ours.json");
    let converted = Command::new(&PROGRAMS.convert)
        .args(&files)
        .arg("-o")
        .arg(&ours)
        .status();
    assert!(converted.is_ok_and(|status| status.success()));

    // A kernel that ran while the late one's region did: from 5,042 µs after our zero, counted from a base three seconds before it.
    let base_ns = zero_ns - 3_000_000_000;
    let theirs = folder.path().join("theirs.json");
    let kineto = json!({
        "schemaVersion": 1,
        "deviceProperties": [],
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": base_ns,
        "traceName": "theirs.json",
        "traceEvents": [{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 3_005_042.0, "dur": 3.0}],
    });
    fs::write(&theirs, kineto.to_string()).expect("a file");
    let output = tools
        .python_command()
        .args(["-c", ALIGN])
        .args([&ours, &theirs])
        .output()
        .expect("Python starts");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    let aligned: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(aligned["traceEvents"][0]["ts"], 5_042.0);

    let text = fs::read_to_string(&ours).expect("the document");
    let document: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(document["baseTimeNanoseconds"], zero_ns);
    assert_eq!(document["distributedInfo"], json!({"rank": 3}));
    let events = document["traceEvents"].as_array().expect("events");
    let region = events
        .iter()
        .find(|event| event["ph"] == "X" && event["args"]["lane"] == 1)
        .expect("the late capture's region");
    assert_eq!(region["ts"], 5_040.0);
}

/// Analyses of many ranks want to know which one a file is of: one of several ranks is of none.
#[test]
fn a_file_says_a_rank_if_it_has_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let with = |name: &str, lines: &str| {
        let mut capture = Capture::new(1).attributes(lines);
        capture.record(region(0, 1, 1));
        capture.write(folder.path(), name)
    };
    let (of_3, of_4) = (
        with("3.hrxt", "node=a\nrank=3\n"),
        with("4.hrxt", "rank=4\n"),
    );
    let (of_none, of_text) = (with("none.hrxt", ""), with("text.hrxt", "rank=first\n"));
    for (captures, expected) in [
        (vec![&of_3], json!({"rank": 3})),
        (vec![&of_3, &of_4], Value::Null),
        (vec![&of_3, &of_none], Value::Null),
        (vec![&of_none], Value::Null),
        (vec![&of_text], Value::Null),
    ] {
        let output = Command::new(&PROGRAMS.convert)
            .args(&captures)
            .output()
            .expect("hrx-convert starts");
        let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(document["distributedInfo"], expected, "{captures:?}");
    }
}

//! Perfetto's own format, decoded with Perfetto's own Python package, joined with a trace of the same host's devices, and compared in size with the
//! JSON; and what both formats show besides regions. What viewers show of the regions is tested in `viewers_cases`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use hrx_trace_format::Record;
use hrx_trace_tests::capture::{Capture, region, running};
use hrx_trace_tests::programs::PROGRAMS;
use hrx_trace_tests::viewers::{Tools, TpTrace};
use serde_json::{Value, json};

fn convert(captures: &[&Path], to: &Path, options: &[&str]) {
    let converted = Command::new(&PROGRAMS.convert)
        .args(captures)
        .args(options)
        .arg("-o")
        .arg(to)
        .output()
        .expect("hrx-convert starts");
    let complaint = String::from_utf8_lossy(&converted.stderr);
    assert!(converted.status.success(), "{complaint}");
}

/// Two submissions, each an upload, two overlapping kernels and a failed download; a few more regions; one running.
fn pipeline() -> Capture {
    let mut capture = Capture::new(64).attributes("rank=3\n");
    let gemm = capture.label("gemm");
    for submission in 1..=2 {
        let of = |lane, start_ns, duration_ns, copied_bytes| Record {
            correlation_id: submission,
            copied_bytes,
            label_id: if lane == 1 { gemm } else { 0 },
            ..region(lane, submission * 100_000 + start_ns, duration_ns)
        };
        capture.record(of(0, 0, 4_096, 8_192));
        capture.record(of(1, 5_000, 3_000, 0));
        capture.record(of(1, 6_000, 4_000, 0));
        capture.record(Record {
            flags: 1,
            status: 7,
            ..of(2, 20_000, 2_000, u64::MAX)
        });
    }
    capture.record(region(9, 1, 400_000));
    capture.open(3, running(1, 390_000));
    capture
}

/// The tracks of [`pipeline`], from top to bottom.
const ORDER: [&str; 7] = [
    "upload",
    "upload copy rate (host-observed) B/s",
    "compute",
    "compute (2)",
    "download",
    "download copy rate (host-observed) B/s",
    "lane 9",
];

const DECODE: &str = r#"
import json, sys
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace
trace = Trace()
trace.ParseFromString(open(sys.argv[1], "rb").read())
EVENT = {1: "begin", 2: "end", 3: "instant", 4: "counter"}
sequences, tracks, rows, metadata, clocks = {}, {}, [], {}, {}
def unknown(message):
    from google.protobuf.unknown_fields import UnknownFieldSet
    fields = len(UnknownFieldSet(message))
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            fields += sum(map(unknown, value if field.is_repeated else [value]))
    return fields
assert unknown(trace) == 0
for packet in trace.packet:
    state = sequences.get(packet.trusted_packet_sequence_id)
    if packet.sequence_flags & 1:
        state = sequences[packet.trusted_packet_sequence_id] = {"defaults": packet.trace_packet_defaults, "iids": {}}
    for kind in "event_names", "event_categories", "debug_annotation_names", "debug_annotation_string_values":
        for entry in getattr(packet.interned_data, kind):
            state["iids"][kind, entry.iid] = entry.str.decode() if kind.endswith("values") else entry.name
    for clock in packet.clock_snapshot.clocks:
        if clock.clock_id >= 64: state["now"] = clock.timestamp
        elif packet.trusted_packet_sequence_id == 1: clocks[clock.clock_id] = clock.timestamp
    for entry in packet.chrome_events.metadata: metadata[entry.name] = entry.string_value
    if packet.HasField("track_descriptor"):
        track = packet.track_descriptor
        assert track.uuid not in tracks
        tracks[track.uuid] = {"name": track.name or track.thread.thread_name or track.process.process_name,
            "pid": track.process.pid or track.thread.pid, "parent": tracks.get(track.parent_uuid, {}).get("name"),
            "tid": track.thread.tid if track.HasField("thread") else None}
    if packet.HasField("track_event"):
        event = packet.track_event
        assert packet.sequence_flags == (0 if event.type == 2 else 2)
        clock = packet.timestamp_clock_id or state["defaults"].timestamp_clock_id
        if clock >= 64: at = state["now"] = state["now"] + packet.timestamp
        else: assert clock == 6; at = packet.timestamp
        uuid = event.track_uuid or state["defaults"].track_event_defaults.track_uuid
        args = {}
        for arg in event.debug_annotations:
            name = arg.name or state["iids"]["debug_annotation_names", arg.name_iid]
            value = getattr(arg, arg.WhichOneof("value")) if arg.WhichOneof("value") else {entry.name: getattr(entry, entry.WhichOneof("value")) for entry in arg.dict_entries}
            args[name] = state["iids"]["debug_annotation_string_values", value] if arg.WhichOneof("value") == "string_value_iid" else value
        rows.append({"at": at, "track": tracks[uuid]["name"], "type": EVENT[event.type],
            "name": event.name or state["iids"].get(("event_names", event.name_iid)),
            "categories": list(event.categories) + [state["iids"]["event_categories", iid] for iid in event.category_iids],
            "args": args, "flows": len(event.flow_ids)})
print(json.dumps({"rows": rows, "tracks": list(tracks.values()), "metadata": metadata, "clocks": clocks}))
"#;

fn python(tools: &Tools, script: &str, words: &[&Path]) -> Value {
    let output = tools
        .python_command()
        .args(["-c", script])
        .args(words)
        .output()
        .expect("python3 starts");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn perfettos_own_package_decodes_the_trace() {
    let Some(tools) = Tools::python() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let capture = pipeline().write(folder.path(), "run.hrxt");
    let to = folder.path().join("run.pftrace");
    convert(&[&capture], &to, &["--format", "perfetto"]);
    let decoded = python(&tools, DECODE, &[&to]);

    // One capture has no clock snapshot, or Perfetto would open it closed.
    assert_eq!(decoded["clocks"], json!({}));
    let label = "host-observed synchronized region latency; not device timestamps";
    assert_eq!(decoded["metadata"]["hrx-measurement"], label);
    let facts = decoded["metadata"]["hrx-capture"].as_str().expect("facts");
    let facts: Value = serde_json::from_str(facts).expect("JSON");
    assert_eq!(facts["account"]["recovered"], 9);
    assert_eq!(facts["ending"], "writer-died");

    // The tracks are threads, by their tids in the order of their lanes, sub-lanes after their lane; counters are none.
    let tracks = decoded["tracks"].as_array().expect("tracks");
    let process = "pipeline rank=3 (host-observed)";
    let named = |track: &Value| track["name"].as_str().expect("a name").to_owned();
    let threads: BTreeMap<i64, String> = tracks
        .iter()
        .filter_map(|track| Some((track["tid"].as_i64()?, named(track))))
        .collect();
    let lanes = ORDER.iter().filter(|name| !name.contains("copy rate"));
    let expected: Vec<String> = ["capture (host-observed)"]
        .iter()
        .chain(lanes)
        .map(|name| format!("{name} · track"))
        .collect();
    assert_eq!(threads.into_values().collect::<Vec<_>>(), expected);
    let counters = tracks.iter().filter(|track| track["tid"].is_null()).skip(1);
    let rates = ORDER.iter().filter(|name| name.contains("copy rate"));
    assert_eq!(
        counters.map(named).collect::<BTreeSet<_>>(),
        rates
            .map(|name| (*name).to_owned())
            .collect::<BTreeSet<_>>()
    );
    assert_eq!(
        tracks[0],
        json!({"name": process, "pid": 4242, "parent": null, "tid": null})
    );
    assert!(tracks[1..].iter().all(|track| track["parent"] == process));

    let rows = decoded["rows"].as_array().expect("rows");
    let of = |kind: &str| {
        rows.iter()
            .filter(|row| row["type"] == kind)
            .cloned()
            .collect::<Vec<_>>()
    };
    let begins = of("begin");
    assert_eq!(
        (begins.len(), of("end").len(), of("instant").len()),
        (10, 9, 3)
    );
    for row in &begins {
        assert_eq!(row["categories"], json!(["hrx.host-observed"]));
        assert!(
            row["name"]
                .as_str()
                .is_some_and(|name| name.contains("(host-observed)"))
        );
    }
    assert_eq!(
        begins[3],
        json!({
            "at": 78_000_120_001_u64, "track": "download · track", "type": "begin",
            "name": "native region (host-observed) [failed]", "categories": ["hrx.host-observed"], "flows": 1,
            "args": {"copied_bytes": "18446744073709551615", "failed": true, "status": 7, "correlation_id": 1, "thread_id": 99},
        })
    );
    assert_eq!(
        begins[9]["name"],
        "native region (host-observed) [unfinished]"
    );
}

/// Written by another program on the same host after the host was suspended for a second, so its boot time is that much further ahead of its monotonic
/// time.
const WRITE_DEVICE_TRACE: &str = r#"
import sys
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace
trace = Trace()
def packet():
    packet = trace.packet.add()
    packet.trusted_packet_sequence_id = 9
    return packet
snapshot = packet().clock_snapshot
for clock_id, timestamp in (6, 82), (3, 80), (4, 80), (5, 80), (1, 1_795_996_804), (2, 1_795_996_804):
    snapshot.clocks.add(clock_id=clock_id, timestamp=timestamp * 1_000_000_000)
track = packet().track_descriptor
track.uuid, track.name = 99, "device"
for kind, timestamp in (1, 78_000_100_500), (2, 78_000_101_500):
    event = packet()
    event.timestamp, event.timestamp_clock_id = timestamp, 6
    event.track_event.type, event.track_event.track_uuid, event.track_event.name = kind, 99, "kernel on the device"
open(sys.argv[1], "wb").write(trace.SerializeToString())
print("{}")
"#;

#[test]
fn the_trace_lines_up_with_one_of_the_same_host() {
    let (Some(tools), Some(_)) = (Tools::trace_processor(), Tools::python()) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let capture = pipeline().write(folder.path(), "run.hrxt");
    let (ours, device) = (
        folder.path().join("run.pftrace"),
        folder.path().join("device.pftrace"),
    );
    convert(&[&capture], &ours, &["--format", "perfetto"]);
    python(&tools, WRITE_DEVICE_TRACE, &[&device]);
    // Perfetto's traces are joined by appending one to the other.
    let read = |path: &PathBuf| fs::read(path).expect("a file");
    let both: Vec<PathBuf> = [[&ours, &device], [&device, &ours]]
        .into_iter()
        .enumerate()
        .map(|(index, parts)| {
            let path = folder.path().join(format!("both-{index}.pftrace"));
            fs::write(&path, parts.map(read).concat()).expect("a new file");
            path
        })
        .collect();
    for trace in tools.trace_processors(&both) {
        assert_eq!(trace.faults(), [""; 0]);
        let starts = |name: &str| -> Vec<i64> {
            let named = trace
                .slices
                .iter()
                .filter(|slice| slice.name.as_deref() == Some(name));
            named.map(|slice| slice.ts_ns).collect()
        };
        assert_eq!(starts("kernel on the device"), [78_000_100_500]);
        // The host's upload began half a microsecond earlier.
        assert_eq!(starts("native region (host-observed)")[1], 78_000_100_001);
    }
}

/// From which track to which, and from when to when.
type Arrows = Vec<(String, i64, i64)>;
/// By name: when, and how much.
type Rates = BTreeMap<String, Vec<(i64, f64)>>;

/// The arrows by the names of their tracks, the copy rates by the names of their counters.
fn extras(trace: &TpTrace) -> (Arrows, Rates) {
    assert_eq!(trace.faults(), [""; 0]);
    let first_ns = trace.slices[0].ts_ns;
    let slice = |id: i64| {
        trace
            .slices
            .iter()
            .find(|slice| slice.id == id)
            .expect("a slice")
    };
    let mut arrows: Vec<_> = trace
        .flows
        .iter()
        .map(|flow| {
            let (from, to) = (slice(flow.slice_out), slice(flow.slice_in));
            let track = |slice: &hrx_trace_tests::viewers::TpSlice| {
                let thread = slice.thread_name.clone();
                let name = thread.or(slice.track_name.clone()).unwrap_or_default();
                name.trim_end_matches(" · track").to_owned()
            };
            let arrow = format!("{} > {}", track(from), track(to));
            (arrow, from.ts_ns - first_ns, to.ts_ns - first_ns)
        })
        .collect();
    arrows.sort_by_key(|arrow| arrow.1);
    let mut rates = Rates::new();
    for sample in &trace.counters {
        let name = sample.name.clone().unwrap_or_default();
        rates
            .entry(name)
            .or_default()
            .push((sample.ts_ns - first_ns, sample.value));
    }
    (arrows, rates)
}

#[test]
fn arrows_and_copy_rates_are_the_same_in_both_formats() {
    let Some(tools) = Tools::trace_processor() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let capture = pipeline().write(folder.path(), "run.hrxt");
    let with = |name: &str, options: &[&str]| {
        let to = folder.path().join(name);
        convert(&[&capture], &to, options);
        to
    };
    const OFF: [&str; 3] = ["--no-flows", "--no-counters", "--no-marks"];
    let files = [
        with("run.json", &[]),
        with("run.pftrace", &["--format", "perfetto"]),
        with("bare.json", &OFF),
        with(
            "bare.pftrace",
            &[&["--format", "perfetto"][..], &OFF].concat(),
        ),
    ];
    let traces = tools.trace_processors(&files);
    let (arrows, rates) = extras(&traces[0]);
    let of_submission = |at_ns: i64| {
        [
            ("upload > compute", at_ns, at_ns + 5_000),
            ("compute > compute (2)", at_ns + 5_000, at_ns + 6_000),
            ("compute (2) > download", at_ns + 6_000, at_ns + 20_000),
        ]
        .map(|(arrow, from, to)| (arrow.to_owned(), from, to))
    };
    // Times count from the first slice, which began at 1 ns.
    assert_eq!(
        arrows,
        [of_submission(99_999), of_submission(199_999)].concat()
    );
    let upload = &rates["upload copy rate (host-observed) B/s"];
    assert!(upload.iter().any(|sample| sample.1 == 2e9), "{upload:?}");
    assert_eq!(upload.last().map(|sample| sample.1), Some(0.0));
    assert_eq!(extras(&traces[1]), (arrows, rates));
    for bare in &traces[2..] {
        assert_eq!(extras(bare), (vec![], Rates::new()));
        // The regions, and the mark on the unfinished one's track.
        assert_eq!(bare.slices.len(), 10 + 1);
    }
}

/// The bug: with arrows as members of the slices (`bind_id`, `flow_in`, `flow_out`), catapult complained about every region in the middle of a chain.
/// Found by this test.
#[test]
fn catapult_shows_arrows_and_copy_rates() {
    let Some(tools) = Tools::browser() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let capture = pipeline().write(folder.path(), "run.hrxt");
    let to = folder.path().join("run.json");
    convert(&[&capture], &to, &[]);
    let traces = tools.catapult(&[to]);
    assert_eq!(traces[0].faults(), [""; 0]);
    let arrows: Vec<_> = traces[0]
        .flows
        .iter()
        .map(|flow| (flow.start_ns, flow.end_ns))
        .collect();
    let of_submission = |at_ns: i64| {
        [(0, 5_000), (5_000, 6_000), (6_000, 20_000)].map(|(from, to)| (at_ns + from, at_ns + to))
    };
    assert_eq!(
        arrows,
        [of_submission(100_000), of_submission(200_000)].concat()
    );
    let counters: Vec<_> = traces[0]
        .counters
        .iter()
        .map(|counter| (&*counter.name, &*counter.series))
        .collect();
    assert_eq!(
        counters,
        [
            ("upload copy rate (host-observed)", "B/s"),
            ("download copy rate (host-observed)", "B/s")
        ]
    );
    let upload = &traces[0].counters[0].samples;
    assert!(
        upload.iter().any(|sample| sample.value == 2e9),
        "{upload:?}"
    );
}

/// A typical job: mostly kernels, some copies, with or without correlation ids, numbers of the usual sizes.
fn job(correlated: bool) -> Capture {
    let mut capture = Capture::new(20_000);
    let labels: Vec<u32> = (0..40)
        .map(|i| capture.label(&format!("kernel_{i}")))
        .collect();
    for i in 0..20_000 {
        let (lane, duration_ns, copied_bytes) = match i % 6 {
            0 => (0, 12_345, 1 << 20),
            5 => (2, 12_345, 1 << 20),
            _ => (1, 45_678, 0),
        };
        capture.record(Record {
            label_id: labels[i as usize % labels.len()],
            correlation_id: if correlated { 1_000_000 + i / 6 } else { 0 },
            copied_bytes,
            thread_id: 1_234_567,
            ..region(lane, 100_000_000 + 50_000 * i - duration_ns, duration_ns)
        });
    }
    capture
}

/// It was a quarter while times were distances. Those need a snapshot of clocks, and a trace that has one opens with its process closed.
#[test]
fn the_trace_is_not_much_more_than_a_quarter_of_the_json() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (correlated, options) in [
        (true, &[][..]),
        (false, &[][..]),
        (true, &["--no-flows", "--no-counters", "--no-marks"][..]),
    ] {
        let capture = job(correlated).write(folder.path(), "job.hrxt");
        let bytes = |name: &str, format: &str| {
            let to = folder.path().join(name);
            convert(&[&capture], &to, &[&["--format", format], options].concat());
            fs::metadata(to).expect("a file").len()
        };
        let (json, pftrace) = (
            bytes("job.json", "chrome"),
            bytes("job.pftrace", "perfetto"),
        );
        let each = |bytes: u64| bytes as f64 / 20_000.0;
        println!("{:.1} of {:.1} bytes an event", each(pftrace), each(json));
        assert!(
            100 * pftrace <= 28 * json,
            "{pftrace} of {json} bytes, ids: {correlated}, {options:?}"
        );
    }
}

const READ_TABLES: &str = r#"
import csv, json, sys
with open(sys.argv[1], newline="", encoding="utf-8") as file:
    rows = list(csv.DictReader(file, strict=True))
for row in rows:
    for column, value in row.items():
        if column.endswith(("_ns", "_bytes", "_id")) or column in ("capture", "pid", "lane", "status", "ring", "sequence", "arguments_lost"):
            row[column] = int(value)
        if column in ("failed", "saturated", "cancelled", "waiting", "hidden"):
            row[column] = {"true": True, "false": False}[value]
        if column == "value":
            row[column] = float(value) if value else None
        if column == "arguments":
            row[column] = json.loads(value)
with open(sys.argv[2], encoding="utf-8") as file:
    lines = [json.loads(line) for line in file]
print(json.dumps({"csv": rows, "jsonl": lines}))
"#;

#[test]
fn pythons_modules_read_the_same_rows_from_csv_and_jsonl() {
    let Some(tools) = Tools::python() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut capture = pipeline();
    let hostile = capture.label("a \"b\", c\r\nd\u{1} 🚀 \u{5d0}=1+1");
    capture.record(Record {
        label_id: hostile,
        ..region(u32::MAX, 1, 2)
    });
    let capture = capture.write(folder.path(), "run.hrxt");
    let (csv, jsonl) = (
        folder.path().join("run.csv"),
        folder.path().join("run.jsonl"),
    );
    convert(&[&capture], &csv, &["--format", "csv"]);
    convert(&[&capture], &jsonl, &["--format", "jsonl"]);
    let mut read = python(&tools, READ_TABLES, &[&csv, &jsonl]);
    let account = read["jsonl"]
        .as_array_mut()
        .and_then(Vec::pop)
        .expect("a last line");
    assert_eq!(
        (&account["kind"], &account["account"]["recovered"]),
        (&json!("account"), &json!(10))
    );
    for line in read["jsonl"].as_array_mut().expect("lines") {
        assert_eq!(line["kind"], "region");
    }
    assert_eq!(read["csv"], read["jsonl"]);
    let rows = read["csv"].as_array().expect("rows");
    assert_eq!(rows.len(), 11);
    assert_eq!(rows[3]["copied_bytes"], json!(u64::MAX));
    assert_eq!(rows[9]["label"], "a \"b\", c\r\nd\u{1} 🚀 \u{5d0}=1+1");
    assert_eq!(
        (&rows[10]["state"], &rows[10]["measurement"]),
        (&json!("open"), &json!("host-observed"))
    );
}

//! Far more lanes than any program has: memory is bounded in every output, and what has no place of its own there is said. The real binary runs with a
//! limit on its address space.
//!
//! The bug: each lane had tracks of its own. A capture of 200,000 lanes with a region each took 138 MB, and three of them aborted where 300,000 KiB were
//! allowed. The page silently left out regions until their lanes were few enough. Found by making files that no program writes.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::LazyLock;

use hrx_trace_format::Record;
use hrx_trace_tests::capture::{Capture, region, running};
use serde_json::Value;
use tempfile::TempDir;

const LANES: u32 = 200_000;
/// Nobody's lane before this one is as late in the file.
const HUNG_LANE: u32 = LANES - 1;

/// Three captures, `0.hrxt` to `2.hrxt`, of [`LANES`] lanes with a region each, and a region that hangs.
static CAPTURES: LazyLock<TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    for index in 0..3 {
        let mut capture = Capture::new(LANES.into());
        capture.identity.process_id = 1 + index;
        capture.identity.capture_id = [index as u8; 16];
        let copy = capture.label("copy");
        for lane in 0..LANES {
            capture.record(Record {
                label_id: copy,
                copied_bytes: 3,
                correlation_id: 1 + u64::from(lane),
                ..region(lane, duration_ns(0) * u64::from(lane), duration_ns(lane))
            });
        }
        capture.open(0, running(HUNG_LANE, duration_ns(0) * u64::from(LANES)));
        capture.write(folder.path(), &format!("{index}.hrxt"));
    }
    folder
});

/// No two regions of a capture overlap.
fn duration_ns(lane: u32) -> u64 {
    1_000 - u64::from(lane % 7)
}

/// The sum of all durations of one capture.
fn total_ns() -> u64 {
    (0..LANES).map(duration_ns).sum()
}

/// The command, in 300,000 KiB of address space, which include the binary and all stacks.
fn run(arguments: &str, output: &Path) -> Output {
    let script = format!("ulimit -v 300000; exec \"$0\" {arguments} -o \"$1\"");
    Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_hrx-convert")])
        .arg(output)
        .current_dir(CAPTURES.path())
        .output()
        .expect("a shell")
}

/// What the command wrote, and what it said.
fn written(arguments: &str, extension: &str) -> (String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(format!("out.{extension}"));
    let output = run(arguments, &path);
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(0), "{arguments}: {said}");
    let bytes = fs::read(path).expect("the output");
    (String::from_utf8_lossy(&bytes).into_owned(), said)
}

/// The numbers that follow this text, summed up.
fn sum_after(text: &str, before: &str) -> f64 {
    let parts = text.split(before).skip(1);
    let number = |part: &str| {
        let end = part.find([',', '}']).expect("an end");
        part[..end].parse::<f64>().expect("a number")
    };
    parts.map(number).sum()
}

/// Lanes that share a place, of one of `captures` captures.
fn shared(captures: u32) -> u32 {
    LANES - 4_096 / captures
}

fn grouped(number: u32) -> String {
    format!("{},{:03}", number / 1_000, number % 1_000)
}

/// What is read, and how many captures it is.
const INPUTS: [(&str, u32); 2] = [("0.hrxt --follow", 1), (".", 3)];
const ONCE: [(&str, u32); 2] = [("0.hrxt", 1), (".", 3)];

fn says_what_is_shared(said: &str, captures: u32) {
    let expected = format!(
        "\"other lanes\" stands for {} lanes",
        grouped(shared(captures))
    );
    let lines = said.lines().filter(|line| line.contains(&expected));
    assert_eq!(lines.count() as u32, captures, "{said}");
}

#[test]
fn json() {
    for (input, captures) in INPUTS {
        let (text, said) = written(input, "json");
        says_what_is_shared(&said, captures);
        // To look through the text of three takes a debug build too long.
        if captures == 1 {
            json_of_one(&text);
        }
        let (_, metadata) = text.rsplit_once(",\"metadata\":").expect("metadata");
        let metadata = metadata.trim_end().strip_suffix('}').expect("an object");
        let metadata: Value = serde_json::from_str(metadata).expect("JSON");
        let facts = match captures {
            1 => &metadata,
            _ => &metadata["captures"][2],
        };
        assert_eq!(facts["other_lanes"]["count"], shared(captures));
        let hung = format!(
            "{{\"args\":{{\"name\":\"lane {HUNG_LANE} · track\"}},\"name\":\"thread_name\""
        );
        assert!(text.contains(&hung));
        assert_eq!(facts["other_lanes"]["has_more"], false);
        assert_eq!(facts["account"]["recovered"], LANES);
    }
}

fn json_of_one(text: &str) {
    assert_eq!(
        text.matches("{\"ph\":\"X\",\"cat\":\"hrx.host-observed\"")
            .count() as u32,
        LANES
    );
    // Each is 0.4 ns shorter.
    let regions = f64::from(LANES);
    let sum_ns = sum_after(text, "\"dur\":") * 1e3 + regions * 0.4;
    let total_ns = total_ns() as f64;
    assert!((sum_ns - total_ns).abs() < 10.0, "{sum_ns} {total_ns}");
    let shared_track = "{\"args\":{\"name\":\"other lanes · track\"},\"name\":\"thread_name\"";
    assert_eq!(text.matches(shared_track).count(), 1);
    assert!(text.contains(&format!("{{\"lane\":{HUNG_LANE},\"copied_bytes\":3")));
}

#[test]
fn perfetto() {
    for (input, captures) in INPUTS {
        let (text, said) = written(input, "pftrace");
        says_what_is_shared(&said, captures);
        assert!(text.contains("other lanes"));
    }
    written(".", "pftrace.gz");
}

#[test]
fn page() {
    for (input, captures) in ONCE {
        let (text, said) = written(input, "html");
        says_what_is_shared(&said, captures);
        let (_, island) = text.split_once("id=\"island\">").expect("an island");
        let (island, _) = island.split_once("</script>").expect("its end");
        let island: Value = serde_json::from_str(island).expect("JSON");
        let layout = &island["timeline"];
        assert_eq!(layout["count"], captures * (LANES + 1));
        assert_eq!(layout["left_out"], 0);
        let lanes = layout["lanes"].as_array().expect("lanes");
        let shared_lane = format!("{} other lanes", grouped(shared(captures)));
        for capture in 0..captures {
            let lanes = lanes.iter().filter(|lane| lane["capture"] == capture);
            let lanes: Vec<&Value> = lanes.collect();
            assert_eq!(lanes.len() as u32, 4_096 / captures + 1);
            assert!(lanes.iter().any(|lane| lane["lane"] == HUNG_LANE));
            let last = lanes.last().expect("a lane");
            assert_eq!(
                (&last["lane"], &last["name"]),
                (&Value::Null, &shared_lane.as_str().into())
            );
            summary_of(&island["document"]["captures"][capture as usize]);
        }
    }
}

fn summary_of(digest: &Value) {
    assert_eq!(digest["regions"]["count"], LANES);
    assert_eq!(digest["regions"]["total_ns"], total_ns());
    let lanes = digest["lanes"].as_array().expect("lanes");
    assert_eq!(lanes.len(), 65);
    let sum = |of: fn(&Value) -> u64| lanes.iter().map(of).sum::<u64>();
    assert_eq!(
        sum(|lane| lane["count"].as_u64().expect("a count")),
        u64::from(LANES)
    );
    assert_eq!(
        sum(|lane| lane["total_ns"].as_u64().expect("a time")),
        total_ns()
    );
    assert_eq!(
        sum(|lane| lane["copied_bytes"].as_u64().expect("bytes")),
        3 * u64::from(LANES)
    );
    assert_eq!(digest["other_lanes"]["count"], LANES - 64);
}

#[test]
fn summary() {
    for (input, captures) in ONCE {
        let (json, _) = written(&format!("--summary --json {input}"), "txt");
        let document: Value = serde_json::from_str(&json).expect("JSON");
        let digests = document["captures"].as_array().expect("captures");
        assert_eq!(digests.len() as u32, captures);
        digests.iter().for_each(summary_of);
        let (text, _) = written(&format!("--summary {input}"), "txt");
        let line = "other lanes: 199,936 lanes without figures of their own";
        assert_eq!(text.matches(line).count() as u32, captures, "{text}");
    }
}

#[test]
fn tables() {
    let (csv, _) = written("0.hrxt --follow", "csv");
    let cells = csv
        .lines()
        .skip(1)
        .map(|row| row.split(',').nth(4).expect("a cell"));
    let durations = cells.map(|cell| cell.parse::<u64>().expect("a number"));
    assert_eq!(durations.sum::<u64>(), total_ns());
    let (csv, _) = written(".", "csv");
    let rows = csv.bytes().filter(|byte| *byte == b'\n').count();
    assert_eq!(rows as u32, 1 + 3 * (LANES + 1));
    let (jsonl, _) = written("0.hrxt", "jsonl");
    assert_eq!(sum_after(&jsonl, "\"duration_ns\":") as u64, total_ns());
    written(".", "jsonl");
}

/// The bug: a lane of A was missing if 64 others came before it in B, or new if they did in A. Found by comparing captures of many lanes.
#[test]
fn difference() {
    let (json, _) = written("--diff --json 0.hrxt 1.hrxt", "txt");
    let document: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(document["changes"], Value::Array(Vec::new()));
    let (text, _) = written("--diff 0.hrxt 1.hrxt", "txt");
    let line = "without figures of their own, 199,936 lanes in A and 199,936 lanes in B";
    assert!(text.contains(line), "{text}");
    written("--diff 0.hrxt 1.hrxt", "html");

    let mut backwards = Capture::new(200);
    for lane in (0..200).rev() {
        backwards.record(region(lane, 1_000 * u64::from(lane), 900));
    }
    backwards.write(CAPTURES.path(), "backwards.txt");
    for files in ["0.hrxt backwards.txt", "backwards.txt 0.hrxt"] {
        let (json, _) = written(&format!("--diff --json {files}"), "txt");
        let document: Value = serde_json::from_str(&json).expect("JSON");
        for change in document["changes"].as_array().expect("changes") {
            let kind = change["change"].as_str().expect("a kind");
            assert!(
                !["new", "missing"].contains(&kind) || change["label"].is_string(),
                "{change}"
            );
        }
    }
}

//! Every subcommand runs to its end and reports figures. Their values are not checked: machines differ.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

fn bench(arguments: &[&str]) -> Vec<u8> {
    let output = Command::new(env!("CARGO_BIN_EXE_hrx-bench"))
        .args(arguments)
        .output()
        .expect("it starts");
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

/// The JSON of a very quick run.
fn json(arguments: &[&str]) -> Vec<u8> {
    let quick = ["--quick", "--rounds", "1", "--sample-ms", "1", "--json"];
    bench(&[arguments, &quick].concat())
}

/// The tables of such a run. Each row must have a figure.
fn tables(arguments: &[&str]) -> Vec<Value> {
    let report: Value = serde_json::from_slice(&json(arguments)).expect("JSON");
    let environment = &report["environment"];
    for fact in [
        "processor",
        "cores",
        "kernel",
        "date",
        "command",
        "versions",
    ] {
        assert!(!environment[fact].is_null(), "{fact}");
    }
    let tables = report["tables"].as_array().expect("tables").clone();
    for table in &tables {
        let columns = table["columns"].as_array().expect("columns").len();
        let rows = table["rows"].as_array().expect("rows");
        assert!(!rows.is_empty(), "{}", table["title"]);
        for row in rows {
            let cells = row["cells"].as_array().expect("cells");
            assert_eq!(cells.len(), columns, "{row}");
            assert!(cells.iter().any(Value::is_number), "{row}");
        }
    }
    tables
}

/// The text that people read fits a terminal.
#[test]
fn record_prints_tables_of_100_columns() {
    let arguments = ["record", "--quick", "--rounds", "1", "--sample-ms", "1"];
    let text = bench(&[&arguments[..], &["--only", "clock reads"]].concat());
    let text = String::from_utf8(text).expect("UTF-8");
    for contender in [
        "baseline",
        "record, tmpfs",
        "record, disk",
        "begin + finish",
    ] {
        assert!(text.contains(contender), "{contender}: {text}");
    }
    // The first lines describe the machine and may be longer.
    for line in text.lines().skip(2) {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

#[test]
fn record_measures_next_to_other_work() {
    assert_eq!(tables(&["record", "--only", "next to other work"]).len(), 1);
}

/// A script makes the README's tables and the plot from the JSON. No other test runs all contenders, because the whole machine has one LTTng daemon.
#[test]
fn the_report_has_every_contender_in_its_table_and_in_its_plot() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let results = json(&["record", "--only", "ring in cache"]);
    std::fs::write(path("record.json"), results).expect("written");
    let readme = "before\n<!-- bench -->\noutdated\n<!-- /bench -->\nafter\n";
    std::fs::write(path("README.md"), readme).expect("written");
    let status = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/report"))
        .arg(path("record.json"))
        .arg("--into")
        .arg(path("README.md"))
        .arg("--plot")
        .arg(path("plot.svg"))
        .status();
    assert!(status.expect("python3").success());
    let readme = std::fs::read_to_string(path("README.md")).expect("there");
    let plot = std::fs::read_to_string(path("plot.svg")).expect("there");
    for contender in [
        "mutex and deque",
        "a ring per thread",
        "measureme",
        "tracing-chrome",
    ] {
        assert!(readme.contains(contender), "{contender}: {readme}");
        assert!(plot.contains(contender), "{contender}: {plot}");
    }
    for title in ["1 thread", "2 threads", "clock reads counted", "cold"] {
        assert!(readme.contains(title), "{title}: {readme}");
    }
    assert!(readme.starts_with("before\n<!-- bench -->\n"), "{readme}");
    assert!(readme.ends_with("<!-- /bench -->\nafter\n"), "{readme}");
    assert!(!readme.contains("outdated"), "{readme}");
}

#[test]
fn tail_measures_latencies_and_creations() {
    let tables = tables(&["tail", "--seconds", "0.05"]);
    assert_eq!(tables.len(), 2);
    for row in tables[0]["rows"].as_array().expect("rows") {
        let cells = row["cells"].as_array().expect("cells");
        assert!(
            cells.is_sorted_by_key(|cell| cell.as_f64()),
            "percentiles only grow: {row}"
        );
    }
}

#[test]
fn scale_measures_conversions_threads_and_rings() {
    assert_eq!(tables(&["scale"]).len(), 3);
}

/// Only documents with the same content can be compared.
#[test]
fn convert_compares_documents_of_the_same_events() {
    assert_eq!(tables(&["convert"]).len(), 2);
    let folder = tempfile::tempdir().expect("a folder");
    let capture = folder.path().join("capture");
    let capture = capture.to_str().expect("UTF-8");
    bench(&["fill", capture, "5000"]);
    // `convert` has built it next to the bench.
    let converter = Path::new(env!("CARGO_BIN_EXE_hrx-bench")).with_file_name("hrx-convert");
    let converted = Command::new(converter)
        .args([
            "--no-counters",
            "--no-flows",
            "--no-marks",
            "--no-colors",
            capture,
        ])
        .output()
        .expect("it starts");
    let events = regions(&converted.stdout);
    assert_eq!(events.len(), 5_000);
    assert_eq!(events, regions(&bench(&["write", "typed", capture])));
    assert_eq!(events, regions(&bench(&["write", "values", capture])));
}

/// The completed regions of a document.
fn regions(document: &[u8]) -> Vec<Value> {
    let mut document: Value = serde_json::from_slice(document).expect("JSON");
    let mut events = std::mem::take(document["traceEvents"].as_array_mut().expect("events"));
    events.retain(|event| event["ph"] == "X");
    events
}

//! Every subcommand runs to its end and finds something out. What it finds is nobody's business here: machines differ.

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

/// The tables of a very quick run, each row of which has a finite figure.
fn tables(arguments: &[&str]) -> Vec<Value> {
    let quick = ["--quick", "--rounds", "1", "--sample-ms", "1", "--json"];
    let report: Value =
        serde_json::from_slice(&bench(&[arguments, &quick].concat())).expect("JSON");
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

/// As people read it; the table fits their terminal.
#[test]
fn record_prints_a_table_of_100_columns() {
    let arguments = ["record", "--quick", "--rounds", "1", "--sample-ms", "1"];
    let text = bench(&[&arguments[..], &["--only", "1 thread, ring in cache"]].concat());
    let text = String::from_utf8(text).expect("UTF-8");
    for contender in ["baseline", "record, tmpfs", "measureme", "tracing-chrome"] {
        assert!(text.contains(contender), "{contender}: {text}");
    }
    // The first lines describe the machine and may be longer.
    for line in text.lines().skip(2).take_while(|line| *line != "left out:") {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

#[test]
fn record_measures_threads_and_followers() {
    assert_eq!(tables(&["record", "--only", "2 threads"]).len(), 1);
    assert_eq!(tables(&["record", "--only", "follower"]).len(), 1);
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

/// Writers are comparable only if they say the same.
#[test]
fn convert_compares_writers_of_the_same_events() {
    assert_eq!(tables(&["convert"]).len(), 2);
    let folder = tempfile::tempdir().expect("a folder");
    let capture = folder.path().join("capture");
    let capture = capture.to_str().expect("UTF-8");
    bench(&["fill", capture, "5000"]);
    // `convert` has built it beside the bench.
    let converter = Path::new(env!("CARGO_BIN_EXE_hrx-bench")).with_file_name("hrx-convert");
    let converted = Command::new(converter)
        .arg(capture)
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

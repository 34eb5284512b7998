//! Any trace whatever, in every output: valid, or an error, but never a panic, a hang, or more memory than a bound.
//!
//! The converter is a program: its `main.rs` takes this in as a module where it is built for the fuzzer.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use clap::{Parser, ValueEnum};
use hrx_trace_fuzz::{open, sealed};
use hrx_trace_reader::Trace;
use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;

use crate::captures::Captures;
use crate::cli::{Arguments, Format};
use crate::filter::Filter;
use crate::output::Output;

fuzz_target!(|bytes: &[u8]| {
    let bytes = sealed(bytes);
    // One format each, so that a run stays short: which one, the input's end decides, where no item is.
    let choice = bytes.last().copied().unwrap_or_default();
    let formats = Format::value_variants();
    let format = formats[usize::from(choice) % formats.len()];
    let captures = if format != Format::Seed && choice >= 128 {
        2
    } else {
        1
    };
    let traces = || {
        (0..captures)
            .map_while(|_| open(&bytes))
            .collect::<Vec<Trace>>()
    };
    if traces().is_empty() {
        return;
    }
    converted(format, traces());
    told(traces());
});

/// Where outputs go: memory, where there is a file system of it.
static FOLDER: LazyLock<TempDir> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() {
        tempfile::tempdir_in(memory)
    } else {
        tempfile::tempdir()
    };
    folder.expect("a folder")
});

fn converted(format: Format, traces: Vec<Trace>) {
    let path = FOLDER.path().join("out");
    let name = format
        .to_possible_value()
        .expect("a name")
        .get_name()
        .to_owned();
    let command_line = ["hrx-convert", "t.hrxt", "--format", &name, "-o"];
    let command_line = command_line
        .map(PathBuf::from)
        .into_iter()
        .chain([path.clone()]);
    let arguments = Arguments::try_parse_from(command_line).expect("a right command line");

    let mut captures = Captures::new(
        traces
            .into_iter()
            .map(|trace| ("t.hrxt".into(), trace))
            .collect(),
    );
    let mut filter = Filter::new(&arguments.selection, &captures).expect("nothing is selected");
    let mut output = Output::create(Some(&path), arguments.manner()).expect("a file");
    let outcomes = super::write(&arguments, &mut captures, &mut filter, &mut output)
        .expect("memory takes all");
    output.commit().expect("memory takes all");
    for outcome in &outcomes {
        assert!(outcome.report.account.balances());
        assert!(!crate::words::summary(outcome).is_empty());
    }

    let written = fs::read(&path).expect("it was written");
    let json =
        |bytes: &[u8]| drop(serde_json::from_slice::<serde_json::Value>(bytes).expect("JSON"));
    match format {
        Format::Chrome | Format::Seed => json(&written),
        Format::Jsonl => written
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .for_each(json),
        Format::Csv => {
            // Of one width: else an error.
            let mut rows = csv::ReaderBuilder::new()
                .has_headers(false)
                .comment(Some(b'#'))
                .from_reader(&written[..]);
            assert!(rows.byte_records().all(|row| row.is_ok()));
        }
        _ => assert!(!written.is_empty()),
    }
}

fn told(traces: Vec<Trace>) {
    let read: Vec<_> = traces
        .iter()
        .map(|trace| (Path::new("t.hrxt"), trace, trace.report()))
        .collect();
    assert!(!crate::info::text(&read).is_empty());
    let told = crate::info::json(&read).expect("JSON can be made");
    let _: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    assert!(crate::check::verdicts(&read).1 <= 4);
}

//! Proves: a call of the C interface costs at most 1.15 times the instructions of the Rust one.
//!
//! How: callgrind counts the instructions of `loop.c`, linked against the shared library and the static one, and those of the same loop in Rust, which is this test's own
//! program, run again. The difference of a long run and a short one is the calls' alone.

mod support;

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use hrx_trace::{Event, Key, Label, Moment, Options, OwnedRegion, Recorder, lane};
use hrx_trace_tests::skip::skip;
use support::{Linked, compiled, succeed};

const KINDS: &[&str] = &[
    "region", "event", "record", "mark", "value", "argument", "amend",
];

// Not inlined, for a call of a library is not either.
#[inline(never)]
fn begin(recorder: &Arc<Recorder>, event: &Event) -> OwnedRegion {
    recorder.begin_owned(*event)
}

#[inline(never)]
fn end(region: OwnedRegion) {
    region.finish();
}

#[inline(never)]
fn end_copied(region: OwnedRegion, copied_bytes: u64) {
    region.finish_with(|event| event.copied_bytes(copied_bytes));
}

#[inline(never)]
fn record(recorder: &Recorder, start: Moment, end: Moment, event: &Event) {
    recorder.record_between(start, end, *event);
}

#[inline(never)]
fn mark(recorder: &Recorder, event: &Event) {
    recorder.mark(*event);
}

#[inline(never)]
fn value(recorder: &Recorder, label: Label, number: f64) {
    recorder.value(label, number);
}

#[inline(never)]
fn argument(region: &mut OwnedRegion, key: Key, number: u64) {
    region.argument(key, number);
}

#[inline(never)]
fn amend(region: &mut OwnedRegion, status: u32) {
    region.set_status(status);
}

/// What `loop.c` does, in Rust.
#[test]
#[ignore = "a program that the test of this file runs"]
fn the_loop_in_rust() {
    let variable = |name| std::env::var(name).expect("the test sets it");
    let kind = variable("LOOP_KIND");
    let times: u64 = variable("LOOP_TIMES").parse().expect("a number");
    let recorder = Options::new(4096)
        .create(variable("LOOP_CAPTURE"))
        .expect("a recorder");
    let recorder = Arc::new(recorder);
    let (label, key) = (recorder.label("label"), recorder.key("key"));
    let plain = black_box(Event::new(lane::COMPUTE).label(label));
    let event = black_box(plain.correlation_id(7).copied_bytes(4096));
    let start = Moment::now();
    let later = Moment::from_monotonic_ns(start.monotonic_ns() + 1);
    let mut region = recorder.begin_owned(plain);
    match kind.as_str() {
        "region" => (0..times).for_each(|_| end(begin(&recorder, &plain))),
        "event" => (0..times).for_each(|_| end_copied(begin(&recorder, &event), 8192)),
        "record" => (0..times).for_each(|_| record(&recorder, start, later, &plain)),
        "mark" => (0..times).for_each(|_| mark(&recorder, &plain)),
        "value" => (0..times).for_each(|time| value(&recorder, label, time as f64)),
        "argument" => (0..times).for_each(|time| argument(&mut region, key, time)),
        "amend" => (0..times).for_each(|time| amend(&mut region, time as u32)),
        other => panic!("{other}"),
    }
    region.finish();
}

/// The instructions of a call, of what `command` gives for a capture and a number of calls.
fn instructions(folder: &Path, command: impl Fn(&Path, u64) -> (Command, Vec<String>)) -> f64 {
    const FEW: u64 = 1_000;
    const MANY: u64 = 11_000;
    let [few, many] = [FEW, MANY].map(|times| {
        let [capture, counts] = ["t.hrxt", "counts"].map(|name| folder.join(name));
        let _ = fs::remove_file(&capture);
        let (mut valgrind, program) = command(&capture, times);
        valgrind
            .args(["--quiet", "--tool=callgrind"])
            .arg(format!("--callgrind-out-file={}", counts.display()))
            .args(program);
        succeed(&mut valgrind);
        let counts = fs::read_to_string(counts).expect("counts");
        let total = counts
            .lines()
            .find_map(|line| line.strip_prefix("totals: "));
        total
            .expect("a total")
            .trim()
            .parse::<f64>()
            .expect("a number")
    });
    (many - few) / (MANY - FEW) as f64
}

#[test]
fn a_call_costs_little_more_than_in_rust() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        return skip("valgrind is not installed");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let [shared, fixed] =
        [("shared", Linked::Shared), ("static", Linked::Static)].map(|(name, linked)| {
            let folder = folder.path().join(name);
            fs::create_dir(&folder).expect("a folder");
            compiled(&folder, "tests/programs/loop.c", linked, &["-O2"])
        });
    let own = std::env::current_exe().expect("this program");
    let text = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    let mut too_much = Vec::new();
    for kind in KINDS {
        let rust = instructions(folder.path(), |capture, times| {
            let mut valgrind = Command::new("valgrind");
            valgrind
                .env("LOOP_KIND", kind)
                .env("LOOP_TIMES", times.to_string())
                .env("LOOP_CAPTURE", capture);
            let arguments = ["--ignored", "--exact", "the_loop_in_rust"].map(str::to_owned);
            (valgrind, [vec![text(&own)], arguments.to_vec()].concat())
        });
        let [by_shared, by_static] = [&shared, &fixed].map(|program| {
            instructions(folder.path(), |capture, times| {
                let arguments = [
                    text(program),
                    text(capture),
                    (*kind).to_owned(),
                    times.to_string(),
                ];
                (Command::new("valgrind"), arguments.to_vec())
            })
        });
        let [shared_ratio, static_ratio] = [by_shared, by_static].map(|own| own / rust);
        println!(
            "{kind}: {rust:.0} in Rust; in C {by_shared:.0} ({shared_ratio:.3}) shared, {by_static:.0} ({static_ratio:.3}) static"
        );
        if shared_ratio.max(static_ratio) > 1.15 {
            too_much.push(*kind);
        }
    }
    assert!(too_much.is_empty(), "{too_much:?}");
}

//! Proves: what a program announces through NVTX is in the file, whenever it is killed; and the functions return what NVTX says they return.
//!
//! How: C programs against the real headers. One writes a log of its own into shared memory, which the capture is compared with.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use hrx_trace_reader::{ArgumentValue, Event, Kind};
use support::{
    Bed, argument, assert_finished, assert_whole, begun, compiled, completed, is_big, label, marks,
    running, succeed,
};

const THREADS_MAX: usize = 64;
const RANGES_MAX: usize = 1 << 10;
const BEGINNING: u8 = 1;
const BEGUN: u8 = 2;
const ENDING: u8 = 3;
const ENDED: u8 = 4;

/// What a range is called in `programs/nvtx_log.c`.
fn expected_label(range: usize) -> (String, String) {
    let name = ["read", "write", "seek", "flush", "wait"][range % 5];
    (name.to_owned(), ["", "net", "disk"][range % 3].to_owned())
}

/// What the capture has of a range.
#[derive(Debug)]
struct Found {
    is_open: bool,
    label: (String, String),
    thread_id: u32,
}

/// Kills the program a random moment after it has begun, and compares the capture with its log.
fn kill_and_compare(
    program: &Path,
    threads: usize,
    levels: usize,
    way: &str,
    random: &mut fastrand::Rng,
) {
    let bed = Bed::new();
    let log_path = bed.path().join("log");
    let mut command = bed.heard(program);
    command
        .env("HRX_TRACE_CAPACITY", "140000")
        .arg(&log_path)
        .args([threads.to_string(), levels.to_string(), way.to_owned()]);
    let mut child = begun(&mut command);
    let delay_us = random.u64(0..5_000);
    sleep(Duration::from_micros(delay_us));
    child.kill().expect("a program");
    child.wait().expect("its end");

    let log = fs::read(&log_path).expect("a log");
    let (ids, states) = log.split_at(4 * THREADS_MAX);
    let thread_id =
        |thread: usize| u32::from_ne_bytes(ids[4 * thread..][..4].try_into().expect("4 bytes"));
    let trace = bed.trace();
    let case = format!("{threads} threads, {levels} levels, {way}, killed after {delay_us} µs");

    let report = trace.report();
    assert!(
        report.account.balances() && report.damages.is_empty(),
        "{case}: {report:?}"
    );
    // A thread that dies between two stores leaves one torn record at most.
    assert!(
        report.account.torn <= 2 * threads as u64,
        "{case}: {report:?}"
    );
    assert_eq!(
        (
            report.account.overwritten,
            report.hidden_now,
            report.rejected
        ),
        (0, 0, 0),
        "{case}"
    );

    let mut found: BTreeMap<usize, Found> = BTreeMap::new();
    let mut unnamed = 0;
    let mut note = |arguments: &[hrx_trace_reader::Argument], of: Found| match argument(
        &trace, arguments, "payload",
    ) {
        Some(ArgumentValue::U64(range)) => {
            let before = found.insert(*range as usize, of);
            // A range that completes as it dies is there twice: see the format.
            assert!(
                before.is_none(),
                "{case}: range {range} twice, before: {before:?}"
            );
        }
        _ => unnamed += 1,
    };
    let events: Vec<Event> = trace.events().collect();
    for event in events.iter().filter(|event| event.kind == Kind::Region) {
        assert!(!event.failed && !event.cancelled, "{case}: {event:?}");
        note(
            &event.arguments,
            Found {
                is_open: false,
                label: label(&trace, event.label_id),
                thread_id: event.thread_id,
            },
        );
    }
    for region in &report.open_regions {
        note(
            &region.arguments,
            Found {
                is_open: true,
                label: label(&trace, region.label_id),
                thread_id: region.thread_id,
            },
        );
    }
    // Of what was just beginning, the payload may not be there yet.
    let beginning = states.iter().filter(|state| **state == BEGINNING).count();
    assert!(
        unnamed <= beginning,
        "{case}: {unnamed} without a payload, {beginning} were beginning"
    );

    let mut ended = 0;
    for (range, state) in states.iter().copied().enumerate() {
        let found = found.get(&range);
        let is_right = match (state, found) {
            (0, found) => found.is_none(),
            (BEGINNING, found) => found.is_none_or(|found| found.is_open),
            (BEGUN, Some(found)) => found.is_open,
            (ENDING, Some(_)) => true,
            (ENDED, Some(found)) => !found.is_open,
            _ => false,
        };
        assert!(
            is_right,
            "{case}: range {range} in state {state}: {found:?}"
        );
        if let Some(found) = found {
            assert_eq!(found.label, expected_label(range), "{case}: range {range}");
            if way != "across" || found.is_open {
                assert_eq!(
                    found.thread_id,
                    thread_id(range / RANGES_MAX),
                    "{case}: range {range}"
                );
            }
        }
        ended += usize::from(state == ENDED);
    }
    assert_eq!(
        events
            .iter()
            .filter(|event| event.kind == Kind::Mark)
            .count(),
        1,
        "{case}"
    );
    println!("{case}: {ended} ranges ended, {} found", found.len());
}

fn kill_often(threads: usize, levels: usize, way: &str) {
    let bed = Bed::new();
    let Some(program) = compiled(bed.path(), "nvtx_log.c", &[]) else {
        return;
    };
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    for _ in 0..if is_big() { 1_000 } else { 34 } {
        kill_and_compare(&program, threads, levels, way, &mut random);
    }
}

#[test]
fn domains_that_interleave() {
    kill_often(2, 7, "interleaved");
}

#[test]
fn ranges_that_end_on_other_threads() {
    kill_often(3, 1, "across");
}

/// The bug: the table had 64 places, so that of 64 threads with two levels each no one's region was shown but the first ones'. Found with a prototype.
#[test]
fn as_many_threads_as_the_table_once_had_places() {
    kill_often(64, 4, "nested");
}

/// Each function of the interface, what it returns, and what it leaves.
#[test]
fn each_function() {
    let bed = Bed::new();
    let Some(program) = compiled(bed.path(), "nvtx_each.c", &[]) else {
        return;
    };
    let output = succeed(&mut bed.heard(&program));
    assert_eq!(output, "0 1 2 0 2 0 1 0 -2 -2\n");
    let trace = bed.trace();
    assert_finished(&trace);
    assert_whole(&trace);
    let expected = [
        "described",
        "net/registered",
        "wïde",
        "plain",
        "wïde domain/wïde registered",
        "range",
        "wïde range",
        "described range",
        "net/range of a domain",
        "net/outer of the first",
        "net/inner of the second",
        "",
        "",
        "",
        "in a thread",
    ];
    assert_eq!(completed(&trace), expected);
    let marks_expected = [
        "mark",
        "wïde mark",
        "described mark",
        "net/mark of a domain",
        "net/a resource",
    ];
    assert_eq!(marks(&trace), marks_expected);
    assert_eq!(running(&trace), ["never ends"]);

    let events: Vec<Event> = trace.events().collect();
    let text = |text: &str| ArgumentValue::Text(text.to_owned());
    for (name, key, value) in [
        ("described", "payload", ArgumentValue::F64(2.5)),
        ("described", "category", text("sécond")),
        ("registered", "payload", ArgumentValue::I64(-7)),
        ("registered", "category", text("first of net")),
        ("wïde registered", "payload", ArgumentValue::F64(0.5)),
        ("wïde registered", "category", ArgumentValue::U64(9)),
        (
            "described range",
            "payload",
            ArgumentValue::U64(4_000_000_000),
        ),
        ("range of a domain", "payload", ArgumentValue::I64(-1)),
        ("mark of a domain", "category", text("sécond of net")),
        ("a resource", "payload", ArgumentValue::U64(77)),
    ] {
        let event = events
            .iter()
            .find(|event| label(&trace, event.label_id).0 == name)
            .expect(name);
        assert_eq!(
            argument(&trace, &event.arguments, key),
            Some(&value),
            "{name}"
        );
    }

    // Lanes and threads have the names that the program gave them.
    let names = trace.names();
    let lane = |name: &str| {
        let event = events
            .iter()
            .find(|event| label(&trace, event.label_id).0 == name)
            .expect(name);
        let lane = names.lane(event.lane).expect("a named lane");
        (
            lane.text.clone(),
            names
                .thread(event.thread_id, event.end_ns())
                .expect("a named thread")
                .text
                .clone(),
        )
    };
    let main_thread = events[0].thread_id;
    assert_eq!(
        lane("plain"),
        (format!("mäin ({main_thread})"), "mäin".to_owned())
    );
    let (worker_lane, worker) = lane("in a thread");
    assert!(
        worker == "worker" && worker_lane.starts_with("worker ("),
        "{worker_lane}"
    );
    assert_eq!(lane("range").0, "ranges");
}

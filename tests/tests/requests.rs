//! Proves: of thousands of requests in flight, the one that hangs is shown after the process was killed; and where the open table is too small for all of them,
//! the file says how many are hidden.
//!
//! The bug: with two hundred requests in flight the table, of 64 slots, was full of those that waited, and the one that hung was not in the file. Found in a
//! tokio service.
//!
//! How: a server on tokio is killed at a random moment after one of its requests blocked. It counts in shared words how many began and ended, in an order by which the
//! true number lies between two bounds, however the process dies.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::Duration;

use hrx_trace_reader::{Ending, Trace};
use hrx_trace_tests::crash::shared_words::SharedWords;
use hrx_trace_tests::programs::PROGRAMS;
use hrx_trace_tests::requests::{BLOCKED, IN_FLIGHT, THREADS, word};
use hrx_trace_tests::scale::repetitions;
use hrx_trace_tests::seeds;

/// What a killed server's file held.
struct Killed {
    shown: u64,
    hidden: u64,
    blocked_is_shown: bool,
    summary: String,
}

/// Runs the server and kills it `after` its request blocked.
fn killed(open_regions: u32, after: Duration, folder: &Path) -> Killed {
    let (words, file) = (folder.join("words"), folder.join("run.hrxt"));
    let mut server = Command::new(env!("CARGO_BIN_EXE_requests"))
        .arg(open_regions.to_string())
        .args([&words, &file])
        .stdin(Stdio::null())
        .spawn()
        .expect("it starts");
    let counts = loop {
        match SharedWords::of_file(&words) {
            Ok(counts) if counts.get_checked(word::BLOCKED) == Some(1) => break counts,
            _ => assert_eq!(server.try_wait().expect("a child"), None, "it ended"),
        }
        sleep(Duration::from_millis(1));
    };
    sleep(after);
    server.kill().expect("it is killed");
    assert_eq!(server.wait().expect("a child").signal(), Some(9));

    let count = |word| counts.get(word).load(Ordering::SeqCst);
    let trace = Trace::open(&file).expect("the header is intact");
    let report = trace.report();
    assert_eq!(report.ending, Ending::WriterDied);
    let account = &report.account;
    assert_eq!(
        account.claimed,
        account.recovered + account.overwritten + account.torn
    );
    let shown = report.open_regions.len() as u64;
    // In flight for certain, and at most.
    let least = count(word::BEGUN) - count(word::ENDING);
    let most = count(word::BEGINNING) - count(word::ENDED);
    assert!(
        shown + report.hidden_now >= least,
        "{shown} shown, {} hidden, {least}",
        report.hidden_now
    );
    // Each thread may have died inside begin or finish: those of the runtime, and the one that blocks.
    let threads = THREADS as u64 + 1;
    assert!(
        shown + report.hidden_now <= most + threads,
        "{shown} shown, {} hidden, {most}",
        report.hidden_now
    );
    let summary = Command::new(&PROGRAMS.convert)
        .arg("--summary")
        .arg(&file)
        .output()
        .expect("it starts");
    assert!(summary.status.success(), "{summary:?}");
    Killed {
        shown,
        hidden: report.hidden_now,
        blocked_is_shown: report
            .open_regions
            .iter()
            .any(|region| region.correlation_id == BLOCKED && !region.waiting),
        summary: String::from_utf8(summary.stdout).expect("UTF-8"),
    }
}

#[test]
fn the_request_that_blocks_is_shown() {
    let mut random = seeds::rng("the_request_that_blocks_is_shown");
    let runs = repetitions(20, 200);
    for _ in 0..runs {
        let folder = tempfile::tempdir().expect("a folder");
        let after = Duration::from_millis(random.u64(0..100));
        let killed = killed(8_192, after, folder.path());
        assert!(killed.blocked_is_shown, "{}", killed.summary);
        assert_eq!(killed.hidden, 0);
        assert!(
            killed.shown > IN_FLIGHT as u64 / 2,
            "{} shown",
            killed.shown
        );
        // However many wait.
        let (_, busy) = (killed.summary)
            .split_once("THOSE THAT DO NOT WAIT")
            .expect("a list");
        let (busy, _) = busy.split_once("THE NEWEST OF THEM").expect("a list");
        assert!(busy.contains(&BLOCKED.to_string()), "{}", killed.summary);
    }
    println!(
        "{runs} kills, {IN_FLIGHT} requests in flight: the one that blocked was shown each time"
    );
}

#[test]
fn the_hidden_ones_are_counted() {
    let mut random = seeds::rng("the_hidden_ones_are_counted");
    let runs = repetitions(20, 200);
    for _ in 0..runs {
        let folder = tempfile::tempdir().expect("a folder");
        let after = Duration::from_millis(random.u64(0..100));
        let killed = killed(1_024, after, folder.path());
        assert!(killed.shown <= 1_024);
        assert!(
            killed.hidden > IN_FLIGHT as u64 / 2,
            "{} hidden",
            killed.hidden
        );
        assert!(killed.summary.contains("not shown"), "{}", killed.summary);
    }
    println!("{runs} kills with the default table: the hidden ones were counted each time");
}

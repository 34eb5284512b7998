//! Proves: a thread that is stopped inside `Tracer::record`, at any instruction, keeps no other thread from finishing the capture and starting the next; what
//! it writes when it goes on is harmless, and its next event is in the capture that runs then.
//!
//! How: two threads under ptrace, one of which runs at a time. The first is stopped after k instructions of its call, for every k; the second exchanges the
//! capture, once or twice, and returns from it. Then the first returns. If it touched a page that is no longer mapped, the child would die of it.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::Ordering;

use hrx_trace_reader::Trace;
use hrx_trace_tests::crash::exchange::word;
use hrx_trace_tests::crash::shared_words::SharedWords;
use hrx_trace_tests::crash::tracee::Tracee;

/// The lanes of the events in capture `number`, which is removed if it is over.
fn lanes(folder: &Path, number: u64, is_over: bool) -> Vec<u64> {
    let path = folder.join(format!("{number}.hrxt"));
    let trace = Trace::open(&path).unwrap();
    let mut events = trace.events();
    let lanes = events.by_ref().map(|event| u64::from(event.lane)).collect();
    assert!(events.finish().account.balances());
    if is_over {
        std::fs::remove_file(path).unwrap();
    }
    lanes
}

#[test]
fn a_thread_stopped_inside_record_neither_blocks_finish_nor_touches_an_unmapped_page() {
    let folder = tempfile::tempdir().unwrap();
    let words_path = folder.path().join("words");
    let words = SharedWords::map(&words_path, word::COUNT).unwrap();
    let word = |index| words.get(index).load(Ordering::SeqCst);
    let mut child = Tracee::start(
        Command::new(env!("CARGO_BIN_EXE_stepped_tracer")).args([folder.path(), &words_path]),
    );
    let exchanging = child.process();
    let recording = child.run_until_thread();
    child.run(recording);
    child.run(exchanging);
    let exchange = |times| {
        for _ in 0..times {
            let before = word(word::EXCHANGED);
            // Returns: the stopped thread does not block it.
            child.run(exchanging);
            assert_eq!(word(word::EXCHANGED), before + 1);
        }
    };

    let (mut stops, mut counts) = (0, [0; 2]);
    for fresh in [true, false] {
        for steps in 0.. {
            // The thread either has a share of the capture that runs, or has to fetch one.
            if fresh {
                exchange(1);
            }
            let stopped_in = word(word::EXCHANGED);
            let number = word(word::STARTED) + 1;
            while word(word::STARTED) < number {
                child.step(recording);
            }
            let returned = (0..steps).any(|_| {
                child.step(recording);
                word(word::RETURNED) == number
            });
            if returned {
                child.run(recording);
                counts[usize::from(fresh)] = steps;
                break;
            }
            stops += 1;
            exchange(1 + steps % 2);
            child.run(recording);
            assert_eq!(word(word::RETURNED), number);

            // It is in one of the captures, or in none: its call and `finish` overlapped. Its next event is in the one that runs.
            child.run(recording);
            let runs = word(word::EXCHANGED);
            let mut found = 0;
            for capture in stopped_in..=runs {
                let mut lanes = lanes(folder.path(), capture, capture < runs);
                let next = lanes.pop_if(|lane| *lane == number + 1);
                assert_eq!(next.is_some(), capture == runs);
                lanes.retain(|lane| *lane == number);
                found += lanes.len();
            }
            assert!(found <= 1, "event {number} was recorded {found} times");
        }
    }
    println!(
        "stalled tracers checked: {stops}; a `record` takes {counts:?} instructions, then with a share to fetch"
    );
    assert!(stops > 300, "the child was stopped {stops} times only");
    assert!(counts[0] < counts[1], "{counts:?}");
}

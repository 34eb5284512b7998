//! Proves: a thread that stands still inside a `record` or a `finish`, at any of its instructions, while another one laps the ring, costs at most
//! one event, which is counted; and a death at that moment leaves the truth.
//!
//! How: two threads under ptrace, one of which moves at a time. The first is stopped after k instructions of its call, for every k; the second then
//! records less than a lap, a lap, or more, and is stopped at some instruction of one more call; it returns from that; then the first returns; then the second
//! laps the ring twice. The file is judged after each of these moves against the tickets that were given out, which are all known: a ticket of the
//! window has its event, or it is one of a call that has not returned, or it lies in the slot that the stopped thread was about to write.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::Ordering;

use fastrand::Rng;
use hrx_trace_reader::Trace;
use hrx_trace_tests::crash::pair::{
    self, CAPACITY, KIND_RECORD, KIND_REGION, LAPPING, STALLED, word,
};
use hrx_trace_tests::crash::seed;
use hrx_trace_tests::crash::shared_words::SharedWords;
use hrx_trace_tests::crash::tracee::Tracee;
use nix::unistd::Pid;

/// The child, and what its file must say.
struct Pair {
    child: Tracee,
    threads: [Pid; 2],
    words: SharedWords,
    path: PathBuf,
    /// The correlation id of every ticket given out.
    tickets: Vec<u64>,
    /// The events whose calls have begun and not returned, by thread.
    in_progress: [Option<u64>; 2],
    /// The ticket of the stopped call, from 0, until the slot has been written by somebody who was not stopped.
    stalled_ticket: Option<usize>,
    images: u64,
    /// Images in which the stopped thread's slot had lost a newer event.
    spoiled: u64,
}

impl Pair {
    fn start(path: PathBuf, words_path: PathBuf) -> Self {
        let words = SharedWords::map(&words_path, 2 * word::COUNT).unwrap();
        let mut child = Tracee::start(
            Command::new(env!("CARGO_BIN_EXE_stepped_pair")).args([&path, &words_path]),
        );
        let stalled = child.process();
        let lapping = child.run_until_thread();
        child.run(lapping);
        child.run(stalled);
        Self {
            child,
            threads: [stalled, lapping],
            words,
            path,
            tickets: Vec::new(),
            in_progress: [None; 2],
            stalled_ticket: None,
            images: 0,
            spoiled: 0,
        }
    }

    fn word(&self, thread: usize, word: usize) -> u64 {
        self.words
            .get(thread * word::COUNT + word)
            .load(Ordering::SeqCst)
    }

    fn tell(&self, thread: usize, word: usize, value: u64) {
        self.words
            .get(thread * word::COUNT + word)
            .store(value, Ordering::SeqCst);
    }

    /// Lets `thread` record `count` events, undisturbed.
    fn record(&mut self, thread: usize, count: u64) {
        self.tell(thread, word::TURN, count);
        self.tell(thread, word::KIND, KIND_RECORD);
        let first = self.word(thread, word::RETURNED);
        self.child.run(self.threads[thread]);
        for index in first..first + count {
            self.tickets.push(pair::correlation_id(thread, index));
        }
        self.judge(None);
    }

    /// Lets `thread` execute `steps` instructions of its next call. False: it has returned from it.
    fn enter(&mut self, thread: usize, kind: u64, steps: u64) -> bool {
        self.tell(thread, word::TURN, 1);
        self.tell(thread, word::KIND, kind);
        let index = self.word(thread, word::STARTED);
        while self.word(thread, word::STARTED) == index {
            self.child.step(self.threads[thread]);
        }
        let id = pair::correlation_id(thread, index);
        self.in_progress[thread] = Some(id);
        for _ in 0..steps {
            self.child.step(self.threads[thread]);
            if self.word(thread, word::RETURNED) > index {
                return false;
            }
        }
        self.judge(Some(id));
        true
    }

    /// Lets `thread` return from the call that it is in.
    fn leave(&mut self, thread: usize) {
        self.child.run(self.threads[thread]);
        let id = self.in_progress[thread].take();
        self.judge(id);
    }

    /// Judges the file. `moved` is the event that may have been given a ticket since.
    fn judge(&mut self, moved: Option<u64>) {
        self.images += 1;
        let trace = Trace::from_bytes(fs::read(&self.path).unwrap()).unwrap();
        let mut events = trace.events();
        let seen: Vec<(u64, u64)> = events
            .by_ref()
            .map(|event| {
                assert_eq!(event.copied_bytes, pair::copied_bytes(event.correlation_id));
                assert_eq!(u64::from(event.lane) + 1, event.correlation_id >> 32);
                (event.sequence, event.correlation_id)
            })
            .collect();
        let report = events.finish();
        let account = report.account;
        assert!(account.balances(), "{account:?}");
        assert_eq!((report.open_torn, &report.damages), (0, &Vec::new()));

        if account.claimed as usize > self.tickets.len() {
            let moved = moved.expect("nobody else was given a ticket");
            assert!(
                !self.tickets.contains(&moved),
                "{moved} has a second ticket"
            );
            self.tickets.push(moved);
            if self.in_progress[STALLED] == Some(moved) {
                self.stalled_ticket = Some(self.tickets.len() - 1);
            }
        }
        assert_eq!(account.claimed as usize, self.tickets.len());

        let capacity = CAPACITY as usize;
        let oldest = self.tickets.len().saturating_sub(capacity);
        let mut torn = 0;
        let there: Vec<u64> = seen.iter().map(|(_, id)| *id).collect();
        let mut seen = seen.into_iter().peekable();
        for (ticket, id) in self.tickets.iter().enumerate().skip(oldest) {
            if let Some((_, found)) = seen.next_if(|(sequence, _)| *sequence == ticket as u64 + 1) {
                assert_eq!(found, *id, "ticket {ticket}");
                continue;
            }
            torn += 1;
            if self.in_progress.contains(&Some(*id)) {
                continue;
            }
            let spoiled = self
                .stalled_ticket
                .is_some_and(|stalled| stalled < ticket && stalled % capacity == ticket % capacity);
            assert!(spoiled, "ticket {ticket} is lost: {report:?}");
            self.spoiled += 1;
        }
        assert_eq!(seen.next(), None, "events outside the window");
        assert_eq!(account.torn, torn);

        let open: Vec<u64> = report
            .open_regions
            .iter()
            .map(|region| region.correlation_id)
            .collect();
        let region =
            self.in_progress[STALLED].filter(|_| self.word(STALLED, word::KIND) == KIND_REGION);
        let ticket = self
            .tickets
            .iter()
            .position(|ticket| Some(*ticket) == region);
        match (region, ticket) {
            (Some(id), Some(ticket)) if ticket >= oldest => {
                assert_eq!(
                    open == [id],
                    !there.contains(&id),
                    "{id} is shown twice, or never"
                );
            }
            // It has been overwritten and its `finish` has not returned: running, or not, is both true.
            (Some(id), Some(_)) => assert!(open.is_empty() || open == [id]),
            (Some(id), None) => assert_eq!(open, [id]),
            (None, _) => assert!(open.is_empty()),
        }
    }
}

#[test]
fn a_writer_stopped_at_any_instruction_costs_at_most_one_event() {
    let mut random = Rng::with_seed(seed());
    let folder = tempfile::tempdir().unwrap();
    let mut pair = Pair::start(folder.path().join("t.hrxt"), folder.path().join("words"));
    pair.record(LAPPING, CAPACITY);
    let mut stops = 0;
    // The instructions, counted within their call, at which standing still cost an event.
    let mut spoiling = BTreeSet::new();
    // In turn: enough to reach the slot, and not. By the number of the stop, for by that of the instruction the two cycles met so seldom that not one stop
    // among the dozen stores of a region was followed by a lap, in one run of some ten: the test then could not tell where an event is lost.
    let laps = [
        CAPACITY,
        CAPACITY - 1,
        2 * CAPACITY,
        0,
        CAPACITY,
        CAPACITY - 2,
    ];
    for (kind, stride) in [(KIND_RECORD, 1), (KIND_REGION, 2)] {
        for steps in (0..).step_by(stride) {
            if !pair.enter(STALLED, kind, steps) {
                pair.leave(STALLED);
                break;
            }
            stops += 1;
            let spoiled_before = pair.spoiled;
            pair.record(LAPPING, laps[stops % laps.len()]);
            if random.bool() {
                pair.enter(LAPPING, KIND_RECORD, random.u64(0..250));
                pair.leave(LAPPING);
            }
            pair.leave(STALLED);
            if pair.spoiled > spoiled_before {
                spoiling.insert((kind, steps));
            }
            // The slot is written anew, and nothing is left of it all.
            pair.record(LAPPING, CAPACITY);
            pair.stalled_ticket = None;
            pair.record(LAPPING, CAPACITY);
        }
    }
    let span = |kind| {
        let steps = || {
            spoiling
                .iter()
                .filter(|(of, _)| *of == kind)
                .map(|(_, steps)| *steps)
        };
        Some(steps().min()?..=steps().max()?)
    };
    let spans = [KIND_RECORD, KIND_REGION].map(|kind| span(kind).expect("some do"));
    println!(
        "stalled writers checked: {stops}, {} images; a newer event is spoiled by those that stand at instructions {spans:?}",
        pair.images
    );
    assert!(stops > 300, "the child was hardly stopped");
    for span in spans {
        // Those of the stores, and no other: from the look at the slot to the last word.
        assert!(span.end() - span.start() < 50, "{span:?}");
    }
}

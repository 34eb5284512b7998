//! Proves: a thread that stands still inside a `record` or a `finish`, at any of its instructions, while another one laps the ring, costs at most
//! one event, which is counted; and a death at that moment leaves the truth.
//!
//! How: two threads under ptrace, one of which moves at a time. The first is stopped after k instructions of its call, for every k; the second then
//! records less than a lap, a lap, or more, and is stopped at some instruction of one more call; it returns from that; then the first returns; then the second
//! laps the ring twice. The file is judged after each of these moves against the tickets that were given out, which are all known: a ticket of the
//! window has its event, or it is one of a call that has not returned, or it lies in the slot that the stopped thread was about to write.
//!
//! With a ring of its own the third does not happen, and whatever the second thread does, in its own ring or in the shared one, it costs nothing: shown by
//! the same moves, with the first thread stopped in the calls of a writer, and in the dropping of one and the making of the next.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::Ordering;

use fastrand::Rng;
use hrx_trace_reader::Trace;
use hrx_trace_tests::crash::pair::{
    self, CAPACITY, KIND_OWN_RECORD, KIND_OWN_REGION, KIND_RECORD, KIND_REGION, KIND_RETAKE,
    LAPPING, RINGS, SHARED, STALLED, word,
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
    /// The correlation id of every ticket given out, by ring.
    tickets: [Vec<u64>; RINGS],
    /// The rings of the threads' writers, once they have recorded something.
    own_rings: [Option<usize>; 2],
    /// The events whose calls have begun and not returned, by thread.
    in_progress: [Option<u64>; 2],
    /// The ticket of the stopped call in the shared ring, from 0, until the slot has been written by somebody who was not stopped.
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
            tickets: [const { Vec::new() }; RINGS],
            own_rings: [None; 2],
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

    /// Lets `thread` make `count` calls of `kind`, undisturbed.
    fn call(&mut self, thread: usize, kind: u64, count: u64) {
        self.tell(thread, word::TURN, count);
        self.tell(thread, word::KIND, kind);
        let first = self.word(thread, word::RETURNED);
        self.child.run(self.threads[thread]);
        if kind == KIND_RETAKE {
            self.own_rings[thread] = None;
            return self.judge(thread, &[]);
        }
        let ids: Vec<u64> = (first..first + count)
            .map(|index| pair::correlation_id(thread, index))
            .collect();
        self.judge(thread, &ids);
        self.assert_recorded(&ids);
    }

    /// Lets `thread` execute `steps` instructions of its next call. False: it has returned from it.
    fn enter(&mut self, thread: usize, kind: u64, steps: u64) -> bool {
        self.tell(thread, word::TURN, 1);
        self.tell(thread, word::KIND, kind);
        let index = self.word(thread, word::STARTED);
        while self.word(thread, word::STARTED) == index {
            self.child.step(self.threads[thread]);
        }
        if kind == KIND_RETAKE {
            self.own_rings[thread] = None;
        } else {
            self.in_progress[thread] = Some(pair::correlation_id(thread, index));
        }
        self.go_on(thread, steps)
    }

    /// Lets `thread` execute `steps` more instructions of its call. False: it has returned from it.
    fn go_on(&mut self, thread: usize, steps: u64) -> bool {
        let started = self.word(thread, word::STARTED);
        for _ in 0..steps {
            self.child.step(self.threads[thread]);
            if self.word(thread, word::RETURNED) == started {
                return false;
            }
        }
        let id = self.in_progress[thread];
        self.judge(thread, id.as_slice());
        true
    }

    /// Lets `thread` come to the end of the call that it is in; how many instructions that takes.
    fn step_to_the_end(&mut self, thread: usize) -> u64 {
        let started = self.word(thread, word::STARTED);
        let mut steps = 0;
        while self.word(thread, word::RETURNED) < started {
            self.child.step(self.threads[thread]);
            steps += 1;
        }
        steps
    }

    /// Lets `thread` return from the call that it is in.
    fn leave(&mut self, thread: usize) {
        self.child.run(self.threads[thread]);
        let id = self.in_progress[thread].take();
        self.judge(thread, id.as_slice());
        self.assert_recorded(id.as_slice());
    }

    /// Each of `ids` has been given a ticket, and one only.
    fn assert_recorded(&self, ids: &[u64]) {
        for id in ids {
            let tickets = self.tickets.iter().flatten();
            assert_eq!(tickets.filter(|ticket| *ticket == id).count(), 1, "{id}");
        }
    }

    /// Notes the tickets that a ring has given out, when its count of them is `claimed`: of `moved`, which are events of `thread`.
    fn note(&mut self, ring: usize, claimed: usize, thread: usize, moved: &[u64]) {
        let new = claimed - self.tickets[ring].len();
        if new == 0 {
            return;
        }
        assert!(new <= moved.len(), "nobody else was given a ticket");
        match self.word(thread, word::KIND) {
            KIND_RECORD | KIND_REGION => assert_eq!(ring, SHARED),
            _ => {
                assert_ne!(ring, SHARED);
                assert_eq!(ring, *self.own_rings[thread].get_or_insert(ring));
                assert_ne!(self.own_rings[0], self.own_rings[1], "one ring for two");
            }
        }
        self.tickets[ring].extend(&moved[..new]);
        if ring == SHARED && thread == STALLED && self.in_progress[STALLED].is_some() {
            self.stalled_ticket = Some(claimed - 1);
        }
    }

    /// Judges the file. `moved` are the events of `thread` that may have been given tickets since.
    fn judge(&mut self, thread: usize, moved: &[u64]) {
        self.images += 1;
        let trace = Trace::from_bytes(fs::read(&self.path).unwrap()).unwrap();
        let mut events = trace.events();
        let mut seen: [Vec<(u64, u64)>; RINGS] = Default::default();
        for event in events.by_ref() {
            assert_eq!(event.copied_bytes, pair::copied_bytes(event.correlation_id));
            assert_eq!(u64::from(event.lane) + 1, event.correlation_id >> 32);
            seen[event.ring as usize].push((event.sequence, event.correlation_id));
        }
        let report = events.finish();
        assert!(report.account.balances(), "{report:?}");
        assert_eq!((report.open_torn, &report.damages), (0, &Vec::new()));

        // Events whose tickets are in the window, or older than it.
        let mut there = Vec::new();
        let mut overwritten = Vec::new();
        let capacity = CAPACITY as usize;
        for (ring, seen) in seen.into_iter().enumerate() {
            let account = report.rings[ring];
            assert!(account.balances(), "{account:?}");
            self.note(ring, account.claimed as usize, thread, moved);
            let tickets = &self.tickets[ring];
            let oldest = tickets.len().saturating_sub(capacity);
            overwritten.extend(&tickets[..oldest]);
            let mut torn = 0;
            let mut seen = seen.into_iter().peekable();
            for (ticket, id) in tickets.iter().enumerate().skip(oldest) {
                if let Some((_, found)) =
                    seen.next_if(|(sequence, _)| *sequence == ticket as u64 + 1)
                {
                    assert_eq!(found, *id, "ticket {ticket}");
                    there.push(found);
                    continue;
                }
                torn += 1;
                if self.in_progress.contains(&Some(*id)) {
                    continue;
                }
                let spoiled = self.stalled_ticket.is_some_and(|stalled| {
                    ring == SHARED && stalled < ticket && stalled % capacity == ticket % capacity
                });
                assert!(
                    spoiled,
                    "ticket {ticket} of ring {ring} is lost: {report:?}"
                );
                self.spoiled += 1;
            }
            assert_eq!(seen.next(), None, "events outside the window");
            assert_eq!(account.torn, torn);
        }

        let open: Vec<u64> = report
            .open_regions
            .iter()
            .map(|region| region.correlation_id)
            .collect();
        let mut running = Vec::new();
        for thread in [STALLED, LAPPING] {
            let kind = self.word(thread, word::KIND);
            let Some(id) =
                self.in_progress[thread].filter(|_| kind == KIND_REGION || kind == KIND_OWN_REGION)
            else {
                continue;
            };
            running.push(id);
            if overwritten.contains(&id) {
                // And its `finish` has not returned: running, or not, is both true.
                assert_eq!(kind, KIND_REGION, "overwritten in a ring of its own");
            } else {
                assert_eq!(
                    open.contains(&id),
                    !there.contains(&id),
                    "{id} is shown twice, or never"
                );
            }
        }
        assert!(open.iter().all(|id| running.contains(id)), "{open:?}");
    }
}

#[test]
fn a_writer_stopped_at_any_instruction_costs_at_most_one_event() {
    let mut random = Rng::with_seed(seed());
    let folder = tempfile::tempdir().unwrap();
    let mut pair = Pair::start(folder.path().join("t.hrxt"), folder.path().join("words"));
    pair.call(LAPPING, KIND_RECORD, CAPACITY);
    let mut stops = 0;
    // The instructions at which standing still cost an event, by how many were left of their call. How many had gone before is not the same each time: a
    // region asks for the time, in a loop that begins anew if the clock has ticked, and counted so the stores of a dozen calls spanned 65, in one run of some twenty.
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
            pair.call(LAPPING, KIND_RECORD, laps[stops % laps.len()]);
            if random.bool() {
                pair.enter(LAPPING, KIND_RECORD, random.u64(0..250));
                pair.leave(LAPPING);
            }
            // Without a ticket it has no slot to spoil.
            let left = (pair.stalled_ticket).map(|_| pair.step_to_the_end(STALLED));
            pair.leave(STALLED);
            if pair.spoiled > spoiled_before {
                spoiling.insert((kind, left.expect("it had a ticket")));
            }
            // The slot is written anew, and nothing is left of it all.
            pair.call(LAPPING, KIND_RECORD, CAPACITY);
            pair.stalled_ticket = None;
            pair.call(LAPPING, KIND_RECORD, CAPACITY);
        }
    }
    let span = |kind| {
        let left = || {
            spoiling
                .iter()
                .filter(|(of, _)| *of == kind)
                .map(|(_, left)| *left)
        };
        Some(left().min()?..=left().max()?)
    };
    let spans = [KIND_RECORD, KIND_REGION].map(|kind| span(kind).expect("some do"));
    println!(
        "stalled writers checked: {stops}, {} images; a newer event is spoiled by those that have {spans:?} instructions left",
        pair.images
    );
    assert!(stops > 300, "the child was hardly stopped");
    for span in spans {
        // Those of the stores, and no other: from the look at the slot to the last word.
        assert!(span.end() - span.start() < 50, "{span:?}");
    }
}

#[test]
fn a_writer_stopped_at_any_instruction_of_its_own_ring_costs_nothing() {
    let mut random = Rng::with_seed(seed());
    let folder = tempfile::tempdir().unwrap();
    let mut pair = Pair::start(folder.path().join("t.hrxt"), folder.path().join("words"));
    // Every ring is full: each stopped call writes over an event.
    for thread in [STALLED, LAPPING] {
        pair.call(thread, KIND_OWN_RECORD, CAPACITY);
        pair.call(thread, KIND_RECORD, CAPACITY);
    }
    // What the other thread does while the first stands still.
    let others = |pair: &mut Pair, random: &mut Rng| {
        if random.bool() {
            // May well be the ring that the stopped thread is giving back.
            pair.call(LAPPING, KIND_RETAKE, 1);
        }
        for kind in [KIND_OWN_RECORD, KIND_RECORD] {
            pair.call(LAPPING, kind, random.u64(0..=2 * CAPACITY));
        }
        if random.u32(0..8) == 0 {
            let kind = random.choice([KIND_OWN_RECORD, KIND_RECORD, KIND_RETAKE]);
            pair.enter(LAPPING, kind.unwrap(), random.u64(0..250));
            pair.leave(LAPPING);
        }
    };
    let mut stops = 0;
    for (kind, stride) in [(KIND_OWN_RECORD, 8), (KIND_OWN_REGION, 3), (KIND_RETAKE, 1)] {
        // At each instruction of one call. Not of a region's: it asks for the time, in a loop that begins anew if the clock has ticked, and here would
        // never end.
        if kind != KIND_OWN_REGION {
            pair.enter(STALLED, kind, 0);
            loop {
                stops += 1;
                others(&mut pair, &mut random);
                if !pair.go_on(STALLED, 1) {
                    break;
                }
            }
            pair.leave(STALLED);
        }
        // At one instruction of each call.
        for steps in (random.u64(0..stride)..).step_by(stride as usize) {
            if !pair.enter(STALLED, kind, steps) {
                pair.leave(STALLED);
                break;
            }
            stops += 1;
            others(&mut pair, &mut random);
            pair.leave(STALLED);
            // What it has now, whosever it was, it goes once round.
            pair.call(STALLED, KIND_OWN_RECORD, random.u64(0..=CAPACITY));
        }
    }
    // And a death with both threads in the middle of a call changes nothing.
    pair.enter(STALLED, KIND_OWN_RECORD, 50);
    pair.enter(LAPPING, KIND_OWN_REGION, 50);
    let last = fs::read(&pair.path).unwrap();
    let Pair { child, path, .. } = pair;
    drop(child);
    assert_eq!(fs::read(path).unwrap(), last);
    println!(
        "stalled writers with rings of their own checked: {stops}, {} images; nothing is lost",
        pair.images
    );
    assert!(stops > 300, "the child was hardly stopped");
}

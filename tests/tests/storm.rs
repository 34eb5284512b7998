//! Proves: however and whenever a recording process dies, its file holds every event whose call had returned, no wrong one, and a count of everything
//! else. The same holds whenever the file is read while the process lives.
//!
//! How: children of one to eight threads record into rings of one to 100,000 events until they are killed at a random moment, even during creation. Each
//! event's fields follow from its thread and its index, and each thread stores in a shared word how many of its calls have returned, so the parent knows
//! what the file must hold. Some threads record through writers that they drop and make again, sometimes more of them than there are rings. Half of the
//! children are read continuously while they run, and the small ones among these are also converted by the real command.
//!
//! Half of the dead children have a witness, which knows how and when they ended, and half of them a heartbeat, whose last word is never after the death.
//!
//! One loss is allowed, which the format promises to count: a thread that stalls among the stores of one `record` while others lap the ring spoils one
//! newer event. The children note when a lap passed during a call. Without one, nothing may be missing; and a writer's own ring loses at most the record
//! in progress at its death.
//!
//! HRX_STORM_SECONDS sets the length of the storm (default 90). HRX_TEST_SEED repeats one, as far as the scheduler allows.

use std::collections::HashSet;
use std::fs::File;
use std::mem::offset_of;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::LazyLock;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};

use bytemuck::Zeroable;
use fastrand::Rng;
use hrx_trace_format::witness::{CAUSE_EXIT, CAUSE_SIGNAL, WITNESS_WORD};
use hrx_trace_format::{self as format, Checksum, Counters, Identity};
use hrx_trace_reader::{
    Account, Argument, ArgumentValue, Ending, Error, Event, Kind as EventKind, Name, Trace,
};
use hrx_trace_tests::crash::shared_words::SharedWords;
use hrx_trace_tests::crash::storm::{
    DIE_EXIT, DIE_PANIC, KEYS, Kind, Load, NAMES, Operation, Plan, word,
};
use hrx_trace_tests::programs::PROGRAMS;
use hrx_trace_tests::seeds;
use nix::sys::signal::{Signal, kill};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;
use serde_json::Value;

/// What an author has noted in its shared words.
#[derive(Clone, Copy, Debug)]
struct Progress {
    own_ring: bool,
    entered_at: u64,
    started: u64,
    begun: u64,
    ending: u64,
    returned: u64,
    lapped_at: u64,
    tickets: u64,
}

fn progress(words: &SharedWords, author: usize) -> Progress {
    let word = |word| words.get(word::of(author, word)).load(Ordering::SeqCst);
    Progress {
        // In reverse order of the stores: a word read earlier is then never ahead of one read later.
        lapped_at: word(word::LAPPED_AT),
        returned: word(word::RETURNED),
        ending: word(word::ENDING),
        begun: word(word::BEGUN),
        started: word(word::STARTED),
        tickets: word(word::TICKETS),
        entered_at: word(word::ENTERED_AT),
        own_ring: word(word::OWN_RING) == 1,
    }
}

/// Totals of a test.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    kills: u64,
    before_ready: u64,
    live_reads: u64,
    conversions: u64,
    events: u64,
    /// Events in writers' own rings.
    own_events: u64,
    /// Captures of dead children in which a writer had found no ring left; and in which a ring had several writers, one after the other.
    no_ring_left: u64,
    rings_passed_on: u64,
    /// Marks, values and arguments.
    marks: u64,
    values: u64,
    arguments: u64,
    torn: u64,
    /// Newer events that a stalled writer spoiled.
    spoiled: u64,
    /// Captures of dead children that a witness had written into; and those whose heartbeat was heard.
    witnessed: u64,
    beats: u64,
    /// Captures of dead children in which the writer of every slot died inside `record`, so that the reader went by the previous lap.
    all_torn: u64,
}

/// What all readings of one child's file have shown.
struct Witness<'plan> {
    plan: &'plan Plan,
    words: SharedWords,
    /// Stated start minus index, the same for every `record`.
    first_ns: Option<u64>,
    /// By thread.
    thread_ids: Vec<Option<u32>>,
    /// By author.
    rings: Vec<Option<u32>>,
}

impl<'plan> Witness<'plan> {
    fn new(plan: &'plan Plan, words: SharedWords) -> Self {
        Self {
            plan,
            words,
            first_ns: None,
            thread_ids: vec![None; plan.threads],
            rings: vec![None; plan.authors()],
        }
    }

    fn all_progress(&self) -> Vec<Progress> {
        (0..self.plan.authors())
            .map(|author| progress(&self.words, author))
            .collect()
    }

    /// Judges the file as it is now.
    fn judge(&mut self, path: &Path, tally: &mut Tally) -> Ending {
        let before = self.all_progress();
        let trace = Trace::open(path).expect("the header is intact");
        let mut events = trace.events();
        let mut seen = vec![Seen::default(); self.plan.authors()];
        let mut sequences = vec![0; (self.plan.rings + self.plan.writers) as usize];
        let mut completed = HashSet::new();
        let mut lacking = HashSet::new();
        for event in events.by_ref() {
            tally.events += 1;
            let (author, index) =
                Operation::named(event.correlation_id).expect("every event has an author");
            let operation = Operation::of(self.plan.seed, author, index);
            judge_event(&trace, &event, &operation, tally);
            if event.arguments.len() != operation.load().len() {
                lacking.insert(event.ring);
            }
            self.judge_thread(author, event.thread_id);
            let seen = &mut seen[author];
            assert!(
                seen.next <= index,
                "event {index} of author {author} is returned twice or out of order"
            );
            if operation.kind == Kind::Record {
                let first_ns = event.start_ns - index;
                assert_eq!(first_ns, *self.first_ns.get_or_insert(first_ns));
                assert_eq!(u128::from(event.duration_ns), operation.elapsed.as_nanos());
            } else if operation.kind.runs() {
                assert!(
                    seen.region_end_ns <= event.start_ns,
                    "two regions of one thread at the same time"
                );
                seen.region_end_ns = event.end_ns();
                // Only the thread's last region can be in the open table too.
                seen.last_region = Some(event.correlation_id);
            }
            seen.first = seen.first.or(Some(index));
            seen.next = index + 1;
            seen.acknowledged += u64::from(index < before[author].returned);
            assert_eq!(
                *self.rings[author].get_or_insert(event.ring),
                event.ring,
                "an author recorded into two rings"
            );
            tally.own_events += u64::from(event.ring >= self.plan.rings);
            let sequence = &mut sequences[event.ring as usize];
            assert!(*sequence < event.sequence);
            *sequence = event.sequence;
        }
        let report = events.finish();
        let after = self.all_progress();
        completed.extend(seen.iter().filter_map(|seen| seen.last_region));

        assert!(report.account.balances() && report.rings.iter().all(Account::balances));
        for (ring, account) in report.rings.iter().enumerate() {
            let lost = account.overwritten + account.torn + account.in_flight + account.overtaken;
            assert!(
                !lacking.contains(&(ring as u32)) || lost > 0,
                "an event lacks arguments, and nothing was lost: {report:?}"
            );
            assert!(sequences[ring] <= account.claimed);
            assert_eq!(
                account.overwritten,
                account.claimed.saturating_sub(self.plan.capacity)
            );
        }
        assert_eq!(
            (report.rejected, report.open_refused, report.names_refused),
            (0, 0, 0)
        );
        assert_eq!(
            (report.open_torn, report.account.skipped),
            (0, 0),
            "{report:?}"
        );
        for (author, (seen, after)) in seen.iter().zip(&after).enumerate() {
            assert!(
                seen.next <= after.started,
                "author {author} has not begun {}",
                seen.next
            );
        }
        let returned: u64 = before.iter().map(|thread| thread.returned).sum();
        let tickets: u64 = after.iter().map(|thread| thread.tickets).sum();
        let claimed = report.account.claimed;
        assert!(
            claimed <= tickets,
            "{claimed} tickets, and at most {tickets} were asked for"
        );
        // If the writers of all slots died inside `record` over the previous lap's records, the file holds that lap.
        let all_torn = self.plan.capacity <= self.plan.threads as u64 && !report.damages.is_empty();
        if !all_torn {
            assert_eq!(report.damages, []);
            assert!(
                returned <= claimed,
                "{claimed} tickets for {returned} calls that returned"
            );
        }

        // Events whose calls had returned before the file was read and which are missing, though older tickets are there.
        let missing_of = |author: usize| {
            let (seen, before) = (&seen[author], &before[author]);
            let ring =
                self.rings[author].map_or(&report.account, |ring| &report.rings[ring as usize]);
            let first = if ring.overwritten == 0 {
                Some(0)
            } else {
                seen.first
            };
            let expected = first.map_or(0, |first| before.returned.saturating_sub(first));
            expected - seen.acknowledged
        };
        let missing: u64 = (0..self.plan.authors()).map(missing_of).sum();
        let holes = report.account.torn + report.account.in_flight + report.account.overtaken;
        assert!(missing <= holes, "{missing} events are missing: {report:?}");
        if report.ending != Ending::Live {
            assert_eq!((report.account.in_flight, report.account.overtaken), (0, 0));
            let (shared, own) = report.rings.split_at(self.plan.rings as usize);
            let torn = |rings: &[Account]| rings.iter().map(|ring| ring.torn).sum::<u64>();
            let in_progress = |own: bool| {
                let threads = after.iter().filter(|author| author.own_ring == own);
                threads
                    .filter(|author| author.started > author.returned)
                    .count() as u64
            };
            // No other thread writes there: everything is there except the record in progress.
            for author in (0..self.plan.authors()).filter(|author| after[*author].own_ring) {
                assert_eq!(
                    missing_of(author),
                    0,
                    "author {author}: {after:?} {report:?}"
                );
            }
            assert!(
                torn(own) <= in_progress(true),
                "{} writers died inside a call: {after:?} {report:?}",
                in_progress(true)
            );
            let lapped = self.lapped(&after, shared);
            assert!(
                missing <= lapped,
                "{missing} events are missing, {lapped} excused: {after:?} {report:?}"
            );
            assert!(
                torn(shared) <= lapped + in_progress(false),
                "{} threads died inside a call, {lapped} were lapped: {after:?} {report:?}",
                in_progress(false)
            );
            tally.torn += report.account.torn;
            tally.spoiled += missing;
            tally.all_torn += u64::from(all_torn);
            self.tally_writers(&after, tally);
        }
        self.judge_rings(&after);

        let mut open_threads = HashSet::new();
        for region in &report.open_regions {
            let (author, index) =
                Operation::named(region.correlation_id).expect("every region has an author");
            let operation = Operation::of(self.plan.seed, author, index);
            assert!(operation.kind.runs());
            // An open record has no place for a status: it is known from the first change on.
            let status = if region.amended { operation.status } else { 0 };
            assert_eq!(
                (region.lane, region.copied_bytes, region.status),
                (operation.lane, operation.copied_bytes, status)
            );
            let state = (&*trace.name(region.label_id), region.waiting);
            let mut states = vec![(name(operation.name), false)];
            if operation.kind == Kind::Changed {
                let other = name(operation.other_name());
                states.extend([(other, false), (other, true)]);
            }
            assert!(states.contains(&state), "{state:?}");
            // The argument comes before the change.
            judge_load(&trace, &region.arguments, region.arguments_lost, &operation);
            assert!(
                !region.amended || !region.arguments.is_empty(),
                "a running region lost its first argument: {region:?}"
            );
            self.judge_thread(author, region.thread_id);
            assert!(
                open_threads.insert(self.plan.thread(author)),
                "a thread has two running regions"
            );
            assert!(
                !completed.contains(&region.correlation_id),
                "a region is both running and completed"
            );
            assert!(before[author].returned <= index && index < after[author].started);
        }
        for (author, after) in after.iter().enumerate() {
            if report.ending != Ending::Live
                && after.begun > after.returned
                && after.ending < after.begun
            {
                assert!(
                    open_threads.contains(&self.plan.thread(author)),
                    "the running region is not shown"
                );
            }
        }
        report.ending
    }

    fn judge_thread(&mut self, author: usize, id: u32) {
        let thread = self.plan.thread(author);
        assert_eq!(id, *self.thread_ids[thread].get_or_insert(id));
    }

    /// Asserts that each author recorded into the ring that it noted: its own, or its thread's shared one.
    fn judge_rings(&self, authors: &[Progress]) {
        for (author, ring) in self.rings.iter().enumerate() {
            let Some(ring) = *ring else { continue };
            if authors[author].own_ring {
                assert!(ring >= self.plan.rings, "author {author} is in ring {ring}");
            } else {
                assert_eq!(ring as usize, self.plan.shared_ring(author));
            }
        }
    }

    fn tally_writers(&self, authors: &[Progress], tally: &mut Tally) {
        let begun = |author: &usize| authors[*author].started > 0;
        let mut by_writer = (0..self.plan.authors())
            .filter(|author| self.plan.thread(*author) < self.plan.writing)
            .filter(begun);
        tally.no_ring_left += u64::from(by_writer.any(|author| !authors[author].own_ring));
        let own = || (self.rings.iter().flatten()).filter(|ring| **ring >= self.plan.rings);
        let rings: HashSet<_> = own().collect();
        tally.rings_passed_on += u64::from(rings.len() < own().count());
    }

    /// The number of newer events that authors may have spoiled in shared rings, by what they noted: one for each record of an author's last operation if it was
    /// lapped in it, and of an earlier one whose slot has not been written since. None in a ring with a single thread.
    fn lapped(&self, authors: &[Progress], shared: &[Account]) -> u64 {
        let plan = self.plan;
        let by = |(author, told): (usize, &Progress)| {
            let ring = plan.shared_ring(author);
            let threads = (0..plan.threads).filter(|thread| plan.shared_ring(*thread) == ring);
            if told.own_ring || threads.count() == 1 {
                return 0;
            }
            let claimed = shared[ring].claimed;
            let in_last = claimed.saturating_sub(told.entered_at) >= plan.capacity;
            let earlier = told.lapped_at > 0 && told.lapped_at + plan.capacity > claimed;
            // Of an operation of several records, each may have been lapped.
            let records = |index| Operation::of(plan.seed, author, index).kind.tickets();
            let in_last = if in_last {
                told.started.checked_sub(1).map_or(0, records)
            } else {
                0
            };
            in_last + if earlier { Kind::MOST_TICKETS } else { 0 }
        };
        authors.iter().enumerate().map(by).sum()
    }
}

/// Judges every field of an event but its moment and its thread.
fn judge_event(trace: &Trace, event: &Event, operation: &Operation, tally: &mut Tally) {
    let (copied_bytes, status, failed) = match operation.kind {
        Kind::Finish => (operation.finished_bytes, operation.status, operation.failed),
        Kind::Fail => (operation.copied_bytes, !operation.status, true),
        Kind::Drop => (operation.copied_bytes, operation.status, true),
        Kind::Cancel => (operation.copied_bytes, operation.status, false),
        Kind::Record | Kind::Changed | Kind::Laden => {
            (operation.copied_bytes, operation.status, operation.failed)
        }
        Kind::Mark | Kind::Value => (0, 0, false),
    };
    let (kind, lane) = match operation.kind {
        Kind::Mark => (EventKind::Mark, operation.lane),
        Kind::Value => (EventKind::Value, 0),
        _ => (EventKind::Region, operation.lane),
    };
    assert_eq!(
        (event.kind, event.lane, event.copied_bytes, event.status),
        (kind, lane, copied_bytes, status),
        "{operation:?}"
    );
    assert_eq!(
        (event.failed, event.cancelled, event.saturated, event.hidden),
        (failed, operation.kind == Kind::Cancel, false, false),
        "{operation:?}"
    );
    if operation.kind == Kind::Value {
        assert_eq!(event.value, operation.number());
    }
    let named = match operation.kind {
        Kind::Changed => operation.other_name(),
        _ => operation.name,
    };
    assert_eq!(&*trace.name(event.label_id), name(named));
    judge_load(trace, &event.arguments, event.arguments_lost, operation);
    tally.marks += u64::from(operation.kind == Kind::Mark);
    tally.values += u64::from(operation.kind == Kind::Value);
    tally.arguments += event.arguments.len() as u64;
}

/// Those that are there are right and in their order, and those that are known to be missing are at most as many as there were.
fn judge_load(trace: &Trace, found: &[Argument], lost: u64, operation: &Operation) {
    let load = operation.load();
    let mut expected = load.iter();
    for argument in found {
        let is_it = |load: &&Load| {
            matches!(trace.key(argument.key), Name::Known { text, .. } if text == KEYS[load.key()])
                && match (&argument.value, load) {
                    (ArgumentValue::U64(found), Load::Number(number)) => found == number,
                    (ArgumentValue::Text(found), Load::Text(text)) => match argument.incomplete {
                        true => text.starts_with(found.as_str()),
                        false => found == text,
                    },
                    _ => false,
                }
        };
        assert!(
            expected.any(|load| is_it(&load)),
            "{argument:?} is not of {operation:?}"
        );
        assert!(!argument.cut);
    }
    assert!(
        found.len() as u64 + lost <= load.len() as u64,
        "{found:?} and {lost} lost of {operation:?}"
    );
}

/// What one reading found of an author.
#[derive(Clone, Debug, Default)]
struct Seen {
    first: Option<u64>,
    /// The lowest index that may come next.
    next: u64,
    acknowledged: u64,
    region_end_ns: u64,
    last_region: Option<u64>,
}

fn name(name: usize) -> &'static str {
    name.checked_sub(1)
        .map_or("native region", |name| NAMES[name])
}

/// How a child dies.
#[derive(Clone, Copy, Debug)]
enum Death {
    Signal(Signal),
    Exit,
    Panic,
}

impl Death {
    /// Kills the child, and waits for its death.
    fn strike(self, child: &mut Child, words: &SharedWords) -> ExitStatus {
        let tell = |how| words.get(word::DIE).store(how, Ordering::SeqCst);
        match self {
            Self::Signal(signal) => loop {
                kill(Pid::from_raw(child.id().cast_signed()), signal).expect("the child exists");
                // The runtime's handler catches the first SIGSEGV, finds no guard page, and leaves the next one to the kernel.
                sleep(Duration::from_micros(100));
                if signal != Signal::SIGSEGV || child.try_wait().unwrap().is_some() {
                    break;
                }
            },
            Self::Exit => tell(DIE_EXIT),
            Self::Panic => tell(DIE_PANIC),
        }
        let status = child.wait().unwrap();
        self.expect(status);
        status
    }

    fn expect(self, status: ExitStatus) {
        match self {
            Self::Signal(signal) => assert_eq!(status.signal(), Some(signal as i32)),
            Self::Exit => assert_eq!(status.code(), Some(0)),
            Self::Panic => assert_eq!(status.signal(), Some(Signal::SIGABRT as i32)),
        }
    }
}

/// The life and death of one child.
#[derive(Clone, Debug)]
struct Fate {
    plan: Plan,
    death: Death,
    /// Counted from when the child is ready or, if `early`, from its start.
    lifetime: Duration,
    early: bool,
    live_reader: bool,
}

impl Fate {
    /// Runs, kills and judges the child, its files in `folder`.
    fn befall(&self, folder: &Path, tally: &mut Tally) {
        let folder = tempfile::tempdir_in(folder).unwrap();
        let path = folder.path().join("t.hrxt");
        let words_path = folder.path().join("words");
        let words = SharedWords::map(&words_path, word::count(self.plan.authors())).unwrap();
        let mut child = Killed(
            Command::new(env!("CARGO_BIN_EXE_storm_child"))
                .args([&path, &words_path, &PathBuf::from(self.plan.to_string())])
                .spawn()
                .unwrap(),
        );
        let ready = || words.get(word::READY).load(Ordering::SeqCst) == 1;
        while !self.early && !ready() {
            assert!(
                child.0.try_wait().unwrap().is_none(),
                "the child ended before it was ready"
            );
            sleep(Duration::from_micros(100));
        }
        let deadline = Instant::now() + self.lifetime;
        let mut witness = Witness::new(
            &self.plan,
            SharedWords::map(&words_path, word::count(self.plan.authors())).unwrap(),
        );
        if self.live_reader {
            while Instant::now() < deadline {
                assert_eq!(witness.judge(&path, tally), Ending::Live);
                tally.live_reads += 1;
                self.convert(&path, tally);
            }
        } else {
            sleep(self.lifetime);
        }
        let status = self.death.strike(&mut child.0, &words);
        let seen_ns = clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap();
        tally.kills += 1;
        if !ready() {
            tally.before_ready += 1;
            match Trace::open(&path) {
                Ok(trace) => assert_eq!(trace.report().account, Account::default()),
                // Not yet created, or not yet published. Either is refused as no trace.
                Err(Error::Io { .. } | Error::Header { .. }) => {}
                Err(other) => panic!("{other}"),
            }
            return;
        }
        let is_witnessed = self.plan.seed.is_multiple_of(2);
        if is_witnessed {
            testify(&path, child.0.id(), status, Duration::from(seen_ns));
            tally.witnessed += 1;
        }
        // Only a witness knows that the process was not killed.
        let ending = match status.code() {
            Some(_) if is_witnessed => Ending::EndedWithoutFinish,
            _ => Ending::WriterDied,
        };
        assert_eq!(witness.judge(&path, tally), ending);
        let trace = Trace::open(&path).unwrap();
        assert_eq!(
            trace
                .witness()
                .map(|witness| (witness.status, witness.seen_exactly)),
            is_witnessed.then(|| {
                let number = status.signal().or(status.code()).unwrap();
                (number.cast_unsigned(), true)
            })
        );
        let alive_ns = last_alive_ns(&path, trace.identity());
        assert!(
            trace.identity().epoch_monotonic_ns + alive_ns <= nanoseconds(Duration::from(seen_ns)),
            "the process lived after its death"
        );
        assert!(alive_ns == 0 || self.plan.heartbeat_us > 0);
        tally.beats += u64::from(alive_ns > 0);
        self.convert(&path, tally);
    }

    /// Converts the file if it is read while it is written, and so small that converting takes no longer than the child lives.
    fn convert(&self, path: &Path, tally: &mut Tally) {
        if !self.live_reader
            || self.plan.capacity * u64::from(self.plan.rings + self.plan.writers) > 1_000
        {
            return;
        }
        let converted = Command::new(&PROGRAMS.convert).arg(path).output().unwrap();
        let complaint = String::from_utf8_lossy(&converted.stderr);
        assert!(converted.status.success(), "{complaint}");
        let document: Value =
            serde_json::from_slice(&converted.stdout).expect("strictly valid JSON");
        let events = document["traceEvents"].as_array().expect("events");
        let regions = events
            .iter()
            .filter(|event| event["ph"] == "X" && event["cat"] == "hrx.host-observed");
        assert_eq!(document["account"]["regions"], regions.count());
        tally.conversions += 1;
    }
}

/// Writes into the capture at `path` that its process was seen to have ended.
fn testify(path: &Path, process_id: u32, status: ExitStatus, seen: Duration) {
    let file = File::options().read(true).write(true).open(path).unwrap();
    let identity = *Trace::open(path).unwrap().identity();
    assert_eq!(identity.process_id, process_id);
    let (cause, number) = match (status.signal(), status.code()) {
        (Some(signal), _) => (CAUSE_SIGNAL, signal),
        (None, Some(code)) => (CAUSE_EXIT, code),
        (None, None) => unreachable!("it has ended"),
    };
    let witness = format::Witness {
        word: WITNESS_WORD,
        capture_id: identity.capture_id,
        seen_monotonic_ns: nanoseconds(seen),
        time_namespace: identity.time_namespace,
        status: number.cast_unsigned(),
        cause,
        ..format::Witness::zeroed()
    };
    let witness = witness.sealed(&Checksum::new(), identity.salt);
    file.write_all_at(bytemuck::bytes_of(&witness), identity.witness_offset)
        .unwrap();
}

/// What the recorder's own thread said last, in nanoseconds since the capture's start; 0: nothing.
fn last_alive_ns(path: &Path, identity: &Identity) -> u64 {
    let offset = identity.counters_offset + offset_of!(Counters, last_alive_ns) as u64;
    let mut word = [0; 8];
    let file = File::open(path).unwrap();
    file.read_exact_at(&mut word, offset).unwrap();
    u64::from_le_bytes(word)
}

fn nanoseconds(duration: Duration) -> u64 {
    duration.as_nanos().try_into().unwrap()
}

/// A child that is killed if the test fails.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Prints the child's plan if an assertion fails.
struct Saying<'fate>(&'fate Fate);

impl Drop for Saying<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failed: {:#?}", self.0);
        }
    }
}

/// A number from 1 to `max`, of random magnitude.
fn any_size(random: &mut Rng, max: u64) -> u64 {
    let bits = random.u32(0..=max.ilog2() + 1);
    random.u64(1..=max.min(1 << bits))
}

/// Where files are created: on disk and in memory.
fn folders() -> Vec<PathBuf> {
    let memory = PathBuf::from("/dev/shm");
    let mut folders = vec![std::env::temp_dir()];
    folders.extend(memory.is_dir().then_some(memory));
    folders
}

/// The README's first promise: several threads, a wrapping ring, SIGKILL.
#[test]
fn five_hundred_kills_lose_no_event_that_was_recorded() {
    let mut random = seeds::rng("five_hundred_kills_lose_no_event_that_was_recorded");
    let folders = folders();
    let mut tally = Tally::default();
    for number in 0..500 {
        let fate = Fate {
            plan: Plan {
                seed: random.u64(..),
                threads: random.usize(2..=4),
                capacity: random.u64(64..=4096),
                rings: 1,
                writers: random.u32(0..=3),
                writing: random.usize(0..=4),
                tenures: random.usize(1..=4),
                tenure: any_size(&mut random, 4096),
                pause: random.u32(0..200),
                populate: true,
                open_regions: random.choice([4, 64, 1_024, 8_192]).unwrap(),
                heartbeat_us: random.choice([0, 300]).unwrap(),
            },
            death: Death::Signal(Signal::SIGKILL),
            lifetime: Duration::from_micros(random.u64(500..10_000)),
            early: false,
            live_reader: false,
        };
        let _saying = Saying(&fate);
        fate.befall(&folders[number % folders.len()], &mut tally);
    }
    println!("kills by SIGKILL: {tally:?}");
    assert_eq!((tally.kills, tally.before_ready), (500, 0));
    assert!(tally.witnessed > 100 && tally.beats > 100, "{tally:?}");
}

#[test]
fn a_storm_of_deaths_leaves_every_file_true() {
    let seconds = match std::env::var("HRX_STORM_SECONDS") {
        Ok(seconds) => seconds.parse().expect("HRX_STORM_SECONDS is a number"),
        Err(_) => 90,
    };
    let mut random = seeds::rng("a_storm_of_deaths_leaves_every_file_true");
    let folders = folders();
    let mut tally = Tally::default();
    LazyLock::force(&PROGRAMS);
    let end = Instant::now() + Duration::from_secs(seconds);
    while Instant::now() < end {
        let early = random.u32(0..16) == 0;
        let death = match random.u32(0..8) {
            0 if !early => Death::Exit,
            1 if !early => Death::Panic,
            2 => Death::Signal(Signal::SIGSEGV),
            3 => Death::Signal(Signal::SIGABRT),
            _ => Death::Signal(Signal::SIGKILL),
        };
        let fate = Fate {
            plan: Plan {
                seed: random.u64(..),
                threads: random.usize(1..=8),
                capacity: any_size(&mut random, 100_000),
                rings: random.u32(1..=4),
                writers: random.u32(0..=4),
                writing: random.usize(0..=8),
                tenures: random.usize(1..=4),
                tenure: any_size(&mut random, 20_000),
                pause: random.choice([0, 0, 20, 2_000]).unwrap(),
                populate: random.u32(0..4) > 0,
                open_regions: random.choice([8, 64, 1_024, 8_192]).unwrap(),
                heartbeat_us: random.choice([0, 0, 100, 5_000]).unwrap(),
            },
            death,
            lifetime: Duration::from_micros(any_size(&mut random, 30_000)),
            early,
            live_reader: !early && random.bool(),
        };
        let _saying = Saying(&fate);
        let folder = random.choice(&folders).unwrap();
        fate.befall(folder, &mut tally);
    }
    println!("storm of {seconds} s: {tally:?}");
    assert!(
        tally.kills > seconds && tally.conversions > seconds,
        "too few kills or conversions: {tally:?}"
    );
}

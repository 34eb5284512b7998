//! Proves: at whichever instruction a program dies, its file tells the truth.
//!
//! How: a child makes the calls of `script` on rings of three records, the shared one and those of its writers. Its parent steps through it with ptrace
//! and reads the file after *each instruction*, from before its creation until after `finish`. A stopped process has executed exactly the instructions
//! before the stop, so this is the file that a death there would leave.
//!
//! Each call takes the file through a few states in a fixed order (a `record`: unchanged; ticket taken and slot torn; event complete). The file must be
//! in one of them and never go back: everything that returned is there and nothing else, the call in progress counts wholly or not at all, and an open
//! region is shown until the instant its completed event is. Taking a ring and giving it back changes nothing in the file. An image equal to the last
//! one is not judged again.

use std::collections::HashMap;
use std::fs;
use std::process::Command;
use std::sync::atomic::Ordering;

use hrx_trace_reader::{Ending, Error, OpenRegion, Trace};
use hrx_trace_tests::crash::script::{self, CAPACITY, Call, Described, NAMES, RINGS, SCRIPT};
use hrx_trace_tests::crash::shared_words::SharedWords;
use hrx_trace_tests::crash::stepping::{follow, word};
use hrx_trace_tests::crash::tracee::Tracee;

/// The ring that threads share.
const SHARED: usize = 0;

/// One region in the file. [`Times`] judges its times.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RegionState {
    described: Described,
    thread_id: u32,
}

/// One ring in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct RingState {
    claimed: u64,
    torn: u64,
    /// By ticket.
    events: Vec<(u64, RegionState)>,
}

/// Everything in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    ending: Ending,
    rings: [RingState; RINGS],
    open: Vec<RegionState>,
}

/// What the calls so far must have left in the file.
#[derive(Clone, Debug, Default)]
struct Model {
    thread_id: u32,
    /// By ring.
    completed: [Vec<RegionState>; RINGS],
    /// The rings of the existing writers, newest last.
    taken: Vec<usize>,
    /// Running regions by their number in the script, in the order they began.
    open: Vec<(usize, RegionState)>,
    finished: bool,
}

impl Model {
    fn region_state(&self, index: usize) -> RegionState {
        RegionState {
            described: Described::of(index),
            thread_id: self.thread_id,
        }
    }

    /// The ring in use: the newest writer's, or the shared one.
    fn ring(&self) -> usize {
        self.taken.last().copied().unwrap_or(SHARED)
    }

    /// The state in which the newest `torn` tickets of the ring in use have no record.
    fn state(&self, torn: usize) -> State {
        let ring_state = |ring: usize| {
            let completed = &self.completed[ring];
            let torn = if ring == self.ring() { torn } else { 0 };
            let claimed = completed.len();
            let oldest = claimed.saturating_sub(CAPACITY as usize);
            RingState {
                claimed: claimed as u64,
                torn: torn as u64,
                events: (oldest..claimed - torn)
                    .map(|index| (index as u64 + 1, completed[index].clone()))
                    .collect(),
            }
        };
        State {
            ending: if self.finished {
                Ending::Finished
            } else {
                Ending::NotFinished
            },
            rings: std::array::from_fn(ring_state),
            open: self.open.iter().map(|(_, state)| state.clone()).collect(),
        }
    }

    fn push(&mut self, state: RegionState) {
        self.completed[self.ring()].push(state);
    }

    /// Completes a region. Returns the states that the file goes through.
    fn complete(&mut self, region: usize, change: impl FnOnce(&mut Described)) -> Vec<State> {
        let position = self.open.iter().position(|(name, _)| *name == region);
        let position = position.expect("the script finishes what it began");
        let mut state = self.open[position].1.clone();
        change(&mut state.described);
        self.push(state);
        let claimed = self.state(1);
        self.open.remove(position);
        vec![claimed, self.state(0)]
    }

    fn begin(&mut self, index: usize, region: usize) -> Vec<State> {
        let mut state = self.region_state(index);
        // Unknown while the region runs.
        let described = &mut state.described;
        (described.status, described.failed) = (0, false);
        self.open.push((region, state));
        vec![self.state(0)]
    }

    /// Makes call `index`. Returns the states that the file goes through, from the one before the call to the one after it.
    fn call(&mut self, index: usize) -> Vec<State> {
        let own = Described::of(index);
        let mut states = vec![self.state(0)];
        states.extend(match SCRIPT[index] {
            Call::Record | Call::Between => {
                self.push(self.region_state(index));
                vec![self.state(1), self.state(0)]
            }
            Call::Begin(region) => self.begin(index, region),
            Call::Finish(region) => self.complete(region, |described| {
                let begun = Described::of(described.correlation_id as usize);
                *described = Described {
                    copied_bytes: script::finished_bytes(index),
                    ..begun
                };
            }),
            Call::Fail(region) => self.complete(region, |described| {
                (described.status, described.failed) = (index as u32, true);
            }),
            Call::Drop(region) => self.complete(region, |described| {
                let begun = Described::of(described.correlation_id as usize);
                *described = Described {
                    failed: true,
                    ..begun
                };
            }),
            Call::Panic => {
                let mut states = self.begin(index, usize::MAX);
                states.extend(self.complete(usize::MAX, |described| {
                    *described = Described {
                        failed: true,
                        ..own
                    };
                }));
                states
            }
            Call::Label => Vec::new(),
            Call::Take => {
                let free = (SHARED + 1..RINGS).find(|ring| !self.taken.contains(ring));
                self.taken.push(free.unwrap_or(SHARED));
                Vec::new()
            }
            Call::GiveBack => {
                self.taken
                    .pop()
                    .expect("the script gives back what it took");
                Vec::new()
            }
            Call::End => {
                self.finished = true;
                vec![self.state(0)]
            }
        });
        states
    }
}

/// The times seen so far, which must never change.
#[derive(Debug, Default)]
struct Times {
    /// The start of the first call's region, if it had one.
    first_ns: Option<u64>,
    /// Region by region.
    begun_ns: HashMap<u64, u64>,
    duration_ns: HashMap<u64, u64>,
}

impl Times {
    fn judge_start(&mut self, id: u64, start_ns: u64) {
        let begun_ns = *self.begun_ns.entry(id).or_insert(start_ns);
        assert_eq!(start_ns, begun_ns, "region {id} has two beginnings");
        if SCRIPT[id as usize] == Call::Record {
            let first_ns = start_ns - script::start(id as usize).as_nanos() as u64;
            assert_eq!(
                first_ns,
                *self.first_ns.get_or_insert(first_ns),
                "start of {id}"
            );
        }
    }

    fn judge(&mut self, id: u64, start_ns: u64, duration_ns: u64) {
        self.judge_start(id, start_ns);
        let known_ns = *self.duration_ns.entry(id).or_insert(duration_ns);
        assert_eq!(duration_ns, known_ns, "region {id} has two durations");
        if SCRIPT[id as usize] == Call::Record {
            assert_eq!(
                u128::from(duration_ns),
                script::elapsed(id as usize).as_nanos()
            );
        }
    }
}

/// Reads `image` and asserts what must hold of every image.
fn read(image: &[u8], times: &mut Times) -> State {
    let trace = Trace::from_bytes(image).expect("the header is intact");
    let name = |label_id: u32| match &*trace.name(label_id) {
        "native region" => 0,
        name => 1 + NAMES.iter().position(|known| *known == name).expect(name),
    };
    let mut events = trace.events();
    let mut rings: [RingState; RINGS] = Default::default();
    for event in events.by_ref() {
        times.judge(event.correlation_id, event.start_ns, event.duration_ns);
        assert!(!event.saturated);
        let described = Described {
            lane: event.lane,
            name: name(event.label_id),
            correlation_id: event.correlation_id,
            copied_bytes: event.copied_bytes,
            status: event.status,
            failed: event.failed,
        };
        let thread_id = event.thread_id;
        let region = RegionState {
            described,
            thread_id,
        };
        rings[event.ring as usize]
            .events
            .push((event.sequence, region));
    }
    let report = events.finish();
    assert_eq!(report.rings.len(), RINGS);
    for (ring, account) in rings.iter_mut().zip(&report.rings) {
        assert!(account.balances(), "{account:?}");
        assert_eq!(account.recovered, ring.events.len() as u64);
        assert_eq!(
            account.overwritten,
            account.claimed.saturating_sub(CAPACITY)
        );
        (ring.claimed, ring.torn) = (account.claimed, account.torn);
    }
    let account = report.account;
    assert!(account.balances(), "{account:?}");
    let sum = |of: fn(&RingState) -> u64| rings.iter().map(of).sum::<u64>();
    assert_eq!(
        (account.claimed, account.torn),
        (sum(|ring| ring.claimed), sum(|ring| ring.torn))
    );
    assert_eq!(
        (account.skipped, account.in_flight, account.overtaken),
        (0, 0, 0)
    );
    assert_eq!(
        (report.rejected, report.open_refused, report.names_refused),
        (0, 0, 0)
    );
    assert_eq!((report.open_torn, report.damages), (0, Vec::new()));
    let open = report.open_regions.iter().map(|region: &OpenRegion| {
        times.judge_start(region.correlation_id, region.start_ns);
        let described = Described {
            lane: region.lane,
            name: name(region.label_id),
            correlation_id: region.correlation_id,
            copied_bytes: region.copied_bytes,
            status: 0,
            failed: false,
        };
        RegionState {
            described,
            thread_id: region.thread_id,
        }
    });
    State {
        ending: report.ending,
        rings,
        open: open.collect(),
    }
}

#[test]
fn a_death_at_any_instruction_leaves_the_truth() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.hrxt");
    let words_path = folder.path().join("words");
    let words = SharedWords::map(&words_path, word::COUNT).unwrap();
    let word = |index| words.get(index).load(Ordering::SeqCst) as usize;
    let child =
        Tracee::start(Command::new(env!("CARGO_BIN_EXE_stepped")).args([&path, &words_path]));
    let thread = child.process();

    // Until `create` returns: no trace, or an empty one.
    let (mut points_creating, mut images) = (0u64, 0u64);
    let mut last = Vec::new();
    while word(word::CREATED) == 0 {
        child.step(thread);
        points_creating += 1;
        let Ok(image) = fs::read(&path) else { continue };
        if image == last {
            continue;
        }
        match Trace::from_bytes(image.as_slice()) {
            Err(Error::Header { .. }) => {}
            Err(other) => panic!("{other}"),
            Ok(_) => {
                let state = read(&image, &mut Times::default());
                assert_eq!(state, Model::default().state(0));
            }
        }
        images += 1;
        last = image;
    }

    // Call by call.
    let mut model = Model {
        thread_id: thread.as_raw().cast_unsigned(),
        ..Model::default()
    };
    let mut times = Times::default();
    let followed = follow(
        &child,
        &path,
        &words,
        SCRIPT.len(),
        |index| model.call(index),
        |image| read(image, &mut times),
    );
    let points = followed.points;

    // The death itself changes nothing.
    drop(child);
    assert_eq!(fs::read(&path).unwrap(), followed.last);
    let trace = Trace::open(&path).unwrap();
    assert_eq!(
        (trace.ending(), trace.report().open_regions.len()),
        (Ending::Finished, 1)
    );
    println!(
        "crash points checked: {} ({points_creating} while creating, {points} in {} calls; {} distinct images)",
        points_creating + points,
        SCRIPT.len(),
        images + followed.images
    );
    assert!(
        points > 5_000,
        "the child was stepped for {points} instructions only"
    );
}

//! A small capture by the real recorder, its file kept byte for byte after each step, and the truth about it: every event, open region and name
//! that a reader returns from any image of the file must have been written, in every field; of the arguments, which have records of their own, some may be
//! missing, but none may be wrong or another event's.
//!
//! The truth is what the undamaged file says after each step, checked against the calls that were made.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;
use hrx_trace::{Key, Label, Options, Recorder, Region, Value};
use hrx_trace_format::argument::CONTENT_BYTES;
use hrx_trace_format::witness::{WITNESS_BYTES, WITNESS_WORD, Witness};
use hrx_trace_format::{Checksum, Identity};
use hrx_trace_reader::{
    Argument, ArgumentValue, Ending, Event, Kind, Name, OpenRegion, Report, Trace,
};

/// The name that the system knows each thread of a capture by.
const OWN_NAME: &str = "history";

/// How many records of arguments lie next to a running region for as long as it runs.
const LINES_OF_THEIR_OWN: u64 = 5;

/// The size of a capture.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Records in each ring.
    pub capacity: u64,
    /// Number of rings.
    pub rings: u32,
    /// Size of the name table.
    pub name_bytes: u64,
    /// Slots of the open table.
    pub open_slots: u32,
}

/// One call of the recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A completed region; every second one has arguments.
    Record,
    /// A mark; every second one has arguments.
    Mark,
    /// A value; every second one has arguments.
    Value,
    /// A region begins.
    Begin,
    /// That many regions begin.
    BeginMany(u32),
    /// The longest-running region gets an argument, if any runs.
    ArgueOldest,
    /// The region that began last gets an argument, if any runs.
    ArgueNewest,
    /// Something changes about the longest-running region, if any runs.
    AmendOldest,
    /// Something changes about the region that began last, if any runs.
    AmendNewest,
    /// The longest-running region ends, if any runs.
    EndOldest,
    /// The region that began last ends, if any runs.
    EndNewest,
    /// The longest-running region is cancelled, if any runs.
    CancelOldest,
    /// A new name of a label, which later events may use.
    Label,
    /// A new name of a lane.
    Lane,
    /// The calling thread gets a name.
    Thread,
    /// The program says that it lives.
    Alive,
    /// Everything so far is forced to the disk.
    Sync,
    /// The capture ends.
    Finish,
}

impl Step {
    /// `count` steps of a typical program, without its `Finish`.
    pub fn random(rng: &mut Rng, count: usize) -> Vec<Self> {
        let any = |_| match rng.u32(..100) {
            0..25 => Self::Record,
            25..32 => Self::Mark,
            32..39 => Self::Value,
            39..55 => Self::Begin,
            55..60 => Self::ArgueOldest,
            60..66 => Self::ArgueNewest,
            66..70 => Self::AmendOldest,
            70..74 => Self::AmendNewest,
            74..81 => Self::EndOldest,
            81..88 => Self::EndNewest,
            88..90 => Self::CancelOldest,
            90..93 => Self::Label,
            93 => Self::Lane,
            94 => Self::Thread,
            95 => Self::Alive,
            _ => Self::Sync,
        };
        (0..count).map(any).collect()
    }
}

/// The file as it was after a step.
#[derive(Clone, Debug)]
pub struct Version {
    /// The step; None: creation.
    pub step: Option<Step>,
    /// The whole file.
    pub bytes: Vec<u8>,
    /// The number of tickets that each ring had given out.
    pub claimed: Vec<u64>,
    /// The regions that were running.
    pub open: Vec<OpenRegion>,
    /// Whether the capture was finished.
    pub finished: bool,
}

/// A capture, and the truth about it.
#[derive(Debug)]
pub struct Capture {
    /// The file after creation and after each step.
    pub versions: Vec<Version>,
    capture_id: [u8; 16],
    /// By ring and ticket, without arguments.
    events: BTreeMap<(u32, u64), Event>,
    /// Every state of every region that ran, without arguments.
    open: Vec<OpenRegion>,
    /// By id: labels and keys.
    names: BTreeMap<u32, String>,
    /// By lane.
    lanes: BTreeMap<u32, String>,
    /// Threads with the names that they were given.
    threads: BTreeSet<(u32, String)>,
    /// By call: the arguments of what it recorded or began, in their order.
    arguments: BTreeMap<usize, Vec<(Key, Given)>>,
    /// The ids of keys.
    keys: BTreeMap<u32, Key>,
}

/// An argument as the program gave it.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// A number.
    Number(u64),
    /// A text, of one to three records.
    Text(String),
}

impl Given {
    /// Argument `index` of call `number`. No two are alike.
    fn of(number: usize, index: usize) -> Self {
        let mixed = mix(number << 8 | index);
        if mixed.is_multiple_of(4) {
            Self::Text(format!("{mixed:0width$}", width = 20 + index % 3 * 20))
        } else {
            Self::Number(mixed)
        }
    }

    fn value(&self) -> Value<'_> {
        match self {
            Self::Number(number) => (*number).into(),
            Self::Text(text) => text.as_str().into(),
        }
    }

    /// Records that it takes.
    fn records(&self) -> u64 {
        match self {
            Self::Number(_) => 1,
            Self::Text(text) => text.len().div_ceil(CONTENT_BYTES) as u64,
        }
    }

    /// Whether a reader that has found all of it, or only some of its records, returns `argument`.
    fn gives(&self, argument: &Argument) -> bool {
        match (self, &argument.value) {
            (Self::Number(given), ArgumentValue::U64(found)) => {
                given == found && !argument.incomplete
            }
            (Self::Text(given), ArgumentValue::Text(found)) => {
                given.starts_with(found.as_str())
                    && argument.incomplete == (given.len() > found.len())
            }
            _ => false,
        }
    }
}

/// An event without its arguments.
#[must_use]
pub fn bare(event: &Event) -> Event {
    let mut event = event.clone();
    event.arguments = Vec::new();
    event.arguments_lost = 0;
    event
}

/// A state of a running region, without its arguments.
#[must_use]
pub fn bare_open(open: &OpenRegion) -> OpenRegion {
    let mut open = open.clone();
    open.arguments = Vec::new();
    open.arguments_lost = 0;
    open
}

/// Whether both are states of one region.
#[must_use]
pub fn is_same_region(one: &OpenRegion, other: &OpenRegion) -> bool {
    let identity = |open: &OpenRegion| (open.slot, open.ring, open.start_ns, open.thread_id);
    identity(one) == identity(other)
}

/// The call that began or recorded what has this correlation id. A change of the id leaves its lower half as it is.
#[must_use]
pub const fn call_of(correlation_id: u64) -> usize {
    (correlation_id & 0xFFFF_FFFF) as usize
}

/// What a reader reports about an image.
#[derive(Debug)]
pub struct Reading {
    /// The events, in the reader's order.
    pub events: Vec<Event>,
    /// Everything else that it reports.
    pub report: Report,
}

impl Reading {
    /// Reads all of `trace`.
    #[must_use]
    pub fn of(trace: &Trace) -> Self {
        let mut events = trace.events();
        Self {
            events: events.by_ref().collect(),
            report: events.finish(),
        }
    }
}

impl Shape {
    /// Makes the calls `steps`, each on a new thread, so that all rings are used.
    ///
    /// # Panics
    /// If the recorder or the reader gets the undamaged file wrong.
    #[must_use]
    pub fn record(self, steps: &[Step]) -> Capture {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("t.hrxt");
        let recorder = Options::new(self.capacity)
            .rings(self.rings)
            .name_bytes(self.name_bytes)
            .open_regions(self.open_slots)
            .create(&path)
            .expect("a capture is created");
        // The creating thread has a name, too.
        let own_name = fs::read_to_string("/proc/thread-self/comm").expect("a name");
        let mut calls = Calls {
            recorder: &recorder,
            epoch: Instant::now(),
            epoch_ns: None,
            names: vec![0],
            labels: Vec::new(),
            keys: ["blocks", "shape"].map(|text| recorder.key(text)),
            lanes: Vec::new(),
            threads: vec![(thread_id(), own_name.trim_end().to_owned())],
            arguments: BTreeMap::new(),
            amended: BTreeSet::new(),
            running: VecDeque::new(),
        };
        let mut capture = Capture {
            versions: Vec::new(),
            capture_id: [0; 16],
            events: BTreeMap::new(),
            open: Vec::new(),
            names: BTreeMap::new(),
            lanes: BTreeMap::new(),
            threads: BTreeSet::new(),
            arguments: BTreeMap::new(),
            keys: BTreeMap::new(),
        };
        capture.keep(&path, None, &mut calls);
        for step in steps {
            thread::scope(|scope| {
                let thread = thread::Builder::new().name(OWN_NAME.to_owned());
                let made = thread.spawn_scoped(scope, || calls.make(*step));
                made.expect("a thread")
                    .join()
                    .expect("the step does not panic");
            });
            capture.keep(&path, Some(*step), &mut calls);
        }
        // Regions still running never end: the file stays as a kill would leave it.
        for (_, region) in calls.running {
            std::mem::forget(region);
        }
        capture
    }
}

/// The calls so far. Every field of call n's event follows from n, so no two events are alike.
struct Calls<'recorder> {
    recorder: &'recorder Recorder,
    epoch: Instant,
    /// `epoch` in the file's time, known from the first recorded event on.
    epoch_ns: Option<u64>,
    /// By call: how many names existed.
    names: Vec<usize>,
    labels: Vec<Label>,
    keys: [Key; 2],
    /// Lanes with their names.
    lanes: Vec<(u32, String)>,
    /// Threads with the names that they were given.
    threads: Vec<(u32, String)>,
    arguments: BTreeMap<usize, Vec<(Key, Given)>>,
    /// Calls that began regions about which something changed.
    amended: BTreeSet<usize>,
    /// Running regions with the numbers of their calls, longest-running first.
    running: VecDeque<(usize, Region<&'recorder Recorder>)>,
}

impl Calls<'_> {
    fn make(&mut self, step: Step) {
        let number = self.names.len();
        self.names.push(self.labels.len());
        match step {
            Step::Record | Step::Mark | Step::Value => self.record(step, number),
            Step::Begin => {
                let region = self.recorder.begin(self.event(number));
                self.running.push_back((number, region));
            }
            Step::BeginMany(count) => (0..count).for_each(|_| self.make(Step::Begin)),
            Step::ArgueOldest => argue(self.running.front_mut(), self.keys, &mut self.arguments),
            Step::ArgueNewest => argue(self.running.back_mut(), self.keys, &mut self.arguments),
            Step::AmendOldest => amend(
                self.running.front_mut(),
                number,
                &self.labels,
                &mut self.amended,
            ),
            Step::AmendNewest => amend(
                self.running.back_mut(),
                number,
                &self.labels,
                &mut self.amended,
            ),
            Step::EndOldest => finish(self.running.pop_front()),
            Step::EndNewest => finish(self.running.pop_back()),
            Step::CancelOldest => {
                if let Some((_, region)) = self.running.pop_front() {
                    region.cancel();
                }
            }
            Step::Label => {
                let name = name(self.labels.len());
                self.labels.push(self.recorder.label(&name));
            }
            Step::Lane => {
                let name = name(self.lanes.len());
                let lane = self.recorder.lane_in("GPU 0", &name);
                self.lanes.push((lane as u32, name));
            }
            Step::Thread => {
                let name = name(number);
                self.recorder.name_thread(&name);
                self.threads.push((thread_id(), name));
            }
            Step::Alive => self.recorder.alive(),
            Step::Sync => self.recorder.sync().expect("the file can be synced"),
            Step::Finish => self.recorder.finish(),
        }
    }

    /// Records something that does not run, if it is to have arguments, with them.
    fn record(&mut self, step: Step, number: usize) {
        let given: Vec<_> = (0..mix(number) as usize % 4)
            .map(|index| (self.keys[index % 2], Given::of(number, index)))
            .filter(|_| number.is_multiple_of(2))
            .collect();
        let arguments: Vec<_> = given
            .iter()
            .map(|(key, given)| (*key, given.value()))
            .collect();
        let event = self.event(number);
        match step {
            Step::Mark => self.recorder.mark_with(event, &arguments),
            Step::Value => self
                .recorder
                .value_with(event, number_of(number), &arguments),
            _ => self.recorder.record_with(
                self.epoch + duration(number + 1),
                duration(number),
                event,
                &arguments,
            ),
        }
        self.arguments.insert(number, given);
    }

    fn event(&self, number: usize) -> hrx_trace::Event {
        let label = self
            .name_of(number)
            .map_or(Label::NONE, |index| self.labels[index]);
        let mixed = mix(number);
        hrx_trace::Event::new((mixed % 7) as usize)
            .label(label)
            .correlation_id(number as u64)
            .copied_bytes(mixed >> 13)
            .status((mixed >> 40) as u32)
            .failed(mixed.is_multiple_of(3))
    }

    /// The name of a call's event: one of those that existed, or none.
    fn name_of(&self, number: usize) -> Option<usize> {
        (mix(number) as usize % (self.names[number] + 1)).checked_sub(1)
    }

    /// Asserts that `event` has the fields that its call asked for.
    fn assert_recorded(&mut self, trace: &Trace, event: &Event) {
        let number = call_of(event.correlation_id);
        let mixed = mix(number);
        let is_amended = self.amended.contains(&number);
        if event.kind == Kind::Value {
            assert_eq!(event.value.to_bits(), number_of(number).to_bits());
        } else {
            assert_eq!(u64::from(event.lane), mixed % 7);
        }
        if event.kind == Kind::Region {
            assert_eq!(event.failed, !event.cancelled && mixed.is_multiple_of(3));
        }
        if event.kind == Kind::Region && !is_amended {
            assert_eq!(event.copied_bytes, mixed >> 13);
            assert_eq!(event.status, (mixed >> 40) as u32);
        }
        if !is_amended {
            let name = self.name_of(number).map(name);
            assert_eq!(
                trace.name(event.label_id),
                name.as_deref().unwrap_or("native region")
            );
        }
        if event.duration_ns == duration(number).as_nanos() as u64 {
            let epoch_ns = event.start_ns - duration(number + 1).as_nanos() as u64;
            assert_eq!(*self.epoch_ns.get_or_insert(epoch_ns), epoch_ns);
        }
    }
}

fn thread_id() -> u32 {
    nix::unistd::gettid().as_raw().cast_unsigned()
}

fn argue(
    region: Option<&mut (usize, Region<&Recorder>)>,
    keys: [Key; 2],
    arguments: &mut BTreeMap<usize, Vec<(Key, Given)>>,
) {
    if let Some((number, region)) = region {
        let arguments = arguments.entry(*number).or_default();
        let (key, given) = (
            keys[arguments.len() % 2],
            Given::of(*number, arguments.len()),
        );
        region.argument(key, given.value());
        arguments.push((key, given));
    }
}

/// Changes one thing, as call `number`.
fn amend(
    region: Option<&mut (usize, Region<&Recorder>)>,
    number: usize,
    labels: &[Label],
    amended: &mut BTreeSet<usize>,
) {
    let Some((began, region)) = region else {
        return;
    };
    let mixed = mix(number);
    match mixed % 6 {
        0 => region.waiting(),
        1 => region.running(),
        2 => region.set_correlation_id((number as u64) << 32 | *began as u64),
        3 => region.set_status((mixed >> 16) as u32),
        4 => region.set_copied_bytes(mixed >> 13),
        _ => region.set_label(labels.last().copied().unwrap_or(Label::NONE)),
    }
    amended.insert(*began);
}

fn finish(region: Option<(usize, Region<&Recorder>)>) {
    if let Some((_, region)) = region {
        region.finish();
    }
}

/// The duration that call `number` states. No real region of a test takes that long.
fn duration(number: usize) -> Duration {
    Duration::from_nanos((1 << 44) + (mix(number) >> 20))
}

/// What the value of call `number` is.
fn number_of(number: usize) -> f64 {
    number as f64 / 7.0
}

/// A name that takes one, two or three blocks of the label table.
fn name(index: usize) -> String {
    format!("kernel {index} {}", "x".repeat(index % 3 * 60))
}

/// A number whose every bit depends on every bit of `number` (splitmix64).
fn mix(number: usize) -> u64 {
    let mut mixed = (number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

impl Capture {
    /// Keeps the file as it is, and adds what it says to the truth.
    fn keep(&mut self, path: &Path, step: Option<Step>, calls: &mut Calls) {
        let bytes = fs::read(path).expect("the file is read");
        let trace = Trace::from_bytes(bytes.clone()).expect("an undamaged file is a trace");
        let Reading { events, report } = Reading::of(&trace);
        self.capture_id = trace.identity().capture_id;
        self.arguments.clone_from(&calls.arguments);
        self.lanes.extend(calls.lanes.iter().cloned());
        self.threads.extend(calls.threads.iter().cloned());
        for event in events {
            self.note_name(&trace, event.label_id);
            self.note_keys(&trace, calls.keys, &event.arguments);
            let found = bare(&event);
            if !self.events.contains_key(&(event.ring, event.sequence)) {
                calls.assert_recorded(&trace, &event);
            }
            let known = self.events.entry((event.ring, event.sequence));
            let known = known.or_insert_with(|| found.clone());
            assert_eq!(*known, found, "an event changed");
            self.assert_arguments(event.correlation_id, &event.arguments, event.arguments_lost);
            let overwritten = report.rings[event.ring as usize].overwritten;
            assert!(
                overwritten > 0 || event.arguments.len() == self.given(event.correlation_id).len(),
                "an argument is missing, and nothing was overwritten: {event:?}"
            );
        }
        let lost = (report.account.torn, report.open_torn, report.damages.len());
        assert_eq!(lost, (0, 0, 0), "{report:?}");
        let open: Vec<_> = report
            .open_regions
            .iter()
            .map(|open| call_of(open.correlation_id))
            .collect();
        let running: Vec<_> = calls.running.iter().map(|(number, _)| *number).collect();
        assert_eq!(open, running, "{report:?}");
        for open in &report.open_regions {
            self.note_name(&trace, open.label_id);
            self.note_keys(&trace, calls.keys, &open.arguments);
            self.assert_arguments(open.correlation_id, &open.arguments, open.arguments_lost);
            assert!(
                open.arguments.len() >= self.kept_arguments(open.correlation_id),
                "a running region lost its first arguments: {open:?}"
            );
            let state = bare_open(open);
            if !self.open.contains(&state) {
                self.open.push(state);
            }
        }
        self.versions.push(Version {
            step,
            bytes,
            claimed: report.rings.iter().map(|ring| ring.claimed).collect(),
            open: report.open_regions,
            finished: report.ending == Ending::Finished,
        });
    }

    fn note_name(&mut self, trace: &Trace, label_id: u32) {
        let name = trace.name(label_id).into_owned();
        let known = self.names.entry(label_id).or_insert_with(|| name.clone());
        assert_eq!(*known, name, "a name changed");
    }

    /// Notes the keys of arguments, which have alternating ones.
    fn note_keys(&mut self, trace: &Trace, keys: [Key; 2], arguments: &[Argument]) {
        for argument in arguments {
            let Name::Known { text, .. } = trace.key(argument.key) else {
                panic!("a key without a name: {argument:?}");
            };
            let key = if text == "blocks" { keys[0] } else { keys[1] };
            self.names.insert(argument.key, text);
            self.keys.insert(argument.key, key);
        }
    }

    /// The arguments that the program gave what has this correlation id.
    fn given(&self, correlation_id: u64) -> &[(Key, Given)] {
        let given = self.arguments.get(&call_of(correlation_id));
        given.map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether the record with that ticket is one of an event, and not of an argument or an amendment.
    #[must_use]
    pub fn is_event(&self, ring: u32, ticket: u64) -> bool {
        self.events.contains_key(&(ring, ticket))
    }

    /// How many arguments a running region keeps whatever is overwritten: those of which all records have lines of their own.
    #[must_use]
    pub fn kept_arguments(&self, correlation_id: u64) -> usize {
        let mut records = 0;
        let given = self.given(correlation_id).iter();
        given
            .take_while(|(_, given)| {
                records += given.records();
                records <= LINES_OF_THEIR_OWN
            })
            .count()
    }

    /// Asserts that `arguments` are some of those that were given, in their order, and that no more are said to be lost than are.
    #[track_caller]
    fn assert_arguments(&self, correlation_id: u64, arguments: &[Argument], lost: u64) {
        let all = self.given(correlation_id);
        let mut given = all.iter();
        for argument in arguments {
            let key = self.keys.get(&argument.key);
            assert!(
                given.any(|(of, given)| Some(of) == key && given.gives(argument)),
                "an argument that was never given, or out of order: {argument:?} of {all:?}"
            );
        }
        assert!(
            arguments.len() as u64 + lost <= all.len() as u64,
            "{lost} lost beside {} of {}",
            arguments.len(),
            all.len()
        );
    }

    /// The file after the last step.
    ///
    /// # Panics
    /// Never: creation makes the first version.
    #[must_use]
    pub fn last(&self) -> &Version {
        self.versions.last().expect("creation makes a version")
    }

    /// Puts a witness into the file as it was after the last step.
    ///
    /// # Panics
    /// Never: creation makes the first version, which has an identity.
    pub fn witness(&mut self, witness: Witness) {
        let version = self.versions.last_mut().expect("creation makes a version");
        let checksum = Checksum::new();
        let identity = Identity::parse(&version.bytes, &checksum).expect("an identity");
        let witness = Witness {
            word: WITNESS_WORD,
            capture_id: identity.capture_id,
            // Later than everything else.
            seen_monotonic_ns: identity.epoch_monotonic_ns + 1_000_000_000_000,
            ..witness
        };
        let sealed = witness.sealed(&checksum, identity.salt);
        version.bytes[identity.witness_offset as usize..][..WITNESS_BYTES]
            .copy_from_slice(bytemuck::bytes_of(&sealed));
    }

    /// Whether `trace` carries this capture's id.
    #[must_use]
    pub fn is_named_by(&self, trace: &Trace) -> bool {
        trace.identity().capture_id == self.capture_id
    }

    /// Reads all of `trace`, an image of this capture's file, and asserts that everything it returns was written and that its account balances.
    ///
    /// # Panics
    /// If either is not so.
    #[must_use]
    #[track_caller]
    pub fn assert_true(&self, trace: &Trace) -> Reading {
        let reading = Reading::of(trace);
        let mut last = vec![0; trace.identity().ring_count as usize];
        for event in &reading.events {
            let written = self.events.get(&(event.ring, event.sequence));
            let found = bare(event);
            assert_eq!(written, Some(&found), "an event that was never written");
            self.assert_arguments(event.correlation_id, &event.arguments, event.arguments_lost);
            let last = &mut last[event.ring as usize];
            assert!(
                event.sequence > *last,
                "an event returned twice or out of order: {event:?}"
            );
            *last = event.sequence;
            self.assert_name(trace, event.label_id);
        }
        for open in &reading.report.open_regions {
            assert!(
                self.open.contains(&bare_open(open)),
                "a region that never began: {open:?}"
            );
            self.assert_arguments(open.correlation_id, &open.arguments, open.arguments_lost);
            self.assert_name(trace, open.label_id);
        }
        let names = trace.names();
        for lane in names.lanes() {
            assert_eq!(
                self.lanes.get(&lane.lane),
                Some(&lane.text),
                "a lane's name"
            );
        }
        for thread in names.threads() {
            let given = self
                .threads
                .contains(&(thread.thread_id, thread.text.clone()));
            assert!(
                given || thread.text == OWN_NAME,
                "a thread's name: {thread:?}"
            );
        }
        for account in reading.report.rings.iter().chain([&reading.report.account]) {
            assert!(account.balances(), "{account:?}");
        }
        let found = reading.events.len() as u64;
        assert_eq!(reading.report.account.events(), found);
        reading
    }

    #[track_caller]
    fn assert_name(&self, trace: &Trace, label_id: u32) {
        if let hrx_trace_reader::Name::Known { text, .. } = trace.label(label_id) {
            let given = self.names.get(&label_id).map(String::as_str);
            assert_eq!(given, Some(text.as_str()), "a name that was never given");
        }
    }
}

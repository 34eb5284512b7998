//! A small capture by the real recorder, its file kept byte for byte after each step, and the truth about it: every event, open region and name
//! that a reader returns from any image of the file must have been written, in every field.
//!
//! The truth is what the undamaged file says after each step, checked against the calls that were made.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;
use hrx_trace::{Key, Label, Options, Recorder, Region, Value};
use hrx_trace_reader::{
    Argument, ArgumentValue, Ending, Event, Kind, Name, OpenRegion, Report, Trace,
};

/// The size of a capture.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Records in each ring.
    pub capacity: u64,
    /// Number of rings.
    pub rings: u32,
    /// Size of the label table.
    pub name_bytes: u64,
}

/// One call of the recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A completed region.
    Record,
    /// A region begins.
    Begin,
    /// The longest-running region ends, if any runs.
    EndOldest,
    /// The region that began last ends, if any runs.
    EndNewest,
    /// The region that began last is cancelled, if any runs.
    CancelNewest,
    /// The region that began last is given an argument, if any runs.
    Argument,
    /// The longest-running region is given another name, if any runs.
    Change,
    /// The region that began last says that it waits, if any runs.
    Wait,
    /// A mark with two arguments.
    Mark,
    /// A value with an argument.
    Value,
    /// A new name, which later events may use.
    Label,
    /// A new lane by name, and a new name of the thread.
    Lane,
    /// Everything so far is forced to the disk.
    Sync,
    /// The capture ends.
    Finish,
}

impl Step {
    /// `count` steps of a typical program, without its `Finish`.
    pub fn random(rng: &mut Rng, count: usize) -> Vec<Self> {
        let any = |_| match rng.u32(..120) {
            0..45 => Self::Record,
            45..63 => Self::Begin,
            63..72 => Self::EndOldest,
            72..78 => Self::EndNewest,
            78..80 => Self::CancelNewest,
            80..88 => Self::Argument,
            88..94 => Self::Change,
            94..98 => Self::Wait,
            98..104 => Self::Mark,
            104..110 => Self::Value,
            110..114 => Self::Label,
            114..116 => Self::Lane,
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
    /// By ring and ticket.
    events: BTreeMap<(u32, u64), Event>,
    open: Vec<OpenRegion>,
    /// By id.
    names: BTreeMap<u32, String>,
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
            .open_regions(64)
            .create(&path)
            .expect("a capture is created");
        let mut calls = Calls {
            recorder: &recorder,
            epoch: Instant::now(),
            epoch_ns: None,
            names: vec![0],
            labels: Vec::new(),
            key: recorder.key("load"),
            running: VecDeque::new(),
            changed: BTreeMap::new(),
            cancelled: BTreeSet::new(),
            loads: BTreeMap::new(),
        };
        let mut capture = Capture {
            versions: Vec::new(),
            capture_id: [0; 16],
            events: BTreeMap::new(),
            open: Vec::new(),
            names: BTreeMap::new(),
        };
        capture.keep(&path, None, &mut calls);
        for step in steps {
            thread::scope(|scope| {
                scope.spawn(|| calls.make(*step));
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
    key: Key,
    /// Running regions with the numbers of their calls, longest-running first.
    running: VecDeque<(usize, Region<'recorder>)>,
    /// The calls whose regions were changed: the index of their new name.
    changed: BTreeMap<usize, usize>,
    /// The calls whose regions were cancelled.
    cancelled: BTreeSet<usize>,
    /// By call: the arguments that its event was given.
    loads: BTreeMap<usize, Vec<Load>>,
}

/// An argument: a number, or a text of one to eleven records that is cut if it is too long.
#[derive(Clone, Debug)]
enum Load {
    Number(u64),
    Text(String),
}

impl Load {
    /// Argument `index` of call `number`.
    fn of(number: usize, index: usize) -> Self {
        let mixed = mix(number * 64 + index);
        match mixed % 3 {
            0 => Self::Text("no two are alike ".repeat(1 + (mixed >> 8) as usize % 17) + "."),
            _ => Self::Number(mixed),
        }
    }

    fn value(&self) -> Value<'_> {
        match self {
            Self::Number(number) => Value::from(*number),
            Self::Text(text) => Value::from(text.as_str()),
        }
    }

    /// Whether it is this one, as far as it is there.
    fn is(&self, found: &Argument) -> bool {
        match (self, &found.value) {
            (Self::Number(number), ArgumentValue::U64(found)) => number == found,
            (Self::Text(text), ArgumentValue::Text(part)) => {
                let whole = !found.cut && !found.incomplete;
                text.starts_with(part.as_str()) && (!whole || text == part)
            }
            _ => false,
        }
    }
}

impl Calls<'_> {
    fn make(&mut self, step: Step) {
        let number = self.names.len();
        self.names.push(self.labels.len());
        match step {
            Step::Record => self.recorder.record(
                self.epoch + duration(number + 1),
                duration(number),
                self.event(number),
            ),
            Step::Begin => {
                let region = self.recorder.begin(self.event(number));
                self.running.push_back((number, region));
            }
            Step::EndOldest => finish(self.running.pop_front()),
            Step::EndNewest => finish(self.running.pop_back()),
            Step::CancelNewest => {
                if let Some((number, region)) = self.running.pop_back() {
                    self.cancelled.insert(number);
                    region.cancel();
                }
            }
            Step::Argument => {
                if let Some((number, region)) = self.running.back_mut() {
                    let loads = self.loads.entry(*number).or_default();
                    let load = Load::of(*number, loads.len());
                    region.argument(self.key, load.value());
                    loads.push(load);
                }
            }
            Step::Change => {
                let label = self.labels.last().copied();
                if let Some((number, region)) = self.running.front_mut()
                    && let Some(label) = label
                    && !self.changed.contains_key(number)
                {
                    self.changed.insert(*number, self.labels.len() - 1);
                    region.set_label(label);
                }
            }
            Step::Wait => {
                if let Some((_, region)) = self.running.back_mut() {
                    region.waiting();
                }
            }
            Step::Mark => {
                let loads = self.given(number, 2);
                let arguments: Vec<_> = loads.iter().map(|load| (self.key, load.value())).collect();
                self.recorder.mark_with(self.event(number), &arguments);
            }
            Step::Value => {
                let loads = self.given(number, 1);
                let arguments: Vec<_> = loads.iter().map(|load| (self.key, load.value())).collect();
                let event = self.event(number);
                self.recorder
                    .value_with(event, self::number(number), &arguments);
            }
            Step::Lane => {
                let group = format!("device {}", number % 3);
                let _ = self.recorder.lane_in(&group, &format!("stream {number}"));
                self.recorder.name_thread(&format!("worker {number}"));
            }
            Step::Label => {
                let name = name(self.labels.len());
                self.labels.push(self.recorder.label(&name));
            }
            Step::Sync => self.recorder.sync().expect("the file can be synced"),
            Step::Finish => self.recorder.finish(),
        }
    }

    /// What the event of call `number` is given at once.
    fn given(&mut self, number: usize, count: usize) -> Vec<Load> {
        let loads: Vec<Load> = (0..count).map(|index| Load::of(number, index)).collect();
        self.loads.insert(number, loads.clone());
        loads
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
            .status(status(number))
            .failed(mixed.is_multiple_of(3))
    }

    /// The name of a call's event: one of those that existed, or none.
    fn name_of(&self, number: usize) -> Option<usize> {
        if let Some(changed) = self.changed.get(&number) {
            return Some(*changed);
        }
        (mix(number) as usize % (self.names[number] + 1)).checked_sub(1)
    }

    /// Asserts that `event` has the fields that its call asked for.
    fn assert_recorded(&mut self, trace: &Trace, event: &Event) {
        let number = event.correlation_id as usize;
        let mixed = mix(number);
        let cancelled = self.cancelled.contains(&number);
        let failed = mixed.is_multiple_of(3) && !cancelled;
        match event.kind {
            Kind::Region => {
                assert_eq!(u64::from(event.lane), mixed % 7);
                assert_eq!(
                    (event.copied_bytes, event.status),
                    (mixed >> 13, status(number))
                );
                assert_eq!((event.failed, event.cancelled), (failed, cancelled));
            }
            Kind::Mark => assert_eq!(u64::from(event.lane), mixed % 7),
            Kind::Value => assert_eq!(event.value, self::number(number)),
            other => panic!("{other:?}"),
        }
        let mut loads = self.loads.get(&number).into_iter().flatten();
        for argument in &event.arguments {
            assert!(loads.any(|load| load.is(argument)), "{argument:?}");
            let key = Name::Known {
                text: "load".to_owned(),
                group: 0,
            };
            assert_eq!(trace.key(argument.key), key);
        }
        let name = self.name_of(number).map(name);
        assert_eq!(
            trace.name(event.label_id),
            name.as_deref().unwrap_or("native region")
        );
        if event.kind == Kind::Region && event.duration_ns == duration(number).as_nanos() as u64 {
            let epoch_ns = event.start_ns - duration(number + 1).as_nanos() as u64;
            assert_eq!(*self.epoch_ns.get_or_insert(epoch_ns), epoch_ns);
        }
    }
}

/// Whether an event is one that was written, with arguments that it was given: all, or those that are left.
fn agrees(written: &Event, found: &Event) -> bool {
    let bare = |event: &Event| {
        let mut bare = event.clone();
        (bare.arguments, bare.arguments_lost) = (Vec::new(), 0);
        bare
    };
    bare(written) == bare(found) && are_left(&written.arguments, &found.arguments)
}

/// Whether a running region is as in one of `states`, and has arguments that it had in any of them: in an image, each can be of another moment.
fn agrees_open<'states>(
    states: impl Iterator<Item = &'states OpenRegion> + Clone,
    found: &OpenRegion,
) -> bool {
    let bare = |open: &OpenRegion| {
        let mut bare = open.clone();
        (bare.arguments, bare.arguments_lost) = (Vec::new(), 0);
        bare
    };
    let mut states = states.filter(|state| state.correlation_id == found.correlation_id);
    let had = states.clone();
    states.any(|state| bare(state) == bare(found))
        && found.arguments.iter().all(|argument| {
            had.clone()
                .any(|state| are_left(&state.arguments, std::slice::from_ref(argument)))
        })
}

/// Whether the arguments found are some of those written, in their order, each as far as it is there.
fn are_left(written: &[Argument], found: &[Argument]) -> bool {
    let mut written = written.iter();
    found.iter().all(|found| {
        written.any(|written| {
            let part = match (&written.value, &found.value) {
                (ArgumentValue::Text(whole), ArgumentValue::Text(part)) if found.incomplete => {
                    whole.starts_with(part.as_str())
                }
                (whole, part) => whole == part,
            };
            part && written.key == found.key
        })
    })
}

fn finish(region: Option<(usize, Region)>) {
    if let Some((_, region)) = region {
        region.finish();
    }
}

fn status(number: usize) -> u32 {
    (mix(number) >> 40) as u32
}

/// The number that a value of call `number` is.
fn number(number: usize) -> f64 {
    (mix(number) >> 12) as f64 / 1e3
}

/// The duration that call `number` states. No real region of a test takes that long.
fn duration(number: usize) -> Duration {
    Duration::from_nanos((1 << 44) + (mix(number) >> 20))
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
        for event in events {
            self.note_name(&trace, event.label_id);
            let known = self
                .events
                .entry((event.ring, event.sequence))
                .or_insert_with(|| {
                    calls.assert_recorded(&trace, &event);
                    event.clone()
                });
            assert!(
                agrees(known, &event),
                "an event changed: {event:?}, {known:?}"
            );
        }
        let lost = (report.account.torn, report.open_torn, report.damages.len());
        assert_eq!(lost, (0, 0, 0), "{report:?}");
        let open: Vec<_> = report
            .open_regions
            .iter()
            .map(|open| open.correlation_id)
            .collect();
        let running: Vec<_> = calls
            .running
            .iter()
            .map(|(number, _)| *number as u64)
            .collect();
        assert_eq!(open, running, "{report:?}");
        for open in &report.open_regions {
            self.note_name(&trace, open.label_id);
            if !self.open.contains(open) {
                self.open.push(open.clone());
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

    /// The file after the last step.
    ///
    /// # Panics
    /// Never: creation makes the first version.
    #[must_use]
    pub fn last(&self) -> &Version {
        self.versions.last().expect("creation makes a version")
    }

    /// Whether a ticket was given to an event, and not to an argument or a change of one.
    #[must_use]
    pub fn is_event(&self, ring: u32, ticket: u64) -> bool {
        self.events.contains_key(&(ring, ticket))
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
            assert!(
                written.is_some_and(|written| agrees(written, event)),
                "an event that was never written: {event:?}, {written:?}"
            );
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
                agrees_open(self.open.iter(), open),
                "a region that never began: {open:?}"
            );
            self.assert_name(trace, open.label_id);
        }
        for account in reading.report.rings.iter().chain([&reading.report.account]) {
            assert!(account.balances(), "{account:?}");
        }
        let account = &reading.report.account;
        assert_eq!(
            account.regions + account.marks + account.values,
            reading.events.len() as u64
        );
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

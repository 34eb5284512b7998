//! A small capture by the real recorder, kept byte for byte after each of its steps, and the truth about it: whatever a reader makes of any
//! image of the file, each event, open region and name that it hands out must be one that was written, in every field.
//!
//! The truth is what the undamaged file says after each step, checked there against what was asked of the recorder.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;
use hrx_trace::{Label, Options, Recorder, Region};
use hrx_trace_reader::{Ending, Event, OpenRegion, Report, Trace};

/// What a capture is made of.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Records in each ring.
    pub capacity: u64,
    /// Rings.
    pub rings: u32,
    /// Room for labels.
    pub label_bytes: u64,
}

/// One call of the recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A completed region.
    Record,
    /// A region begins.
    Begin,
    /// The region that has run for longest ends, if there is one.
    EndOldest,
    /// The region that began last ends, if there is one.
    EndNewest,
    /// A new name; later events may use it.
    Label,
    /// Everything so far is forced to the disk.
    Sync,
    /// The end of the capture.
    Finish,
}

impl Step {
    /// `count` steps as a program would make them, but for its end.
    pub fn random(rng: &mut Rng, count: usize) -> Vec<Self> {
        let any = |_| match rng.u32(..100) {
            0..55 => Self::Record,
            55..73 => Self::Begin,
            73..84 => Self::EndOldest,
            84..92 => Self::EndNewest,
            92..96 => Self::Label,
            _ => Self::Sync,
        };
        (0..count).map(any).collect()
    }
}

/// The file as it was after a step.
#[derive(Clone, Debug)]
pub struct Version {
    /// The step; None: the creation.
    pub step: Option<Step>,
    /// The whole file.
    pub bytes: Vec<u8>,
    /// Tickets that each ring had given out.
    pub claimed: Vec<u64>,
    /// The regions that were running.
    pub open: Vec<OpenRegion>,
    /// Whether the capture was finished.
    pub finished: bool,
}

/// A capture, and the truth about it.
#[derive(Debug)]
pub struct Capture {
    /// The file after each step; the first is that of the creation.
    pub versions: Vec<Version>,
    capture_id: [u8; 16],
    /// By ring and ticket.
    events: BTreeMap<(u32, u64), Event>,
    open: Vec<OpenRegion>,
    /// By id.
    names: BTreeMap<u32, String>,
}

/// What a reader says of an image.
#[derive(Debug)]
pub struct Said {
    /// The events, in the reader's order.
    pub events: Vec<Event>,
    /// Everything else.
    pub report: Report,
}

impl Said {
    /// Reads all of `trace`.
    #[must_use]
    pub fn by(trace: &Trace) -> Self {
        let mut events = trace.events();
        Self {
            events: events.by_ref().collect(),
            report: events.finish(),
        }
    }
}

impl Shape {
    /// Makes the calls `steps`, each on a thread of its own, so that all rings get their share.
    ///
    /// # Panics
    /// If the recorder or the reader get the undamaged file wrong.
    #[must_use]
    pub fn record(self, steps: &[Step]) -> Capture {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("t.hrxt");
        let recorder = Options::new(self.capacity)
            .rings(self.rings)
            .label_bytes(self.label_bytes)
            .create(&path)
            .expect("a capture is created");
        let mut calls = Calls {
            recorder: &recorder,
            epoch: Instant::now(),
            epoch_ns: None,
            names: vec![0],
            labels: Vec::new(),
            running: VecDeque::new(),
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
        // What still runs stays so: the file is as a kill leaves it.
        for (_, region) in calls.running {
            std::mem::forget(region);
        }
        capture
    }
}

/// The calls so far. Call number n says what follows from n, so that no two events are alike.
struct Calls<'recorder> {
    recorder: &'recorder Recorder,
    epoch: Instant,
    /// `epoch` in the file's time, once an event has told.
    epoch_ns: Option<u64>,
    /// By call: how many names there were.
    names: Vec<usize>,
    labels: Vec<Label>,
    /// From the one that has run for longest, with their numbers.
    running: VecDeque<(usize, Region<'recorder>)>,
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
            Step::Label => {
                let name = name(self.labels.len());
                self.labels.push(self.recorder.label(&name));
            }
            Step::Sync => self.recorder.sync().expect("the file can be synced"),
            Step::Finish => self.recorder.finish(),
        }
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

    /// Which name the event of a call has: any of those there were, or none.
    fn name_of(&self, number: usize) -> Option<usize> {
        (mix(number) as usize % (self.names[number] + 1)).checked_sub(1)
    }

    /// That the file says what was asked for.
    fn assert_said(&mut self, trace: &Trace, event: &Event) {
        let number = event.correlation_id as usize;
        let mixed = mix(number);
        assert_eq!(u64::from(event.lane), mixed % 7);
        assert_eq!(event.copied_bytes, mixed >> 13);
        assert_eq!(event.status, (mixed >> 40) as u32);
        assert_eq!(event.failed, mixed.is_multiple_of(3));
        let name = self.name_of(number).map(name);
        assert_eq!(
            trace.name(event.label_id),
            name.as_deref().unwrap_or("native region")
        );
        if event.duration_ns == duration(number).as_nanos() as u64 {
            let epoch_ns = event.start_ns - duration(number + 1).as_nanos() as u64;
            assert_eq!(*self.epoch_ns.get_or_insert(epoch_ns), epoch_ns);
        }
    }
}

fn finish(region: Option<(usize, Region)>) {
    if let Some((_, region)) = region {
        region.finish();
    }
}

/// As long as call `number` says it took. No region of a test takes as long.
fn duration(number: usize) -> Duration {
    Duration::from_nanos((1 << 44) + (mix(number) >> 20))
}

/// Of one, two or three blocks of the table.
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
    /// Takes the file as it is, and what it says into the truth.
    fn keep(&mut self, path: &Path, step: Option<Step>, calls: &mut Calls) {
        let bytes = fs::read(path).expect("the file is read");
        let trace = Trace::from_bytes(bytes.clone()).expect("an undamaged file is a trace");
        let Said { events, report } = Said::by(&trace);
        self.capture_id = trace.identity().capture_id;
        for event in events {
            self.note_name(&trace, event.label_id);
            let known = self
                .events
                .entry((event.ring, event.sequence))
                .or_insert_with(|| {
                    calls.assert_said(&trace, &event);
                    event
                });
            assert_eq!(*known, event, "an event changed");
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
                self.open.push(*open);
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

    /// The file as it is after the last step.
    ///
    /// # Panics
    /// Never: the creation makes the first version.
    #[must_use]
    pub fn last(&self) -> &Version {
        self.versions.last().expect("the creation's version")
    }

    /// Whether `trace` says that it is of this capture.
    #[must_use]
    pub fn is_named_by(&self, trace: &Trace) -> bool {
        trace.identity().capture_id == self.capture_id
    }

    /// Reads all of `trace`, an image of this capture's file: everything that it hands out was written, and its account balances.
    ///
    /// # Panics
    /// If not.
    #[must_use]
    #[track_caller]
    pub fn assert_true(&self, trace: &Trace) -> Said {
        let said = Said::by(trace);
        let mut last = vec![0; trace.identity().ring_count as usize];
        for event in &said.events {
            let written = self.events.get(&(event.ring, event.sequence));
            assert_eq!(written, Some(event), "an event that was never written");
            let last = &mut last[event.ring as usize];
            assert!(
                event.sequence > *last,
                "an event twice, or out of order: {event:?}"
            );
            *last = event.sequence;
            self.assert_name(trace, event.label_id);
        }
        for open in &said.report.open_regions {
            assert!(
                self.open.contains(open),
                "a region that never began: {open:?}"
            );
            self.assert_name(trace, open.label_id);
        }
        for account in said.report.rings.iter().chain([&said.report.account]) {
            assert!(account.balances(), "{account:?}");
        }
        assert_eq!(said.report.account.recovered, said.events.len() as u64);
        said
    }

    #[track_caller]
    fn assert_name(&self, trace: &Trace, label_id: u32) {
        if let hrx_trace_reader::Label::Text(text) = trace.label(label_id) {
            let given = self.names.get(&label_id).map(String::as_str);
            assert_eq!(given, Some(text.as_str()), "a name that was never given");
        }
    }
}

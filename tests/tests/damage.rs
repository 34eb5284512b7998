//! Proves: whatever happens to the bytes of a file, the reader hands out no event, no running region and no name that was not written, counts or reports
//! what is lost, and does not fail.
//!
//! How: a small capture by the real recorder (two rings, both wrapped, regions running, ended and ended long ago, names of one to three blocks), of which
//! all is known, is damaged in every way that a disk, a transfer or a careless hand has: each single bit in turn, with the exact
//! outcome that its place demands; and thousands of times at random.

use std::collections::BTreeSet;

use hrx_trace_format::header::{COUNTERS_OFFSET, IDENTITY_BYTES};
use hrx_trace_format::record::RECORD_BYTES;
use hrx_trace_format::{HeaderError, Identity};
use hrx_trace_reader::{Ending, Error, Event, Label, Report, Trace};
use hrx_trace_tests::capture::{Capture, Said, Shape, Step};
use hrx_trace_tests::seeds;

const SHAPE: Shape = Shape {
    capacity: 9,
    rings: 2,
    label_bytes: 4096,
};

/// Regions that run, that have ended, and whose record is overwritten by now, in slots of many numbers; the rings wrapped.
fn steps() -> Vec<Step> {
    use Step::{Begin, EndNewest, EndOldest, Label, Record};
    let mut steps = vec![Label, Label, Label];
    steps.extend([Begin; 64]);
    steps.extend([EndOldest; 30]);
    steps.extend([EndNewest; 29]);
    steps.extend([Record; 30]);
    steps.extend([
        Begin, Begin, EndOldest, EndNewest, Record, Record, Label, Begin, Record,
    ]);
    steps
}

fn captures() -> [Capture; 2] {
    let mut finished = steps();
    finished.push(Step::Finish);
    [SHAPE.record(&steps()), SHAPE.record(&finished)]
}

#[track_caller]
fn open(bytes: &[u8]) -> Trace {
    Trace::from_bytes(bytes).expect("a trace")
}

/// All that a report says, to be compared, but for what a test lists apart.
fn facts(report: &Report) -> impl PartialEq + std::fmt::Debug + '_ {
    let counts = (report.rejected, report.open_refused, report.labels_refused);
    let times = (report.first_ns, report.last_ns, report.complete_since_ns);
    (
        report.ending,
        (report.account, &report.rings),
        counts,
        times,
        (report.open_torn, &report.open_regions),
        &report.damages,
    )
}

/// How the rings are merged depends on every event: one that is lost can change the order of the others.
fn by_ticket<'a>(events: impl IntoIterator<Item = &'a Event>) -> Vec<&'a Event> {
    let mut events: Vec<_> = events.into_iter().collect();
    events.sort_by_key(|event| (event.ring, event.sequence));
    events
}

#[track_caller]
fn assert_same(found: &Said, whole: &Said) {
    assert_eq!(found.events, whole.events);
    assert_eq!(facts(&found.report), facts(&whole.report));
}

/// One byte of the file that is flipped bit by bit, and what the whole file says.
struct Flip<'a> {
    capture: &'a Capture,
    whole: &'a Said,
    identity: &'a Identity,
    /// The place of the byte.
    offset: u64,
    image: &'a [u8],
}

impl Flip<'_> {
    fn judge(&self) {
        let trace = match Trace::from_bytes(self.image) {
            Ok(trace) => trace,
            Err(Error::Header { source, .. }) => return self.judge_refusal(source),
            Err(error) => panic!("{error}"),
        };
        assert!(
            self.offset >= u64::from(IDENTITY_BYTES),
            "a damaged identity was believed"
        );
        let said = self.capture.assert_true(&trace);
        let identity = self.identity;
        let in_table = |start: u64, bytes: u64| {
            (start..start + bytes)
                .contains(&self.offset)
                .then(|| self.offset - start)
        };
        let line = RECORD_BYTES as u64;
        if let Some(at) = in_table(identity.counters_offset, line) {
            return self.judge_counter(&said, at / 8);
        }
        for ring in 0..identity.ring_count {
            if in_table(identity.control_line(ring), 8).is_some() {
                return self.judge_claimed(&said);
            }
            if let Some(at) = in_table(identity.ring_slot(ring, 0), identity.capacity * line) {
                return self.judge_record(&said, ring, at / line);
            }
        }
        if let Some(at) = in_table(identity.open_offset, u64::from(identity.open_slots) * line) {
            return self.judge_open_slot(&said, (at / line) as u32, at % line);
        }
        if let Some(at) = in_table(identity.label_offset, identity.label_bytes) {
            return self.judge_label(&trace, &said, at / line);
        }
        // Belongs to nothing.
        assert_same(&said, self.whole);
    }

    fn judge_refusal(&self, error: HeaderError) {
        let expected = match self.offset {
            0..8 => matches!(
                error,
                HeaderError::NotATrace { .. } | HeaderError::TextMode { .. }
            ),
            8..10 => matches!(error, HeaderError::Version { .. }),
            12..16 => matches!(
                error,
                HeaderError::IdentityBytes { .. } | HeaderError::Checksum { .. }
            ),
            10..1024 => matches!(error, HeaderError::Checksum { .. }),
            _ => false,
        };
        assert!(expected, "{error}");
    }

    /// The counters carry no checksum: a wrong one is what the file says, and it touches nothing else.
    fn judge_counter(&self, said: &Said, word: u64) {
        assert_eq!(said.events, self.whole.events);
        let (found, whole) = (&said.report, &self.whole.report);
        let same_counts = [
            found.last_ns == whole.last_ns,
            found.rejected == whole.rejected,
            found.open_refused == whole.open_refused,
            found.labels_refused == whole.labels_refused,
        ];
        let differs = same_counts.iter().filter(|same| !**same).count();
        match word {
            0 => {
                assert_eq!(found.damages.len(), 1);
                assert_eq!(found.damages[0].offset, COUNTERS_OFFSET);
                assert_eq!(found.ending, Ending::WriterDied);
                assert_eq!(differs, 0);
            }
            // A `finished_ns` below the newest event changes nothing.
            1 => assert!(differs == 0 || (differs == 1 && !same_counts[0])),
            3..6 => assert!(differs == 1 && !same_counts[word as usize - 2]),
            _ => assert_same(said, self.whole),
        }
        assert_eq!(
            (found.account, &found.open_regions),
            (whole.account, &whole.open_regions)
        );
    }

    /// Reported, or the tickets that it adds are counted as torn.
    fn judge_claimed(&self, said: &Said) {
        let torn = said.report.account.torn > self.whole.report.account.torn;
        assert!(torn || said.report.damages.len() == 1);
        assert_eq!(said.report.open_regions, self.whole.report.open_regions);
    }

    /// Exactly the event of the slot is lost, if there is one, and counted.
    fn judge_record(&self, said: &Said, ring: u32, slot: u64) {
        let capacity = self.identity.capacity;
        let lies_there =
            |event: &&Event| event.ring == ring && (event.sequence - 1) % capacity == slot;
        let Some(lost) = self.whole.events.iter().find(lies_there) else {
            return assert_same(said, self.whole);
        };
        let others = self.whole.events.iter().filter(|event| *event != lost);
        assert_eq!(by_ticket(others), by_ticket(&said.events));
        assert_eq!(said.report.account.torn, self.whole.report.account.torn + 1);
        assert_eq!(
            said.report.rings[ring as usize].torn,
            self.whole.report.rings[ring as usize].torn + 1
        );
        assert_eq!(said.report.open_regions, self.whole.report.open_regions);
    }

    /// A region that runs is lost and counted; of a free slot, only the word that says so matters.
    fn judge_open_slot(&self, said: &Said, slot: u32, at: u64) {
        assert_eq!(said.events, self.whole.events);
        let runs = |open: &hrx_trace_reader::OpenRegion| open.slot == slot;
        let whole = &self.whole.report.open_regions;
        if !whole.iter().any(runs) && at >= 8 {
            return assert_same(said, self.whole);
        }
        assert_eq!(said.report.open_torn, self.whole.report.open_torn + 1);
        assert!(
            whole
                .iter()
                .filter(|open| !runs(open))
                .eq(&said.report.open_regions)
        );
    }

    /// The name of the block is unreadable and reported, if an event has it; all others, and all events, are as they were.
    fn judge_label(&self, trace: &Trace, said: &Said, block: u64) {
        assert_eq!(said.events, self.whole.events);
        let named: BTreeSet<u32> = said
            .events
            .iter()
            .map(|event| event.label_id)
            .filter(|id| *id > 0)
            .collect();
        let unreadable: Vec<_> = named
            .iter()
            .filter(|id| trace.label(**id) == Label::Unreadable)
            .collect();
        let open = said
            .report
            .open_regions
            .iter()
            .any(|open| trace.label(open.label_id) == Label::Unreadable);
        match unreadable[..] {
            [] => assert_eq!(said.report.damages.len(), usize::from(open)),
            [id] => {
                assert!(u64::from(*id) - 1 <= block, "not the name that was damaged");
                assert_eq!(said.report.damages.len(), 1);
            }
            _ => panic!("one bit took several names: {unreadable:?}"),
        }
    }
}

#[test]
fn every_single_bit() {
    for capture in captures() {
        let mut image = capture.last().bytes.clone();
        let trace = open(&image);
        let whole = capture.assert_true(&trace);
        assert!(
            whole.report.rings.iter().all(|ring| ring.overwritten > 0),
            "{:?}",
            whole.report
        );
        assert!(whole.report.open_regions.len() > 2);
        for bit in 0..image.len() * 8 {
            image[bit / 8] ^= 1 << (bit % 8);
            let flip = Flip {
                capture: &capture,
                whole: &whole,
                identity: trace.identity(),
                offset: bit as u64 / 8,
                image: &image,
            };
            let judged = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| flip.judge()));
            assert!(judged.is_ok(), "bit {} of the byte at {}", bit % 8, bit / 8);
            image[bit / 8] ^= 1 << (bit % 8);
        }
        println!(
            "every_single_bit: {} flips of a file that is {:?}",
            image.len() * 8,
            trace.ending()
        );
    }
    let _ = seeds::rng("x");
}

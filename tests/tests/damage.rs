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
use hrx_trace_tests::history::{Capture, Said, Shape, Step};
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
}

/// Reads an image that may be damaged anywhere: refused because of its header, or true.
#[track_caller]
fn read(capture: &Capture, image: &[u8]) -> Option<Said> {
    match Trace::from_bytes(image) {
        Ok(trace) => Some(capture.assert_true(&trace)),
        Err(Error::Header { .. }) => None,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn bytes_at_random() {
    let mut rng = seeds::rng("bytes_at_random");
    let mut read_anyway = 0;
    const IMAGES: usize = 40_000;
    let captures = captures();
    for _ in 0..IMAGES {
        let capture = rng.choice(&captures).expect("two");
        let mut image = capture.last().bytes.clone();
        for _ in 0..rng.usize(1..=8) {
            // Mostly behind the identity, where damage is not simply refused.
            let first = if rng.u32(..10) == 0 {
                0
            } else {
                IDENTITY_BYTES as usize
            };
            let start = rng.usize(first..image.len());
            let length = 1 << rng.u32(..13);
            let end = image.len().min(start + length);
            let hit = &mut image[start..end];
            match rng.u32(..4) {
                0 => hit.fill(0),
                1 => hit.fill(0xFF),
                2 => rng.fill(hit),
                // A few bits of many bytes, as of failing memory.
                _ => hit
                    .iter_mut()
                    .for_each(|byte| *byte ^= (rng.u8(..) & rng.u8(..)) & rng.u8(..)),
            }
        }
        read_anyway += usize::from(read(capture, &image).is_some());
    }
    assert!(read_anyway > IMAGES / 2);
    println!("bytes_at_random: {IMAGES} images, {read_anyway} of them with a whole header");
}

#[test]
fn cut_at_every_length() {
    for capture in captures() {
        let bytes = &capture.last().bytes;
        let trace = open(bytes);
        let whole = capture.assert_true(&trace);
        let identity = trace.identity();
        for length in 0..bytes.len() {
            let Some(said) = read(&capture, &bytes[..length]) else {
                assert!(length < COUNTERS_OFFSET as usize);
                continue;
            };
            assert!(length >= COUNTERS_OFFSET as usize);
            // Exactly the records that lie wholly inside are there, as long as the control lines are.
            let inside = |event: &&Event| {
                let slot = (event.sequence - 1) % identity.capacity;
                identity.ring_slot(event.ring, slot) + RECORD_BYTES as u64 <= length as u64
            };
            let expected: Vec<_> = whole.events.iter().filter(inside).collect();
            assert_eq!(
                by_ticket(&said.events),
                by_ticket(expected.iter().copied()),
                "{length}"
            );
            let (found, lost) = (said.report, whole.events.len() - expected.len());
            if length as u64 >= identity.open_offset {
                assert_eq!(found.account.claimed, whole.report.account.claimed);
                assert_eq!(found.account.torn, lost as u64, "{length}");
            }
            let cut = found
                .damages
                .iter()
                .any(|damage| damage.offset == length as u64);
            assert!(cut, "{length}: {:?}", found.damages);
        }
        println!("cut_at_every_length: {} lengths", bytes.len());
    }
}

#[test]
fn longer_than_written() {
    let mut rng = seeds::rng("longer_than_written");
    for capture in captures() {
        let whole = capture.assert_true(&open(&capture.last().bytes));
        for _ in 0..500 {
            let mut image = capture.last().bytes.clone();
            let more = rng.usize(1..10_000);
            let junk = rng.bool();
            image.extend(std::iter::repeat_with(|| if junk { rng.u8(..) } else { 0 }).take(more));
            assert_same(&capture.assert_true(&open(&image)), &whole);
        }
    }
}

/// A ring of more than a page, so that whole pages of it can change places.
#[test]
fn blocks_that_changed_places() {
    let mut rng = seeds::rng("blocks_that_changed_places");
    let shape = Shape {
        capacity: 300,
        rings: 2,
        label_bytes: 8192,
    };
    let [one, other] = [0, 1].map(|_| {
        let mut steps = Step::random(&mut rng, 900);
        steps.retain(|step| *step != Step::Sync);
        shape.record(&steps)
    });
    const IMAGES: usize = 10_000;
    let mut read_anyway = 0;
    for _ in 0..IMAGES {
        let mut image = one.last().bytes.clone();
        let block = if rng.bool() { 512 } else { 4096 };
        let blocks = image.len() / block;
        for _ in 0..rng.usize(1..=4) {
            // The first page holds the identity.
            let first = if rng.u32(..10) == 0 { 0 } else { 4096 / block };
            let [from, to] = [0, 1].map(|_| rng.usize(first..blocks) * block);
            match rng.u32(..3) {
                // Swapped.
                0 => (0..block).for_each(|index| image.swap(from + index, to + index)),
                // Written to the wrong place, the right place left as it was.
                1 => image.copy_within(from..from + block, to),
                // From another file of the same layout, from the same place.
                _ => image[to..to + block].copy_from_slice(&other.last().bytes[to..to + block]),
            }
        }
        let Ok(trace) = Trace::from_bytes(image) else {
            continue;
        };
        read_anyway += 1;
        let named = if one.is_named_by(&trace) {
            &one
        } else {
            &other
        };
        let _ = named.assert_true(&trace);
    }
    assert!(read_anyway > IMAGES / 2);
    println!(
        "blocks_that_changed_places: {IMAGES} images, {read_anyway} of them with a whole header"
    );
}

#[test]
fn two_captures_in_one_file() {
    let [one, other] = captures();
    for (first, second) in [(&one, &other), (&other, &one)] {
        let image = [&first.last().bytes[..], &second.last().bytes].concat();
        let whole = first.assert_true(&open(&first.last().bytes));
        assert_same(&first.assert_true(&open(&image)), &whole);
        // The first one cut: what follows takes the place of its ring, and is not mistaken for it.
        for length in (4096..first.last().bytes.len()).step_by(RECORD_BYTES) {
            let image = [&first.last().bytes[..length], &second.last().bytes].concat();
            let _ = first.assert_true(&open(&image));
        }
    }
}

#[test]
fn transfers_in_text_mode() {
    for capture in captures() {
        let bytes = &capture.last().bytes;
        let to_crlf = replaced(bytes, b"\n", b"\r\n");
        let to_lf = replaced(bytes, b"\r\n", b"\n");
        let there_and_back = replaced(&to_crlf, b"\r\n", b"\n");
        let seven_bits: Vec<u8> = bytes.iter().map(|byte| byte & 0x7F).collect();
        // Every line end restored, every byte restored.
        assert_eq!(there_and_back, *bytes);
        for image in [to_crlf, to_lf, seven_bits] {
            let error = Trace::from_bytes(image).expect_err("a file of other bytes");
            let Error::Header { source, .. } = error else {
                panic!("{error}")
            };
            assert!(matches!(source, HeaderError::TextMode { .. }), "{source}");
        }
    }
}

/// `bytes` with each `from` as `to`, from left to right.
fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut replaced = Vec::new();
    let mut rest = bytes;
    while let Some((first, behind)) = rest.split_first() {
        if let Some(behind) = rest.strip_prefix(from) {
            replaced.extend_from_slice(to);
            rest = behind;
        } else {
            replaced.push(*first);
            rest = behind;
        }
    }
    replaced
}

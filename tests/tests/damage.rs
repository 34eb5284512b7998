//! Proves: whatever happens to the bytes of a file, the reader does not fail, returns no event, running region or name that was not written, and counts
//! or reports what is lost.
//!
//! How: a small capture by the real recorder (two rings, both wrapped; regions running, just ended and long ended; names of one to three blocks), of
//! which everything is known, is damaged as disks, transfers and people damage files: each bit in turn, checked for the exact outcome that its place
//! demands, and thousands of times at random.

use std::collections::BTreeSet;

use hrx_trace_format::header::{COUNTERS_BYTES, COUNTERS_OFFSET, IDENTITY_BYTES};
use hrx_trace_format::record::RECORD_BYTES;
use hrx_trace_format::witness::WITNESS_BYTES;
use hrx_trace_format::{HeaderError, Identity};
use hrx_trace_reader::{Ending, Error, Event, Name, Report, Trace};
use hrx_trace_tests::history::{Capture, Reading, Shape, Step};
use hrx_trace_tests::seeds;

const SHAPE: Shape = Shape {
    capacity: 9,
    rings: 2,
    name_bytes: 4096,
};

/// Steps that leave regions running, ended, and ended with their records overwritten, in many different slots, and wrap the rings.
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

/// Steps of every kind: regions with more arguments than their slots have lines, changed, waiting, cancelled; marks, values, lanes and threads with names.
fn steps_of_all_kinds() -> Vec<Step> {
    use Step::{
        Argument, Begin, CancelNewest, Change, EndNewest, Label, Lane, Mark, Record, Value, Wait,
    };
    let mut steps = vec![Label, Lane, Label, Record, Mark, Value, Lane];
    // The longest-running ones: changed, and full of arguments whose records the rings have lost.
    steps.extend([Begin, Change]);
    steps.extend([Argument; 9]);
    steps.extend([Wait, Begin, Argument, Argument, CancelNewest, Begin, Wait]);
    steps.extend([Record; 12]);
    steps.extend([Begin, Argument, EndNewest, Begin, Argument, Wait]);
    steps.extend([Begin, Begin, EndNewest, Value, Mark, Change, Argument]);
    steps
}

/// A capture of every kind of item.
fn capture_of_all_kinds() -> Capture {
    let shape = Shape {
        name_bytes: 8192,
        ..SHAPE
    };
    shape.record(&steps_of_all_kinds())
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

/// What two reports must agree on.
fn facts(report: &Report) -> impl PartialEq + std::fmt::Debug + '_ {
    let counts = (report.rejected, report.open_refused, report.names_refused);
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

/// Sorted by ring and ticket: one lost event can change the order in which the reader merges the others.
fn by_ticket<'a>(events: impl IntoIterator<Item = &'a Event>) -> Vec<&'a Event> {
    let mut events: Vec<_> = events.into_iter().collect();
    events.sort_by_key(|event| (event.ring, event.sequence));
    events
}

#[track_caller]
fn assert_same(found: &Reading, whole: &Reading) {
    assert_eq!(found.events, whole.events);
    assert_eq!(facts(&found.report), facts(&whole.report));
}

/// An image with one flipped bit, and what the undamaged file says.
struct Flip<'a> {
    capture: &'a Capture,
    whole: &'a Reading,
    identity: &'a Identity,
    /// The offset of the byte with the flipped bit.
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
        let reading = self.capture.assert_true(&trace);
        let identity = self.identity;
        let in_table = |start: u64, bytes: u64| {
            (start..start + bytes)
                .contains(&self.offset)
                .then(|| self.offset - start)
        };
        let line = RECORD_BYTES as u64;
        if let Some(at) = in_table(identity.counters_offset, COUNTERS_BYTES as u64) {
            return self.judge_counter(&reading, at / 8);
        }
        if in_table(identity.witness_offset, WITNESS_BYTES as u64).is_some() {
            return self.judge_witness(&reading);
        }
        for ring in 0..identity.ring_count {
            if in_table(identity.control_line(ring), 8).is_some() {
                return self.judge_claimed(&reading);
            }
            if let Some(at) = in_table(identity.ring_slot(ring, 0), identity.capacity * line) {
                return self.judge_record(&reading, ring, at / line);
            }
        }
        let open_bytes = u64::from(identity.open_slots) * identity.open_stride;
        if let Some(at) = in_table(identity.open_offset, open_bytes) {
            let (slot, at) = (at / identity.open_stride, at % identity.open_stride);
            return self.judge_open_slot(&reading, slot as u32, at);
        }
        if let Some(at) = in_table(identity.name_offset, identity.name_bytes) {
            return self.judge_label(&trace, &reading, at / line);
        }
        // The byte belongs to nothing.
        assert_same(&reading, self.whole);
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

    /// The counters carry no checksum: a wrong one is reported as it stands, and changes nothing else.
    fn judge_counter(&self, reading: &Reading, word: u64) {
        assert_eq!(reading.events, self.whole.events);
        let (found, whole) = (&reading.report, &self.whole.report);
        let same_counts = [
            found.last_ns == whole.last_ns,
            found.rejected == whole.rejected,
            found.open_refused == whole.open_refused,
            found.names_refused == whole.names_refused,
            found.hidden_now == whole.hidden_now,
            found.arguments_refused == whole.arguments_refused,
            found.names_too_long == whole.names_too_long,
        ];
        let differs = same_counts.iter().filter(|same| !**same).count();
        match word {
            0 => {
                assert_eq!(found.damages.len(), 1);
                assert_eq!(found.damages[0].offset, COUNTERS_OFFSET);
                assert_eq!(found.ending, Ending::NotFinished);
                // The moment of the finish is none any more.
                assert_eq!(differs, usize::from(!same_counts[0]));
            }
            // A `finished_ns` or `last_alive_ns` below the newest event, or in the future, changes nothing.
            1 | 6 => assert_eq!(differs, usize::from(!same_counts[0])),
            3..6 => assert!(differs == 1 && !same_counts[word as usize - 2]),
            7..10 => assert!(differs == 1 && !same_counts[word as usize - 3]),
            _ => assert_same(reading, self.whole),
        }
        assert_eq!(
            (found.account, &found.open_regions),
            (whole.account, &whole.open_regions)
        );
    }

    /// What is not zeroes and not a witness is reported, and not used.
    fn judge_witness(&self, reading: &Reading) {
        let damages = &reading.report.damages;
        let offsets: Vec<u64> = damages.iter().map(|damage| damage.offset).collect();
        assert_eq!(offsets, [self.identity.witness_offset]);
        assert_eq!(reading.events, self.whole.events);
        assert_eq!(reading.report.ending, self.whole.report.ending);
        assert_eq!(reading.report.open_regions, self.whole.report.open_regions);
    }

    /// The damage is reported, or the tickets that it adds are counted as torn.
    fn judge_claimed(&self, reading: &Reading) {
        let torn = reading.report.account.torn > self.whole.report.account.torn;
        assert!(torn || reading.report.damages.len() == 1);
        assert_eq!(reading.report.open_regions, self.whole.report.open_regions);
    }

    /// Exactly the event in the slot is lost and counted, if the slot holds one.
    fn judge_record(&self, reading: &Reading, ring: u32, slot: u64) {
        let capacity = self.identity.capacity;
        let lies_there =
            |event: &&Event| event.ring == ring && (event.sequence - 1) % capacity == slot;
        let Some(lost) = self.whole.events.iter().find(lies_there) else {
            return assert_same(reading, self.whole);
        };
        let others = self.whole.events.iter().filter(|event| *event != lost);
        assert_eq!(by_ticket(others), by_ticket(&reading.events));
        assert_eq!(
            reading.report.account.torn,
            self.whole.report.account.torn + 1
        );
        assert_eq!(
            reading.report.rings[ring as usize].torn,
            self.whole.report.rings[ring as usize].torn + 1
        );
        assert_eq!(reading.report.open_regions, self.whole.report.open_regions);
    }

    /// A running region is lost and counted. In a free slot, only the word that marks it free matters, and no line is believed without arguments.
    fn judge_open_slot(&self, reading: &Reading, slot: u32, at: u64) {
        assert_eq!(reading.events, self.whole.events);
        let runs = |open: &hrx_trace_reader::OpenRegion| open.slot == slot;
        let whole = &self.whole.report.open_regions;
        if at >= RECORD_BYTES as u64 || !whole.iter().any(runs) && at >= 8 {
            return assert_same(reading, self.whole);
        }
        assert_eq!(reading.report.open_torn, self.whole.report.open_torn + 1);
        assert!(
            whole
                .iter()
                .filter(|open| !runs(open))
                .eq(&reading.report.open_regions)
        );
    }

    /// The name in the block is unreadable, and reported if an event has it. All other names and all events are unchanged.
    fn judge_label(&self, trace: &Trace, reading: &Reading, block: u64) {
        assert_eq!(reading.events, self.whole.events);
        let named: BTreeSet<u32> = reading
            .events
            .iter()
            .map(|event| event.label_id)
            .filter(|id| *id > 0)
            .collect();
        let unreadable: Vec<_> = named
            .iter()
            .filter(|id| trace.label(**id) == Name::Unreadable)
            .collect();
        let open = reading
            .report
            .open_regions
            .iter()
            .any(|open| trace.label(open.label_id) == Name::Unreadable);
        match unreadable[..] {
            [] => assert_eq!(reading.report.damages.len(), usize::from(open)),
            [id] => {
                assert!(u64::from(*id) - 1 <= block, "another name was damaged");
                assert_eq!(reading.report.damages.len(), 1);
            }
            _ => panic!("one bit damaged several names: {unreadable:?}"),
        }
    }
}

#[test]
fn every_flipped_bit_has_the_outcome_that_its_place_demands() {
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
            "{} flips of a file that is {:?}",
            image.len() * 8,
            trace.ending()
        );
    }
}

/// Whatever a flipped bit hits: what is read is true, and what is lost is counted.
#[test]
fn every_flipped_bit_among_all_kinds_is_counted() {
    let capture = capture_of_all_kinds();
    let mut image = capture.last().bytes.clone();
    let trace = open(&image);
    let whole = capture.assert_true(&trace);
    let (account, open) = (&whole.report.account, &whole.report.open_regions);
    let all = [
        account.regions,
        account.marks,
        account.values,
        account.arguments,
        account.amendments,
    ];
    assert!(all.iter().all(|count| *count > 0), "{account:?}");
    assert!(
        open.len() > 2 && open.iter().any(|open| open.arguments_lost > 0),
        "{open:?}"
    );
    let first = COUNTERS_OFFSET as usize + COUNTERS_BYTES;
    let (mut flips, mut losses) = (0, 0);
    for bit in first * 8..image.len() * 8 {
        image[bit / 8] ^= 1 << (bit % 8);
        let reading = capture.assert_true(&self::open(&image));
        image[bit / 8] ^= 1 << (bit % 8);
        flips += 1;
        let place = || format!("bit {} of the byte at {}", bit % 8, bit / 8);
        let report = &reading.report;
        let same = |one: &Reading| {
            let arguments = |reading: &Reading| -> usize {
                let of_events = reading.events.iter().map(|event| event.arguments.len());
                let open = &reading.report.open_regions;
                of_events.sum::<usize>()
                    + open.iter().map(|open| open.arguments.len()).sum::<usize>()
            };
            one.events.len() == whole.events.len()
                && one.report.open_regions.len() == open.len()
                && arguments(one) >= arguments(&whole)
        };
        if !same(&reading) {
            losses += 1;
            let counted = |reading: &Reading| {
                let report = &reading.report;
                let records = report.account.torn + report.account.skipped;
                records + report.open_torn + report.damages.len() as u64
            };
            // A running region's arguments are counted with it, those that it had lost included.
            let lost = |reading: &Reading| -> u64 {
                let of_events = reading.events.iter().map(|event| event.arguments_lost);
                let open = &reading.report.open_regions;
                let of_open = open.iter().map(|open| open.arguments_lost);
                of_events.sum::<u64>() + of_open.sum::<u64>()
            };
            assert!(
                counted(&reading) > counted(&whole) || lost(&reading) > lost(&whole),
                "{}: {report:?}",
                place()
            );
        }
    }
    assert!(losses > 1_000, "{losses} of {flips} flips lost anything");
    println!("{flips} flips among all kinds of items, {losses} of which lost something");
}

/// Reads an image that may be damaged anywhere. None if its header is refused; otherwise what it says is asserted to be true.
#[track_caller]
fn read(capture: &Capture, image: &[u8]) -> Option<Reading> {
    match Trace::from_bytes(image) {
        Ok(trace) => Some(capture.assert_true(&trace)),
        Err(Error::Header { .. }) => None,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn randomly_damaged_files_are_refused_or_read_truthfully() {
    let mut rng = seeds::rng("randomly_damaged_files_are_refused_or_read_truthfully");
    let mut read_anyway = 0;
    const IMAGES: usize = 40_000;
    let [one, other] = captures();
    let captures = [one, other, capture_of_all_kinds()];
    for _ in 0..IMAGES {
        let capture = rng.choice(&captures).expect("three");
        let mut image = capture.last().bytes.clone();
        for _ in 0..rng.usize(1..=8) {
            // Mostly after the identity: a damaged identity is refused, and nothing else is tested.
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
                // A few bits of many bytes, as failing memory does.
                _ => hit
                    .iter_mut()
                    .for_each(|byte| *byte ^= (rng.u8(..) & rng.u8(..)) & rng.u8(..)),
            }
        }
        read_anyway += usize::from(read(capture, &image).is_some());
    }
    assert!(read_anyway > IMAGES / 2);
    println!("{IMAGES} images, {read_anyway} of them with an intact header");
}

#[test]
fn a_cut_file_gives_exactly_the_records_before_the_cut() {
    for capture in captures() {
        let bytes = &capture.last().bytes;
        let trace = open(bytes);
        let whole = capture.assert_true(&trace);
        let identity = trace.identity();
        for length in 0..bytes.len() {
            let Some(reading) = read(&capture, &bytes[..length]) else {
                assert!(length < COUNTERS_OFFSET as usize);
                continue;
            };
            assert!(length >= COUNTERS_OFFSET as usize);
            // Exactly the records that end before the cut are read, and the lost ones counted if the control lines are intact.
            let inside = |event: &&Event| {
                let slot = (event.sequence - 1) % identity.capacity;
                identity.ring_slot(event.ring, slot) + RECORD_BYTES as u64 <= length as u64
            };
            let expected: Vec<_> = whole.events.iter().filter(inside).collect();
            assert_eq!(
                by_ticket(&reading.events),
                by_ticket(expected.iter().copied()),
                "{length}"
            );
            let (found, lost) = (reading.report, whole.events.len() - expected.len());
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
        println!("{} lengths", bytes.len());
    }
}

#[test]
fn bytes_after_the_end_change_nothing() {
    let mut rng = seeds::rng("bytes_after_the_end_change_nothing");
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

#[test]
fn misplaced_blocks_yield_no_false_event() {
    let mut rng = seeds::rng("misplaced_blocks_yield_no_false_event");
    // Rings of more than a page, so that whole pages of a ring can change places.
    let shape = Shape {
        capacity: 300,
        rings: 2,
        name_bytes: 1 << 15,
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
                // Written to the wrong place, with the right place unchanged.
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
    println!("{IMAGES} images, {read_anyway} of them with an intact header");
}

#[test]
fn a_second_capture_in_the_file_is_not_mistaken_for_the_first() {
    let [one, other] = captures();
    for (first, second) in [(&one, &other), (&other, &one)] {
        let image = [&first.last().bytes[..], &second.last().bytes].concat();
        let whole = first.assert_true(&open(&first.last().bytes));
        assert_same(&first.assert_true(&open(&image)), &whole);
        // The first capture is cut, and the second begins where its ring was.
        for length in (4096..first.last().bytes.len()).step_by(RECORD_BYTES) {
            let image = [&first.last().bytes[..length], &second.last().bytes].concat();
            let _ = first.assert_true(&open(&image));
        }
    }
}

#[test]
fn transfers_in_text_mode_are_recognised() {
    for capture in captures() {
        let bytes = &capture.last().bytes;
        let to_crlf = replaced(bytes, b"\n", b"\r\n");
        let to_lf = replaced(bytes, b"\r\n", b"\n");
        let there_and_back = replaced(&to_crlf, b"\r\n", b"\n");
        let seven_bits: Vec<u8> = bytes.iter().map(|byte| byte & 0x7F).collect();
        // Restoring every line end restores every byte.
        assert_eq!(there_and_back, *bytes);
        for image in [to_crlf, to_lf, seven_bits] {
            let error = Trace::from_bytes(image).expect_err("the bytes differ");
            let Error::Header { source, .. } = error else {
                panic!("{error}")
            };
            assert!(matches!(source, HeaderError::TextMode { .. }), "{source}");
        }
    }
}

/// `bytes` with each `from` replaced by `to`, from left to right.
fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut replaced = Vec::new();
    let mut rest = bytes;
    while let Some((first, after)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(from) {
            replaced.extend_from_slice(to);
            rest = after;
        } else {
            replaced.push(*first);
            rest = after;
        }
    }
    replaced
}

//! Proves: whatever happens to the bytes of a file, the reader does not fail, returns no event, running region or name that was not written, and counts
//! or reports what is lost.
//!
//! How: a small capture by the real recorder (two rings, both wrapped, with regions, marks, values, arguments and amendments; regions running, just ended and
//! long ended, with arguments and changed; names of labels, keys, lanes and threads; a sign of life and a witness), of which everything is known, is damaged as disks, transfers and people damage files: each bit in turn, checked for the exact outcome that its place
//! demands, and thousands of times at random.

use std::collections::BTreeSet;

use bytemuck::Zeroable;
use hrx_trace_format::amendment::KIND_AMENDMENT;
use hrx_trace_format::argument::KIND_ARGUMENT;
use hrx_trace_format::header::{COUNTERS_BYTES, COUNTERS_OFFSET, IDENTITY_BYTES};
use hrx_trace_format::line::LINE_AMENDMENT;
use hrx_trace_format::mark::KIND_MARK;
use hrx_trace_format::record::KIND_REGION;
use hrx_trace_format::record::RECORD_BYTES;
use hrx_trace_format::value::KIND_VALUE;
use hrx_trace_format::witness::{CAUSE_SIGNAL, WITNESS_BYTES, Witness};
use hrx_trace_format::{HeaderError, Identity, Record};
use hrx_trace_reader::{Account, Ending, Error, Event, Name, OpenRegion, Report, Trace};
use hrx_trace_tests::history::{Capture, Reading, Shape, Step, bare, bare_open, is_same_region};
use hrx_trace_tests::seeds;

const SHAPE: Shape = Shape {
    capacity: 19,
    rings: 2,
    name_bytes: 4096,
    open_slots: 64,
};

/// Steps that leave regions running, ended, and ended with their records overwritten, in many different slots, and wrap the rings.
fn steps() -> Vec<Step> {
    use Step::{
        Alive, AmendNewest, AmendOldest, ArgueNewest, ArgueOldest, Begin, CancelOldest, EndNewest,
        EndOldest, Label, Lane, Mark, Record, Thread, Value,
    };
    let mut steps = vec![Label, Lane, Label, Thread, Lane, Label];
    steps.extend([Begin; 64]);
    steps.extend([ArgueOldest, AmendOldest, ArgueNewest]);
    steps.extend([EndOldest; 30]);
    steps.extend([EndNewest; 28]);
    steps.extend([ArgueNewest; 9]);
    steps.extend([AmendNewest; 4]);
    // The rings go round.
    steps.extend([Record; 30]);
    steps.extend([
        Begin,
        Begin,
        CancelOldest,
        EndNewest,
        AmendNewest,
        ArgueNewest,
        Record,
        Mark,
        Value,
        Mark,
        Value,
        Label,
        Begin,
        ArgueNewest,
        ArgueNewest,
        AmendNewest,
        ArgueOldest,
        AmendOldest,
        EndOldest,
        Record,
        Alive,
    ]);
    steps
}

/// One that was not finished, one that was, and one whose process a witness saw die.
fn captures() -> [Capture; 3] {
    let mut finished = steps();
    finished.push(Step::Finish);
    let mut seen = SHAPE.record(&steps());
    seen.witness(Witness {
        status: 9,
        cause: CAUSE_SIGNAL,
        peak_resident_bytes: 1 << 30,
        ..Witness::zeroed()
    });
    [SHAPE.record(&steps()), SHAPE.record(&finished), seen]
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
    trace: &'a Trace,
    identity: &'a Identity,
    is_witnessed: bool,
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
                assert_eq!(found.ending, self.ending_unfinished());
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

    /// How a capture ended that does not say that it was finished.
    fn ending_unfinished(&self) -> Ending {
        match self.is_witnessed {
            true => Ending::WriterDied,
            false => Ending::NotFinished,
        }
    }

    /// What is not zeroes and not a witness is reported, and not used.
    fn judge_witness(&self, reading: &Reading) {
        let damages = &reading.report.damages;
        let offsets: Vec<u64> = damages.iter().map(|damage| damage.offset).collect();
        assert_eq!(offsets, [self.identity.witness_offset]);
        assert_eq!(reading.events, self.whole.events);
        let ending = match self.is_witnessed {
            true => Ending::NotFinished,
            false => self.whole.report.ending,
        };
        assert_eq!(reading.report.ending, ending);
        assert_eq!(reading.report.open_regions, self.whole.report.open_regions);
    }

    /// The damage is reported, or the tickets that it adds are counted as torn.
    fn judge_claimed(&self, reading: &Reading) {
        let torn = reading.report.account.torn > self.whole.report.account.torn;
        assert!(torn || reading.report.damages.len() == 1);
        self.assert_same_regions(reading);
    }

    /// Exactly the record in the slot is lost and counted, if the slot holds one, and with it what only it says.
    fn judge_record(&self, reading: &Reading, ring: u32, slot: u64) {
        let capacity = self.identity.capacity;
        let claimed = self.whole.report.rings[ring as usize].claimed;
        let laps = claimed.saturating_sub(slot + 1) / capacity;
        let ticket = laps * capacity + slot + 1;
        if ticket > claimed {
            return assert_same(reading, self.whole);
        }
        let kind = self.kind_of_record(ring, slot);
        let expected = |whole: Account| {
            let mut expected = whole;
            expected.torn += 1;
            expected.recovered -= 1;
            *match kind {
                KIND_REGION => &mut expected.regions,
                KIND_MARK => &mut expected.marks,
                KIND_VALUE => &mut expected.values,
                KIND_AMENDMENT => &mut expected.amendments,
                KIND_ARGUMENT => &mut expected.arguments,
                kind => panic!("a record of kind {kind}"),
            } -= 1;
            expected
        };
        // Of the arguments that are left, some may have lost their event.
        let whole = &self.whole.report;
        let settled = |mut account: Account, found: Account| {
            (account.joined, account.orphaned) = (found.joined, found.orphaned);
            account
        };
        let found = &reading.report;
        assert_eq!(
            settled(expected(whole.account), found.account),
            found.account
        );
        let of_ring = found.rings[ring as usize];
        assert_eq!(
            settled(expected(whole.rings[ring as usize]), of_ring),
            of_ring
        );

        let lies_there = |event: &&Event| event.ring == ring && event.sequence == ticket;
        let others = self.whole.events.iter().filter(|event| !lies_there(event));
        let (others, events) = (by_ticket(others), by_ticket(&reading.events));
        assert_eq!(others.len(), events.len());
        let mut changed = 0;
        for (other, event) in others.iter().zip(&events) {
            assert_eq!(bare(other), bare(event));
            changed += u64::from(other != event);
        }
        // An argument's record belongs to one event at most.
        assert!(
            changed <= u64::from(kind == KIND_ARGUMENT),
            "{changed} events changed"
        );
        match kind {
            KIND_ARGUMENT => self.assert_same_regions(reading),
            // The latest amendment of a running region is in its slot, too.
            _ => assert_eq!(reading.report.open_regions, self.whole.report.open_regions),
        }
    }

    fn kind_of_record(&self, ring: u32, slot: u64) -> u8 {
        let at = self.identity.ring_slot(ring, slot) as usize;
        let bytes = self.capture.last().bytes[at..].first_chunk();
        Record::from_bytes(*bytes.expect("a record")).kind
    }

    /// The regions run that ran, in the same states, but for arguments that other tickets in the account than those of the whole may have lost.
    fn assert_same_regions(&self, reading: &Reading) {
        let states = |regions: &[OpenRegion]| regions.iter().map(bare_open).collect::<Vec<_>>();
        let whole = &self.whole.report.open_regions;
        assert_eq!(states(&reading.report.open_regions), states(whole));
        for (found, whole) in reading.report.open_regions.iter().zip(whole) {
            let kept = self.capture.kept_arguments(whole.correlation_id);
            assert!(found.arguments.len() >= kept.min(whole.arguments.len()));
        }
    }

    /// A running region is lost and counted. In a free slot, only the word that marks it free matters, and no line is believed without arguments.
    fn judge_open_slot(&self, reading: &Reading, slot: u32, at: u64) {
        assert_eq!(reading.events, self.whole.events);
        let runs = |open: &hrx_trace_reader::OpenRegion| open.slot == slot;
        let whole = &self.whole.report.open_regions;
        let tenant = whole.iter().find(|open| runs(open));
        if tenant.is_none() && at >= 8 {
            return assert_same(reading, self.whole);
        }
        if at >= RECORD_BYTES as u64 {
            let tenant = tenant.expect("a region");
            return self.judge_line(reading, tenant, at / RECORD_BYTES as u64);
        }
        assert_eq!(reading.report.open_torn, self.whole.report.open_torn + 1);
        assert!(
            whole
                .iter()
                .filter(|open| !runs(open))
                .eq(&reading.report.open_regions)
        );
    }

    /// Of a running region, its latest change is lost, or one argument, unless the ring has it too.
    fn judge_line(&self, reading: &Reading, tenant: &OpenRegion, line: u64) {
        let (found, whole) = (&reading.report, &self.whole.report);
        assert_eq!(
            (found.account, found.open_torn),
            (whole.account, whole.open_torn)
        );
        assert_eq!(found.open_regions.len(), whole.open_regions.len());
        for (found, whole) in found.open_regions.iter().zip(&whole.open_regions) {
            if !is_same_region(found, tenant) {
                assert_eq!(found, whole);
            } else if line == u64::from(LINE_AMENDMENT) {
                // Whatever else it is, `assert_true` has seen that it is a state that the region had.
                assert!(is_same_region(found, whole));
                assert_eq!(found.arguments, whole.arguments);
            } else {
                assert_eq!(bare_open(found), bare_open(whole));
                let lost = whole.arguments.len() - found.arguments.len();
                assert!(lost <= 1, "{lost} arguments lost to one flip");
            }
        }
    }

    /// The name in the block is unreadable, and reported if an event has it. All other names and all events are unchanged.
    fn judge_label(&self, trace: &Trace, reading: &Reading, block: u64) {
        assert_eq!(reading.events, self.whole.events);
        assert_eq!(reading.report.open_regions, self.whole.report.open_regions);
        let events = reading.events.iter();
        let named = events.map(|event| (event.label_id, &event.arguments));
        let regions = reading.report.open_regions.iter();
        let named = named.chain(regions.map(|region| (region.label_id, &region.arguments)));
        let mut unreadable = BTreeSet::new();
        for (label, arguments) in named {
            let labels = (trace.label(label) == Name::Unreadable).then_some(label);
            let keys = arguments.iter().map(|argument| argument.key);
            unreadable.extend(keys.filter(|key| trace.key(*key) == Name::Unreadable));
            unreadable.extend(labels);
        }
        let names = trace.names();
        let groups = names.lanes().map(|name| name.group);
        unreadable.extend(groups.filter(|group| trace.group(*group) == Name::Unreadable));
        assert!(
            unreadable.len() <= 1,
            "one bit damaged several names: {unreadable:?}"
        );
        for id in &unreadable {
            assert!(u64::from(*id) - 1 <= block, "another name was damaged");
        }
        // The names of lanes and threads that are there are checked by `assert_true`; at most one is missing.
        let count = |trace: &Trace| {
            let names = trace.names();
            names.lanes().count() + names.threads().count()
        };
        let missing = count(self.trace) - count(trace);
        assert!(missing + unreadable.len() <= 1);
        assert_eq!(reading.report.damages.len(), unreadable.len());
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
        let account = &whole.report.account;
        let kinds = [
            account.regions,
            account.marks,
            account.values,
            account.amendments,
        ];
        assert!(kinds.iter().all(|count| *count > 1), "{account:?}");
        assert!(account.joined > 2, "{account:?}");
        let regions = &whole.report.open_regions;
        assert!(regions.len() > 2 && regions.iter().any(|open| open.arguments.len() > 4));
        assert!(regions.iter().any(|open| open.amended));
        // Apart from the header, the witnessed one is like the first.
        let bytes = match trace.witness() {
            Some(_) => trace.identity().open_offset as usize,
            None => image.len(),
        };
        for bit in 0..bytes * 8 {
            image[bit / 8] ^= 1 << (bit % 8);
            let flip = Flip {
                capture: &capture,
                whole: &whole,
                trace: &trace,
                identity: trace.identity(),
                is_witnessed: trace.witness().is_some(),
                offset: bit as u64 / 8,
                image: &image,
            };
            let judged = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| flip.judge()));
            assert!(judged.is_ok(), "bit {} of the byte at {}", bit % 8, bit / 8);
            image[bit / 8] ^= 1 << (bit % 8);
        }
        println!("{} flips of a file that is {:?}", bytes * 8, trace.ending());
    }
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
    let captures = captures();
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
            let expected: Vec<_> = whole.events.iter().filter(inside).map(bare).collect();
            let events: Vec<_> = reading.events.iter().map(bare).collect();
            assert_eq!(by_ticket(&events), by_ticket(&expected), "{length}");
            let found = reading.report;
            let records_lost: u64 = (0..identity.ring_count)
                .map(|ring| {
                    let claimed = whole.report.rings[ring as usize].claimed;
                    let slots = 0..identity.capacity.min(claimed);
                    let ends =
                        slots.map(|slot| identity.ring_slot(ring, slot) + RECORD_BYTES as u64);
                    ends.filter(|end| *end > length as u64).count() as u64
                })
                .sum();
            if length as u64 >= identity.open_offset {
                assert_eq!(found.account.claimed, whole.report.account.claimed);
                assert_eq!(found.account.torn, records_lost, "{length}");
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
        name_bytes: 8192,
        open_slots: 64,
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
    let [one, other, _] = captures();
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

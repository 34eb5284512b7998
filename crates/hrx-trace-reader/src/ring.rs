//! One ring's window, in ticket order, with a verdict for every slot.
//!
//! Invariants:
//! - Every ticket of the window gets exactly one verdict, so the account balances by construction.
//! - A record is handed out only if its checksum and its sequence are those of the ticket.
//! - No loop runs longer than the file is: slots behind its end are counted, never visited.
//! - While the writer runs, a slot that cannot be believed is read again; the waits have a bound.

use std::thread::sleep;
use std::time::Duration;

use bytemuck::Zeroable;
use hrx_trace_format::record::{KIND_REGION, RECORD_BYTES, SEQUENCE_MAX, slot_of};
use hrx_trace_format::{Area, Checksum, Identity, Record};

use crate::source::Source;
use crate::{Account, Damage};

/// How many more readings than one its unbelievable slots get, for one ring: a writer may have lost its processor in the middle of a
/// `record`. The bound is for all of them together, so that a ring of nothing but damage is not waited for slot by slot.
const PATIENCE: u32 = 16;
/// How often a slot is read again at once: a `record` takes less time than a read.
const RETRIES_AT_ONCE: u32 = 3;
/// How long the reader waits before each further time.
const WAIT: Duration = Duration::from_micros(50);

/// Tickets that a follower asks for again. Each thread inside `record` holds back one; more than this are damage.
const LATE_MAX: usize = 4096;

/// Where one ring lies, and what makes its records believable.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) ring: u32,
    pub(crate) capacity: u64,
    /// Slots that lie whole inside the file.
    pub(crate) present: u64,
    /// Offset of slot 0.
    offset: u64,
    control_offset: u64,
    salt: u32,
    checksum: Checksum,
}

impl Place {
    pub(crate) fn new(
        identity: &Identity,
        ring: u32,
        file_bytes: u64,
        checksum: &Checksum,
    ) -> Self {
        let offset = identity.ring_slot(ring, 0);
        Self {
            ring,
            capacity: identity.capacity,
            present: file_bytes
                .saturating_sub(offset)
                .div_euclid(RECORD_BYTES as u64)
                .min(identity.capacity),
            offset,
            control_offset: identity.control_line(ring),
            salt: Area::Ring(ring).salt(identity.salt),
            checksum: checksum.clone(),
        }
    }

    pub(crate) fn offset_of(&self, slot: u64) -> u64 {
        self.offset
            .saturating_add(slot.saturating_mul(RECORD_BYTES as u64))
    }

    /// The first slot from `slot` on, at most `end`, that may hold anything but zeroes.
    pub(crate) fn next_data(&self, source: &Source, slot: u64, end: u64) -> u64 {
        let data = source.next_data(self.offset_of(slot), self.offset_of(end));
        let into_ring = data.saturating_sub(self.offset);
        into_ring
            .div_euclid(RECORD_BYTES as u64)
            .clamp(slot, end.max(slot))
    }

    /// Reads the slots from `slot` on.
    pub(crate) fn read(
        &self,
        source: &Source,
        slot: u64,
        records: &mut [Record],
    ) -> Option<Damage> {
        source.read(self.offset_of(slot), bytemuck::cast_slice_mut(records))
    }

    /// The ring's counter. A read that fails gives 0.
    pub(crate) fn read_claimed(&self, source: &Source) -> (u64, Option<Damage>) {
        let mut claimed = 0u64;
        let failed = source.read(self.control_offset, bytemuck::bytes_of_mut(&mut claimed));
        (claimed, failed)
    }

    pub(crate) fn control_offset(&self) -> u64 {
        self.control_offset
    }

    #[inline]
    pub(crate) fn verifies(&self, record: &Record) -> bool {
        record.verifies(&self.checksum, self.salt)
    }
}

/// What a slot that could not be believed at first turned out to be.
enum Verdict {
    Believed(Record),
    Torn,
    InFlight,
    Overtaken,
}

/// Reads one ring's window.
#[derive(Debug)]
pub(crate) struct RingReader {
    place: Place,
    writer_runs: bool,
    /// The ticket that is judged next.
    expected: u64,
    /// Tickets of the window behind the chunk.
    unread: u64,
    /// The slot that the next chunk begins with.
    slot: u64,
    chunk: Vec<Record>,
    /// Records of the chunk that have been judged.
    judged: usize,
    chunk_records: usize,
    account: Account,
    /// Events handed out before the chunk.
    recovered_before: u64,
    /// When the oldest record behind the last gap that an overwriting made was complete.
    complete_since_ns: Option<u64>,
    read_failed: Option<Damage>,
    /// Up to this ticket, newer ones have been given out for the same slots.
    overtaken: u64,
    patience: u32,
    /// Following: tickets whose records were being written when their turn came. None: whoever is not there in time is counted.
    late: Option<Late>,
}

/// Tickets that are asked for again. Each thread inside `record` can hold back one.
#[derive(Debug, Default)]
struct Late {
    /// Asked for in this round.
    now: Vec<u64>,
    /// Asked for in the next.
    next: Vec<u64>,
}

impl RingReader {
    /// `claimed` is the number of tickets given out, at most [`SEQUENCE_MAX`].
    pub(crate) fn new(place: Place, claimed: u64, writer_runs: bool, chunk_records: usize) -> Self {
        let overwritten = claimed.saturating_sub(place.capacity);
        let expected = overwritten.saturating_add(1);
        Self {
            writer_runs,
            expected,
            unread: claimed.saturating_sub(overwritten),
            slot: slot_of(expected, place.capacity).unwrap_or_default(),
            chunk: Vec::new(),
            judged: 0,
            chunk_records: chunk_records.max(1),
            account: Account {
                claimed,
                overwritten,
                ..Account::default()
            },
            recovered_before: 0,
            complete_since_ns: None,
            read_failed: None,
            overtaken: 0,
            patience: PATIENCE,
            late: None,
            place,
        }
    }

    /// The same, for a ring that is read on while it is written.
    pub(crate) fn following(self) -> Self {
        Self {
            late: Some(Late::default()),
            patience: RETRIES_AT_ONCE,
            ..self
        }
    }

    /// Leaves out the tickets before `first`. To be called before the first record is read.
    pub(crate) fn begin_at(&mut self, first: u64) {
        let count = first.saturating_sub(self.expected).min(self.unread);
        self.account.not_read = self.account.not_read.saturating_add(count);
        self.pass_over(count);
    }

    /// Goes on to the tickets that have been given out since. To be called when everything before them has been read.
    pub(crate) fn extend(&mut self, claimed: u64, writer_runs: bool) {
        let more = claimed.saturating_sub(self.account.claimed);
        self.account.claimed = self.account.claimed.saturating_add(more);
        self.unread = self.unread.saturating_add(more);
        self.writer_runs = writer_runs;
        self.overtaken = self
            .overtaken
            .max(claimed.saturating_sub(self.place.capacity));
        let lost = self
            .overtaken
            .saturating_add(1)
            .saturating_sub(self.expected)
            .min(self.unread);
        if lost > 0 {
            self.account.overtaken = self.account.overtaken.saturating_add(lost);
            self.complete_since_ns = None;
            self.pass_over(lost);
        }
        self.patience = RETRIES_AT_ONCE;
        if let Some(late) = &mut self.late {
            late.now.append(&mut late.next);
            // The oldest is asked for first.
            late.now.reverse();
        }
    }

    /// Counts those that never came.
    pub(crate) fn end_following(&mut self) {
        let late = self.late.take().unwrap_or_default();
        let count = late.now.len().saturating_add(late.next.len()) as u64;
        let missing = if self.writer_runs {
            &mut self.account.in_flight
        } else {
            &mut self.account.torn
        };
        *missing = missing.saturating_add(count);
    }

    fn pass_over(&mut self, count: u64) {
        self.expected = self.expected.saturating_add(count);
        self.unread = self.unread.saturating_sub(count);
        self.slot = slot_of(self.expected, self.place.capacity).unwrap_or_default();
    }

    /// The next record that can be believed, in its place: a record is copied once, by whoever wants it.
    #[inline]
    pub(crate) fn next(&mut self, source: &Source) -> Option<&Record> {
        let index = loop {
            let Some(record) = self.chunk.get(self.judged) else {
                if self.fill(source) {
                    continue;
                }
                let late = self.next_late(source)?;
                self.chunk.clear();
                self.chunk.push(late);
                self.judged = 1;
                break 0;
            };
            let index = self.judged;
            let expected = self.expected;
            self.judged = index.wrapping_add(1);
            self.expected = expected.wrapping_add(1);
            if record.sequence == expected && self.place.verifies(record) {
                let (kind, end_ns) = (record.kind, record.end_ns());
                if self.takes(kind, end_ns) {
                    break index;
                }
            } else if let Some(believed) = self.judge(source, expected)
                && self.takes(believed.kind, believed.end_ns())
            {
                *self.chunk.get_mut(index)? = believed;
                break index;
            }
        };
        self.chunk.get(index)
    }

    /// Counts a believed record, and tells whether it is handed out.
    #[inline]
    fn takes(&mut self, kind: u16, end_ns: u64) -> bool {
        if kind != KIND_REGION {
            self.account.skipped = self.account.skipped.wrapping_add(1);
            return false;
        }
        self.account.recovered = self.account.recovered.wrapping_add(1);
        if self.complete_since_ns.is_none() {
            self.complete_since_ns = Some(end_ns);
        }
        true
    }

    /// A record that was being written in an earlier round.
    #[cold]
    fn next_late(&mut self, source: &Source) -> Option<Record> {
        while let Some(expected) = self.late.as_mut()?.now.pop() {
            if let Some(believed) = self.judge(source, expected)
                && self.takes(believed.kind, believed.end_ns())
            {
                return Some(believed);
            }
        }
        None
    }

    /// Tickets that have no verdict yet.
    pub(crate) fn remaining(&self) -> u64 {
        let in_chunk = self.chunk.len().saturating_sub(self.judged);
        self.unread.saturating_add(in_chunk as u64)
    }

    /// What became of the tickets so far.
    pub(crate) fn account(&self) -> Account {
        self.account
    }

    pub(crate) fn read_failed(&self) -> Option<&Damage> {
        self.read_failed.as_ref()
    }

    /// From when on nothing of this ring was overwritten: 0 if nothing was. None: nothing is left of what came after.
    pub(crate) fn complete_since_ns(&self) -> Option<u64> {
        if self.account.overwritten == 0 && self.account.overtaken == 0 {
            return Some(0);
        }
        self.complete_since_ns
    }

    /// Reads the next chunk. False: the window is at its end.
    #[cold]
    fn fill(&mut self, source: &Source) -> bool {
        loop {
            if self.unread == 0 {
                return false;
            }
            if self.slot >= self.place.capacity {
                self.slot = 0;
            }
            let in_file = self.place.present.saturating_sub(self.slot);
            if in_file > 0 {
                if self.is_barren() {
                    let end = self.slot.saturating_add(self.unread.min(in_file));
                    let data = self.place.next_data(source, self.slot, end);
                    let hole = data.saturating_sub(self.slot);
                    if hole > 0 {
                        self.account.torn = self.account.torn.saturating_add(hole);
                        self.expected = self.expected.saturating_add(hole);
                        self.advance(hole);
                        continue;
                    }
                }
                self.recovered_before = self.account.recovered;
                let count = self.unread.min(in_file).min(self.chunk_records as u64);
                self.chunk.resize(count as usize, Record::zeroed());
                self.judged = 0;
                let failed = self.place.read(source, self.slot, &mut self.chunk);
                self.read_failed = self.read_failed.take().or(failed);
                self.advance(count);
                return true;
            }
            // The file ends before this slot: nothing up to the ring's end is there.
            let missing = self
                .unread
                .min(self.place.capacity.saturating_sub(self.slot));
            self.account.torn = self.account.torn.saturating_add(missing);
            self.expected = self.expected.saturating_add(missing);
            self.advance(missing);
        }
    }

    /// Whether the last chunk had nothing, so that there may be a hole. Of a running writer every ticket is asked for.
    fn is_barren(&self) -> bool {
        !self.writer_runs
            && !self.chunk.is_empty()
            && self.account.recovered == self.recovered_before
    }

    fn advance(&mut self, count: u64) {
        self.slot = self.slot.saturating_add(count);
        self.unread = self.unread.saturating_sub(count);
    }

    /// Decides on a ticket whose slot could not be believed, and counts it unless it can be believed now.
    #[cold]
    fn judge(&mut self, source: &Source, expected: u64) -> Option<Record> {
        let verdict = if self.writer_runs || self.late.is_some() {
            self.read_again(source, expected)
        } else {
            Verdict::Torn
        };
        if let (Some(late), true, Verdict::InFlight | Verdict::Torn) =
            (&mut self.late, self.writer_runs, &verdict)
            && late.next.len() < LATE_MAX
        {
            late.next.push(expected);
            return None;
        }
        let count = match verdict {
            Verdict::Believed(record) => return Some(record),
            Verdict::Torn => &mut self.account.torn,
            Verdict::InFlight => &mut self.account.in_flight,
            Verdict::Overtaken => {
                self.complete_since_ns = None;
                &mut self.account.overtaken
            }
        };
        *count = count.saturating_add(1);
        None
    }

    fn read_again(&mut self, source: &Source, expected: u64) -> Verdict {
        let Some(slot) = slot_of(expected, self.place.capacity) else {
            return Verdict::Torn;
        };
        if expected <= self.overtaken {
            return Verdict::Overtaken;
        }
        let mut attempts = 0u32;
        loop {
            let mut record = Record::zeroed();
            let failed = self
                .place
                .read(source, slot, std::slice::from_mut(&mut record));
            if failed.is_some() {
                return Verdict::Torn;
            }
            if record.sequence == expected && self.place.verifies(&record) {
                return Verdict::Believed(record);
            }
            // Behind the slot: a ticket is given out before its slot is written.
            let (claimed, _) = self.place.read_claimed(source);
            if claimed <= SEQUENCE_MAX {
                let overtaken = claimed.saturating_sub(self.place.capacity);
                self.overtaken = self.overtaken.max(overtaken);
            }
            if expected <= self.overtaken {
                return Verdict::Overtaken;
            }
            if self.patience == 0 {
                let lap_before = expected.checked_sub(self.place.capacity);
                let unwritten = record.sequence == 0 || Some(record.sequence) == lap_before;
                return if unwritten && self.writer_runs {
                    Verdict::InFlight
                } else {
                    Verdict::Torn
                };
            }
            self.patience = self.patience.saturating_sub(1);
            attempts = attempts.saturating_add(1);
            if attempts > RETRIES_AT_ONCE {
                sleep(WAIT);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::Evidence;
    use crate::source::Lock;
    use crate::source::fake::{self, Fake};
    use crate::testing::{Image, live, read, region};
    use crate::{Ending, Event, Trace};
    use std::io;

    fn sequences(events: &[Event]) -> Vec<u64> {
        events.iter().map(|event| event.sequence).collect()
    }

    #[test]
    fn an_empty_ring() {
        let (events, report) = Image::new(4, 1).read();
        assert_eq!(events, []);
        assert_eq!(report.account, Account::default());
        assert_eq!(report.damages, []);
    }

    #[test]
    fn a_ring_that_is_not_full() {
        let mut image = Image::new(4, 1);
        image.record_some(0, 3);
        let (events, report) = image.read();
        assert_eq!(sequences(&events), [1, 2, 3]);
        assert_eq!(
            report.account,
            Account {
                claimed: 3,
                recovered: 3,
                ..Account::default()
            }
        );
        assert_eq!(
            events[1],
            Event {
                ring: 0,
                sequence: 2,
                start_ns: 1100,
                duration_ns: 900,
                copied_bytes: 6000,
                correlation_id: 2007,
                lane: 0,
                label_id: 0,
                thread_id: 42,
                status: 0,
                failed: false,
                saturated: false
            }
        );
    }

    #[test]
    fn every_field_arrives() {
        let mut image = Image::new(1, 1);
        image.record(
            0,
            Record {
                sequence: 0,
                start_ns: 2,
                duration_ns: 3,
                copied_bytes: 4,
                correlation_id: 5,
                lane: 6,
                label_id: 7,
                thread_id: 8,
                status: 9,
                flags: 3,
                open_slot: 11,
                kind: KIND_REGION,
                crc32: 0,
            },
        );
        assert_eq!(
            image.read().0,
            [Event {
                ring: 0,
                sequence: 1,
                start_ns: 2,
                duration_ns: 3,
                copied_bytes: 4,
                correlation_id: 5,
                lane: 6,
                label_id: 7,
                thread_id: 8,
                status: 9,
                failed: true,
                saturated: true
            }]
        );
    }

    #[test]
    fn wrapped_rings_of_every_phase() {
        for capacity in 1..6 {
            for claimed in 0..20 {
                let mut image = Image::new(capacity, 1);
                image.record_some(0, claimed);
                let (events, report) = image.read();
                let overwritten = claimed.saturating_sub(capacity);
                let window: Vec<u64> = (overwritten + 1..=claimed).collect();
                assert_eq!(sequences(&events), window);
                assert_eq!(report.account.overwritten, overwritten);
                assert_eq!(report.account.torn, 0);
            }
        }
    }

    #[test]
    fn a_torn_slot_between_good_ones() {
        let mut image = Image::new(4, 1);
        image.record_some(0, 6);
        image.tear(0, 4);
        let (events, report) = image.read();
        assert_eq!(sequences(&events), [3, 5, 6]);
        assert_eq!((report.account.torn, report.account.overwritten), (1, 2));
    }

    #[test]
    fn a_record_of_the_lap_before_is_torn_and_not_believed() {
        let mut image = Image::new(4, 1);
        image.record_some(0, 5);
        // Ticket 6 was taken, and its writer died before the first store.
        image.set_claimed(0, 6);
        let (events, report) = image.read();
        assert_eq!(sequences(&events), [3, 4, 5]);
        assert_eq!((report.account.torn, report.account.overwritten), (1, 2));
    }

    #[test]
    fn a_record_of_another_ring_or_capture_is_not_believed() {
        let mut image = Image::new(2, 2);
        image.record_some(0, 2);
        image.record_some(1, 2);
        let moved = image.bytes[image.offset_of(0, 1) as usize..][..64].to_vec();
        image.put(image.offset_of(1, 1), &moved);
        let mut other = Image::new(2, 2);
        other.identity.salt ^= 1;
        other.record_some(0, 2);
        image.put(
            image.offset_of(0, 2),
            &other.bytes[other.offset_of(0, 2) as usize..][..64],
        );
        let (events, report) = image.read();
        assert_eq!(
            events
                .iter()
                .map(|event| (event.ring, event.sequence))
                .collect::<Vec<_>>(),
            [(0, 1), (1, 2)]
        );
        assert_eq!(report.account.torn, 2);
    }

    #[test]
    fn unknown_kinds_are_skipped_and_counted() {
        let mut image = Image::new(4, 1);
        image.record_some(0, 1);
        image.record(
            0,
            Record {
                kind: 9,
                ..region(2000)
            },
        );
        image.record_some(0, 1);
        let (events, report) = image.read();
        assert_eq!(sequences(&events), [1, 3]);
        assert_eq!((report.account.skipped, report.account.torn), (1, 0));
    }

    #[test]
    fn more_than_a_chunk() {
        // Three chunks and a bit, begun in the middle of the ring.
        let mut image = Image::new(13_000, 1);
        image.record_some(0, 20_000);
        image.tear(0, 7001);
        image.tear(0, 20_000);
        let (events, report) = image.read();
        assert!(sequences(&events).into_iter().eq(7002..20_000));
        assert_eq!((report.account.torn, report.account.overwritten), (2, 7000));
    }

    #[test]
    fn slots_behind_the_end_of_the_file_are_torn() {
        let mut image = Image::new(8, 1);
        image.record_some(0, 13);
        // Slots 0 to 4 hold 9 to 13, slots 5 to 7 hold 6 to 8. What is left: slots 0, 1, 2 and a part of 3.
        image.bytes.truncate(image.offset_of(0, 12) as usize + 63);
        let (events, report) = image.read();
        assert_eq!(sequences(&events), [9, 10, 11]);
        assert_eq!((report.account.torn, report.account.overwritten), (5, 5));
        assert_eq!(report.damages.len(), 1);
        assert!(report.damages[0].what.starts_with("cut short: found "));
    }

    #[test]
    fn a_page_that_cannot_be_read_costs_its_own_slots_only() {
        let mut image = Image::new(1000, 1);
        image.record_some(0, 1000);
        let bad = image.offset_of(0, 500).next_multiple_of(4096);
        let length = image.bytes.len() as u64;
        let bytes = image.bytes;
        let fake = Fake {
            length,
            lock: Lock::Free,
            read_at: fake::each(move |offset, buffer| {
                if (bad..bad + 4096).contains(&offset) {
                    return Err(io::Error::other("medium error"));
                }
                // As the kernel does: a short read up to the bad page.
                let end = if offset < bad { bad } else { length };
                let there = &bytes[offset as usize..end.max(offset) as usize];
                let count = there.len().min(buffer.len());
                buffer[..count].copy_from_slice(&there[..count]);
                Ok(count)
            }),
        };
        let (events, report) =
            read(&Trace::from_source(fake.into(), Evidence::EveryRecord).unwrap());
        assert_eq!((events.len(), report.account.torn), (936, 64));
        assert_eq!(
            report.damages,
            [Damage {
                offset: bad,
                what: "cannot be read: medium error".into()
            }]
        );
    }

    #[test]
    fn live_a_slot_that_is_written_as_it_is_read_is_waited_for() {
        let mut image = Image::new(4, 1);
        image.record_some(0, 2);
        image.set_claimed(0, 3);
        let slot = image.offset_of(0, 3);
        let trace = live(image, move |image, offset, count| {
            if (offset, count) == (slot, 64) {
                image.put_record(
                    0,
                    Record {
                        sequence: 3,
                        ..region(3000)
                    },
                );
            }
        });
        assert_eq!(trace.ending(), Ending::Live);
        let (events, report) = read(&trace);
        assert_eq!(sequences(&events), [1, 2, 3]);
        assert_eq!(report.account.recovered, 3);
    }

    #[test]
    fn live_the_patience_for_one_slot_and_for_all() {
        for (reads, recovered) in [(1, 1), (PATIENCE, 1), (PATIENCE + 1, 1), (PATIENCE + 2, 0)] {
            let mut image = Image::new(4, 1);
            image.set_claimed(0, 2);
            let (first, second) = (image.offset_of(0, 1), image.offset_of(0, 2));
            let mut reads_of_first = 0;
            let trace = live(image, move |image, offset, count| {
                reads_of_first += u32::from((offset, count) == (first, 64));
                if (offset, count) == (first, 64) && reads_of_first == reads {
                    image.put_record(
                        0,
                        Record {
                            sequence: 1,
                            ..region(1000)
                        },
                    );
                }
                // However long the first one took, the second is read once again.
                if (offset, count) == (second, 64) {
                    image.put_record(
                        0,
                        Record {
                            sequence: 2,
                            ..region(2000)
                        },
                    );
                }
            });
            let (_, report) = read(&trace);
            assert_eq!(report.account.recovered, recovered + 1, "{reads} reads");
            assert_eq!(report.account.in_flight, 1 - recovered);
        }
    }

    #[test]
    fn live_a_slot_that_stays_unwritten_is_in_flight() {
        let mut image = Image::new(4, 1);
        image.record_some(0, 5);
        // One slot holds zeroes, the other one still the lap before.
        image.put(image.offset_of(0, 4), &[0; 8]);
        image.set_claimed(0, 6);
        let (events, report) = read(&live(image, |_, _, _| {}));
        assert_eq!(sequences(&events), [3, 5]);
        assert_eq!((report.account.in_flight, report.account.torn), (2, 0));
        assert_eq!(report.account.overwritten, 2);
    }

    /// `Tracer::finish` reads back at once: a thread that was inside `record` when the capture was finished had its ticket counted as torn, or
    /// its record, newer than the counter that was read before it, as damage of the counter.
    #[test]
    fn finished_by_a_writer_that_still_runs() {
        let mut image = Image::new(4, 1);
        image.record_some(0, 1);
        image.set_claimed(0, 2);
        image.finish(100);
        let (_, report) = read(&live(image, |_, _, _| {}));
        assert_eq!(report.ending, Ending::Finished);
        assert_eq!((report.account.in_flight, report.account.torn), (1, 0));

        let mut image = Image::new(4, 1);
        image.record_some(0, 2);
        image.set_claimed(0, 1);
        image.finish(100);
        let (_, report) = read(&live(image, |_, _, _| {}));
        assert_eq!((report.account.claimed, report.damages.len()), (1, 0));
    }

    #[test]
    fn live_damage_is_torn_and_not_in_flight() {
        let mut image = Image::new(4, 1);
        image.record_some(0, 4);
        image.tear(0, 2);
        let (_, report) = read(&live(image, |_, _, _| {}));
        assert_eq!((report.account.in_flight, report.account.torn), (0, 1));
    }

    #[test]
    fn live_a_counter_that_nobody_can_have_reached_overtakes_nothing() {
        let mut image = Image::new(4, 1);
        image.record_some(0, 6);
        image.tear(0, 5);
        image.set_claimed(0, u64::MAX);
        let (events, report) = read(&live(image, |_, _, _| {}));
        assert_eq!(sequences(&events), [3, 4, 6]);
        assert_eq!((report.account.torn, report.account.overtaken), (1, 0));
        assert_eq!(report.damages.len(), 1);
    }

    #[test]
    fn live_what_the_writer_overwrites_meanwhile_is_overtaken() {
        let mut image = Image::new(10_000, 1);
        image.record_some(0, 10_000);
        let chunk_2 = image.offset_of(0, 4097);
        let mut once = true;
        // As the second chunk is read, the writer has gone 6000 tickets on.
        let trace = live(image, move |image, offset, _| {
            if offset == chunk_2 && std::mem::take(&mut once) {
                image.record_some(0, 6000);
            }
        });
        let (events, report) = read(&trace);
        assert!(
            sequences(&events)
                .into_iter()
                .eq((1..=4096).chain(6001..=10_000))
        );
        assert_eq!(report.account.overtaken, 6000 - 4096);
        assert_eq!(report.account.claimed, 10_000);
        assert_eq!(report.complete_since_ns, 6_001_000);
    }

    #[test]
    fn live_a_whole_lap_ahead() {
        let mut image = Image::new(8, 1);
        image.record_some(0, 8);
        let ring = image.offset_of(0, 1);
        let trace = live(image, move |image, offset, count| {
            if (offset, count) == (ring, 8 * 64) {
                image.record_some(0, 100);
            }
        });
        let (events, report) = read(&trace);
        assert_eq!(events, []);
        assert_eq!(report.account.overtaken, 8);
        assert_eq!(report.complete_since_ns, report.last_ns);
    }
}

//! The newest record that can be believed, whatever the ring's counter says.
//!
//! After a power loss the counter's page can be older than the ring's, or newer, and either can be damaged. A record proves by itself that its
//! ticket was given out, so of a capture that nobody writes any more the newest one is looked for before the window is laid.
//!
//! [`newest_sequence`] looks at every record there is. That is as much reading as the whole capture; [`is_confirmed`] takes a sample instead, for
//! readers that want no more than the end of it.

use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use bytemuck::Zeroable;
use hrx_trace_format::Record;
use hrx_trace_format::record::{SEQUENCE_MAX, slot_of};

use crate::ring::Place;
use crate::source::Source;

/// A thread more is worth its start for so many records: some milliseconds' reading.
const RECORDS_PER_THREAD: u64 = 1 << 17;
/// More of them would have too little each to read at once.
const THREADS_MAX: usize = 4;

/// The sequence of the newest believable record of a ring whose counter says `claimed`; 0 if there is none.
///
/// Goes backwards from the slot of `claimed`, where the newest record should be: then one checksum is all that has to be computed. What is left is
/// copying the ring out of the page cache, which every processor does for a part. Together they hold `chunk_records` in memory.
/// A read that fails is passed over: whoever reads the window meets it again, and tells.
pub(crate) fn newest_sequence(
    source: &Source,
    place: &Place,
    claimed: u64,
    chunk_records: usize,
) -> u64 {
    let processors = thread::available_parallelism().map_or(1, |count| count.get());
    let threads = place
        .present
        .div_euclid(RECORDS_PER_THREAD)
        .clamp(1, processors.min(THREADS_MAX) as u64);
    let search = Search {
        source,
        place,
        from_start: slot_of(claimed, place.capacity)
            .map_or(0, |slot| slot.saturating_add(1))
            .min(place.present),
        chunk_records: (chunk_records as u64)
            .checked_div(threads)
            .unwrap_or_default()
            .max(1),
        taken: AtomicU64::new(0),
        newest: AtomicU64::new(0),
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            // Where there is no thread to be had, the others do its part.
            let _ = thread::Builder::new().spawn_scoped(scope, || search.run());
        }
        search.run();
    });
    search.newest.into_inner()
}

/// What several threads search together, chunk by chunk.
struct Search<'ring> {
    source: &'ring Source,
    place: &'ring Place,
    /// Slots from the first one to the one where the newest record should be.
    from_start: u64,
    chunk_records: u64,
    /// Chunks that somebody has taken.
    taken: AtomicU64,
    newest: AtomicU64,
}

impl Search<'_> {
    /// Looks through chunks until none is left.
    fn run(&self) {
        let mut chunk = Vec::new();
        while let Some(slots) = self.chunk(self.taken.fetch_add(1, Relaxed)) {
            if self.place.next_data(self.source, slots.start, slots.end) == slots.end {
                // Zeroes are no record.
                continue;
            }
            let count = slots.end.saturating_sub(slots.start);
            chunk.resize(count as usize, Record::zeroed());
            self.place.read(self.source, slots.start, &mut chunk);
            let mut newest = self.newest.load(Relaxed);
            for (slot, record) in slots.rev().zip(chunk.iter().rev()) {
                if record.sequence > newest
                    && record.sequence <= SEQUENCE_MAX
                    && slot_of(record.sequence, self.place.capacity) == Some(slot)
                    && self.place.verifies(record)
                {
                    newest = record.sequence;
                }
            }
            self.newest.fetch_max(newest, Relaxed);
        }
    }

    /// The slots of the chunk of that number: backwards from where the newest record should be, and then backwards from the end of the ring.
    fn chunk(&self, number: u64) -> Option<Range<u64>> {
        let in_start = self.from_start.div_ceil(self.chunk_records);
        let (first, behind, number) = match number.checked_sub(in_start) {
            None => (0, self.from_start, number),
            Some(number) => (self.from_start, self.place.present, number),
        };
        let end = behind.checked_sub(number.checked_mul(self.chunk_records)?)?;
        let start = end.saturating_sub(self.chunk_records).max(first);
        (start < end).then_some(start..end)
    }
}

/// Records on either side of the counter that must confirm it.
const NEIGHBOURS: u64 = 1024;
/// Places all over the ring that must not contradict it, and records looked at in each: a page.
const SAMPLES: u64 = 64;
const SAMPLE_RECORDS: u64 = 64;

/// Whether the records say what the counter says, as far as a sample tells: the newest of the [`NEIGHBOURS`] tickets up to `claimed` is there but for
/// a few torn ones, and neither the slots behind nor any of the samples hold a newer record.
///
/// A process that dies cannot leave another state, for it wrote counter and records to one memory. Power loss and damage can leave newer
/// records where no sample lies.
pub(crate) fn is_confirmed(source: &Source, place: &Place, claimed: u64) -> bool {
    let Some(newest_slot) = slot_of(claimed, place.capacity) else {
        return false;
    };
    let newest = newest_near(
        source,
        place,
        newest_slot.saturating_sub(NEIGHBOURS),
        NEIGHBOURS.saturating_add(1),
    );
    if newest > claimed || newest <= claimed.saturating_sub(NEIGHBOURS) {
        return false;
    }
    let step = place.capacity.div_ceil(SAMPLES).max(1);
    let behind = newest_near(source, place, newest_slot.saturating_add(1), NEIGHBOURS);
    (0..SAMPLES)
        .map(|sample| newest_near(source, place, sample.saturating_mul(step), SAMPLE_RECORDS))
        .chain([behind])
        .all(|newest| newest <= claimed)
}

/// The newest believable sequence among `count` slots from `slot` on; 0 if there is none.
fn newest_near(source: &Source, place: &Place, slot: u64, count: u64) -> u64 {
    let count = count.min(place.present.saturating_sub(slot));
    let mut records = vec![Record::zeroed(); count as usize];
    place.read(source, slot, &mut records);
    let believed = (slot..).zip(&records).filter(|(slot, record)| {
        slot_of(record.sequence, place.capacity) == Some(*slot)
            && record.sequence <= SEQUENCE_MAX
            && place.verifies(record)
    });
    believed
        .map(|(_, record)| record.sequence)
        .max()
        .unwrap_or_default()
}

/// How many tickets the ring has given out, by its counter and its newest record.
///
/// The record is right if it lies above the counter, or if it lies below the counter's whole window: then the window holds nothing.
pub(crate) fn effective_claimed(claimed: u64, newest: u64, capacity: u64) -> u64 {
    let below_window = newest > 0 && newest <= claimed.saturating_sub(capacity);
    if newest > claimed || below_window || claimed > SEQUENCE_MAX {
        newest
    } else {
        claimed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::Evidence;
    use crate::source::Lock;
    use crate::source::fake::{self, Fake};
    use crate::testing::{Image, live, read, region};
    use crate::{Account, Trace};
    use hrx_trace_format::{Checksum, Record};
    use std::sync::Arc;

    #[test]
    fn a_counter_behind_the_newest_record() {
        for claimed in 0..13 {
            let mut image = Image::new(4, 1);
            image.record_some(0, 13);
            image.set_claimed(0, claimed);
            let (events, report) = image.read();
            let sequences: Vec<u64> = events.iter().map(|event| event.sequence).collect();
            assert_eq!(sequences, [10, 11, 12, 13], "claimed {claimed}");
            assert_eq!(
                (report.account.claimed, report.account.overwritten),
                (13, 9)
            );
            assert_eq!(report.damages.len(), 1);
            assert_eq!(report.damages[0].offset, image.identity.control_line(0));
            assert_eq!(
                report.damages[0].what,
                format!(
                    "claimed of ring 0: found {claimed}, expected 13, the sequence of the newest record that is there"
                )
            );
        }
    }

    #[test]
    fn a_counter_a_little_ahead_is_right() {
        let mut image = Image::new(4, 1);
        image.record_some(0, 13);
        for ahead in 0..4 {
            image.set_claimed(0, 13 + ahead);
            let (events, report) = image.read();
            assert_eq!(events.len() as u64, 4 - ahead);
            assert_eq!(
                (report.account.claimed, report.account.torn),
                (13 + ahead, ahead)
            );
            assert_eq!(report.damages, []);
        }
    }

    #[test]
    fn a_counter_whose_window_holds_nothing_gives_way_to_the_records() {
        let mut image = Image::new(4, 1);
        image.record_some(0, 6);
        for claimed in [10, 1000, 6 + (1 << 40), SEQUENCE_MAX + 1, u64::MAX] {
            image.set_claimed(0, claimed);
            assert_eq!(image.sequences(), [3, 4, 5, 6], "claimed {claimed}");
            let (_, report) = image.read();
            assert_eq!((report.account.claimed, report.account.torn), (6, 0));
            assert_eq!(report.damages.len(), 1);
        }
    }

    #[test]
    fn without_any_record_the_counter_stands() {
        let mut image = Image::new(4, 2);
        image.set_claimed(0, 1000);
        let (_, report) = image.read();
        assert_eq!((report.account.torn, report.account.overwritten), (4, 996));
        // Unless nobody can have given out as many.
        image.set_claimed(1, u64::MAX);
        let (_, report) = image.read();
        assert_eq!(report.rings[1].claimed, 0);
        assert_eq!(report.damages.len(), 1);
    }

    #[test]
    fn forged_sequences_do_not_raise_the_counter() {
        let mut image = Image::new(4, 1);
        image.record_some(0, 2);
        // A huge one whose checksum fails …
        image.put(image.offset_of(0, 2), &u64::to_le_bytes(1 << 30 | 2));
        // … one in a slot that is not its own …
        image.put_record(
            0,
            Record {
                sequence: 400,
                ..region(1)
            },
        );
        let record = image.bytes[image.offset_of(0, 400) as usize..][..64].to_vec();
        image.put(image.offset_of(0, 3), &record);
        // … and one that nobody can have given out.
        image.put_record(
            0,
            Record {
                sequence: SEQUENCE_MAX + 1,
                ..region(1)
            },
        );
        assert_eq!(
            image.offset_of(0, 400),
            image.offset_of(0, SEQUENCE_MAX + 1)
        );
        let (events, report) = image.read();
        assert_eq!(events.len(), 1);
        assert_eq!((report.account.claimed, report.account.torn), (2, 1));
        assert_eq!(report.damages, []);
    }

    #[test]
    fn each_ring_by_itself() {
        let mut image = Image::new(4, 3);
        for ring in 0..3 {
            image.record_some(ring, 6);
        }
        image.set_claimed(1, 0);
        let (events, report) = image.read();
        assert_eq!(events.len(), 12);
        assert_eq!(report.damages[0].offset, image.identity.control_line(1));
    }

    #[test]
    fn more_than_a_chunk() {
        let mut image = Image::new(13_000, 1);
        image.record_some(0, 20_000);
        for claimed in [0, 1, 7000, 13_000, 19_999, 1 << 50] {
            image.set_claimed(0, claimed);
            assert_eq!(image.read().1.account.claimed, 20_000);
        }
    }

    #[test]
    fn every_slot_is_in_one_chunk() {
        let mut image = Image::new(1, 1);
        image.record_some(0, 1);
        let source = Source::from_bytes(image.bytes);
        let mut place = Place::new(&image.identity, 0, 1 << 20, &Checksum::new());
        for (from_start, present) in [(0, 0), (0, 1), (1, 1), (5, 12), (12, 12), (8, 16), (0, 9)] {
            place.present = present;
            for chunk_records in 1..20 {
                let search = Search {
                    source: &source,
                    place: &place,
                    from_start,
                    chunk_records,
                    taken: AtomicU64::new(0),
                    newest: AtomicU64::new(0),
                };
                let chunks: Vec<_> = (0..).map_while(|number| search.chunk(number)).collect();
                let backwards: Vec<u64> = chunks.into_iter().flat_map(Iterator::rev).collect();
                let expected = (0..from_start).rev().chain((from_start..present).rev());
                assert!(backwards.iter().copied().eq(expected), "{backwards:?}");
                assert_eq!(search.chunk(u64::MAX), None);
            }
        }
    }

    /// Wherever the counter says it should be, and wherever it is: one of the threads comes upon it.
    #[test]
    fn several_threads_find_the_newest() {
        let capacity = 3 * RECORDS_PER_THREAD;
        for recorded in [capacity, capacity + 5, capacity * 3 / 2] {
            let mut image = Image::new(capacity, 1);
            image.record_some(0, recorded);
            for claimed in [recorded, 0, recorded - capacity / 3] {
                image.set_claimed(0, claimed);
                assert_eq!(image.trace().overwritten(), recorded - capacity);
            }
        }
    }

    /// Opens an image as those do who want its newest events, and tells how many bytes were read of its ring.
    fn read_for_newest(image: Image) -> (u64, Account) {
        let read = Arc::new(AtomicU64::new(0));
        let fake = Fake {
            length: image.bytes.len() as u64,
            lock: Lock::Free,
            read_at: fake::each({
                let read = Arc::clone(&read);
                move |offset, buffer| {
                    if offset >= image.identity.ring_offset {
                        read.fetch_add(buffer.len() as u64, Relaxed);
                    }
                    buffer.copy_from_slice(&image.bytes[offset as usize..][..buffer.len()]);
                    Ok(buffer.len())
                }
            }),
        };
        let trace = Trace::from_source(fake.into(), Evidence::Sample).unwrap();
        (read.load(Relaxed), trace.report().account)
    }

    #[test]
    fn a_counter_that_a_sample_confirms_needs_no_more() {
        let capacity = 40_000;
        for (claimed, ahead) in [(1_500, 0), (40_000, 0), (70_000, 0), (70_000, 3)] {
            let mut image = Image::new(capacity, 1);
            image.record_some(0, claimed);
            image.set_claimed(0, claimed + ahead);
            let (bytes, account) = read_for_newest(image.clone());
            assert!(bytes < 1 << 20, "{bytes}");
            assert_eq!(account, image.read().1.account);
        }
    }

    #[test]
    fn a_counter_that_no_sample_confirms_is_looked_into() {
        for claimed in [0, 1, 50_000, 69_999, 111_000, u64::MAX] {
            let mut image = Image::new(40_000, 1);
            image.record_some(0, 70_000);
            image.set_claimed(0, claimed);
            let (_, account) = read_for_newest(image);
            assert_eq!(account.claimed, 70_000, "{claimed}");
        }
    }

    #[test]
    fn a_live_counter_is_not_doubted() {
        let mut image = Image::new(4, 1);
        image.record_some(0, 6);
        // Its writer is between ticket and counter for no reader; a record above the counter belongs to a later snapshot.
        image.put_record(
            0,
            Record {
                sequence: 7,
                ..region(7000)
            },
        );
        let (_, report) = read(&live(image, |_, _, _| {}));
        assert_eq!((report.account.claimed, report.damages.len()), (6, 0));
    }
}

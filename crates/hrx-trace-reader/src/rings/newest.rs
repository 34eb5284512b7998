//! The newest record of a ring that verifies, found by looking at every record there is.
//!
//! That is as much reading as the whole capture, so several threads share it.

use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use bytemuck::Zeroable;
use hrx_trace_format::Record;
use hrx_trace_format::record::slot_of;

use crate::rings::ring::Ring;
use crate::source::Source;

/// Spawn another thread only per this many records, which take some milliseconds to read.
const RECORDS_PER_THREAD: u64 = 1 << 17;
/// With more threads, each would read too little at once.
const THREADS_MAX: usize = 4;

/// The sequence of the newest record of a ring that verifies, whatever the ring's counter says; 0 if there is none.
///
/// Goes backwards from the slot of `claimed`, where the newest record should be: if it is there, only one checksum has to be computed, and the rest
/// of the work is copying the ring out of the page cache, which every processor does for a part. The threads hold `chunk_records` in memory together.
/// A failed read is passed over here; the window reports it.
pub(crate) fn newest_sequence(
    source: &Source,
    ring: &Ring,
    claimed: u64,
    chunk_records: usize,
) -> u64 {
    let processors = thread::available_parallelism().map_or(1, |count| count.get());
    let threads = ring
        .present
        .div_euclid(RECORDS_PER_THREAD)
        .clamp(1, processors.min(THREADS_MAX) as u64);
    let search = Search {
        source,
        ring,
        from_start: slot_of(claimed, ring.capacity)
            .map_or(0, |slot| slot.saturating_add(1))
            .min(ring.present),
        chunk_records: (chunk_records as u64)
            .checked_div(threads)
            .unwrap_or_default()
            .max(1),
        taken: AtomicU64::new(0),
        newest: AtomicU64::new(0),
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            // If a thread cannot be spawned, the others do its part.
            let _ = thread::Builder::new().spawn_scoped(scope, || search.run());
        }
        search.run();
    });
    search.newest.into_inner()
}

/// A search that several threads share, chunk by chunk.
struct Search<'ring> {
    source: &'ring Source,
    ring: &'ring Ring,
    /// Slots from the first one to the one where the newest record should be.
    from_start: u64,
    chunk_records: u64,
    /// Chunks that the threads have taken.
    taken: AtomicU64,
    newest: AtomicU64,
}

impl Search<'_> {
    /// Looks through chunks until none is left.
    fn run(&self) {
        let mut chunk = Vec::new();
        while let Some(slots) = self.chunk(self.taken.fetch_add(1, Relaxed)) {
            if self.ring.next_data(self.source, slots.start, slots.end) == slots.end {
                // A hole: zeroes are no record.
                continue;
            }
            let count = slots.end.saturating_sub(slots.start);
            chunk.resize(count as usize, Record::zeroed());
            self.ring.read(self.source, slots.start, &mut chunk);
            let mut newest = self.newest.load(Relaxed);
            for (slot, record) in slots.rev().zip(chunk.iter().rev()) {
                if record.sequence > newest && self.ring.belongs_in(record, slot) {
                    newest = record.sequence;
                }
            }
            self.newest.fetch_max(newest, Relaxed);
        }
    }

    /// The slots of chunk `number`: backwards from where the newest record should be, then backwards from the end of the ring.
    fn chunk(&self, number: u64) -> Option<Range<u64>> {
        let in_start = self.from_start.div_ceil(self.chunk_records);
        let (first, past_last, number) = match number.checked_sub(in_start) {
            None => (0, self.from_start, number),
            Some(number) => (self.from_start, self.ring.present, number),
        };
        let end = past_last.checked_sub(number.checked_mul(self.chunk_records)?)?;
        let start = end.saturating_sub(self.chunk_records).max(first);
        (start < end).then_some(start..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Image;
    use hrx_trace_format::Checksum;

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
        let mut ring = Ring::new(&image.identity, 0, 1 << 20, &Checksum::new());
        for (from_start, present) in [(0, 0), (0, 1), (1, 1), (5, 12), (12, 12), (8, 16), (0, 9)] {
            ring.present = present;
            for chunk_records in 1..20 {
                let search = Search {
                    source: &source,
                    ring: &ring,
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

    /// Wherever it is, and wherever the counter says it should be, one of the threads finds it.
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
}

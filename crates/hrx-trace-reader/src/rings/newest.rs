//! The newest record of a ring that verifies, found by looking at every record there is.
//!
//! That is as much reading as the whole capture, so several threads share it.

use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};
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
/// Begins at the slot of `claimed`, where the newest record should be: if it is there, only one checksum has to be computed, and the rest of the work is
/// copying the ring out of the page cache, which every processor does for a part. The threads hold `chunk_records` in memory together.
/// A failed read is passed over here; the window reports it. If reading is interrupted, it is the newest of those seen until then.
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
    let from_start = slot_of(claimed, ring.capacity)
        .map_or(0, |slot| slot.saturating_add(1))
        .min(ring.present);
    let search = Search {
        source,
        ring,
        chunk_records: (chunk_records as u64)
            .checked_div(threads)
            .unwrap_or_default()
            .max(1),
        next: Mutex::new(0),
        newest: AtomicU64::new(0),
    };
    let expected = from_start.saturating_sub(search.chunk_records)..from_start;
    search.look_at(expected, &mut Vec::new());
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
    chunk_records: u64,
    /// The slots before this one have been taken by the threads.
    next: Mutex<u64>,
    newest: AtomicU64,
}

impl Search<'_> {
    /// Looks through chunks until none is left.
    fn run(&self) {
        let mut chunk = Vec::new();
        while let Some(slots) = self.take() {
            self.look_at(slots, &mut chunk);
        }
    }

    /// Looks through `slots`. `chunk` is memory to be used again.
    fn look_at(&self, slots: Range<u64>, chunk: &mut Vec<Record>) {
        let count = slots.end.saturating_sub(slots.start);
        chunk.resize(count as usize, Record::zeroed());
        self.ring.read(self.source, slots.start, chunk);
        let mut newest = self.newest.load(Relaxed);
        for (slot, record) in slots.rev().zip(chunk.iter().rev()) {
            if record.sequence > newest && self.ring.belongs_in(record, slot) {
                newest = record.sequence;
            }
        }
        self.newest.fetch_max(newest, Relaxed);
    }

    /// The next slots that may hold records. Holes are passed over whole, however large: zeroes are no record, and a file of a few kilobytes can have
    /// holes of exbibytes.
    fn take(&self) -> Option<Range<u64>> {
        if self.source.is_interrupted() {
            return None;
        }
        // A thread that panicked held the lock for no longer than this; the slot is right at every instant.
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let start = self.ring.next_data(self.source, *next, self.ring.present);
        *next = start
            .saturating_add(self.chunk_records)
            .min(self.ring.present);
        (start < *next).then_some(start..*next)
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
        for present in [0, 1, 5, 12, 16] {
            ring.present = present;
            for chunk_records in 1..20 {
                let search = Search {
                    source: &source,
                    ring: &ring,
                    chunk_records,
                    next: Mutex::new(0),
                    newest: AtomicU64::new(0),
                };
                let chunks = std::iter::from_fn(|| search.take());
                assert!(
                    chunks.flatten().eq(0..present),
                    "{present}, {chunk_records}"
                );
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

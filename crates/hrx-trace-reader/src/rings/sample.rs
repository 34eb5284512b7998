//! Whether a sample of a ring's records agrees with its counter, so that a reader of the newest events need not look at every record.

use bytemuck::Zeroable;
use hrx_trace_format::Record;
use hrx_trace_format::record::slot_of;

use crate::rings::ring::Ring;
use crate::source::Source;

/// How many slots on either side of the counter's are looked at.
const NEIGHBOURS: u64 = 1024;
/// How many places, evenly spread over the ring, are looked at besides.
const SAMPLES: u64 = 64;
/// How many slots of each such place: a page.
const SAMPLE_RECORDS: u64 = 64;

/// Whether the newest of the [`NEIGHBOURS`] tickets up to `claimed` are there but for a few torn ones, and neither the slots after them nor any
/// sample hold a newer record.
///
/// A process that dies leaves no other state, because counter and records lie in the same memory. Power loss and damage can leave newer records
/// where no sample lies.
pub(crate) fn is_confirmed(source: &Source, ring: &Ring, claimed: u64) -> bool {
    let Some(newest_slot) = slot_of(claimed, ring.capacity) else {
        return false;
    };
    let newest = newest_near(
        source,
        ring,
        newest_slot.saturating_sub(NEIGHBOURS),
        NEIGHBOURS.saturating_add(1),
    );
    if newest > claimed || newest <= claimed.saturating_sub(NEIGHBOURS) {
        return false;
    }
    let step = ring.capacity.div_ceil(SAMPLES).max(1);
    let after = newest_near(source, ring, newest_slot.saturating_add(1), NEIGHBOURS);
    (0..SAMPLES)
        .map(|sample| newest_near(source, ring, sample.saturating_mul(step), SAMPLE_RECORDS))
        .chain([after])
        .all(|newest| newest <= claimed)
}

/// The newest sequence that verifies among `count` slots from `slot` on; 0 if there is none.
fn newest_near(source: &Source, ring: &Ring, slot: u64, count: u64) -> u64 {
    let count = count.min(ring.present.saturating_sub(slot));
    let mut records = vec![Record::zeroed(); count as usize];
    ring.read(source, slot, &mut records);
    (slot..)
        .zip(&records)
        .filter(|(slot, record)| ring.belongs_in(record, *slot))
        .map(|(_, record)| record.sequence)
        .max()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use crate::account::Account;
    use crate::rings::claimed::Evidence;
    use crate::source::Lock;
    use crate::source::fake::{self, Fake};
    use crate::testing::Image;
    use crate::trace::Trace;
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;
    use std::sync::atomic::Ordering::Relaxed;

    /// Opens an image by a sample. Returns how many bytes of its ring that read, and the account.
    fn open_by_sample(image: Image) -> (u64, Account) {
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
    fn a_counter_that_the_sample_confirms_costs_no_more_reading() {
        let capacity = 40_000;
        for (claimed, ahead) in [(1_500, 0), (40_000, 0), (70_000, 0), (70_000, 3)] {
            let mut image = Image::new(capacity, 1);
            image.record_some(0, claimed);
            image.set_claimed(0, claimed + ahead);
            let (bytes, account) = open_by_sample(image.clone());
            assert!(bytes < 1 << 20, "{bytes}");
            assert_eq!(account, image.read().1.account);
        }
    }

    #[test]
    fn a_counter_that_the_sample_contradicts_is_corrected() {
        for claimed in [0, 1, 50_000, 69_999, 111_000, u64::MAX] {
            let mut image = Image::new(40_000, 1);
            image.record_some(0, 70_000);
            image.set_claimed(0, claimed);
            let (_, account) = open_by_sample(image);
            assert_eq!(account.claimed, 70_000, "{claimed}");
        }
    }
}

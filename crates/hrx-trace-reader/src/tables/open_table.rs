//! The regions that the open table shows as running.

use bytemuck::Zeroable;
use hrx_trace_format::open::{KIND_OPEN, SEQUENCE_TAKEN};
use hrx_trace_format::{Area, Checksum, Identity, OpenRecord};

use crate::damage::Damage;
use crate::source::Source;

/// How often a slot that a running writer is changing is read again.
const RETRIES: u32 = 8;

/// How many slots are read at once: at most 2 MiB, however large a slot is.
const SLOTS_AT_ONCE: usize = 512;

/// The open table, as read once.
#[derive(Clone, Debug)]
pub(crate) struct OpenTable {
    /// Slot by slot; None: no region runs in it.
    pub(crate) slots: Vec<Option<OpenRecord>>,
    /// Slots whose content does not verify.
    pub(crate) torn: u64,
}

impl OpenTable {
    pub(crate) fn read(
        source: &Source,
        identity: &Identity,
        checksum: &Checksum,
        writer_runs: bool,
        damages: &mut Vec<Damage>,
    ) -> Self {
        let lines = identity.open_lines().max(1) as usize;
        let mut records = Vec::with_capacity(identity.open_slots as usize);
        for slots in (0..identity.open_slots).step_by(SLOTS_AT_ONCE) {
            let count = (identity.open_slots.saturating_sub(slots) as usize).min(SLOTS_AT_ONCE);
            let mut all = vec![OpenRecord::zeroed(); count.saturating_mul(lines)];
            let place = identity.open_slot(slots);
            damages.extend(source.read(place, bytemuck::cast_slice_mut(&mut all)));
            records.extend(all.into_iter().step_by(lines));
        }
        let salt = Area::OpenTable.salt(identity.salt);
        let mut torn = 0u64;
        let slots = (0..)
            .zip(records)
            .map(|(slot, mut record)| {
                let mut retries = if writer_runs { RETRIES } else { 0 };
                loop {
                    if record.sequence == 0 || record.sequence == SEQUENCE_TAKEN {
                        return None;
                    }
                    if record.runs_in(slot)
                        && record.verifies(checksum, salt)
                        && record.kind == KIND_OPEN
                        && record.ring < identity.ring_count
                    {
                        return Some(record);
                    }
                    if retries == 0 {
                        torn = torn.saturating_add(1);
                        return None;
                    }
                    retries = retries.saturating_sub(1);
                    source.read(
                        identity.open_slot(slot),
                        bytemuck::bytes_of_mut(&mut record),
                    );
                }
            })
            .collect();
        Self { slots, torn }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Image, live, open_since, read};

    #[test]
    fn torn_slots() {
        let mut image = Image::new(4, 1);
        let slot = |slot| image.identity.open_slot(slot);
        let (first, second) = (slot(0), slot(1));
        image.open(0, open_since(300, 0));
        image.open(1, open_since(300, 0));
        let good = image.clone();
        let torn = |image: &Image| {
            let (_, report) = image.read();
            assert_eq!(report.damages, []);
            (report.open_torn, report.open_regions.len())
        };
        assert_eq!(torn(&image), (0, 2));
        // Free, or just taken: no region, and not torn.
        image.put(first, &0u64.to_le_bytes());
        image.put(second, &u64::MAX.to_le_bytes());
        assert_eq!(torn(&image), (0, 0));
        // A damaged bit; a slot that was moved; a ring that does not exist.
        image = good.clone();
        image.bytes[first as usize + 30] ^= 1;
        assert_eq!(torn(&image), (1, 1));
        image = good.clone();
        let moved = image.bytes[first as usize..][..64].to_vec();
        image.put(second, &moved);
        assert_eq!(torn(&image), (1, 1));
        image = good.clone();
        image.open(
            1,
            OpenRecord {
                ring: 1,
                ..open_since(300, 0)
            },
        );
        assert_eq!(torn(&image), (1, 1));
    }

    #[test]
    fn live_a_slot_that_is_being_written_is_read_again() {
        let mut image = Image::new(4, 1);
        image.open(0, open_since(300, 0));
        let slot = image.identity.open_slot(0);
        image.bytes[slot as usize + 30] ^= 1;
        let trace = live(image, move |image, offset, count| {
            if (offset, count) == (slot, 64) {
                image.open(0, open_since(400, 0));
            }
        });
        let (_, report) = read(&trace);
        assert_eq!((report.open_torn, report.open_regions.len()), (0, 1));
    }
}

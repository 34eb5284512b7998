//! One region that is running now. It lies in the open table from `begin` until its completed record is in a ring.
//!
//! A crash between the two leaves both. The completed record names the slot it came from, and the open one says how many tickets its
//! ring had given out when it took the slot. A slot holds one region at a time, so a completed region in that ring with a later ticket and this
//! slot can only be this one: the reader drops the open one. No clock is compared.
//!
//! Ring, slot and `claimed_at_begin` name one tenant of a slot exactly: each tenant takes a ticket of its ring after it took the slot and before it leaves.

use bytemuck::{Pod, Zeroable};
use core::mem::offset_of;

use crate::record::Record;
use crate::sealed::sealed;

pub use crate::constants::{
    KIND_OPEN, OPEN_SLOTS_DEFAULT, OPEN_SLOTS_MAX, OPEN_STRIDE, OPEN_STRIDE_MAX, SEQUENCE_OPEN,
    SEQUENCE_TAKEN,
};

/// The sequence word of a slot that holds a region of ring `ring`: `OPEN`, and in the lower half a number that differs from tenant to tenant.
///
/// A free slot still holds its last region, complete except for this word, and damage to this word must not bring that region back. So the word differs
/// from that of a free slot in many bits: no single flipped bit makes one from the other. And it differs from tenant to tenant, so that a new region's
/// word does not fit the other words of the last one: a reader or a disk that mixes the two gets a checksum that does not hold. The ring is in it because
/// threads that do the same, each on a ring of its own, have the same `claimed_at_begin` in the same slot.
#[inline]
#[must_use]
pub const fn sequence_of(claimed_at_begin: u64, ring: u32) -> u64 {
    let tenant = (claimed_at_begin as u32).wrapping_add(ring.wrapping_shl(22));
    SEQUENCE_OPEN | tenant as u64
}

/// One region that is running now, as the host observed its beginning: 64 bytes, a cache line, the first of its slot.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct OpenRecord {
    /// [`sequence_of`] `claimed_at_begin` and `ring`. 0: the slot is free. [`SEQUENCE_TAKEN`]: taken, not yet filled.
    pub sequence: u64,
    /// When the region began, in nanoseconds since the capture's start.
    pub start_ns: u64,
    /// `claimed` of ring `ring` when the region took the slot: all its records have sequences above this.
    pub claimed_at_begin: u64,
    /// How many bytes the region is to copy; 0: none, or unknown.
    pub copied_bytes: u64,
    /// The caller's submission or graph id; 0: none.
    pub correlation_id: u64,
    /// As in [`Record::lane`].
    pub lane: u32,
    /// As in [`Record::label_id`].
    pub label_id: u32,
    /// The operating system's id of the thread that began the region.
    pub thread_id: u32,
    /// The ring that all its records go to.
    pub ring: u32,
    /// [`FLAG_SATURATED`](crate::record::FLAG_SATURATED), [`FLAG_WAITING`](crate::record::FLAG_WAITING). The other bits are unused.
    pub flags: u8,
    /// [`KIND_OPEN`]. Readers reject any other kind here.
    pub kind: u8,
    /// 1 + the index of the slot it lies in.
    pub open_slot: u16,
    /// CRC-32 of all 64 bytes, computed while this field holds the salt of the open table.
    pub crc32: u32,
}

sealed!(OpenRecord);

const _: () = {
    // Fields that the two share lie in the same place, so that a hex dump of either reads the same.
    assert!(offset_of!(OpenRecord, copied_bytes) == offset_of!(Record, copied_bytes));
    assert!(offset_of!(OpenRecord, correlation_id) == offset_of!(Record, correlation_id));
    assert!(offset_of!(OpenRecord, lane) == offset_of!(Record, lane));
    assert!(offset_of!(OpenRecord, label_id) == offset_of!(Record, label_id));
    assert!(offset_of!(OpenRecord, thread_id) == offset_of!(Record, thread_id));
    assert!(OPEN_SLOTS_MAX < crate::constants::OPEN_SLOT_NONE as u32);
};

impl OpenRecord {
    /// Whether it claims to be a region that is running in slot `slot`. The checksum is not verified, and `ring` is not compared with the file's rings.
    #[inline]
    #[must_use]
    pub fn runs_in(&self, slot: u32) -> bool {
        self.kind == KIND_OPEN
            && self.sequence == sequence_of(self.claimed_at_begin, self.ring)
            && u32::from(self.open_slot).checked_sub(1) == Some(slot)
    }

    /// What its arguments and amendments say of it: `claimed_at_begin` modulo 2^32.
    #[inline]
    #[must_use]
    pub const fn owner(&self) -> u32 {
        self.claimed_at_begin as u32
    }

    /// Whether an argument or amendment of its ring that names its slot is this region's, and no earlier or later tenant's: by its ticket, its owner and
    /// its beginning.
    #[inline]
    #[must_use]
    pub fn owns(&self, sequence: u64, owner: u32, start_ns: u64) -> bool {
        sequence > self.claimed_at_begin && owner == self.owner() && start_ns == self.start_ns
    }

    /// Whether `region`, a completed region of its ring, is this very region, so that this one is not open any more.
    #[inline]
    #[must_use]
    pub fn is_completed_by(&self, region: &Record) -> bool {
        region.open_slot == self.open_slot && region.sequence > self.claimed_at_begin
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Two threads, each with a ring of its own, do the same, so that their regions are in one slot one after the other with as many tickets given out.
    /// With the same word, a mixture of both would verify.
    #[test]
    fn words_differ_from_tenant_to_tenant() {
        let words: std::collections::BTreeSet<u64> = (0..1024)
            .flat_map(|ring| (0..100).map(move |claimed| sequence_of(claimed, ring)))
            .collect();
        assert_eq!(words.len(), 1024 * 100);
        assert_eq!(sequence_of(0, 0).to_le_bytes(), *b"\0\0\0\0OPEN");
        assert_eq!(sequence_of(5, 1023), SEQUENCE_OPEN + (1023 << 22) + 5);
        assert_eq!(sequence_of(1 << 32, 0), sequence_of(0, 0));
        // The carry leaves the upper half alone.
        assert_eq!(sequence_of(u64::MAX, 1023) >> 32, SEQUENCE_OPEN >> 32);
    }

    proptest! {
        #[test]
        fn a_region_runs_in_its_slot_alone(claimed_at_begin: u64, ring in 0u32..1024, slot in 0..OPEN_SLOTS_MAX) {
            let open = OpenRecord {
                sequence: sequence_of(claimed_at_begin, ring),
                claimed_at_begin,
                ring,
                kind: KIND_OPEN,
                open_slot: slot as u16 + 1,
                ..OpenRecord::zeroed()
            };
            prop_assert!(open.runs_in(slot));
            prop_assert!(!open.runs_in(slot + 1));
            let later = OpenRecord { claimed_at_begin: claimed_at_begin.wrapping_add(1), ..open };
            prop_assert!(!later.runs_in(slot));
            let other_ring = OpenRecord { ring: ring + 1, ..open };
            prop_assert!(!other_ring.runs_in(slot));
            let other_kind = OpenRecord { kind: 0, ..open };
            prop_assert!(!other_kind.runs_in(slot));
        }
    }

    #[test]
    fn completed_by_a_later_region_of_the_slot() {
        let open = OpenRecord {
            claimed_at_begin: 7,
            open_slot: 3,
            ..OpenRecord::zeroed()
        };
        let region = |sequence, open_slot| Record {
            sequence,
            open_slot,
            ..Record::zeroed()
        };
        assert!(open.is_completed_by(&region(8, 3)));
        assert!(!open.is_completed_by(&region(7, 3)));
        assert!(!open.is_completed_by(&region(8, 2)));
    }
}

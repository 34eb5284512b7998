//! One completed region: one cache line that verifies itself. Records of other kinds have the same shape.
//!
//! A reader believes a record only if its checksum holds, its sequence belongs to the slot it lies in, and the sequence lies in the ring's
//! window, its last `capacity` tickets. Nothing else in the file has to be right.

use crate::sealed::sealed;
use bytemuck::{Pod, Zeroable};

pub use crate::constants::{
    FLAG_ARGUMENTS, FLAG_CANCELLED, FLAG_FAILED, FLAG_SATURATED, FLAG_WAITING, KIND_REGION,
    OPEN_SLOT_NONE, RECORD_BYTES, SEQUENCE_MAX,
};

/// One completed region, as the host observed it: 64 bytes, a cache line.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Record {
    /// 1 + the record's ticket in its ring. 0: never written, or being written.
    pub sequence: u64,
    /// When the region began, in nanoseconds since the capture's start.
    pub start_ns: u64,
    /// How long the region took, in nanoseconds.
    pub duration_ns: u64,
    /// How many bytes the region copied; 0: none.
    pub copied_bytes: u64,
    /// The caller's submission or graph id; 0: none.
    pub correlation_id: u64,
    /// 0 upload, 1 compute, 2 download, 3 NPU, 4 host; other numbers are the caller's own, or given out by name from 2^31 on.
    pub lane: u32,
    /// The id of its label (see [`crate::name`]); 0: none, shown as [`UNLABELLED`](crate::UNLABELLED).
    pub label_id: u32,
    /// The operating system's id of the thread that recorded the region.
    pub thread_id: u32,
    /// The caller's error code; 0: none.
    pub status: u32,
    /// [`FLAG_FAILED`], [`FLAG_SATURATED`], [`FLAG_CANCELLED`], [`FLAG_ARGUMENTS`]. The other bits are unused: a writer clears them, a reader ignores them.
    pub flags: u8,
    /// [`KIND_REGION`].
    pub kind: u8,
    /// 1 + the index of the open slot that held this region while it ran. 0: it was recorded in one call. [`OPEN_SLOT_NONE`]: it found the table full.
    pub open_slot: u16,
    /// CRC-32 of all 64 bytes, computed while this field holds the salt of the ring ([`crate::Area::salt`]).
    pub crc32: u32,
}

sealed!(Record);

impl Record {
    /// When the region ended, in nanoseconds since the capture's start; saturates.
    #[inline]
    #[must_use]
    pub fn end_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.duration_ns)
    }

    /// Whether [`FLAG_FAILED`] is set.
    #[inline]
    #[must_use]
    pub fn failed(&self) -> bool {
        self.flags & FLAG_FAILED != 0
    }

    /// Whether [`FLAG_SATURATED`] is set.
    #[inline]
    #[must_use]
    pub fn saturated(&self) -> bool {
        self.flags & FLAG_SATURATED != 0
    }

    /// Whether [`FLAG_CANCELLED`] is set.
    #[inline]
    #[must_use]
    pub fn cancelled(&self) -> bool {
        self.flags & FLAG_CANCELLED != 0
    }

    /// Whether [`FLAG_ARGUMENTS`] is set.
    #[inline]
    #[must_use]
    pub fn has_arguments(&self) -> bool {
        self.flags & FLAG_ARGUMENTS != 0
    }

    /// The open slot that held it while it ran. None: it held none.
    #[inline]
    #[must_use]
    pub fn slot(&self) -> Option<u32> {
        slot_index(self.open_slot)
    }
}

/// The open slot that an `open_slot` names. None: it names none.
#[inline]
#[must_use]
pub(crate) fn slot_index(open_slot: u16) -> Option<u32> {
    match open_slot {
        OPEN_SLOT_NONE => None,
        _ => u32::from(open_slot).checked_sub(1),
    }
}

/// The slot that holds `sequence` in a ring of `capacity` records: (sequence - 1) mod capacity. None for sequence 0 or capacity 0.
#[inline]
#[must_use]
pub fn slot_of(sequence: u64, capacity: u64) -> Option<u64> {
    sequence.checked_sub(1)?.checked_rem(capacity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum::{Area, Checksum};
    use proptest::prelude::*;

    fn any_record() -> impl Strategy<Value = Record> {
        any::<[u8; RECORD_BYTES]>().prop_map(Record::from_bytes)
    }

    proptest! {
        #[test]
        fn a_sealed_record_verifies_only_in_its_ring(record in any_record(), salt: u32) {
            let checksum = Checksum::new();
            let sealed = record.sealed(&checksum, Area::Ring(0).salt(salt));
            prop_assert!(sealed.verifies(&checksum, Area::Ring(0).salt(salt)));
            prop_assert!(!sealed.verifies(&checksum, Area::Ring(1).salt(salt)));
            prop_assert!(!sealed.verifies(&checksum, Area::OpenTable.salt(salt)));
        }

        #[test]
        fn every_single_bit_flip_is_detected(record in any_record(), salt: u32, bit in 0usize..512) {
            let checksum = Checksum::new();
            let sealed = record.sealed(&checksum, salt);
            let mut bytes: [u8; RECORD_BYTES] = bytemuck::cast(sealed);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(!Record::from_bytes(bytes).verifies(&checksum, salt));
        }

        #[test]
        fn bytes_round_trip(bytes: [u8; RECORD_BYTES]) {
            prop_assert_eq!(bytemuck::cast::<_, [u8; RECORD_BYTES]>(Record::from_bytes(bytes)), bytes);
        }
    }

    #[test]
    fn slots() {
        assert_eq!(slot_of(0, 4), None);
        assert_eq!(slot_of(1, 4), Some(0));
        assert_eq!(slot_of(4, 4), Some(3));
        assert_eq!(slot_of(5, 4), Some(0));
        assert_eq!(slot_of(5, 0), None);
        assert_eq!(slot_of(u64::MAX, 1), Some(0));
    }

    #[test]
    fn open_slots() {
        let of = |open_slot| Record {
            open_slot,
            ..Record::zeroed()
        };
        assert_eq!(of(0).slot(), None);
        assert_eq!(of(1).slot(), Some(0));
        assert_eq!(of(u16::MAX - 1).slot(), Some(65_533));
        assert_eq!(of(OPEN_SLOT_NONE).slot(), None);
    }

    #[test]
    fn zeroes_are_no_record_of_sequence_zero() {
        // A hole in the file reads as zeroes. Its sequence tells it from a record, whatever the salt.
        assert_eq!(Record::zeroed().sequence, 0);
        assert_eq!(slot_of(Record::zeroed().sequence, 8), None);
    }
}

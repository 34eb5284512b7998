//! One completed region: one cache line that verifies itself.
//!
//! A reader believes a record only if its checksum holds, its sequence belongs to the slot it lies in, and the sequence lies in the ring's
//! window, its last `capacity` tickets. Nothing else in the file has to be right.

use bytemuck::{Pod, Zeroable};
use core::mem::{align_of, offset_of, size_of};

use crate::checksum::Checksum;

pub use crate::constants::{FLAG_FAILED, FLAG_SATURATED, KIND_REGION, RECORD_BYTES, SEQUENCE_MAX};

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
    /// 0 upload, 1 compute, 2 download, 3 NPU, 4 host; other numbers are the caller's own.
    pub lane: u32,
    /// The id of its label (see [`crate::label`]); 0: none, shown as [`UNLABELLED`](crate::UNLABELLED).
    pub label_id: u32,
    /// The operating system's id of the thread that recorded the region.
    pub thread_id: u32,
    /// The caller's error code; 0: none.
    pub status: u32,
    /// [`FLAG_FAILED`] and [`FLAG_SATURATED`]. The other bits are unused: a writer clears them, a reader ignores them.
    pub flags: u8,
    /// 1 + the index of the open slot that held this region while it ran; 0: it was never in the open table.
    pub open_slot: u8,
    /// [`KIND_REGION`]. Readers skip and count other kinds.
    pub kind: u16,
    /// CRC-32 of all 64 bytes, computed while this field holds the salt of the ring ([`crate::Area::salt`]).
    pub crc32: u32,
}

const _: () = {
    assert!(size_of::<Record>() == RECORD_BYTES && align_of::<Record>() == 8);
    assert!(offset_of!(Record, sequence) == 0);
    assert!(offset_of!(Record, crc32) == 60);
};

impl Record {
    /// This record with its checksum computed; `salt` is the area salt of its ring.
    #[inline]
    #[must_use]
    pub fn sealed(self, checksum: &Checksum, salt: u32) -> Self {
        bytemuck::cast(checksum.seal(salt, bytemuck::cast(self)))
    }

    /// Whether the checksum holds. Says nothing about the sequence.
    #[inline]
    #[must_use]
    pub fn verifies(&self, checksum: &Checksum, salt: u32) -> bool {
        self.sealed(checksum, salt).crc32 == self.crc32
    }

    /// The record that the file's `bytes` make, verified or not.
    #[inline]
    #[must_use]
    pub fn from_bytes(bytes: [u8; RECORD_BYTES]) -> Self {
        bytemuck::cast(bytes)
    }

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
    use crate::checksum::Area;
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
    fn zeroes_are_no_record_of_sequence_zero() {
        // A hole in the file reads as zeroes. Its sequence tells it from a record, whatever the salt.
        assert_eq!(Record::zeroed().sequence, 0);
        assert_eq!(slot_of(Record::zeroed().sequence, 8), None);
    }
}

//! One completed region: one cache line that says for itself whether it can be believed.
//!
//! A reader believes a record only if its checksum holds, its sequence belongs to the slot it lies in, and the sequence lies in the
//! window. Nothing else in the file must be right for a record to be believed.

use bytemuck::{Pod, Zeroable};
use core::mem::{align_of, offset_of, size_of};

use crate::checksum::Checksum;

/// Size of a record, of an open record and of a label block. Never straddles a cache line, a disk sector or a page.
pub const RECORD_BYTES: usize = 64;

/// The most tickets a ring can have given out: the sum of all rings still fits a u64, and ten million events a second reach it in 57 years.
/// A larger number is damage.
pub const SEQUENCE_MAX: u64 = u64::MAX / crate::header::RING_COUNT_MAX as u64;

/// One completed region, as the host observed it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Record {
    /// The record's ticket in its ring, from 1. 0: never written, or being written.
    pub sequence: u64,
    /// When the region began, in nanoseconds since the capture's start.
    pub start_ns: u64,
    /// How long it took, in nanoseconds.
    pub duration_ns: u64,
    /// Bytes the region copied; 0 if it copied none.
    pub copied_bytes: u64,
    /// The caller's submission or graph id; 0: none.
    pub correlation_id: u64,
    /// 0 upload, 1 compute, 2 download, 3 NPU, 4 host; other numbers are the caller's own.
    pub lane: u32,
    /// Which label names it (see [`crate::label`]); 0: none, the region is called "native region".
    pub label_id: u32,
    /// The operating system's id of the thread that recorded it.
    pub thread_id: u32,
    /// The caller's error code; 0: none.
    pub status: u32,
    /// [`FLAG_FAILED`] and [`FLAG_SATURATED`]. The other bits are unused: a writer clears them, a reader ignores them.
    pub flags: u8,
    /// 1 + the slot of the open table that held this region while it ran; 0: it was recorded whole.
    pub open_slot: u8,
    /// [`KIND_REGION`]. Readers skip and count kinds they do not know.
    pub kind: u16,
    /// CRC-32 of all 64 bytes, computed while this field holds the salt of the ring ([`crate::Area::salt`]).
    pub crc32: u32,
}

/// The region failed.
pub const FLAG_FAILED: u8 = 1;
/// A value did not fit its field, and the largest that fits stands in its place.
pub const FLAG_SATURATED: u8 = 2;

/// A completed region.
pub const KIND_REGION: u16 = 0;

const _: () = {
    assert!(size_of::<Record>() == RECORD_BYTES && align_of::<Record>() == 8);
    assert!(offset_of!(Record, sequence) == 0);
    assert!(offset_of!(Record, crc32) == 60);
};

impl Record {
    /// The record with its checksum computed for the ring whose area salt is `salt`.
    #[inline]
    #[must_use]
    pub fn sealed(self, checksum: &Checksum, salt: u32) -> Self {
        let [sequence, others @ ..]: [u64; 8] = bytemuck::cast(self);
        bytemuck::cast(checksum.seal(salt, || sequence, others))
    }

    /// Whether the checksum holds. Says nothing of the sequence.
    #[inline]
    #[must_use]
    pub fn verifies(&self, checksum: &Checksum, salt: u32) -> bool {
        self.sealed(checksum, salt).crc32 == self.crc32
    }

    /// The record as it lies in the file.
    #[inline]
    #[must_use]
    pub fn from_bytes(bytes: [u8; RECORD_BYTES]) -> Self {
        bytemuck::cast(bytes)
    }

    /// The moment it was complete, in nanoseconds since the capture's start; saturates.
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
    use crate::Area;
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
        // A hole in the file reads as zeroes; it must be told from a record by its sequence, whatever the salt.
        assert_eq!(Record::zeroed().sequence, 0);
        assert_eq!(slot_of(Record::zeroed().sequence, 8), None);
    }
}

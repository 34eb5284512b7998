//! One region that is running now. It lies in the open table from `begin` until its completed record is in a ring.
//!
//! A crash between the two leaves both. The completed record names the slot it came from, and the open one says how many tickets its
//! ring had given out when it took the slot; since a slot holds one region at a time, a record of that ring with a later ticket and this
//! slot can only be this very region, and the reader drops the open one. No clock is compared.

use bytemuck::{Pod, Zeroable};
use core::mem::{align_of, offset_of, size_of};

use crate::checksum::Checksum;
use crate::record::{RECORD_BYTES, Record};

/// Slots of an open table. Bounded by `Record::open_slot`, a u8 whose 0 means none.
pub const OPEN_SLOTS: u32 = 64;

/// The sequence word of a slot that a thread has taken and not yet filled. `begin` has not returned: there is nothing to show.
pub const SEQUENCE_TAKEN: u64 = u64::MAX;

/// The upper half of the sequence word of a slot that holds a region. In a hex dump it reads `OPEN`.
pub const SEQUENCE_OPEN: u64 = u64::from_le_bytes(*b"\0\0\0\0OPEN");

/// The sequence word of a slot that holds a region that began at `start_ns`: `OPEN`, and the lower half of the beginning.
///
/// A free slot still holds its last region, whole but for this word, and this word must not bring it back. So it differs from the word of a free slot
/// in many bits: a flipped one does not make it. And it differs from region to region, so that the new region's word does not go with the
/// words of the last one: a reader or a disk that sees the two mixed sees a checksum that does not hold.
#[inline]
#[must_use]
pub const fn sequence_of(start_ns: u64) -> u64 {
    SEQUENCE_OPEN | (start_ns & 0xFFFF_FFFF)
}

/// One region that is running now, as the host observed its beginning.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct OpenRecord {
    /// [`sequence_of`] its beginning. 0: the slot is free. [`SEQUENCE_TAKEN`]: taken, not yet filled.
    pub sequence: u64,
    /// When the region began, in nanoseconds since the capture's start.
    pub start_ns: u64,
    /// `claimed` of ring `ring` when the region began: its completed record has a sequence above this.
    pub claimed_at_begin: u64,
    /// Bytes the region was announced to copy; 0: none, or unknown.
    pub copied_bytes: u64,
    /// The caller's submission or graph id; 0: none.
    pub correlation_id: u64,
    /// As in [`Record::lane`].
    pub lane: u32,
    /// As in [`Record::label_id`].
    pub label_id: u32,
    /// The operating system's id of the thread that began it.
    pub thread_id: u32,
    /// The ring that its completed record will go to.
    pub ring: u32,
    /// [`crate::record::FLAG_SATURATED`]. The other bits are unused.
    pub flags: u8,
    /// 1 + the slot it lies in.
    pub open_slot: u8,
    /// [`KIND_OPEN`]. Readers believe no other kind here.
    pub kind: u16,
    /// CRC-32 of all 64 bytes, computed while this field holds the salt of the open table.
    pub crc32: u32,
}

/// A region that has begun.
pub const KIND_OPEN: u16 = 1;

const _: () = {
    assert!(size_of::<OpenRecord>() == RECORD_BYTES && align_of::<OpenRecord>() == 8);
    // What the two have in common lies in the same place, so that a hex dump reads the same.
    assert!(offset_of!(OpenRecord, start_ns) == offset_of!(Record, start_ns));
    assert!(offset_of!(OpenRecord, copied_bytes) == offset_of!(Record, copied_bytes));
    assert!(offset_of!(OpenRecord, correlation_id) == offset_of!(Record, correlation_id));
    assert!(offset_of!(OpenRecord, lane) == offset_of!(Record, lane));
    assert!(offset_of!(OpenRecord, label_id) == offset_of!(Record, label_id));
    assert!(offset_of!(OpenRecord, thread_id) == offset_of!(Record, thread_id));
    assert!(offset_of!(OpenRecord, flags) == offset_of!(Record, flags));
    assert!(offset_of!(OpenRecord, open_slot) == offset_of!(Record, open_slot));
    assert!(offset_of!(OpenRecord, kind) == offset_of!(Record, kind));
    assert!(offset_of!(OpenRecord, crc32) == offset_of!(Record, crc32));
    assert!(OPEN_SLOTS < u8::MAX as u32);
};

impl OpenRecord {
    /// The record with its checksum computed for the open table whose area salt is `salt`.
    #[inline]
    #[must_use]
    pub fn sealed(self, checksum: &Checksum, salt: u32) -> Self {
        let [sequence, others @ ..]: [u64; 8] = bytemuck::cast(self);
        bytemuck::cast(checksum.seal(salt, || sequence, others))
    }

    /// Whether it says that it is a region that runs in slot `slot`.
    #[inline]
    #[must_use]
    pub fn runs_in(&self, slot: u32) -> bool {
        self.sequence == sequence_of(self.start_ns)
            && u32::from(self.open_slot).checked_sub(1) == Some(slot)
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
}

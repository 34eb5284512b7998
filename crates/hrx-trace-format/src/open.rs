//! One region that is running now. It lies in the open table from `begin` until its completed record is in a ring.
//!
//! A crash between the two leaves both. The completed record names the slot it came from, and the open one says how many tickets its
//! ring had given out when it took the slot. A slot holds one region at a time, so a record in that ring with a later ticket and this
//! slot can only be this region: the reader drops the open one. No clock is compared.

use bytemuck::{Pod, Zeroable};
use core::mem::{align_of, offset_of, size_of};

use crate::checksum::Checksum;
use crate::constants::RECORD_BYTES;
use crate::record::Record;

pub use crate::constants::{KIND_OPEN, OPEN_SLOTS, SEQUENCE_OPEN, SEQUENCE_TAKEN};

/// The sequence word of a slot that holds a region that began at `start_ns`: `OPEN`, and the lower half of `start_ns`.
///
/// A free slot still holds its last region, complete except for this word, and damage to this word must not bring that region back. So the word differs
/// from that of a free slot in many bits: no single flipped bit makes one from the other. And it differs from region to region, so that a new region's
/// word does not fit the other words of the last one: a reader or a disk that mixes the two gets a checksum that does not hold.
#[inline]
#[must_use]
pub const fn sequence_of(start_ns: u64) -> u64 {
    SEQUENCE_OPEN | (start_ns & 0xFFFF_FFFF)
}

/// One region that is running now, as the host observed its beginning: 64 bytes, a cache line.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct OpenRecord {
    /// [`sequence_of`] `start_ns`. 0: the slot is free. [`SEQUENCE_TAKEN`]: taken, not yet filled.
    pub sequence: u64,
    /// When the region began, in nanoseconds since the capture's start.
    pub start_ns: u64,
    /// `claimed` of ring `ring` when the region began: its completed record has a sequence above this.
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
    /// The ring that its completed record will go to.
    pub ring: u32,
    /// [`crate::record::FLAG_SATURATED`]. The other bits are unused.
    pub flags: u8,
    /// 1 + the index of the slot it lies in.
    pub open_slot: u8,
    /// [`KIND_OPEN`]. Readers reject any other kind here.
    pub kind: u16,
    /// CRC-32 of all 64 bytes, computed while this field holds the salt of the open table.
    pub crc32: u32,
}

const _: () = {
    assert!(size_of::<OpenRecord>() == RECORD_BYTES && align_of::<OpenRecord>() == 8);
    // Fields that the two share lie in the same place, so that a hex dump of either reads the same.
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
    /// This record with its checksum computed; `salt` is the open table's area salt.
    #[inline]
    #[must_use]
    pub fn sealed(self, checksum: &Checksum, salt: u32) -> Self {
        bytemuck::cast(checksum.seal(salt, bytemuck::cast(self)))
    }

    /// Whether it claims to be a region that is running in slot `slot`. The checksum is not verified.
    #[inline]
    #[must_use]
    pub fn runs_in(&self, slot: u32) -> bool {
        self.sequence == sequence_of(self.start_ns)
            && u32::from(self.open_slot).checked_sub(1) == Some(slot)
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
}

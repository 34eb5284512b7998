//! What changed about a running region: everything that can, as it is from now on.
//!
//! An amendment supersedes the open record and all amendments before it. So the latest one is enough, and the open record is never rewritten: a death
//! while it was withdrawn would hide the region.

use bytemuck::{Pod, Zeroable};
use core::mem::offset_of;

use crate::constants::{FLAG_SATURATED, FLAG_WAITING};
use crate::open::OpenRecord;
use crate::record::Record;
use crate::sealed::sealed;

pub use crate::constants::KIND_AMENDMENT;

/// All that can change about a running region: 64 bytes, a cache line.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Amendment {
    /// As in [`Record::sequence`]; in an open slot, [`line::word`](crate::line::word) of it.
    pub sequence: u64,
    /// When its region began.
    pub start_ns: u64,
    /// Unused: a writer clears it, a reader ignores it.
    pub unused_16: u64,
    /// As in [`Record::copied_bytes`].
    pub copied_bytes: u64,
    /// As in [`Record::correlation_id`].
    pub correlation_id: u64,
    /// As in [`Record::lane`].
    pub lane: u32,
    /// As in [`Record::label_id`].
    pub label_id: u32,
    /// [`OpenRecord::owner`] of its region.
    pub owner: u32,
    /// As in [`Record::status`].
    pub status: u32,
    /// [`FLAG_SATURATED`], [`FLAG_WAITING`]. The other bits are unused.
    pub flags: u8,
    /// [`KIND_AMENDMENT`].
    pub kind: u8,
    /// 1 + the index of the open slot that its region runs in.
    pub open_slot: u16,
    /// CRC-32 of all 64 bytes, computed while this field holds the salt of the ring, or of the open table.
    pub crc32: u32,
}

sealed!(Amendment);

const _: () = {
    assert!(offset_of!(Amendment, copied_bytes) == offset_of!(Record, copied_bytes));
    assert!(offset_of!(Amendment, correlation_id) == offset_of!(Record, correlation_id));
    assert!(offset_of!(Amendment, lane) == offset_of!(Record, lane));
    assert!(offset_of!(Amendment, label_id) == offset_of!(Record, label_id));
    assert!(offset_of!(Amendment, status) == offset_of!(Record, status));
};

impl Amendment {
    /// An amendment that leaves everything about `region` as its open record has it.
    #[inline]
    #[must_use]
    pub fn of(region: &OpenRecord) -> Self {
        Self {
            start_ns: region.start_ns,
            copied_bytes: region.copied_bytes,
            correlation_id: region.correlation_id,
            lane: region.lane,
            label_id: region.label_id,
            owner: region.owner(),
            flags: region.flags & (FLAG_SATURATED | FLAG_WAITING),
            kind: KIND_AMENDMENT,
            open_slot: region.open_slot,
            ..Self::zeroed()
        }
    }
}

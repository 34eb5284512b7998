//! A moment at which something happened: a record without a duration.

use bytemuck::{Pod, Zeroable};

use crate::sealed::sealed;

pub use crate::constants::KIND_MARK;

/// Something happened at a moment: 64 bytes, a cache line.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Mark {
    /// As in [`Record::sequence`](crate::Record::sequence).
    pub sequence: u64,
    /// The moment, in nanoseconds since the capture's start.
    pub start_ns: u64,
    /// Unused: a writer clears it, a reader ignores it.
    pub unused_16: [u64; 2],
    /// The caller's submission or graph id; 0: none.
    pub correlation_id: u64,
    /// As in [`Record::lane`](crate::Record::lane).
    pub lane: u32,
    /// As in [`Record::label_id`](crate::Record::label_id).
    pub label_id: u32,
    /// The operating system's id of the thread that recorded it.
    pub thread_id: u32,
    /// Unused: a writer clears it, a reader ignores it.
    pub unused_52: u32,
    /// [`FLAG_SATURATED`](crate::record::FLAG_SATURATED), [`FLAG_ARGUMENTS`](crate::record::FLAG_ARGUMENTS). The other bits are unused.
    pub flags: u8,
    /// [`KIND_MARK`].
    pub kind: u8,
    /// Unused: a writer clears it, a reader ignores it.
    pub open_slot: u16,
    /// CRC-32 of all 64 bytes, computed while this field holds the salt of the ring.
    pub crc32: u32,
}

sealed!(Mark);

impl Mark {
    /// A mark at `start_ns` of which nothing else is said.
    #[inline]
    #[must_use]
    pub fn at(start_ns: u64) -> Self {
        Self {
            start_ns,
            kind: KIND_MARK,
            ..Self::zeroed()
        }
    }
}

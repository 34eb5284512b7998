//! A sample of a number: a queue's depth, bytes in use.

use bytemuck::{Pod, Zeroable};

use crate::sealed::sealed;

pub use crate::constants::KIND_VALUE;

/// What a number was at a moment: 64 bytes, a cache line. The samples of one number have the same label.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Value {
    /// As in [`Record::sequence`](crate::Record::sequence).
    pub sequence: u64,
    /// The moment, in nanoseconds since the capture's start.
    pub start_ns: u64,
    /// Unused: a writer clears it, a reader ignores it.
    pub unused_16: u64,
    /// The bits of the number, IEEE 754 binary64. Any are allowed. Bits, so that two items compare as their bytes do.
    pub value: u64,
    /// The caller's submission or graph id; 0: none.
    pub correlation_id: u64,
    /// Unused: a writer clears it, a reader ignores it.
    pub unused_40: u32,
    /// As in [`Record::label_id`](crate::Record::label_id).
    pub label_id: u32,
    /// The operating system's id of the thread that recorded it.
    pub thread_id: u32,
    /// Unused: a writer clears it, a reader ignores it.
    pub unused_52: u32,
    /// [`FLAG_SATURATED`](crate::record::FLAG_SATURATED), [`FLAG_ARGUMENTS`](crate::record::FLAG_ARGUMENTS). The other bits are unused.
    pub flags: u8,
    /// [`KIND_VALUE`].
    pub kind: u8,
    /// Unused: a writer clears it, a reader ignores it.
    pub open_slot: u16,
    /// CRC-32 of all 64 bytes, computed while this field holds the salt of the ring.
    pub crc32: u32,
}

sealed!(Value);

impl Value {
    /// The number `value` at `start_ns`, of which nothing else is said.
    #[inline]
    #[must_use]
    pub fn at(start_ns: u64, value: f64) -> Self {
        Self {
            start_ns,
            value: value.to_bits(),
            kind: KIND_VALUE,
            ..Self::zeroed()
        }
    }

    /// The number.
    #[inline]
    #[must_use]
    pub fn number(&self) -> f64 {
        f64::from_bits(self.value)
    }
}

//! The capture's counters: they change under the reader, and no record needs them to be right.

use bytemuck::{Pod, Zeroable};

use crate::constants::RECORD_BYTES;

/// The capture's counters, on a cache line of their own.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Counters {
    /// [`STATE_RECORDING`](super::STATE_RECORDING) or [`STATE_FINISHED`](super::STATE_FINISHED); anything else is damage.
    pub state: u64,
    /// When the capture was finished, in nanoseconds since its start; 0 until then.
    pub finished_ns: u64,
    /// Events overwritten in all rings. A cache for simple tools, exact after a finish or a sync; readers derive it from `claimed`.
    pub dropped: u64,
    /// Events that began before the capture: not recorded, and not counted as dropped.
    pub rejected: u64,
    /// Regions that found the open table full: recorded when they completed, not shown while they ran.
    pub open_refused: u64,
    /// Labels that found no room: their regions are recorded without a label.
    pub labels_refused: u64,
    /// Unused: a writer clears it, a reader ignores it.
    pub unused: [u64; 2],
}

const _: () = assert!(size_of::<Counters>() == RECORD_BYTES);

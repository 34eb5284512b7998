//! The capture's counters: they change under the reader, and no record needs them to be right.

use bytemuck::{Pod, Zeroable};

use crate::constants::COUNTERS_BYTES;

/// The capture's counters, on two cache lines of their own. Those that change while events are recorded lie on the first.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Counters {
    /// [`STATE_RECORDING`](super::STATE_RECORDING), [`STATE_FINISHED`](super::STATE_FINISHED) or [`STATE_LEFT_BY_EXIT`](super::STATE_LEFT_BY_EXIT);
    /// anything else is damage.
    pub state: u64,
    /// When the capture was finished, or the process began to exit, in nanoseconds since its start. Means nothing while the state is that of recording.
    pub finished_ns: u64,
    /// Records of every kind overwritten in all rings. A cache for simple tools, exact after a finish or a sync; readers derive it from `claimed`.
    pub dropped: u64,
    /// Events that began before the capture: not recorded, and not counted as dropped.
    pub rejected: u64,
    /// Regions that found the open table full: recorded when they completed, not shown while they ran.
    pub open_refused: u64,
    /// Names that found no room: what they were to name is recorded without a name.
    pub names_refused: u64,
    /// The last moment at which the process said that it lived, in nanoseconds since the capture's start; 0: it never did.
    pub last_alive_ns: u64,
    /// Regions that run at this moment without an open slot. Never too low; too high by at most one for each thread that died in `begin` or `finish`.
    pub hidden_now: u64,
    /// Arguments and amendments that could not be recorded.
    pub arguments_refused: u64,
    /// Names that were too long to be recorded.
    pub names_too_long: u64,
    /// Unused: a writer clears it, a reader ignores it.
    pub unused: [u64; 6],
}

const _: () = assert!(size_of::<Counters>() == COUNTERS_BYTES);

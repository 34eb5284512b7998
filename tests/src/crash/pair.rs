//! Two threads of one child that the parent moves one at a time: one records an event and is stopped half-way, the other laps the ring.

/// Records that the ring holds.
pub const CAPACITY: u64 = 3;

/// The words that child and parent share, for each of the two threads.
pub mod word {
    /// How many events to record before the thread stops itself again.
    pub const TURN: usize = 0;
    /// 1: by `record`; 2: by `begin` and `finish`.
    pub const KIND: usize = 1;
    /// How many have begun; of a region: its `finish`.
    pub const STARTED: usize = 2;
    /// How many have returned.
    pub const RETURNED: usize = 3;
    /// How many words a thread has.
    pub const COUNT: usize = 4;
}

/// By `record`.
pub const KIND_RECORD: u64 = 1;
/// By `begin` and `finish`.
pub const KIND_REGION: u64 = 2;

/// The thread that is stopped.
pub const STALLED: usize = 0;
/// The thread that laps the ring.
pub const LAPPING: usize = 1;

/// The correlation id of event `index` of `thread`.
#[must_use]
pub fn correlation_id(thread: usize, index: u64) -> u64 {
    (thread as u64 + 1) << 32 | index
}

/// The bytes it says it copied: all other bits, so that a mixture of two events is found out even if its checksum were right.
#[must_use]
pub fn copied_bytes(correlation_id: u64) -> u64 {
    !correlation_id
}

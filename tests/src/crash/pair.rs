//! Two threads of one child, which the parent runs one at a time: one is stopped half-way through recording an event, the other laps the rings. Each has a
//! writer with its own ring, and may also record into the shared ring.

/// Records in each ring.
pub const CAPACITY: u64 = 3;

/// Rings for writers.
pub const WRITERS: u32 = 2;
/// All rings.
pub const RINGS: usize = 1 + WRITERS as usize;
/// The ring that threads share.
pub const SHARED: usize = 0;

/// The words that child and parent share, for each of the two threads.
pub mod word {
    /// Number of events to record before the thread stops itself again.
    pub const TURN: usize = 0;
    /// The calls to record them with: one of `KIND_`.
    pub const KIND: usize = 1;
    /// Number of events whose recording has begun; for a region: its `finish`.
    pub const STARTED: usize = 2;
    /// Number of events whose recording has returned.
    pub const RETURNED: usize = 3;
    /// Number of words of each thread.
    pub const COUNT: usize = 4;
}

/// The recorder's `record`.
pub const KIND_RECORD: u64 = 1;
/// The recorder's `begin`, then `finish`.
pub const KIND_REGION: u64 = 2;
/// The writer's `record`.
pub const KIND_OWN_RECORD: u64 = 3;
/// The writer's `begin`, then `finish`.
pub const KIND_OWN_REGION: u64 = 4;
/// No event: the writer is dropped and a new one made.
pub const KIND_RETAKE: u64 = 5;

/// The thread that is stopped.
pub const STALLED: usize = 0;
/// The thread that laps the ring.
pub const LAPPING: usize = 1;

/// The correlation id of event `index` of `thread`.
#[must_use]
pub fn correlation_id(thread: usize, index: u64) -> u64 {
    (thread as u64 + 1) << 32 | index
}

/// The bytes that an event says it copied: the id with every bit flipped, so that a mixture of two events would show even under a valid checksum.
#[must_use]
pub fn copied_bytes(correlation_id: u64) -> u64 {
    !correlation_id
}

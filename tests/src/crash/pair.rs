//! Two threads of one child that the parent moves one at a time: one records an event and is stopped half-way, the other laps the rings. Each has a writer
//! with a ring of its own, and may record by way of the shared one.

/// Records that each ring holds.
pub const CAPACITY: u64 = 3;

/// Rings for writers.
pub const WRITERS: u32 = 2;
/// Rings in all.
pub const RINGS: usize = 1 + WRITERS as usize;
/// The ring that threads share.
pub const SHARED: usize = 0;

/// The words that child and parent share, for each of the two threads.
pub mod word {
    /// How many events to record before the thread stops itself again.
    pub const TURN: usize = 0;
    /// By which calls: one of the `KIND_`.
    pub const KIND: usize = 1;
    /// How many have begun; of a region: its `finish`.
    pub const STARTED: usize = 2;
    /// How many have returned.
    pub const RETURNED: usize = 3;
    /// How many words a thread has.
    pub const COUNT: usize = 4;
}

/// By the recorder's `record`.
pub const KIND_RECORD: u64 = 1;
/// By the recorder's `begin`, and `finish`.
pub const KIND_REGION: u64 = 2;
/// By the writer's `record`.
pub const KIND_OWN_RECORD: u64 = 3;
/// By the writer's `begin`, and `finish`.
pub const KIND_OWN_REGION: u64 = 4;
/// No event: the writer is dropped, and another one made.
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

/// The bytes it says it copied: all other bits, so that a mixture of two events is found out even if its checksum were right.
#[must_use]
pub fn copied_bytes(correlation_id: u64) -> u64 {
    !correlation_id
}

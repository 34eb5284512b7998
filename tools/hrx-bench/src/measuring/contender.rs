//! A contender: anything that takes a region's five fields and keeps them.

use std::time::{Duration, Instant};

/// What a caller knows about one region. Every contender is given all of it.
#[derive(Clone, Copy, Debug)]
pub struct Fields {
    pub start: Instant,
    pub elapsed: Duration,
    pub lane: usize,
    pub copied_bytes: usize,
    pub failed: bool,
}

/// How many different [`Fields`] a loop cycles through; they stay in the first-level cache.
pub const INPUTS: usize = 64;

/// Fields that the compiler cannot predict. The regions begin at different times, or it would compute the time since the capture's start only once.
#[must_use]
pub fn inputs() -> [Fields; INPUTS] {
    let now = Instant::now();
    std::array::from_fn(|index| Fields {
        start: now + Duration::from_nanos(index as u64 * 1_001),
        elapsed: Duration::from_nanos(900 + index as u64),
        lane: index % 5,
        copied_bytes: index * 4096,
        failed: index == INPUTS - 1,
    })
}

/// One recorder of events, usable from several threads.
pub trait Contender: Sync {
    /// What a thread holds while it records.
    type Thread<'a>
    where
        Self: 'a;

    /// Prepares the calling thread, which is number `index`.
    fn thread(&self, index: usize) -> Self::Thread<'_>;

    /// Records one region. This is what is timed.
    fn event(&self, thread: &mut Self::Thread<'_>, fields: &Fields);

    /// Waits until nothing that was recorded keeps a processor busy. Not timed.
    fn settle(&self) {}
}

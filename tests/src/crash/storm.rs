//! What a child of the storm does and what its events say: all of it follows from a few numbers, so that its parent can tell every field of every event.

use std::str::FromStr;
use std::time::Duration;

use hrx_trace::{Event, Label};

/// What a child is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What its events are made of.
    pub seed: u64,
    /// Threads that record.
    pub threads: usize,
    /// Records in each ring.
    pub capacity: u64,
    /// Rings that threads share.
    pub rings: u32,
    /// How many rings there are for writers, behind those.
    pub writers: u32,
    /// How many threads record by a writer, the first ones: more than there are rings for, or fewer.
    pub writing: usize,
    /// How many writers each of them has, one after the other.
    pub tenures: usize,
    /// How many operations a writer is dropped after, if it is not the thread's last.
    pub tenure: u64,
    /// How often a thread spins between two events.
    pub pause: u32,
    /// Whether all pages are made present at creation.
    pub populate: bool,
}

impl Plan {
    /// How many authors there are. An author's operations all go the same way: by the recorder, or by one writer. A thread that has several writers is
    /// several authors.
    #[must_use]
    pub fn authors(&self) -> usize {
        self.threads * self.tenures
    }

    /// The author that `thread` is by its writer number `tenure`; without a writer: 0.
    #[must_use]
    pub fn author(&self, thread: usize, tenure: usize) -> usize {
        tenure * self.threads + thread
    }

    /// The thread that `author` is.
    #[must_use]
    pub fn thread(&self, author: usize) -> usize {
        author % self.threads
    }

    /// The shared ring of `author`'s thread. The thread that created the recorder was the first to be given one.
    #[must_use]
    pub fn shared_ring(&self, author: usize) -> usize {
        (self.thread(author) + 1) % self.rings as usize
    }
}

/// The numbers as one argument.
impl std::fmt::Display for Plan {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            seed,
            threads,
            capacity,
            rings,
            writers,
            writing,
            tenures,
            tenure,
            pause,
            populate,
        } = self;
        write!(
            formatter,
            "{seed},{threads},{capacity},{rings},{writers},{writing},{tenures},{tenure},{pause},{}",
            u8::from(*populate)
        )
    }
}

impl FromStr for Plan {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let numbers: Result<Vec<u64>, _> = text.split(',').map(u64::from_str).collect();
        match numbers.as_deref() {
            Ok(
                &[
                    seed,
                    threads,
                    capacity,
                    rings,
                    writers,
                    writing,
                    tenures,
                    tenure,
                    pause,
                    populate,
                ],
            ) => Ok(Self {
                seed,
                threads: threads as usize,
                capacity,
                rings: rings as u32,
                writers: writers as u32,
                writing: writing as usize,
                tenures: tenures as usize,
                tenure,
                pause: pause as u32,
                populate: populate != 0,
            }),
            _ => Err("not ten numbers"),
        }
    }
}

/// The words that child and parent share.
pub mod word {
    /// 1 when the threads are about to record.
    pub const READY: usize = 0;
    /// How thread 0 shall end the process: one of the `DIE_`.
    pub const DIE: usize = 1;
    /// How many words come before those of the authors, and how many each author has: a cache line.
    pub const STRIDE: usize = 8;
    /// How many tickets the thread's shared ring had given out when the author's latest operation began. After its last one: [`OVER`].
    pub const ENTERED_AT: usize = 0;
    /// How many of its operations have begun.
    pub const STARTED: usize = 1;
    /// 1 + the operation whose `begin` returned last.
    pub const BEGUN: usize = 2;
    /// 1 + the operation whose region was ended last.
    pub const ENDING: usize = 3;
    /// How many of its operations have returned.
    pub const RETURNED: usize = 4;
    /// How many tickets that ring had given out when an operation returned during which it was lapped: the latest such; 0: none.
    pub const LAPPED_AT: usize = 5;
    /// 1: it has a ring of its own; 0: it writes to its thread's shared one, or has not begun.
    pub const OWN_RING: usize = 6;

    /// No ticket.
    pub const OVER: u64 = u64::MAX;

    /// `word` of `author`.
    #[must_use]
    pub const fn of(author: usize, word: usize) -> usize {
        (author + 1) * STRIDE + word
    }

    /// How many words there are.
    #[must_use]
    pub const fn count(authors: usize) -> usize {
        of(authors, 0)
    }
}

/// By `exit`, while the other threads record.
pub const DIE_EXIT: u64 = 1;
/// By a panic inside a region, in a program whose panics abort.
pub const DIE_PANIC: u64 = 2;

/// The names; an event has one of them, or none.
pub const NAMES: [&str; 2] = [
    "gemm",
    "a name that takes more than one block of the label table: gather_scatter",
];

/// One call, or a `begin` and what ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `record`.
    Record,
    /// `begin`, `finish`.
    Finish,
    /// `begin`, `fail`.
    Fail,
    /// `begin`, and the region dropped.
    Drop,
}

/// Operation `index` of an author.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Names it.
    pub correlation_id: u64,
    /// How it is recorded.
    pub kind: Kind,
    /// The lane.
    pub lane: u32,
    /// 0: none; else 1 + index of the name.
    pub name: usize,
    /// Bytes announced.
    pub copied_bytes: u64,
    /// Bytes that a `finish` says.
    pub finished_bytes: u64,
    /// The error code.
    pub status: u32,
    /// Whether it failed, unless its end says that.
    pub failed: bool,
    /// How long a `record` says it took.
    pub elapsed: Duration,
    /// How long after the first one a `record` says it began.
    pub start: Duration,
}

const INDEX_BITS: u32 = 40;

impl Operation {
    /// Derives it.
    #[must_use]
    pub fn of(seed: u64, author: usize, index: u64) -> Self {
        let correlation_id = (author as u64 + 1) << INDEX_BITS | index;
        let bits = mix(seed ^ correlation_id);
        Self {
            correlation_id,
            kind: match bits % 8 {
                0..=3 => Kind::Record,
                4..=5 => Kind::Finish,
                6 => Kind::Fail,
                _ => Kind::Drop,
            },
            lane: (bits >> 8) as u32 % 6,
            name: (bits >> 16) as usize % 3,
            copied_bytes: !bits,
            finished_bytes: bits.rotate_left(29),
            status: (bits >> 32) as u32,
            failed: bits >> 24 & 1 == 1,
            elapsed: Duration::from_nanos(bits >> 20),
            start: Duration::from_nanos(index),
        }
    }

    /// The author and the index of the operation that is called so.
    #[must_use]
    pub fn named(correlation_id: u64) -> Option<(usize, u64)> {
        let author = (correlation_id >> INDEX_BITS).checked_sub(1)?;
        Some((author as usize, correlation_id & ((1 << INDEX_BITS) - 1)))
    }

    /// As the recorder takes it.
    #[must_use]
    pub fn event(&self, labels: &[Label; 2]) -> Event {
        let label = self
            .name
            .checked_sub(1)
            .map_or(Label::NONE, |name| labels[name]);
        Event::new(self.lane as usize)
            .label(label)
            .correlation_id(self.correlation_id)
            .copied_bytes(self.copied_bytes)
            .status(self.status)
            .failed(self.failed)
    }
}

/// One round of SplitMix64: every bit of the result depends on every bit of `value`.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let value = (value ^ value >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ value >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ value >> 31
}

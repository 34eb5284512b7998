//! What a child of the storm does and records. All of it follows from a few numbers, so the parent knows every field of every event.

use std::str::FromStr;
use std::time::Duration;

use hrx_trace::{Event, Label};

/// The numbers that a child is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The seed that its events are derived from.
    pub seed: u64,
    /// Threads that record.
    pub threads: usize,
    /// Records in each ring.
    pub capacity: u64,
    /// Rings that threads share.
    pub rings: u32,
    /// Rings for writers, after those.
    pub writers: u32,
    /// Number of threads that record by a writer, the first ones: may be more or fewer than the rings for writers.
    pub writing: usize,
    /// Number of writers that each of them has, one after the other.
    pub tenures: usize,
    /// Number of operations after which a writer is dropped, unless it is its thread's last.
    pub tenure: u64,
    /// Number of spins between two events of a thread.
    pub pause: u32,
    /// Whether creation makes all pages present.
    pub populate: bool,
    /// Slots of the open table, at least as many as threads.
    pub open_regions: u32,
    /// Time between two beats of the recorder's own thread, in microseconds. 0: no such thread.
    pub heartbeat_us: u64,
}

impl Plan {
    /// Number of authors. All operations of an author go through the same recorder or writer; a thread that has several writers is several authors.
    #[must_use]
    pub fn authors(&self) -> usize {
        self.threads * self.tenures
    }

    /// The author that `thread` is during its writer number `tenure`; 0 for a thread without writers.
    #[must_use]
    pub fn author(&self, thread: usize, tenure: usize) -> usize {
        tenure * self.threads + thread
    }

    /// The thread that `author` is.
    #[must_use]
    pub fn thread(&self, author: usize) -> usize {
        author % self.threads
    }

    /// The shared ring of `author`'s thread. The thread that created the recorder was given the first one.
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
            open_regions,
            heartbeat_us,
        } = self;
        write!(
            formatter,
            "{seed},{threads},{capacity},{rings},{writers},{writing},{tenures},{tenure},{pause},{},{open_regions},{heartbeat_us}",
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
                    open_regions,
                    heartbeat_us,
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
                open_regions: open_regions as u32,
                heartbeat_us,
            }),
            _ => Err("a plan is twelve numbers"),
        }
    }
}

/// The words that child and parent share.
pub mod word {
    /// 1 once all threads may record.
    pub const READY: usize = 0;
    /// How thread 0 is to end the process: one of `DIE_`.
    pub const DIE: usize = 1;
    /// Number of words before those of the authors, and of words of each author: a cache line.
    pub const STRIDE: usize = 8;
    /// Number of tickets that the thread's shared ring had given out when the author's latest operation began. After its last one: [`OVER`].
    pub const ENTERED_AT: usize = 0;
    /// Number of its operations that have begun.
    pub const STARTED: usize = 1;
    /// 1 + the operation whose `begin` returned last.
    pub const BEGUN: usize = 2;
    /// 1 + the operation whose region was ended last.
    pub const ENDING: usize = 3;
    /// Number of its operations that have returned.
    pub const RETURNED: usize = 4;
    /// Number of tickets that ring had given out when the latest operation returned during which it was lapped; 0: none.
    pub const LAPPED_AT: usize = 5;
    /// 1: it has its own ring; 0: it writes to its thread's shared one, or has not begun.
    pub const OWN_RING: usize = 6;

    /// Number of tickets that the operations that have begun take, if each is recorded whole.
    pub const TICKETS: usize = 7;

    /// No ticket.
    pub const OVER: u64 = u64::MAX;

    /// `word` of `author`.
    #[must_use]
    pub const fn of(author: usize, word: usize) -> usize {
        (author + 1) * STRIDE + word
    }

    /// Number of words, given the number of authors.
    #[must_use]
    pub const fn count(authors: usize) -> usize {
        of(authors, 0)
    }
}

/// By `exit`, while the other threads record.
pub const DIE_EXIT: u64 = 1;
/// By a panic inside a region, in a program whose panics abort.
pub const DIE_PANIC: u64 = 2;

/// The names. An event has one of them or none.
pub const NAMES: [&str; 2] = [
    "gemm",
    "a name that takes more than one block of the label table: gather_scatter",
];

/// The keys of arguments.
pub const KEYS: [&str; 2] = ["number", "text"];

/// Arguments of a [`Kind::Laden`] region: more than lie next to its open slot.
const LOAD: u64 = 9;

/// A `record`, a mark, a value, or a `begin` and what ends its region.
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
    /// `begin`, `cancel`.
    Cancel,
    /// `begin`, an argument, another label, waiting, `finish`.
    Changed,
    /// `begin`, many arguments, `finish`.
    Laden,
    /// `mark_with` two arguments.
    Mark,
    /// `value_with` an argument.
    Value,
}

impl Kind {
    /// Whether it is in the open table while it runs.
    #[must_use]
    pub const fn runs(self) -> bool {
        !matches!(self, Self::Record | Self::Mark | Self::Value)
    }

    /// The most records that an operation takes.
    pub const MOST_TICKETS: u64 = Self::Laden.tickets();

    /// Records that it takes.
    #[must_use]
    pub const fn tickets(self) -> u64 {
        match self {
            Self::Record | Self::Finish | Self::Fail | Self::Drop | Self::Cancel => 1,
            Self::Changed => 1 + 2 + 1,
            Self::Laden => LOAD + 1,
            // A text of two records.
            Self::Mark => 1 + 2 + 1,
            Self::Value => 1 + 1,
        }
    }
}

/// An argument: the index of its key, and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Load {
    /// A number.
    Number(u64),
    /// A text of two records.
    Text(String),
}

impl Load {
    /// The index of its key.
    #[must_use]
    pub const fn key(&self) -> usize {
        match self {
            Self::Number(_) => 0,
            Self::Text(_) => 1,
        }
    }
}

/// Operation `index` of an author.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Identifies it.
    pub correlation_id: u64,
    /// How it is recorded.
    pub kind: Kind,
    /// The lane.
    pub lane: u32,
    /// 0: none; otherwise 1 + the index of the name.
    pub name: usize,
    /// Copied bytes stated up front.
    pub copied_bytes: u64,
    /// Copied bytes stated by a `finish`.
    pub finished_bytes: u64,
    /// The error code.
    pub status: u32,
    /// Whether it failed, unless its end decides that.
    pub failed: bool,
    /// The duration that a `record` states.
    pub elapsed: Duration,
    /// The start that a `record` states, counted from the first operation.
    pub start: Duration,
}

const INDEX_BITS: u32 = 40;

impl Operation {
    /// Derives operation `index` of `author`.
    #[must_use]
    pub fn of(seed: u64, author: usize, index: u64) -> Self {
        let correlation_id = (author as u64 + 1) << INDEX_BITS | index;
        let bits = mix(seed ^ correlation_id);
        Self {
            correlation_id,
            kind: match bits % 16 {
                0..=5 => Kind::Record,
                6..=8 => Kind::Finish,
                9 => Kind::Fail,
                10 => Kind::Drop,
                11 => Kind::Cancel,
                12 => Kind::Changed,
                13 => Kind::Laden,
                14 => Kind::Mark,
                _ => Kind::Value,
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

    /// The author and the index of the operation with this id.
    #[must_use]
    pub fn named(correlation_id: u64) -> Option<(usize, u64)> {
        let author = (correlation_id >> INDEX_BITS).checked_sub(1)?;
        Some((author as usize, correlation_id & ((1 << INDEX_BITS) - 1)))
    }

    /// The name that a [`Kind::Changed`] region is given while it runs.
    #[must_use]
    pub const fn other_name(&self) -> usize {
        self.name % 2 + 1
    }

    /// The number that a [`Kind::Value`] is.
    #[must_use]
    pub const fn number(&self) -> f64 {
        self.status as f64
    }

    /// Its arguments, in their order.
    #[must_use]
    pub fn load(&self) -> Vec<Load> {
        let number = |index: u64| Load::Number(self.copied_bytes.wrapping_add(index));
        match self.kind {
            Kind::Changed | Kind::Value => vec![number(0)],
            Kind::Laden => (0..LOAD).map(number).collect(),
            Kind::Mark => vec![
                number(0),
                Load::Text(format!("operation {:>30}", self.correlation_id)),
            ],
            _ => Vec::new(),
        }
    }

    /// The event to pass to the recorder.
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

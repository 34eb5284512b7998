//! The calls that the stepped child makes. Child and parent both derive each call's event from the call's index.

use std::time::Duration;

use hrx_trace::{Event, Label};

/// Records in each ring: it wraps every three calls.
pub const CAPACITY: u64 = 3;

/// Rings for writers, after the one that threads share: fewer than the script's writers.
pub const WRITERS: u32 = 2;

/// All rings.
pub const RINGS: usize = 1 + WRITERS as usize;

/// One call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// `record`.
    Record,
    /// `now`, twice, then `record_between`.
    Between,
    /// `begin`, of the region with this number.
    Begin(usize),
    /// Its `finish`, with the bytes it copied.
    Finish(usize),
    /// Its `fail`.
    Fail(usize),
    /// It is dropped without either.
    Drop(usize),
    /// `begin`, and a panic that unwinds through the region.
    Panic,
    /// `label`, for a name of more than one block.
    Label,
    /// `Recorder::writer`: the calls that follow are made on it, until `GiveBack`.
    Take,
    /// Drops the newest writer: the calls that follow are made on the one before it, or on the recorder.
    GiveBack,
    /// `Recorder::finish`.
    End,
}

/// Calls on the recorder and on writers, in an order that fills and wraps rings, nests and crosses regions.
pub const SCRIPT: &[Call] = {
    use Call::{Begin, Between, Drop, End, Fail, Finish, GiveBack, Label, Panic, Record, Take};
    &[
        Record,
        Record,
        Record,
        Record,
        Record, // filled and wrapped
        Begin(0),
        Finish(0), // alone
        Begin(0),
        Record,
        Fail(0), // around a record
        Begin(0),
        Begin(1),
        Finish(1),
        Drop(0), // nested
        Begin(1),
        Begin(2),
        Finish(1),
        Record,
        Begin(1),
        Drop(1),
        Finish(2), // crossed
        Label,
        Record,
        Record, //
        Begin(0),
        Record,
        Record,
        Record,
        Record,
        Finish(0), // around a whole lap
        Panic,
        Record,
        Between,
        Begin(0),
        Between,
        Between,
        Finish(0), // around two
        Take,      // a ring of its own, which
        Record,
        Record,
        Record,
        Record,
        Record, // is filled and wraps
        Between,
        Begin(0),
        Between,
        Drop(0), // around one
        Begin(0),
        Finish(0), // alone
        Begin(0),
        Record,
        Fail(0), // around a record
        Begin(0),
        Begin(1),
        Finish(0),
        Drop(1), // crossed
        Begin(0),
        Take, // the last ring, while a region runs in the first
        Record,
        Begin(1),
        Record,
        Record,
        Record,
        Record,
        Finish(1), // around a whole lap
        Take,      // none is left: the shared ring
        Record,
        Begin(2),
        Record,
        Fail(2),
        Begin(2),
        Drop(2),
        GiveBack,
        Record,
        GiveBack,
        Finish(0),
        Take, // the last ring again, full of its last owner's records
        Begin(1),
        Record,
        Finish(1),
        Panic,
        GiveBack,
        Record,
        GiveBack, // all of them
        Record,
        Take, // the first ring again
        Record,
        Take,
        GiveBack, // unused
        Record,
        Begin(2),
        End, // and one that never ends
    ]
};

/// The names. Only [`Call::Label`] interns the second.
pub const NAMES: [&str; 2] = [
    "gemm",
    "a kernel whose name takes more than one block of the label table, as those of templates do",
];

/// What call `index` records about its region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Described {
    /// The lane.
    pub lane: u32,
    /// 0: none; otherwise 1 + the index of the name.
    pub name: usize,
    /// Identifies the call.
    pub correlation_id: u64,
    /// Copied bytes stated up front.
    pub copied_bytes: u64,
    /// The error code.
    pub status: u32,
    /// Whether it failed.
    pub failed: bool,
}

impl Described {
    /// Derives it from the call's index.
    #[must_use]
    pub fn of(index: usize) -> Self {
        let interned = SCRIPT
            .iter()
            .take(index)
            .filter(|call| **call == Call::Label);
        let names = 1 + interned.count();
        let number = index as u64;
        Self {
            lane: index as u32 % 6,
            name: index % (names + 1),
            correlation_id: number,
            copied_bytes: (number + 1) * 0x0101_0101_0101,
            status: index as u32 * 3,
            failed: index % 4 == 3,
        }
    }

    /// The event to pass to the recorder.
    #[must_use]
    pub fn event(&self, labels: &[Label]) -> Event {
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

/// The copied bytes that a `finish` at call `index` states.
#[must_use]
pub fn finished_bytes(index: usize) -> u64 {
    index as u64 + 0xF1F1_0000
}

/// The start that the `record` of call `index` states, counted from the first call.
#[must_use]
pub fn start(index: usize) -> Duration {
    Duration::from_micros(index as u64)
}

/// The duration that the `record` of call `index` states.
#[must_use]
pub fn elapsed(index: usize) -> Duration {
    Duration::from_nanos(index as u64 * 7 + 1)
}

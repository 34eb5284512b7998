//! The calls that the stepped child makes, and what each of them says: child and parent derive it from the call's index.

use std::time::Duration;

use hrx_trace::{Event, Label};

/// Records that each ring holds: it wraps every three calls.
pub const CAPACITY: u64 = 3;

/// Rings for writers, behind the one that threads share: fewer than the script's writers.
pub const WRITERS: u32 = 2;

/// Rings in all.
pub const RINGS: usize = 1 + WRITERS as usize;

/// The words that child and parent share.
pub mod word {
    /// 1 when the recorder is there.
    pub const CREATED: usize = 0;
    /// How many calls have begun.
    pub const STARTED: usize = 1;
    /// How many calls have returned.
    pub const RETURNED: usize = 2;
    /// How many words there are.
    pub const COUNT: usize = 3;
}

/// One call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// `record`.
    Record,
    /// `begin` of the region that is called so.
    Begin(usize),
    /// Its `finish`, with the bytes it copied.
    Finish(usize),
    /// Its `fail`.
    Fail(usize),
    /// Its end without either.
    Drop(usize),
    /// `begin`, and a panic that unwinds through the region.
    Panic,
    /// `label`, for a name of more than one block.
    Label,
    /// `Recorder::writer`: until it is given back, the calls are made of it.
    Take,
    /// The newest writer is dropped: the calls are made of the one before it again, or of the recorder.
    GiveBack,
    /// `Recorder::finish`.
    End,
}

/// Calls in an order that fills, wraps, nests and crosses; of the recorder, and of writers.
pub const SCRIPT: &[Call] = {
    use Call::{Begin, Drop, End, Fail, Finish, GiveBack, Label, Panic, Record, Take};
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
        Take, // and a ring of its own, which
        Record,
        Record,
        Record,
        Record,
        Record, // is filled and wraps
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
        Take,      // and none is left: the shared one
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
        Take, // the last ring again, full of its last holder's
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

/// The names; the second is interned by [`Call::Label`] only.
pub const NAMES: [&str; 2] = [
    "gemm",
    "a kernel whose name takes more than one block of the label table, as those of templates do",
];

/// What call `index` says of its region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Described {
    /// The lane.
    pub lane: u32,
    /// 0: none; else 1 + index of the name.
    pub name: usize,
    /// Tells the calls apart.
    pub correlation_id: u64,
    /// Bytes announced.
    pub copied_bytes: u64,
    /// The error code.
    pub status: u32,
    /// Whether it failed.
    pub failed: bool,
}

impl Described {
    /// What call `index` says.
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

    /// As the recorder takes it.
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

/// What a `finish` at call `index` says it copied.
#[must_use]
pub fn finished_bytes(index: usize) -> u64 {
    index as u64 + 0xF1F1_0000
}

/// How long after the first one the `record` of call `index` says its region began.
#[must_use]
pub fn start(index: usize) -> Duration {
    Duration::from_micros(index as u64)
}

/// How long the `record` of call `index` says it took.
#[must_use]
pub fn elapsed(index: usize) -> Duration {
    Duration::from_nanos(index as u64 * 7 + 1)
}

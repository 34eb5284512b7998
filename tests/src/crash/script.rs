//! The calls that the stepped child makes, and what each of them says: child and parent derive it from the call's index.

use std::time::Duration;

use hrx_trace::{Event, Label};

/// Records that the ring holds: it wraps every three calls.
pub const CAPACITY: u64 = 3;

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
    /// `Recorder::finish`.
    End,
}

/// Calls in an order that fills, wraps, nests and crosses.
pub const SCRIPT: &[Call] = {
    use Call::{Begin, Drop, End, Fail, Finish, Label, Panic, Record};
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

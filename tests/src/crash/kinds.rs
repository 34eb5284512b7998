//! The calls that the stepped child makes to record marks, values, arguments and amendments. Child and parent both derive each call's event from the call's index.

use hrx_trace::{Event, Label};

/// Records in each ring. The script's longest series of arguments fits, and all of it does not.
pub const CAPACITY: u64 = 16;

/// The rings: the one that threads share, and a writer's.
pub const RINGS: usize = 2;

/// The names of labels: the first of what begins, the second of what is amended.
pub const NAMES: [&str; 2] = ["gemm", "gemm, tuned"];

/// An argument's text: three records.
pub const TEXT: &str =
    "a text of more than two records, which are 52 bytes: it takes three of them";

/// One call. Those on a region are on the one that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// `mark`.
    Mark,
    /// `mark_with`, a number and a text.
    MarkWith,
    /// `value`.
    Value,
    /// `value_with`, a number.
    ValueWith,
    /// `record_between_with`, a number and a text.
    BetweenWith,
    /// `begin`.
    Begin,
    /// `argument`, the call's index.
    Number,
    /// `argument`, [`TEXT`].
    Text,
    /// `set_label`, the second name.
    Label,
    /// `set_status`, the call's index.
    Status,
    /// `set_copied_bytes`, the call's index.
    CopiedBytes,
    /// `set_correlation_id`, 1000 + the call's index.
    CorrelationId,
    /// `waiting`.
    Wait,
    /// `running`.
    Run,
    /// `finish`.
    Finish,
    /// `fail`, with the call's index.
    Fail,
    /// `cancel`.
    Cancel,
    /// It is dropped.
    Drop,
    /// `suspend`: its turn is over, the next region waits, with the number of the call.
    Suspend,
    /// `resume`: the next region runs, with the number of the call.
    Resume,
    /// `withdraw`.
    Withdraw,
    /// The calls that follow are made on a writer.
    Take,
}

/// The calls on the recorder, then the same on a writer.
pub const SCRIPT: &[Call] = {
    use Call::{
        Begin, BetweenWith, Cancel, CopiedBytes, CorrelationId, Drop, Fail, Finish, Label, Mark,
        MarkWith, Number, Resume, Run, Status, Suspend, Take, Text, Value, ValueWith, Wait,
        Withdraw,
    };
    &[
        Mark,
        Value,
        Begin,
        Number,
        Text,
        Label,
        Wait,
        Mark,
        Run,
        Finish, // with all it had
        Begin,
        Finish, // a clean slate in the same slot
        MarkWith,
        ValueWith,
        BetweenWith,
        Begin,
        Status,
        Number,
        Number,
        Number,
        Text,
        Number,
        Number, // more than the slot has lines for
        Wait,
        MarkWith,
        MarkWith,
        MarkWith,
        MarkWith, // overwritten in the ring, all but what is in lines
        Number,
        CopiedBytes,
        Mark,
        CorrelationId,
        Cancel,
        Begin,
        Text,
        Fail,
        Begin,
        Status,
        Drop,
        Begin,
        Text,
        Suspend, // a task in turns
        Number,
        Resume,
        Resume, // nothing was written since the last one
        Status,
        Suspend,
        MarkWith,
        Withdraw,
        Begin,
        Withdraw,
        Take,
        Mark,
        Value,
        Begin,
        Text,
        Status,
        Wait,
        MarkWith,
        Run,
        Finish,
        Begin,
        Suspend,
        Resume,
        Suspend,
        Withdraw,
        ValueWith,
        Begin,
        Number,
        Number,
        Number,
        Number,
        Number,
        Number,
        Number,
        Label,
        MarkWith,
        MarkWith,
        MarkWith,
        MarkWith,
        Number,
        Status,
        Cancel,
        Begin,
        Number,
        Label, // and one that never ends
    ]
};

/// The event of call `index`.
#[must_use]
pub fn event(index: usize, label: Label) -> Event {
    Event::new(index % 6)
        .label(label)
        .correlation_id(index as u64 + 1)
}

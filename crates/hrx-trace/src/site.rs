//! The memory orderings that the protocols of `slot.rs`, `vacancy.rs` and `running.rs` rest on, each with a name, so that `tests/loom.rs` can take it away and see its models fail.

/// One ordering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "tracer"), allow(dead_code))]
pub enum Site {
    /// The slot's sequence is withdrawn before its words change.
    Withdraw,
    /// The slot's words are there before its sequence.
    Publish,
    /// The completed record is there before the open slot is cleared, and a ring's tickets before the ring is given back.
    Clear,
    /// The thread that takes an open slot or a ring sees everything its last holder did.
    Take,
    /// The slot is free before its byte says so, and before the memo that the table is full is removed.
    Vacate,
    /// A search sees that a slot was freed, or whoever freed it sees the mark of the search.
    Mark,
    /// A capture is there before its number.
    Announce,
    /// The thread that sees a capture's number sees the capture.
    Notice,
}

//! The memory orderings that the slot protocol rests on, each with a name, so that `tests/loom.rs` can take it away and see its models fail.

/// One ordering of `slot.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    /// The slot's sequence is withdrawn before its words change.
    Withdraw,
    /// The slot's words are there before its sequence.
    Publish,
    /// The completed record is there before the open slot is cleared, and a ring's tickets before the ring is given back.
    Clear,
    /// The thread that takes an open slot or a ring sees everything its last holder did.
    Take,
}

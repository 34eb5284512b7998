//! How one slot is written, so that whoever reads it at any instant, even after the writer's death, sees a whole record or none.
//!
//! A slot is a row of 64-bit words; word 0 is its sequence. Invariants:
//! - Only relaxed and release stores to the words, each of which is one instruction: no other thread, and no file, ever sees half a word.
//! - Between the first and the last store the sequence is one that no reader believes.
//! - Nothing waits. A writer that lost its processor and was overtaken by a whole lap finds a newer record in its slot, and leaves it alone: its own
//!   would be outside the window. Only if it lost it between that look and its last store, some thirty instructions on, it spoils the slot, which then
//!   fails verification.
//!
//! `tests/loom.rs` compiles this very file against loom's atomics, explores the interleavings, and removes each [`Site`] in turn to see
//! that the models notice.

use crate::primitive::{AtomicU64, Ordering, fence, removed};
use hrx_trace_format::open::SEQUENCE_TAKEN;

/// The sequence of a free slot and of one being written.
pub const SEQUENCE_NONE: u64 = 0;

/// An ordering that the protocol needs: each is named, so that a model can take it away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    /// The slot's sequence is withdrawn before its words change.
    Withdraw,
    /// The slot's words are there before its sequence.
    Publish,
    /// The completed record is there before the open slot is cleared, and the tickets before the ring is given back.
    Clear,
    /// The taker of an open slot or a ring sees everything its last holder did.
    Take,
}

/// Takes the next ticket of a ring, from 0. Costs one uncontended read-modify-write (2 to 4 ns), 50 ns and more when another thread has the line.
///
/// Relaxed: the ticket only has to be unique; a record says for itself which ticket it has.
#[inline]
pub fn claim(claimed: &AtomicU64) -> u64 {
    claimed.fetch_add(1, Ordering::Relaxed)
}

/// Takes `ticket`, the next one of a ring that one thread alone takes tickets of, and that it knows. Costs a store, which nothing waits for.
#[inline]
pub fn claim_own(claimed: &AtomicU64, ticket: u64) {
    claimed.store(ticket.wrapping_add(1), Ordering::Relaxed);
}

/// Whether the slot of ticket `sequence` holds a newer record already: the writer lost its processor for a whole lap, and its own record is outside the
/// window. Costs a load of the line that is written next. Cannot be where one thread alone writes to the ring.
#[inline]
pub fn overtaken<const WORDS: usize>(
    slot: &[AtomicU64; WORDS],
    sequence: u64,
    claimed: &AtomicU64,
) -> bool {
    let found = slot[0].load(Ordering::Relaxed);
    found > sequence && was_given_out(found, claimed)
}

/// Whether `sequence` is that of a ticket. A stray store's is not: it must not keep the slot from being written for ever.
#[cold]
fn was_given_out(sequence: u64, claimed: &AtomicU64) -> bool {
    sequence <= claimed.load(Ordering::Relaxed)
}

/// Writes `record` over whatever the slot holds. `record[0]` is the new sequence.
#[inline]
pub fn publish<const WORDS: usize>(slot: &[AtomicU64; WORDS], record: &[u64; WORDS]) {
    slot[0].store(SEQUENCE_NONE, Ordering::Relaxed);
    fill(slot, record);
}

/// Takes a free slot of the open table, or a ring. False: somebody has it.
#[inline]
pub fn take<const WORDS: usize>(slot: &[AtomicU64; WORDS]) -> bool {
    slot[0].load(Ordering::Relaxed) == SEQUENCE_NONE
        && slot[0]
            .compare_exchange(
                SEQUENCE_NONE,
                SEQUENCE_TAKEN,
                unless_removed(Site::Take, Ordering::Acquire),
                Ordering::Relaxed,
            )
            .is_ok()
}

/// Writes `record` into a slot whose sequence nobody believes at the moment.
#[inline]
pub fn fill<const WORDS: usize>(slot: &[AtomicU64; WORDS], record: &[u64; WORDS]) {
    // Pairs with the acquire fence of a mapping reader: who sees a new word also sees that the old sequence is gone.
    if !removed(Site::Withdraw) {
        fence(Ordering::Release);
    }
    for index in 1..WORDS {
        slot[index].store(record[index], Ordering::Relaxed);
    }
    slot[0].store(record[0], unless_removed(Site::Publish, Ordering::Release));
}

/// Frees a slot of the open table, or a ring. Release: who sees it free also sees the completed record in the ring, and every ticket taken.
#[inline]
pub fn clear<const WORDS: usize>(slot: &[AtomicU64; WORDS]) {
    slot[0].store(
        SEQUENCE_NONE,
        unless_removed(Site::Clear, Ordering::Release),
    );
}

/// `order`, unless a model has taken `site` away.
#[inline]
fn unless_removed(site: Site, order: Ordering) -> Ordering {
    if removed(site) {
        Ordering::Relaxed
    } else {
        order
    }
}

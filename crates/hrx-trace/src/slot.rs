//! How one slot is written, so that every reader, at any instant and even after the writer's death, sees a whole record or none.
//!
//! A slot is an array of 64-bit words; word 0 is its sequence. Invariants:
//! - The words are written by relaxed and release stores alone, each of which is one instruction: no other thread, and no file, ever sees half a word.
//! - Between the first and the last store the sequence is one that no reader believes.
//! - Nothing waits. A writer that lost its processor and was overtaken by a whole lap finds a newer record in its slot and leaves it alone: its own
//!   would be outside the window. If it loses its processor between that look and its last store, some thirty instructions later, it spoils the slot, and
//!   the slot fails verification.
//!
//! `tests/loom.rs` compiles this very file against loom's atomics, explores the interleavings, and removes each [`Site`] in turn to check that the models
//! notice.

use hrx_trace_format::open::SEQUENCE_TAKEN;

use crate::primitive::{AtomicU64, Ordering, fence, removed};
use crate::site::Site;

/// The sequence of a free slot and of one being written.
pub const SEQUENCE_NONE: u64 = 0;

/// Takes the next ticket of a ring, from 0. Costs one uncontended read-modify-write (2 to 4 ns), or 50 ns and more when another thread has the line.
///
/// Relaxed: the ticket only has to be unique. A record states its own ticket.
#[inline]
pub fn claim(claimed: &AtomicU64) -> u64 {
    claimed.fetch_add(1, Ordering::Relaxed)
}

/// Takes `ticket`, which must be the next of a ring that no other thread takes tickets of. Costs a store that nothing waits for.
#[inline]
pub fn claim_own(claimed: &AtomicU64, ticket: u64) {
    claimed.store(ticket.wrapping_add(1), Ordering::Relaxed);
}

/// Whether the slot for `sequence` already holds a newer record: the writer lost its processor for a whole lap, and its own record is outside the
/// window. Costs a load of the line that is written next. Cannot happen in a ring that only one thread writes to.
#[inline]
pub fn overtaken<const WORDS: usize>(
    slot: &[AtomicU64; WORDS],
    sequence: u64,
    claimed: &AtomicU64,
) -> bool {
    let found = slot[0].load(Ordering::Relaxed);
    found > sequence && was_given_out(found, claimed)
}

/// Whether `sequence` is that of a ticket. A stray store's is not, and must not block the slot.
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

/// Takes a free slot of the open table, or a free ring. False: another thread has it.
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

/// Writes `record` into a slot whose present sequence no reader believes.
#[inline]
pub fn fill<const WORDS: usize>(slot: &[AtomicU64; WORDS], record: &[u64; WORDS]) {
    // Pairs with the acquire fence of a mapping reader: one that sees a new word also sees that the old sequence is gone.
    if !removed(Site::Withdraw) {
        fence(Ordering::Release);
    }
    for index in 1..WORDS {
        slot[index].store(record[index], Ordering::Relaxed);
    }
    slot[0].store(record[0], unless_removed(Site::Publish, Ordering::Release));
}

/// Frees a slot of the open table, or a ring. Release: a thread that sees it free also sees the completed record in the ring, and every ticket taken.
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

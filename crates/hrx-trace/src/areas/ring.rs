//! A ring: how a record gets its ticket and its slot.
//!
//! The two ways to write differ in who else takes tickets. In a ring that threads share ([`Ring::write_to`]), a ticket costs a locked instruction, and a
//! writer that stalls may be overtaken. In a ring that is one thread's own ([`OwnRing::write_to`]), a ticket costs a store, and no writer can be overtaken.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use hrx_trace_format::{Checksum, Unsealed};

use crate::memory::{Line, Lines};
use crate::slot;

/// A ring that threads may share. On a cache line of its own, because `lap_start` changes once per lap.
#[derive(Debug)]
#[repr(align(64))]
pub struct Ring {
    /// The control line; word 0 is `claimed`, the number of tickets given out.
    control: Lines,
    slots: Lines,
    salt: u32,
    /// A multiple of the capacity, at or below the tickets given out: saves a division per event.
    lap_start: AtomicU64,
}

impl Ring {
    /// A ring that has given out no ticket. `salt` is its area salt.
    pub fn new(control: Lines, slots: Lines, salt: u32) -> Self {
        Self {
            control,
            slots,
            salt,
            lap_start: AtomicU64::new(0),
        }
    }

    /// The same ring with a lap cache of its own, for a thread to keep on its stack.
    fn fork_lap_cache(&self) -> Self {
        Self {
            control: self.control.clone(),
            slots: self.slots.clone(),
            salt: self.salt,
            lap_start: AtomicU64::new(self.lap_start.load(Ordering::Relaxed)),
        }
    }

    /// Takes a ticket, completes `record`, of whatever kind, with it, and writes it into the ticket's slot. Its sequence and checksum are computed here.
    /// Returns the sequence.
    ///
    /// Where the ticket is taken matters. From then until its slot is written, the ticket has no record: if the thread dies, the slot is torn; if it
    /// stalls, others may overtake it. So everything that does not depend on the ticket comes first: the slot's salt and most of the checksum, which covers
    /// the sequence last. What remains between ticket and first store is the rest of the checksum and a look at the slot.
    #[inline(always)]
    pub fn write_to(&self, checksum: &Checksum, record: [u64; 8]) -> u64 {
        let unsealed = self.unsealed(checksum, record);
        let ticket = slot::claim(self.claimed_word());
        let sequence = ticket.wrapping_add(1);
        let record = unsealed.seal(sequence);
        let slot = self.slot(ticket);
        if !slot::overtaken(slot, sequence, self.claimed_word()) {
            slot::publish(slot, &record);
        }
        sequence
    }

    /// `record` with as much of its checksum as its fields give.
    #[inline(always)]
    fn unsealed<'a>(&self, checksum: &'a Checksum, record: [u64; 8]) -> Unsealed<'a> {
        let [_, others @ ..] = record;
        checksum.unsealed(self.salt, others)
    }

    /// The slot of `ticket`: number `ticket % capacity`, with a division only when a lap begins.
    ///
    /// Any `lap_start` is a multiple of the capacity. So whichever value is seen here, a difference below the capacity is the remainder.
    #[inline]
    fn slot(&self, ticket: u64) -> &Line {
        let capacity = self.slots.count() as u64;
        let since_lap = ticket.wrapping_sub(self.lap_start.load(Ordering::Relaxed));
        if since_lap < capacity {
            return self.slots.get(since_lap as usize);
        }
        let index = ticket % capacity;
        self.lap_start.store(ticket - index, Ordering::Relaxed);
        self.slots.get(index as usize)
    }

    /// How many tickets the ring has given out.
    #[inline]
    pub fn claimed(&self) -> u64 {
        self.claimed_word().load(Ordering::Relaxed)
    }

    #[inline]
    fn claimed_word(&self) -> &AtomicU64 {
        &self.control.get(0)[0]
    }
}

/// A ring that only one thread takes tickets of, for as long as this exists.
#[derive(Debug)]
pub struct OwnRing {
    /// On the thread's stack, so that an event touches one page less.
    ring: Ring,
    /// The ring's next ticket. Kept here, so that an event only stores to the file and loads nothing from it.
    next: Cell<u64>,
}

impl OwnRing {
    /// `ring`, which no other thread writes to from now on.
    pub fn new(ring: &Ring) -> Self {
        Self {
            next: Cell::new(ring.claimed()),
            ring: ring.fork_lap_cache(),
        }
    }

    /// As [`Ring::write_to`], which says why the ticket is taken where it is.
    #[inline(always)]
    pub fn write_to(&self, checksum: &Checksum, record: [u64; 8]) -> u64 {
        let unsealed = self.ring.unsealed(checksum, record);
        let ticket = self.next.get();
        let sequence = ticket.wrapping_add(1);
        self.next.set(sequence);
        slot::claim_own(self.ring.claimed_word(), ticket);
        let record = unsealed.seal(sequence);
        slot::publish(self.ring.slot(ticket), &record);
        sequence
    }
}

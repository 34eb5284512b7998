//! Free entries of a table, which threads take and give back without a lock.
//!
//! Its head has a count of all changes beside the first entry: a list that has changed and changed back is not taken for the same, and so what a thread read after
//! the first entry is still so when it takes that entry.
//!
//! `tests/loom.rs` compiles this very file against loom's atomics.

use crate::primitive::{AtomicU32, AtomicU64, Ordering, Site, unless_removed};

/// No entry: entries are numbered from 1 on the list.
const END: u32 = 0;

/// A list of numbers below its capacity.
#[derive(Debug)]
pub struct FreeList {
    /// The first free entry, and above it how often the list was changed.
    head: AtomicU64,
    /// The free entry after each that is free.
    next: Box<[AtomicU32]>,
}

impl FreeList {
    /// All entries are free.
    pub fn new(capacity: u32) -> Self {
        let next = |entry| if entry == capacity { END } else { entry + 1 };
        Self {
            head: AtomicU64::new(u64::from(capacity.min(1))),
            next: (1..=capacity)
                .map(|entry| AtomicU32::new(next(entry)))
                .collect(),
        }
    }

    /// A free entry, which no other thread gets until it is given back. None: there is none.
    pub fn take(&self) -> Option<usize> {
        let see = unless_removed(Site::See, Ordering::Acquire);
        let mut head = self.head.load(see);
        loop {
            let entry = (head as u32).checked_sub(1)? as usize;
            let next = self.next[entry].load(Ordering::Relaxed);
            match self.exchange(head, next, Ordering::Relaxed, see) {
                Ok(_) => return Some(entry),
                Err(now) => head = now,
            }
        }
    }

    /// The entry, which was taken, is free again.
    pub fn give_back(&self, entry: usize) {
        let give = unless_removed(Site::Give, Ordering::Release);
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            self.next[entry].store(head as u32, Ordering::Relaxed);
            match self.exchange(head, entry as u32 + 1, give, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// Makes `first` the head of the list, unless the list has changed since it was `head`.
    fn exchange(&self, head: u64, first: u32, done: Ordering, not: Ordering) -> Result<u64, u64> {
        let changed = (head >> 32).wrapping_add(1) << 32 | u64::from(first);
        self.head.compare_exchange_weak(head, changed, done, not)
    }
}

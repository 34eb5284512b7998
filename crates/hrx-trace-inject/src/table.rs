//! A set that grows up to a limit and whose members stay: found without a lock, also by a signal handler and in a forked child.
//!
//! Open addressing over pointers to leaked members; a slot is set once, by compare-and-swap.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use crate::pages;

/// What is found by a hash and a comparison.
pub trait Member {
    /// The hash that it was inserted with.
    fn hash(&self) -> u64;
}

/// The set. Its slots are reserved by its first member.
pub struct Table<M: 'static> {
    /// `slots` slots, or null.
    first: AtomicPtr<AtomicPtr<M>>,
    /// A power of two. At most half are taken.
    slots: usize,
    used: AtomicUsize,
}

impl<M: Member + Sync + 'static> Table<M> {
    /// Empty, for up to `members_max` members, a power of two.
    pub const fn new(members_max: usize) -> Self {
        Self {
            first: AtomicPtr::new(std::ptr::null_mut()),
            slots: 2 * members_max,
            used: AtomicUsize::new(0),
        }
    }

    /// The member with this hash that `is_it` says it is.
    #[inline]
    pub fn find(&self, hash: u64, is_it: impl Fn(&M) -> bool) -> Option<&'static M> {
        let first = NonNull::new(self.first.load(Ordering::Acquire))?;
        let mut index = hash as usize;
        for _ in 0..self.slots {
            let member = self.slot(first, index).load(Ordering::Acquire);
            // SAFETY: what a slot points to was leaked by `insert`.
            let member: &'static M = unsafe { NonNull::new(member)?.as_ref() };
            if member.hash() == hash && is_it(member) {
                return Some(member);
            }
            index = index.wrapping_add(1);
        }
        None
    }

    /// Whether there is no room for another member.
    pub fn is_full(&self) -> bool {
        self.used.load(Ordering::Relaxed) >= self.slots / 2
    }

    /// Adds `member`, unless another thread has added one meanwhile that `is_it` says it is: that one is returned then. None: there is no room.
    #[cold]
    pub fn insert(&self, member: M, is_it: impl Fn(&M) -> bool) -> Option<&'static M> {
        let first = self.reserved()?;
        if self.used.fetch_add(1, Ordering::Relaxed) >= self.slots / 2 {
            self.used.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        let hash = member.hash();
        let member: &'static M = Box::leak(Box::new(member));
        let mut index = hash as usize;
        loop {
            let slot = self.slot(first, index);
            let set = slot.compare_exchange(
                std::ptr::null_mut(),
                std::ptr::from_ref(member).cast_mut(),
                Ordering::AcqRel,
                Ordering::Acquire,
            );
            let Err(there) = set else {
                return Some(member);
            };
            // SAFETY: as in `find`.
            let there: &'static M = unsafe { NonNull::new(there)?.as_ref() };
            if there.hash() == hash && is_it(there) {
                self.used.fetch_sub(1, Ordering::Relaxed);
                return Some(there);
            }
            index = index.wrapping_add(1);
        }
    }

    fn slot(&self, first: NonNull<AtomicPtr<M>>, index: usize) -> &AtomicPtr<M> {
        // SAFETY: there are `slots` slots from `first` on, a power of two.
        let slot = unsafe { first.add(index & (self.slots - 1)) };
        // SAFETY: the pages are never unmapped, are aligned, and zeroes are null pointers.
        unsafe { slot.as_ref() }
    }

    /// The slots, reserved if they are not yet.
    fn reserved(&self) -> Option<NonNull<AtomicPtr<M>>> {
        if let Some(first) = NonNull::new(self.first.load(Ordering::Acquire)) {
            return Some(first);
        }
        let new = pages::zeroed(self.slots * size_of::<AtomicPtr<M>>())?.cast();
        let set = self.first.compare_exchange(
            std::ptr::null_mut(),
            new.as_ptr(),
            Ordering::AcqRel,
            Ordering::Acquire,
        );
        match set {
            Ok(_) => Some(new),
            // Another thread was faster. Its slots count; ours take no memory.
            Err(there) => NonNull::new(there),
        }
    }
}

/// A hash of `text` in the name space `space`. Costs a multiplication for every 8 bytes.
#[inline]
pub fn hash(space: usize, text: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let mix = |hash: u64, word: u64| (hash.rotate_left(5) ^ word).wrapping_mul(FACTOR);
    let (words, rest) = text.as_chunks::<8>();
    let mut hash = mix(text.len() as u64, space as u64);
    for word in words {
        hash = mix(hash, u64::from_ne_bytes(*word));
    }
    let last = rest
        .iter()
        .fold(0, |last, byte| last << 8 | u64::from(*byte));
    hash = mix(hash, last);
    hash ^ hash >> 29
}

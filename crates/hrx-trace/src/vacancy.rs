//! Which slots of the open table may be free: a byte for each, and hints where to look first.
//!
//! None of this is in the file, and none of it decides anything: a slot belongs to the thread whose compare-and-swap on its sequence succeeded. What dies with
//! the process is not missed. Invariants:
//! - A byte is 0 for a taken slot, from before `begin` returns. It can be 1 for one, which costs a try. It does not stay 0 for a free one: each tenant's 0 is
//!   stored before its region can be finished, and its 1 when the slot has been freed.
//! - Nothing waits. A search looks at each byte once, from where the thread's last search ended.
//! - A search fails only if each slot, when the search looked at it, was taken, or was being freed by a call that had not returned. Since others can take the
//!   slots ahead of a search and free those behind it, this does not mean that all were taken at the same moment.
//! - Hints are hints: any value is allowed, also one that another table or a signal handler left.
//!
//! In a large table a search that fails is long, so it leaves a memo: full. The memo stands only if no slot has been freed since that search began. The search
//! first leaves a mark, and if that is still there in the end, it becomes the memo; freeing a slot removes both.
//!
//! `tests/loom.rs` compiles this very file against loom's atomics, as it does `slot.rs`.

use std::array;
use std::cell::Cell;

use crate::primitive::{AtomicU8, AtomicU64, Ordering, fence, removed};
use crate::site::Site;
use crate::slot;

/// A search that passes fewer slots than this begins at the same slot the next time.
const NEAR: u16 = 16;

/// No search has left anything since a slot was freed last.
const NO_MEMO: u64 = 0;
/// The table is full. The marks of searches are lower.
const FULL: u64 = u64::MAX;

/// A byte for each slot. `BYTES` is 2^16 but in models: then a number of 16 bits needs no check.
#[derive(Debug)]
pub struct Vacancies<const BYTES: usize = 0x1_0000> {
    /// At 1 + the index of a slot, 1: it may be free; 0: it is taken.
    bytes: Box<[AtomicU8; BYTES]>,
    slots: u16,
    has_memo: bool,
    /// [`NO_MEMO`], the mark of the search that began last, or [`FULL`].
    memo: AtomicU64,
}

/// Where a thread looks first, in whatever table.
pub trait Hints {
    /// The number of the slot that it freed last; 0: none.
    fn freed(&self) -> u16;
    fn set_freed(&self, freed: u16);
    /// The number of the slot that its next search begins at; 0: it has not searched yet.
    fn cursor(&self) -> u16;
    fn set_cursor(&self, cursor: u16);
}

/// Hints in a place of their own.
#[derive(Debug)]
pub struct OwnHints {
    freed: Cell<u16>,
    cursor: Cell<u16>,
}

impl OwnHints {
    /// Those of a thread that has taken no slot yet.
    pub const fn none() -> Self {
        Self {
            freed: Cell::new(0),
            cursor: Cell::new(0),
        }
    }
}

impl Hints for OwnHints {
    #[inline(always)]
    fn freed(&self) -> u16 {
        self.freed.get()
    }

    #[inline(always)]
    fn set_freed(&self, freed: u16) {
        self.freed.set(freed);
    }

    fn cursor(&self) -> u16 {
        self.cursor.get()
    }

    fn set_cursor(&self, cursor: u16) {
        self.cursor.set(cursor);
    }
}

impl<const BYTES: usize> Vacancies<BYTES> {
    /// Those of `slots` free slots, fewer than `BYTES`.
    pub fn new(slots: u16, has_memo: bool) -> Self {
        Self {
            bytes: Box::new(array::from_fn(|number| {
                AtomicU8::new((1..=usize::from(slots)).contains(&number).into())
            })),
            slots,
            has_memo,
            memo: AtomicU64::new(NO_MEMO),
        }
    }

    /// Takes a free slot for the thread with this ordinal. Returns its number, 1 + its index, and its words, which `words` gives for a number if there is such
    /// a slot. None: the table is full.
    #[inline(always)]
    pub fn take<'a, const WORDS: usize>(
        &self,
        hints: &impl Hints,
        ordinal: u32,
        words: impl Fn(u16) -> Option<&'a [AtomicU64; WORDS]>,
    ) -> Option<(u16, &'a [AtomicU64; WORDS])> {
        let number = hints.freed();
        if let Some(slot) = words(number)
            && slot::take(slot)
        {
            self.bytes[usize::from(number)].store(0, Ordering::Relaxed);
            return Some((number, slot));
        }
        if self.has_memo {
            self.search_unless_full(hints, ordinal, words)
        } else {
            self.search(hints, ordinal, words)
        }
    }

    /// Looks at each slot once.
    #[inline(never)]
    fn search<'a, const WORDS: usize>(
        &self,
        hints: &impl Hints,
        ordinal: u32,
        words: impl Fn(u16) -> Option<&'a [AtomicU64; WORDS]>,
    ) -> Option<(u16, &'a [AtomicU64; WORDS])> {
        let start = match hints.cursor() {
            cursor if (1..=self.slots).contains(&cursor) => cursor,
            _ => self.home(ordinal),
        };
        let take = |number: u16| {
            let byte = &self.bytes[usize::from(number)];
            if byte.load(Ordering::Relaxed) == 0 {
                return None;
            }
            let slot = words(number).filter(|slot| slot::take(slot))?;
            byte.store(0, Ordering::Relaxed);
            // A short way leaves the cursor where it is: nested regions find their slots again, instead of wandering over the table.
            let is_near = number.wrapping_sub(start) < NEAR;
            hints.set_cursor(if is_near { start } else { number });
            Some((number, slot))
        };
        (start..=self.slots)
            .find_map(take)
            .or_else(|| (1..start).find_map(take))
    }

    /// [`Vacancies::search`], with the memo of those that failed.
    #[inline(never)]
    fn search_unless_full<'a, const WORDS: usize>(
        &self,
        hints: &impl Hints,
        ordinal: u32,
        words: impl Fn(u16) -> Option<&'a [AtomicU64; WORDS]>,
    ) -> Option<(u16, &'a [AtomicU64; WORDS])> {
        if self.memo.load(Ordering::Relaxed) == FULL {
            return None;
        }
        // Of the searches that run now, only one that a signal handler makes in this same thread has the same mark, and that one is over before this goes on.
        let mark = u64::from(ordinal) + 1;
        self.memo.swap(mark, Ordering::Relaxed);
        if !removed(Site::Mark) {
            fence(Ordering::SeqCst);
        }
        let found = self.search(hints, ordinal, words);
        let memo = if found.is_some() { NO_MEMO } else { FULL };
        // Fails if a slot has been freed since, or another search has begun.
        let _ = self
            .memo
            .compare_exchange(mark, memo, Ordering::Relaxed, Ordering::Relaxed);
        found
    }

    /// Where the first search of the thread with this ordinal begins: as far from those of others as the golden ratio puts it, however many there are, so that a
    /// thread's slots and bytes lie on cache lines of its own.
    fn home(&self, ordinal: u32) -> u16 {
        let fraction = u64::from(ordinal.wrapping_mul(0x9E37_79B9));
        ((fraction * u64::from(self.slots)) >> 32) as u16 + 1
    }

    /// Frees the slot with this number, whose words are `slot`.
    #[inline(always)]
    pub fn free<const WORDS: usize>(
        &self,
        hints: &impl Hints,
        number: u16,
        slot: &[AtomicU64; WORDS],
    ) {
        if !removed(Site::Vacate) {
            slot::clear(slot);
        }
        self.bytes[usize::from(number)].store(1, Ordering::Relaxed);
        hints.set_freed(number);
        if self.has_memo {
            self.forget();
        }
        if removed(Site::Vacate) {
            slot::clear(slot);
        }
    }

    /// Removes the memo, and the mark of a search that may have passed the slot that was freed.
    ///
    /// Either the byte is stored before this fence and seen by a search whose fence comes later, or that search's mark is seen here.
    #[inline(never)]
    fn forget(&self) {
        if !removed(Site::Mark) {
            fence(Ordering::SeqCst);
        }
        if self.memo.load(Ordering::Relaxed) != NO_MEMO {
            self.memo.swap(NO_MEMO, Ordering::Relaxed);
        }
    }
}

//! The recorders of the process: a table of places, and the numbers by which C programs name them.
//!
//! A number is a place and a generation, in the form of a pointer that is never followed. A place whose recorder is open has that number as its word; in any other
//! state, its word has the bits of another place, so that no number equals it. Invariants:
//! - A place is used between [`enter`] and the drop of its [`Share`]. Its recorder stays as it is for that time, also if another thread closes it: the last one
//!   that leaves unmaps it.
//! - Who enters counts itself first and looks at the state then; who closes changes the state first and looks at the counts then, all in one order (SeqCst). So
//!   either the one sees that it is closed, or the other that it is used. Nothing waits.
//! - The counts are by stripes, and a share is given back to the stripe that it was taken from: none of them is ever below the number of its shares. So after
//!   the close, counts that were each seen to be 0 belong to a place that no share is left of.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hrx_trace::Recorder;

use crate::error::{Errno, OVER, TOO_MANY};
use crate::stripe::{self, Apart, STRIPES};

/// How many recorders there can be at a time.
const PLACES: usize = 256;

/// The bits of a place in a number; the others are the generation, from 1.
const LOW: u64 = 0xFF;

// What a word's bits of the place differ by from the place, in the order of its states.
const FREE: u64 = 4;
const FILLING: u64 = 1;
const OPEN: u64 = 0;
const CLOSED: u64 = 2;
const EMPTYING: u64 = 3;

/// The number of a recorder; 0: none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number(pub u64);

struct Place {
    /// There from before it is open until it is being emptied.
    recorder: UnsafeCell<MaybeUninit<Recorder>>,
    /// Whether it is closed: who leaves it looks whether it was the last.
    closed: AtomicBool,
    shares: [Apart<AtomicU64>; STRIPES],
}

// SAFETY: the recorder is shared while the place is open or closed, and only the thread that set another state has it alone.
unsafe impl Sync for Place {}

static TABLE: [Place; PLACES] = [const {
    Place {
        recorder: UnsafeCell::new(MaybeUninit::uninit()),
        closed: AtomicBool::new(false),
        shares: [const { Apart(AtomicU64::new(0)) }; STRIPES],
    }
}; PLACES];

/// The places' words. Not in the table, which is all zeroes, so that the library's file does not hold it.
static WORDS: [AtomicU64; PLACES] = {
    let mut words = [const { AtomicU64::new(0) }; PLACES];
    let mut index = 0;
    while index < PLACES {
        words[index] = AtomicU64::new(index as u64 ^ FREE);
        index += 1;
    }
    words
};

/// Keeps a recorder as it is.
pub struct Share {
    place: &'static Place,
    count: &'static AtomicU64,
}

/// A share, and the stripe of the thread that took it.
pub struct Entered {
    pub share: Share,
    pub stripe: usize,
}

impl Deref for Entered {
    type Target = Recorder;

    #[inline(always)]
    fn deref(&self) -> &Recorder {
        &self.share
    }
}

impl Deref for Share {
    type Target = Recorder;

    #[inline(always)]
    fn deref(&self) -> &Recorder {
        // SAFETY: the place is not emptied as long as it is shared, and was filled before it could be.
        unsafe { &*self.place.recorder() }
    }
}

impl Drop for Share {
    #[inline(always)]
    fn drop(&mut self) {
        self.place.leave(self.count);
    }
}

/// Puts `recorder` into the table.
pub fn add(recorder: Recorder) -> Result<Number, Errno> {
    for (index, (place, word)) in TABLE.iter().zip(&WORDS).enumerate() {
        let index = index as u64;
        let before = word.load(Ordering::Relaxed);
        let number = (before | LOW).wrapping_add(1) | index;
        if before & LOW == index ^ FREE && swap(word, before, number ^ FILLING) {
            // SAFETY: no other thread looks at it in this state.
            unsafe { place.recorder().write(recorder) };
            word.store(number ^ OPEN, Ordering::SeqCst);
            return Ok(Number(number));
        }
    }
    Err(TOO_MANY)
}

fn swap(word: &AtomicU64, before: u64, after: u64) -> bool {
    word.compare_exchange(before, after, Ordering::SeqCst, Ordering::Relaxed)
        .is_ok()
}

/// The recorder with this number. Costs a locked instruction, and another when the share is dropped.
#[inline(always)]
pub fn enter(number: Number) -> Result<Entered, Errno> {
    let index = (number.0 & LOW) as usize;
    let place = &TABLE[index];
    let stripe = stripe::own();
    let count = &place.shares[stripe].0;
    count.fetch_add(1, Ordering::SeqCst);
    if WORDS[index].load(Ordering::SeqCst) == number.0 ^ OPEN {
        let share = Share { place, count };
        return Ok(Entered { share, stripe });
    }
    refuse(place, count)
}

#[cold]
fn refuse(place: &Place, count: &AtomicU64) -> Result<Entered, Errno> {
    place.leave(count);
    Err(OVER)
}

/// Finishes the recorder with this number, which no call finds any more. Its file is unmapped when its last region has ended.
pub fn close(number: Number) -> Result<(), Errno> {
    let Entered { share, .. } = enter(number)?;
    let word = &WORDS[(number.0 & LOW) as usize];
    if !swap(word, number.0 ^ OPEN, number.0 ^ CLOSED) {
        return Err(OVER);
    }
    share.place.closed.store(true, Ordering::SeqCst);
    share.finish();
    Ok(())
}

impl Place {
    #[inline(always)]
    fn recorder(&self) -> *mut Recorder {
        self.recorder.get().cast()
    }

    #[inline(always)]
    fn leave(&self, count: &AtomicU64) {
        count.fetch_sub(1, Ordering::SeqCst);
        if self.closed.load(Ordering::SeqCst) {
            self.empty();
        }
    }

    /// Drops the recorder, if it is closed and no share is left.
    #[cold]
    fn empty(&self) {
        let index = (std::ptr::from_ref(self).addr() - TABLE.as_ptr().addr()) / size_of::<Self>();
        let word = &WORDS[index];
        let closed = word.load(Ordering::SeqCst);
        let is_shared = |count: &Apart<AtomicU64>| count.0.load(Ordering::SeqCst) != 0;
        if closed & LOW != index as u64 ^ CLOSED || self.shares.iter().any(is_shared) {
            return;
        }
        let number = closed ^ CLOSED;
        if swap(word, closed, number ^ EMPTYING) {
            self.closed.store(false, Ordering::SeqCst);
            // SAFETY: it was filled before it was closed, no share is left, no call finds it, and no other thread sets this state in this generation.
            unsafe { self.recorder().drop_in_place() };
            word.store(number ^ FREE, Ordering::SeqCst);
        }
    }
}

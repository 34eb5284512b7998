//! The recorders of the process: a table of places, and the numbers by which C programs name them.
//!
//! A number is a place and a generation, in the form of a pointer that is never followed. Invariants:
//! - A place is used between [`enter`] and the drop of its [`Share`]. Its recorder stays as it is for that time, also if another thread closes it: the last one
//!   that leaves unmaps it.
//! - Who enters counts itself first and looks at the state then; who closes changes the state first and looks at the counts then, all in one order (SeqCst). So
//!   either the one sees that it is closed, or the other that it is used. Nothing waits.
//! - The counts are by stripes, and a share is given back to the stripe that it was taken from: none of them is ever below the number of its shares. So after
//!   the close, counts that were each seen to be 0 belong to a place that no share is left of.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};

use hrx_trace::Recorder;

use crate::error::{Errno, OVER, TOO_MANY};
use crate::stripe::{self, Apart, STRIPES};

/// How many recorders there can be at a time.
const PLACES: usize = 256;

/// The bits of a place in a number, and of a state in a place's word; the others are the generation, from 1.
const LOW: u64 = 0xFF;

/// The states of a place, in the order that it goes through them.
const FREE: u64 = 0;
const FILLING: u64 = 1;
const OPEN: u64 = 2;
const CLOSED: u64 = 3;
const EMPTYING: u64 = 4;

/// The number of a recorder; 0: none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number(pub u64);

struct Place {
    word: AtomicU64,
    /// There from before [`OPEN`] until [`EMPTYING`].
    recorder: UnsafeCell<MaybeUninit<Recorder>>,
    shares: [Apart<AtomicU64>; STRIPES],
}

// SAFETY: the recorder is shared between FILLING and EMPTYING, and only the thread that set one of these has it alone.
unsafe impl Sync for Place {}

static TABLE: [Place; PLACES] = [const {
    Place {
        word: AtomicU64::new(FREE),
        recorder: UnsafeCell::new(MaybeUninit::uninit()),
        shares: [const { Apart(AtomicU64::new(0)) }; STRIPES],
    }
}; PLACES];

/// Keeps a recorder as it is.
pub struct Share {
    place: &'static Place,
    count: &'static AtomicU64,
}

impl Deref for Share {
    type Target = Recorder;

    #[inline(always)]
    fn deref(&self) -> &Recorder {
        // SAFETY: the place is not emptied as long as it is shared, and was filled before it could be.
        unsafe { (*self.place.recorder.get()).assume_init_ref() }
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
    for (index, place) in TABLE.iter().enumerate() {
        let word = place.word.load(Ordering::Relaxed);
        let generation = (word | LOW).wrapping_add(1);
        let taken = word & LOW == FREE
            && place
                .word
                .compare_exchange(
                    word,
                    generation | FILLING,
                    Ordering::SeqCst,
                    Ordering::Relaxed,
                )
                .is_ok();
        if taken {
            let inside = place.recorder.get();
            // SAFETY: no other thread looks at it in this state.
            unsafe { inside.write(MaybeUninit::new(recorder)) };
            place.word.store(generation | OPEN, Ordering::SeqCst);
            return Ok(Number(generation | index as u64));
        }
    }
    Err(TOO_MANY)
}

/// The recorder with this number. Costs a locked instruction, and another when the share is dropped.
#[inline(always)]
pub fn enter(number: Number) -> Result<Share, Errno> {
    let place = place(number);
    let count = &place.shares[stripe::own()].0;
    count.fetch_add(1, Ordering::SeqCst);
    if place.word.load(Ordering::SeqCst) == number.0 & !LOW | OPEN {
        return Ok(Share { place, count });
    }
    refuse(place, count)
}

#[cold]
fn refuse(place: &'static Place, count: &AtomicU64) -> Result<Share, Errno> {
    place.leave(count);
    Err(OVER)
}

/// Finishes the recorder with this number, which no call finds any more. Its file is unmapped when its last region has ended.
pub fn close(number: Number) -> Result<(), Errno> {
    let share = enter(number)?;
    let generation = number.0 & !LOW;
    share
        .place
        .word
        .compare_exchange(
            generation | OPEN,
            generation | CLOSED,
            Ordering::SeqCst,
            Ordering::Relaxed,
        )
        .map_err(|_| OVER)?;
    share.finish();
    Ok(())
}

fn place(number: Number) -> &'static Place {
    &TABLE[(number.0 & LOW) as usize]
}

impl Place {
    #[inline(always)]
    fn leave(&self, count: &AtomicU64) {
        count.fetch_sub(1, Ordering::SeqCst);
        let word = self.word.load(Ordering::SeqCst);
        if word & LOW == CLOSED {
            self.empty(word);
        }
    }

    /// Drops the recorder, if no share is left. `word` is of a closed place.
    #[cold]
    fn empty(&self, word: u64) {
        let is_shared = |count: &Apart<AtomicU64>| count.0.load(Ordering::SeqCst) != 0;
        if self.shares.iter().any(is_shared) {
            return;
        }
        let emptying = word & !LOW | EMPTYING;
        if self
            .word
            .compare_exchange(word, emptying, Ordering::SeqCst, Ordering::Relaxed)
            .is_ok()
        {
            // SAFETY: it was filled before it was closed, no share is left, no call finds it, and no other thread sets this state in this generation.
            unsafe { (*self.recorder.get()).assume_init_drop() };
            self.word.store(word & !LOW | FREE, Ordering::SeqCst);
        }
    }
}

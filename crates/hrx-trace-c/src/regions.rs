//! The regions of the process that run: a table of slots, and the handles by which C programs name them.
//!
//! A handle is a slot and a generation. Invariants:
//! - A slot is used by the call that took it: a beginning takes it off a list of free ones, any other call by a compare-and-swap from [`LIVE`]. So of two ends of one
//!   region, one is refused. Nothing waits: of two calls at the same time, one is refused too.
//! - A slot's generation grows whenever it is taken. So the handle of a region that has ended names nothing for good (2^48 regions of one slot).
//! - Free slots are on lists, one for each stripe, whose heads have a count in them: a list that has changed and changed back is not taken for the same.
//!
//! In a forked child, slots that other threads of the parent were at the moment inside stay taken.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use hrx_trace::{Event, Region};

use crate::error::{BUSY, Errno, OVER};
use crate::recorders::Share;
use crate::stripe::{self, Apart, STRIPES};

/// How many regions can run at a time, of all recorders of the process.
const SLOTS: usize = 1 << 16;
const SLOTS_OF_STRIPE: u32 = (SLOTS / STRIPES) as u32;

/// The bits of a slot in a handle, and of a state in a slot's word; the others are the generation, from 1.
const LOW: u64 = 0xFFFF;

const FREE: u64 = 0;
const LIVE: u64 = 1;
const TAKEN: u64 = 2;

/// The handle of a region; 0: none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(pub u64);

#[repr(align(64))]
struct Slot {
    word: AtomicU64,
    /// In a free slot, 1 + the next one on its list; 0: it is the last.
    next: AtomicU32,
    /// There while the word is [`LIVE`], and for the call that took it.
    region: UnsafeCell<MaybeUninit<Region<Share>>>,
}

// SAFETY: the region is only touched by the one call that has taken the slot, and may go from thread to thread.
unsafe impl Sync for Slot {}

/// The free slots of a stripe.
struct Free {
    /// A count in the upper half, 1 + the first free slot in the lower. 0 in the lower: none.
    head: AtomicU64,
    /// How many slots of the stripe were ever used: those after them are on no list, and free.
    used: AtomicU32,
}

static TABLE: [Slot; SLOTS] = [const {
    Slot {
        word: AtomicU64::new(FREE),
        next: AtomicU32::new(0),
        region: UnsafeCell::new(MaybeUninit::uninit()),
    }
}; SLOTS];

static LISTS: [Apart<Free>; STRIPES] = [const {
    Apart(Free {
        head: AtomicU64::new(0),
        used: AtomicU32::new(0),
    })
}; STRIPES];

/// Begins a region. None: the table is full, which is counted in the recorder's file.
#[inline(always)]
pub fn begin(recorder: Share, event: Event) -> Option<Handle> {
    let Some(index) = take(stripe::own()) else {
        recorder.reject();
        return None;
    };
    let slot = &TABLE[index as usize & (SLOTS - 1)];
    let generation = (slot.word.load(Ordering::Relaxed) | LOW).wrapping_add(1);
    let region = Region::begin(recorder, event);
    let inside = slot.region.get();
    // SAFETY: the slot was free, and is this call's.
    unsafe { inside.write(MaybeUninit::new(region)) };
    slot.word.store(generation | LIVE, Ordering::Release);
    Some(Handle(generation | u64::from(index)))
}

/// Ends a region by `end`.
#[inline(always)]
pub fn end(handle: Handle, end: impl FnOnce(Region<Share>)) -> Result<(), Errno> {
    let slot = claim(handle)?;
    // SAFETY: the slot is this call's, and its region is read once: the word says free before another call takes it.
    let region = unsafe { (*slot.region.get()).assume_init_read() };
    end(region);
    slot.word.store(handle.0 & !LOW | FREE, Ordering::Relaxed);
    give((handle.0 & LOW) as u32, slot);
    Ok(())
}

/// Changes a region that runs.
#[inline(always)]
pub fn change(handle: Handle, change: impl FnOnce(&mut Region<Share>)) -> Result<(), Errno> {
    let slot = claim(handle)?;
    // SAFETY: the slot is this call's, and has a region.
    change(unsafe { (*slot.region.get()).assume_init_mut() });
    slot.word.store(handle.0 & !LOW | LIVE, Ordering::Release);
    Ok(())
}

/// The slot of a region that runs, taken.
#[inline(always)]
fn claim(handle: Handle) -> Result<&'static Slot, Errno> {
    let slot = &TABLE[(handle.0 & LOW) as usize];
    let generation = handle.0 & !LOW;
    slot.word
        .compare_exchange(
            generation | LIVE,
            generation | TAKEN,
            Ordering::Acquire,
            Ordering::Relaxed,
        )
        .map(|_| slot)
        .map_err(|found| refusal(found == generation | TAKEN))
}

#[cold]
fn refusal(is_taken: bool) -> Errno {
    if is_taken { BUSY } else { OVER }
}

/// Takes a free slot, of the stripe if it has one. None: there is none.
#[inline(always)]
fn take(stripe: usize) -> Option<u32> {
    take_of(stripe).or_else(|| take_of_any(stripe))
}

#[cold]
fn take_of_any(stripe: usize) -> Option<u32> {
    let others = (1..STRIPES).map(|further| (stripe + further) % STRIPES);
    others.into_iter().find_map(take_of)
}

/// Takes the first of a stripe's list; if it is empty, a slot that was never used.
#[inline(always)]
fn take_of(stripe: usize) -> Option<u32> {
    let list = &LISTS[stripe].0;
    let mut head = list.head.load(Ordering::Acquire);
    loop {
        let Some(index) = (head as u32).checked_sub(1) else {
            return take_unused(stripe);
        };
        // If another thread has taken it meanwhile, what is read is of no use, and the count has changed.
        let next = TABLE[index as usize & (SLOTS - 1)]
            .next
            .load(Ordering::Relaxed);
        match list.head.compare_exchange_weak(
            head,
            counted(head, next),
            Ordering::Acquire,
            Ordering::Acquire,
        ) {
            Ok(_) => return Some(index),
            Err(now) => head = now,
        }
    }
}

/// Takes one that was never used.
#[cold]
fn take_unused(stripe: usize) -> Option<u32> {
    let more = |used: u32| (used < SLOTS_OF_STRIPE).then(|| used + 1);
    let used = LISTS[stripe]
        .0
        .used
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
    Some(stripe as u32 * SLOTS_OF_STRIPE + used.ok()?)
}

/// Puts a slot on its stripe's list.
#[inline(always)]
fn give(index: u32, slot: &Slot) {
    let list = &LISTS[(index / SLOTS_OF_STRIPE) as usize & (STRIPES - 1)].0;
    let mut head = list.head.load(Ordering::Relaxed);
    loop {
        slot.next.store(head as u32, Ordering::Relaxed);
        // Release: who takes the slot sees its word.
        match list.head.compare_exchange_weak(
            head,
            counted(head, index + 1),
            Ordering::Release,
            Ordering::Relaxed,
        ) {
            Ok(_) => return,
            Err(now) => head = now,
        }
    }
}

/// The head after `head`, with `first` in it.
#[inline(always)]
fn counted(head: u64, first: u32) -> u64 {
    ((head >> 32).wrapping_add(1) << 32) | u64::from(first)
}

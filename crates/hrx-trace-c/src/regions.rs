//! The regions of the process that run: a table of slots, and the handles by which C programs name them.
//!
//! A handle is a slot and a generation. A slot whose region runs has that handle as its word; in any other state, its word has the bits of another slot, so that no
//! handle equals it. Invariants:
//! - A slot is used by the call that took it: a beginning takes it off a list of free ones, any other call by a compare-and-swap of the handle. So of two ends of one
//!   region, one is refused. Nothing waits: of two calls at the same time, one is refused too.
//! - A slot's generation grows whenever it is free again. So the handle of a region that has ended names nothing for good (2^48 regions of one slot).
//! - Free slots are on lists, one for each stripe. On them they are by the handles that they will have next, each of which is on a list only once, ever: a list whose
//!   head is what it was has not changed meanwhile.
//!
//! In a forked child, slots that other threads of the parent were at the moment inside stay taken.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use hrx_trace::{Event, Region};

use crate::error::{BUSY, Errno, OVER};
use crate::recorders::{Entered, Share};
use crate::stripe::{Apart, STRIPES};

/// How many regions can run at a time, of all recorders of the process.
const SLOTS: usize = 1 << 16;
const SLOTS_OF_STRIPE: u32 = (SLOTS / STRIPES) as u32;

/// The bits of a slot in a handle; the others are the generation, from 1.
const LOW: u64 = 0xFFFF;

// What a word's bits of the slot differ by from the slot. A slot that was never used has the word 0.
const LIVE: u64 = 0;
const TAKEN: u64 = 1;
const FREE: u64 = 2;

/// The handle of a region; 0: none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(pub u64);

#[repr(align(64))]
struct Slot {
    word: AtomicU64,
    /// In a free slot, the next handle on its list; 0: it is the last.
    next: AtomicU64,
    /// There while the slot is live, and for the call that took it.
    region: UnsafeCell<MaybeUninit<Region<Share>>>,
}

impl Slot {
    #[inline(always)]
    fn region(&self) -> *mut Region<Share> {
        self.region.get().cast()
    }
}

// SAFETY: the region is only touched by the one call that has taken the slot, and may go from thread to thread.
unsafe impl Sync for Slot {}

/// The free slots of a stripe.
struct Free {
    /// The handle that the first one will have; 0: none.
    head: AtomicU64,
    /// How many slots of the stripe were ever used: those after them are on no list, and free.
    used: AtomicU32,
}

static TABLE: [Slot; SLOTS] = [const {
    Slot {
        word: AtomicU64::new(0),
        next: AtomicU64::new(0),
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
pub fn begin(recorder: Entered, event: Event) -> Option<Handle> {
    let handle = take(recorder.stripe);
    if handle == NONE {
        recorder.reject();
        return None;
    }
    let slot = slot(handle);
    let region = Region::begin(recorder.share, event);
    // SAFETY: the slot was free, and is this call's.
    unsafe { slot.region().write(region) };
    slot.word.store(handle ^ LIVE, Ordering::Release);
    Some(Handle(handle))
}

/// Ends a region, with what `said` makes of what was said about it last.
#[inline(always)]
pub fn end(handle: Handle, said: impl FnOnce(Event) -> Event) -> Result<(), Errno> {
    let mut taken = take_live(handle)?;
    taken.finish_in_place(said);
    let slot = taken.slot;
    std::mem::forget(taken);
    // SAFETY: the slot is this call's, and has a region, which no other call finds any more.
    unsafe { slot.region().drop_in_place() };
    slot.word.store(handle.0 ^ FREE, Ordering::Relaxed);
    give(handle.0.wrapping_add(LOW + 1), slot);
    Ok(())
}

/// A region that runs, for this call alone.
pub struct Taken {
    slot: &'static Slot,
    handle: Handle,
}

impl Deref for Taken {
    type Target = Region<Share>;

    #[inline(always)]
    fn deref(&self) -> &Region<Share> {
        // SAFETY: the slot is this call's, and has a region.
        unsafe { &*self.slot.region() }
    }
}

impl DerefMut for Taken {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Region<Share> {
        // SAFETY: as above.
        unsafe { &mut *self.slot.region() }
    }
}

impl Drop for Taken {
    #[inline(always)]
    fn drop(&mut self) {
        self.slot
            .word
            .store(self.handle.0 ^ LIVE, Ordering::Release);
    }
}

/// Takes the region that runs and has this handle.
#[inline(always)]
pub fn take_live(handle: Handle) -> Result<Taken, Errno> {
    let slot = slot(handle.0);
    slot.word
        .compare_exchange(
            handle.0 ^ LIVE,
            handle.0 ^ TAKEN,
            Ordering::Acquire,
            Ordering::Relaxed,
        )
        .map(|_| Taken { slot, handle })
        .map_err(|found| refusal(found == handle.0 ^ TAKEN))
}

#[cold]
fn refusal(is_taken: bool) -> Errno {
    if is_taken { BUSY } else { OVER }
}

#[inline(always)]
fn slot(handle: u64) -> &'static Slot {
    &TABLE[(handle & LOW) as usize]
}

/// No handle.
const NONE: u64 = 0;

/// Takes a free slot, of the stripe if it has one: its handle, or [`NONE`].
#[inline(always)]
fn take(stripe: usize) -> u64 {
    match take_listed(stripe) {
        NONE => take_further(stripe),
        handle => handle,
    }
}

#[cold]
fn take_further(stripe: usize) -> u64 {
    let of_all = (0..STRIPES).map(|further| (stripe + further) % STRIPES);
    of_all
        .map(|stripe| match take_listed(stripe) {
            NONE => take_unused(stripe),
            handle => handle,
        })
        .find(|handle| *handle != NONE)
        .unwrap_or(NONE)
}

/// Takes the first of a stripe's list.
#[inline(always)]
fn take_listed(stripe: usize) -> u64 {
    let list = &LISTS[stripe].0;
    let mut head = list.head.load(Ordering::Acquire);
    while head != NONE {
        // If another thread has taken it meanwhile, what is read is of no use, and the head has changed.
        let next = slot(head).next.load(Ordering::Relaxed);
        match list
            .head
            .compare_exchange_weak(head, next, Ordering::Acquire, Ordering::Acquire)
        {
            Ok(_) => break,
            Err(now) => head = now,
        }
    }
    head
}

/// Takes one that was never used.
#[cold]
fn take_unused(stripe: usize) -> u64 {
    let more = |used: u32| (used < SLOTS_OF_STRIPE).then(|| used + 1);
    LISTS[stripe]
        .0
        .used
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
        .map_or(NONE, |used| {
            (LOW + 1) | u64::from(stripe as u32 * SLOTS_OF_STRIPE + used)
        })
}

/// Puts a slot on its stripe's list, with the handle that it will have.
#[inline(always)]
fn give(handle: u64, slot: &Slot) {
    let list = &LISTS[(handle & LOW) as usize / SLOTS_OF_STRIPE as usize].0;
    let mut head = list.head.load(Ordering::Relaxed);
    loop {
        slot.next.store(head, Ordering::Relaxed);
        // Release: who takes the slot sees its word.
        match list
            .head
            .compare_exchange_weak(head, handle, Ordering::Release, Ordering::Relaxed)
        {
            Ok(_) => return,
            Err(now) => head = now,
        }
    }
}

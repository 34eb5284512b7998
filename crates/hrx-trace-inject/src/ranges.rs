//! Regions that may end on another thread than they began on: found by a key, without a lock.
//!
//! A key has [`WINDOW`] places, beginning at one that its hash says, and may be in any of them. So nothing moves, and nothing waits: a signal handler, and a child of
//! a fork that came in between, find a place that another thread was filling taken, and no more.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use crate::pages;
use crate::stacks::Running;

/// How many run at a time, at most.
const PLACES: usize = 16_384;
/// Places that are tried for a key.
const WINDOW: usize = 64;

const FREE: u64 = 0;
const TAKEN: u64 = 1;

struct Place {
    /// [`FREE`], [`TAKEN`], or the key of what is in it.
    key: AtomicU64,
    region: UnsafeCell<MaybeUninit<Running>>,
}

static FIRST: AtomicPtr<Place> = AtomicPtr::new(ptr::null_mut());

/// A key from any number, with its bits mixed, never one of the reserved ones.
#[inline]
pub fn key(space: u64, number: u64) -> u64 {
    let mixed = (number ^ space.rotate_left(32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ mixed >> 32) | 2
}

/// Keeps `region` under `key`, which may be there already. The region comes back if there is no place.
pub fn keep(key: u64, region: Running) -> Result<(), Running> {
    let Some(first) = first() else {
        return Err(region);
    };
    for place in window(first, key) {
        if place.key.load(Ordering::Relaxed) == FREE
            && place
                .key
                .compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
        {
            // SAFETY: the thread that took the place is the only one that gets at it until it says its key.
            unsafe { place.region.get().cast::<Running>().write(region) };
            place.key.store(key, Ordering::Release);
            return Ok(());
        }
    }
    Err(region)
}

/// Takes out what was kept under `key`.
pub fn take(key: u64) -> Option<Running> {
    let first = NonNull::new(FIRST.load(Ordering::Acquire))?;
    for place in window(first, key) {
        if place.key.load(Ordering::Relaxed) == key
            && place
                .key
                .compare_exchange(key, TAKEN, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
        {
            // SAFETY: the place was filled before its key was stored, and the thread that took it is the only one that gets at it.
            let region = unsafe { place.region.get().cast::<Running>().read() };
            place.key.store(FREE, Ordering::Release);
            return Some(region);
        }
    }
    None
}

/// Calls `with` on what is kept under `key`. False: there is none.
pub fn with_kept(key: u64, with: impl FnOnce(&mut Running)) -> bool {
    let Some(mut region) = take(key) else {
        return false;
    };
    with(&mut region);
    // Its place was free a moment ago. If all are taken now, it is as in `event::keep_range`.
    if let Err(region) = keep(key, region) {
        region.cancel();
    }
    true
}

fn window(first: NonNull<Place>, key: u64) -> impl Iterator<Item = &'static Place> {
    (0..WINDOW).map(move |index| {
        let index = (key >> 2) as usize + index;
        // SAFETY: there are PLACES places from `first` on, a power of two.
        let place = unsafe { first.add(index & (PLACES - 1)) };
        // SAFETY: the pages are never unmapped, zeroes are a free place, and a place is changed through atomics and cells alone.
        unsafe { place.as_ref() }
    })
}

fn first() -> Option<NonNull<Place>> {
    if let Some(first) = NonNull::new(FIRST.load(Ordering::Acquire)) {
        return Some(first);
    }
    let new = pages::zeroed(PLACES * size_of::<Place>())?.cast::<Place>();
    match FIRST.compare_exchange(
        ptr::null_mut(),
        new.as_ptr(),
        Ordering::AcqRel,
        Ordering::Acquire,
    ) {
        Ok(_) => Some(new),
        Err(there) => NonNull::new(there),
    }
}

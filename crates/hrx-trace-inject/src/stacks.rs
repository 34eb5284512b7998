//! What each thread has pushed and not popped yet, by domain: domains may interleave.
//!
//! One stack a thread, whose entries say their domain; what is popped from its middle leaves a hole. A signal handler may push and pop between any two
//! instructions: an entry is reserved before it is filled, and what a handler pushes lies above it. Thread-local without a destructor: what a thread had not popped
//! when it ended stays unfinished in the file, as it is.

use std::cell::{Cell, UnsafeCell};
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, Ordering, compiler_fence};

use hrx_trace::{Recorder, Region};

use crate::pages;

/// Entries that a thread has at hand.
const NEAR: usize = 32;
/// Entries beyond them, on pages that are had when they are needed.
const FAR: usize = 8_192;

/// A region that runs, of the capture that was current when it began.
pub type Running = Region<&'static Recorder>;

/// An entry that holds nothing any more.
const HOLE: usize = 0;
/// An entry that is about to be filled.
const RESERVED: usize = 1;

struct Entry {
    /// [`HOLE`], [`RESERVED`], or the address of a domain.
    domain: Cell<usize>,
    /// How many entries of the domain were there before.
    level: Cell<u32>,
    /// None: there is no capture.
    region: UnsafeCell<MaybeUninit<Option<Running>>>,
}

struct Stack {
    depth: Cell<usize>,
    /// How many more were pushed when it was full.
    beyond: Cell<u32>,
    far: Cell<*mut Entry>,
    near: [Entry; NEAR],
}

thread_local! {
    static STACK: Stack = const {
        Stack {
            depth: Cell::new(0),
            beyond: Cell::new(0),
            far: Cell::new(ptr::null_mut()),
            near: [const {
                Entry {
                    domain: Cell::new(HOLE),
                    level: Cell::new(0),
                    region: UnsafeCell::new(MaybeUninit::uninit()),
                }
            }; NEAR],
        }
    };
}

/// Far entries that threads have given back.
static SPARE: [AtomicPtr<Entry>; 64] = [const { AtomicPtr::new(ptr::null_mut()) }; 64];

/// The calling thread's. Not by a closure around the work, which the compiler would not inline.
#[inline(always)]
fn stack() -> &'static Stack {
    let stack = STACK.with(ptr::from_ref);
    // SAFETY: it is there as long as the thread, has no destructor, and no reference to it leaves the functions below.
    unsafe { &*stack }
}

/// Pushes what `begin` begins onto the stack of `domain`, an address. Returns its level, from 0. Costs a thread-local load and some stores.
#[inline(always)]
pub fn push(domain: usize, begin: impl FnOnce() -> Option<Running>) -> u32 {
    let stack = stack();
    let depth = stack.depth.get();
    let Some(entry) = stack.entry(depth, true) else {
        stack.beyond.set(stack.beyond.get().saturating_add(1));
        return stack.level_of(domain, depth) + stack.beyond.get() - 1;
    };
    entry.domain.set(RESERVED);
    compiler_fence(Ordering::SeqCst);
    stack.depth.set(depth + 1);
    compiler_fence(Ordering::SeqCst);
    let level = stack.level_of(domain, depth);
    entry.level.set(level);
    let region = entry.region.get().cast::<Option<Running>>();
    // SAFETY: only this thread gets at its stack, and a signal handler that comes in between does not touch a reserved entry.
    unsafe { region.write(begin()) };
    compiler_fence(Ordering::SeqCst);
    entry.domain.set(domain);
    level
}

/// Pops the topmost entry of `domain`, and what `push` began, with its level. None: there is none.
#[inline(always)]
pub fn pop(domain: usize) -> Option<(Option<Running>, u32)> {
    let stack = stack();
    if stack.beyond.get() > 0 {
        stack.beyond.set(stack.beyond.get() - 1);
        let level = stack.level_of(domain, stack.depth.get()) + stack.beyond.get();
        return Some((None, level));
    }
    let entry = stack.topmost(domain, stack.depth.get())?;
    let region = entry.region.get().cast::<Option<Running>>();
    // SAFETY: the entry was filled when its domain was set, and becomes a hole now, so that it is read once.
    let region = unsafe { region.read() };
    entry.domain.set(HOLE);
    stack.shrink();
    Some((region, entry.level.get()))
}

/// Calls `with` on the topmost running region of `domain`, if there is one.
pub fn with_topmost(domain: usize, with: impl FnOnce(&mut Running)) {
    let stack = stack();
    if let Some(entry) = stack.topmost(domain, stack.depth.get()) {
        let region = entry.region.get().cast::<Option<Running>>();
        // SAFETY: the entry was filled when its domain was set, and only this thread gets at it.
        if let Some(region) = unsafe { &mut *region } {
            with(region);
        }
    }
}

impl Stack {
    #[inline(always)]
    fn entry(&self, index: usize, extend: bool) -> Option<&Entry> {
        if let Some(entry) = self.near.get(index) {
            return Some(entry);
        }
        self.far_entry(index - NEAR, extend)
    }

    #[cold]
    fn far_entry(&self, index: usize, extend: bool) -> Option<&Entry> {
        if index >= FAR {
            return None;
        }
        if self.far.get().is_null() && extend {
            self.far.set(spare().or_else(new_far)?.as_ptr());
        }
        let first = NonNull::new(self.far.get())?;
        // SAFETY: there are FAR entries from `first` on.
        let entry = unsafe { first.add(index) };
        // SAFETY: the pages are never unmapped, and zeroes are a hole.
        Some(unsafe { entry.as_ref() })
    }

    #[inline(always)]
    fn topmost(&self, domain: usize, depth: usize) -> Option<&Entry> {
        (0..depth)
            .rev()
            .filter_map(|index| self.entry(index, false))
            .find(|entry| entry.domain.get() == domain)
    }

    #[inline(always)]
    fn level_of(&self, domain: usize, depth: usize) -> u32 {
        self.topmost(domain, depth)
            .map_or(0, |entry| entry.level.get() + 1)
    }

    /// Takes the holes off its top.
    #[inline(always)]
    fn shrink(&self) {
        let mut depth = self.depth.get();
        while let Some(below) = depth.checked_sub(1)
            && self
                .entry(below, false)
                .is_some_and(|entry| entry.domain.get() == HOLE)
        {
            depth = below;
        }
        self.depth.set(depth);
        if depth == 0 && !self.far.get().is_null() {
            self.give_back();
        }
    }

    #[cold]
    fn give_back(&self) {
        let far = self.far.replace(ptr::null_mut());
        // If all places are taken, the pages stay mapped, for no one.
        let _ = SPARE.iter().find(|place| {
            place
                .compare_exchange(ptr::null_mut(), far, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
        });
    }
}

fn spare() -> Option<NonNull<Entry>> {
    SPARE
        .iter()
        .find_map(|place| NonNull::new(place.swap(ptr::null_mut(), Ordering::AcqRel)))
}

#[cold]
fn new_far() -> Option<NonNull<Entry>> {
    Some(pages::zeroed(FAR * size_of::<Entry>())?.cast())
}

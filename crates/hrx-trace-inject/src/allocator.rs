//! Memory for this library alone, so that the program's `malloc` never waits for itself: a signal handler that interrupted it may announce something here for the
//! first time. No lock: a handler, and a child of a fork, may come in between any two instructions.
//!
//! Blocks of powers of two, cut off an arena one after another. A block that is freed goes to the list of its size, whose head has a count in it, so that a list that
//! has changed and changed back is not taken for the same. What does not fit is the C library's.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::pages;

/// Takes address space, and memory only as it is used.
const ARENA_BYTES: usize = 32 << 20;
/// The smallest block, and the unit that links count in.
const UNIT: usize = 16;
/// Sizes from [`UNIT`] to 1 MiB.
const SIZES: usize = 17;

/// The allocator of this library.
pub struct Allocator {
    arena: AtomicPtr<u8>,
    /// Bytes of the arena that were cut off.
    used: AtomicUsize,
    /// Of each size: a count in the upper half, 1 + the unit of the first free block in the lower. 0 in the lower: none.
    free: [AtomicU64; SIZES],
}

impl Allocator {
    /// Without an arena yet.
    pub const fn new() -> Self {
        Self {
            arena: AtomicPtr::new(ptr::null_mut()),
            used: AtomicUsize::new(0),
            free: [const { AtomicU64::new(0) }; SIZES],
        }
    }

    /// The number of the smallest size that holds `layout`. None: there is none.
    fn size_of(layout: Layout) -> Option<usize> {
        let bytes = layout
            .size()
            .max(layout.align())
            .max(UNIT)
            .checked_next_power_of_two()?;
        let size = (bytes / UNIT).trailing_zeros() as usize;
        // Blocks of up to a page are aligned to their size.
        (size < SIZES && layout.align() <= 4096).then_some(size)
    }

    fn arena(&self) -> Option<NonNull<u8>> {
        if let Some(arena) = NonNull::new(self.arena.load(Ordering::Acquire)) {
            return Some(arena);
        }
        let new = pages::zeroed(ARENA_BYTES)?;
        let set = self.arena.compare_exchange(
            ptr::null_mut(),
            new.as_ptr(),
            Ordering::AcqRel,
            Ordering::Acquire,
        );
        // Another thread's counts; ours takes no memory.
        set.map_or_else(NonNull::new, |_| Some(new))
    }

    /// The link of the free block at `unit`.
    ///
    /// # Safety
    /// The unit is of a block of the arena.
    unsafe fn link(&self, arena: NonNull<u8>, unit: u32) -> &AtomicU32 {
        // SAFETY: the caller's promise.
        let link = unsafe { arena.add(unit as usize * UNIT) };
        // SAFETY: the arena is never unmapped, and blocks are aligned to units.
        unsafe { link.cast().as_ref() }
    }

    fn take(&self, arena: NonNull<u8>, size: usize) -> Option<NonNull<u8>> {
        let mut head = self.free[size].load(Ordering::Acquire);
        loop {
            let unit = (head as u32).checked_sub(1)?;
            // SAFETY: the unit came from `give`. If another thread has taken the block meanwhile, what is read is of no use, and the count has changed.
            let next = unsafe { self.link(arena, unit) }.load(Ordering::Relaxed);
            let new = (head >> 32).wrapping_add(1) << 32 | u64::from(next);
            match self.free[size].compare_exchange_weak(
                head,
                new,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                // SAFETY: the unit is of a block of the arena.
                Ok(_) => return Some(unsafe { arena.add(unit as usize * UNIT) }),
                Err(now) => head = now,
            }
        }
    }

    fn give(&self, arena: NonNull<u8>, unit: u32, size: usize) {
        let mut head = self.free[size].load(Ordering::Acquire);
        loop {
            // SAFETY: the block is the caller's.
            unsafe { self.link(arena, unit) }.store(head as u32, Ordering::Relaxed);
            let new = (head >> 32).wrapping_add(1) << 32 | u64::from(unit + 1);
            match self.free[size].compare_exchange_weak(
                head,
                new,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    fn cut(&self, arena: NonNull<u8>, size: usize) -> Option<NonNull<u8>> {
        let bytes = UNIT << size;
        let align = bytes.min(4096);
        let cut = |used: usize| {
            Some(used.next_multiple_of(align) + bytes).filter(|end| *end <= ARENA_BYTES)
        };
        let before = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, cut)
            .ok()?;
        // SAFETY: the block ends in the arena.
        Some(unsafe { arena.add(before.next_multiple_of(align)) })
    }
}

// SAFETY: a block is of a size that holds the layout, aligned to it, and no other's until it is given back: it is cut off once, and a list gives it to one thread.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let block = Self::size_of(layout).and_then(|size| {
            let arena = self.arena()?;
            self.take(arena, size).or_else(|| self.cut(arena, size))
        });
        // SAFETY: the caller's promise.
        block.map_or_else(|| unsafe { System.alloc(layout) }, NonNull::as_ptr)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let arena = self.arena.load(Ordering::Acquire);
        let offset = block.addr().wrapping_sub(arena.addr());
        match (NonNull::new(arena), Self::size_of(layout)) {
            (Some(arena), Some(size)) if offset < ARENA_BYTES => {
                self.give(arena, (offset / UNIT) as u32, size)
            }
            // SAFETY: what is not of the arena is of the C library.
            _ => unsafe { System.dealloc(block, layout) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of all sizes, aligned, none over another, and used again.
    #[test]
    fn blocks_are_apart_and_come_again() {
        let allocator = Allocator::new();
        let mut random = fastrand::Rng::with_seed(1);
        let mut held: Vec<(*mut u8, Layout, u8)> = Vec::new();
        for round in 0..20_000 {
            if held.len() > 100 {
                let (block, layout, mark) = held.swap_remove(random.usize(..held.len()));
                // SAFETY: the block is of this layout, and initialised below.
                let bytes = unsafe { std::slice::from_raw_parts(block, layout.size()) };
                assert!(bytes.iter().all(|byte| *byte == mark));
                // SAFETY: it came from `alloc` with this layout.
                unsafe { allocator.dealloc(block, layout) };
            }
            let layout =
                Layout::from_size_align(random.usize(1..5_000), 1 << random.usize(0..9)).unwrap();
            // SAFETY: the size is not zero.
            let block = unsafe { allocator.alloc(layout) };
            assert!(!block.is_null() && block.addr().is_multiple_of(layout.align()));
            let mark = round as u8;
            // SAFETY: the block has that many bytes.
            unsafe { block.write_bytes(mark, layout.size()) };
            held.push((block, layout, mark));
        }
        assert!(allocator.used.load(Ordering::Relaxed) < 4 << 20);
    }

    #[test]
    fn threads_share_it() {
        static ALLOCATOR: Allocator = Allocator::new();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || {
                    for _ in 0..50_000 {
                        let layout = Layout::new::<[u64; 4]>();
                        // SAFETY: the size is not zero.
                        let block = unsafe { ALLOCATOR.alloc(layout) }.cast::<u64>();
                        // SAFETY: the block has 32 bytes.
                        unsafe { block.wrapping_add(1).write(thread) };
                        std::hint::spin_loop();
                        // SAFETY: as above.
                        assert_eq!(unsafe { block.wrapping_add(1).read() }, thread);
                        // SAFETY: it came from `alloc` with this layout.
                        unsafe { ALLOCATOR.dealloc(block.cast(), layout) };
                    }
                });
            }
        });
    }
}

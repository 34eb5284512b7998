//! The gate through which every call passes: open while the recorder records, closed once it is finished, and closed in every forked child.

use std::io;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::io::{Errno, retry_on_intr};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// The kernel rounds it up to a page of its own.
const GATE_BYTES: usize = size_of::<AtomicU32>();

/// A word that is 1 while its recorder records, 0 once it is finished, and 0 in every forked child.
///
/// It lies on a private page under MADV_WIPEONFORK (Linux 4.14, madvise(2)): however a child is made without sharing this memory (fork, clone), the
/// kernel gives it zeroes, and no handler of ours has to run. Costs one load, always from the cache.
#[derive(Debug)]
pub struct Gate {
    word: NonNull<AtomicU32>,
}

// SAFETY: the page that `word` is on is mapped until the gate is dropped, on whichever thread.
unsafe impl Send for Gate {}
// SAFETY: as for Send; atomics may be shared.
unsafe impl Sync for Gate {}

impl Gate {
    /// An open gate.
    pub fn open() -> io::Result<Self> {
        let (protection, private) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: the kernel chooses where the new page lies.
        let page = unsafe { mmap_anonymous(ptr::null_mut(), GATE_BYTES, protection, private) }?;
        let word = NonNull::new(page.cast()).ok_or(Errno::INVAL)?;
        let gate = Self { word };
        retry_on_intr(|| {
            // SAFETY: the page is private, anonymous and ours alone, and the advice affects only what a child finds in it.
            unsafe { madvise(page, GATE_BYTES, Advice::LinuxWipeOnFork) }
        })?;
        gate.word().store(1, Ordering::Release);
        Ok(gate)
    }

    /// Whether this process may write.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.word().load(Ordering::Relaxed) != 0
    }

    /// Closes it for all threads. True for the one call that closed it.
    pub fn close(&self) -> bool {
        self.word().swap(0, Ordering::AcqRel) != 0
    }

    #[inline]
    fn word(&self) -> &AtomicU32 {
        // SAFETY: the page is aligned and initialised (zeroes), lives as long as `self`, and its first word is only ever accessed through this.
        unsafe { self.word.as_ref() }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        // SAFETY: `open` mapped the page, and no reference to its word outlives the gate.
        let _ = unsafe { munmap(self.word.as_ptr().cast(), GATE_BYTES) };
    }
}

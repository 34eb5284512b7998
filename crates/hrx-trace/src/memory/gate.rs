//! The gate through which every call passes: open while the recorder records, closed once it is finished, and closed in every forked child.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use memmap2::{MmapMut, MmapRaw};
use rustix::mm::{Advice, madvise};

/// The kernel rounds it up to a page of its own.
const GATE_BYTES: usize = size_of::<AtomicU32>();

/// A word that is 1 while its recorder records, 0 once it is finished, and 0 in every forked child.
///
/// It lies on a private page under MADV_WIPEONFORK (Linux 4.14, madvise(2)): however a child is made without sharing this memory (fork, clone), the
/// kernel gives it zeroes, and no handler of ours has to run. Costs one load, always from the cache.
#[derive(Debug)]
pub struct Gate {
    page: MmapRaw,
}

impl Gate {
    /// An open gate.
    pub fn open() -> io::Result<Self> {
        let page = MmapRaw::from(MmapMut::map_anon(GATE_BYTES)?);
        let address = page.as_mut_ptr().cast();
        // SAFETY: the page is private, anonymous and ours alone, and the advice affects only what a child finds in it.
        unsafe { madvise(address, page.len(), Advice::LinuxWipeOnFork) }?;
        let gate = Self { page };
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
        unsafe { AtomicU32::from_ptr(self.page.as_mut_ptr().cast()) }
    }
}

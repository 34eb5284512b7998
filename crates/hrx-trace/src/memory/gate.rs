//! The gate through which every call passes: open while the recorder records, closed once it is finished, and closed in every forked child.

use std::io;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::time::Duration;

use rustix::io::{Errno, retry_on_intr};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use rustix::thread::futex;

const CLOSED: u32 = 0;
const OPEN: u32 = 1;

/// The word of all gates that were never open. Never written to.
static NEVER_OPEN: AtomicU32 = AtomicU32::new(CLOSED);

/// A word that is 1 while its recorder records, 0 once it is finished, and 0 in every forked child. Clones are the same gate.
///
/// It lies on a private page under MADV_WIPEONFORK (Linux 4.14, madvise(2)): however a child is made without sharing this memory (fork, clone), the
/// kernel gives it zeroes, and no handler of ours has to run. Costs one load, always from the cache.
///
/// The page after it holds the number of clones. It is not wiped, so that a child counts its own.
///
/// One that was never open lies in no page of its own.
#[derive(Debug)]
pub struct Gate {
    word: NonNull<AtomicU32>,
}

// SAFETY: the pages are mapped until the last clone is dropped, on whichever thread.
unsafe impl Send for Gate {}
// SAFETY: as for Send; atomics may be shared.
unsafe impl Sync for Gate {}

impl Gate {
    /// An open gate.
    pub fn open() -> io::Result<Self> {
        let (protection, private) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: the kernel chooses where the new pages lie.
        let pages =
            unsafe { mmap_anonymous(ptr::null_mut(), 2 * page_bytes(), protection, private) }?;
        let word = NonNull::new(pages.cast()).ok_or(Errno::INVAL)?;
        let gate = Self { word };
        gate.clones().store(1, Ordering::Relaxed);
        retry_on_intr(|| {
            // SAFETY: the page is private, anonymous and ours alone, and the advice affects only what a child finds in it.
            unsafe { madvise(pages, page_bytes(), Advice::LinuxWipeOnFork) }
        })?;
        gate.word().store(OPEN, Ordering::Release);
        Ok(gate)
    }

    /// A gate that is closed, and stays so.
    pub fn closed() -> Self {
        Self {
            word: NonNull::from(&NEVER_OPEN),
        }
    }

    fn was_never_open(&self) -> bool {
        self.word == NonNull::from(&NEVER_OPEN)
    }

    /// Whether this process may write.
    #[inline]
    pub fn is_open(&self) -> bool {
        !cfg!(hrx_trace_off) && self.word().load(Ordering::Relaxed) != CLOSED
    }

    /// Closes it for all threads. True for the one call that closed it, which also ends every [`Gate::is_open_after`].
    pub fn close(&self) -> bool {
        let was_open =
            !self.was_never_open() && self.word().swap(CLOSED, Ordering::AcqRel) != CLOSED;
        if was_open {
            let _ = futex::wake(self.word(), futex::Flags::PRIVATE, i32::MAX.cast_unsigned());
        }
        was_open
    }

    /// Waits until it is closed, or that long. Whether it is still open then; an error if the thread cannot wait.
    pub fn is_open_after(&self, time: Duration) -> io::Result<bool> {
        let timeout = time.try_into().map_err(|_| Errno::INVAL)?;
        match futex::wait(self.word(), futex::Flags::PRIVATE, OPEN, Some(&timeout)) {
            // INTR: by a debugger, as the one thread that waits blocks all signals.
            Ok(()) | Err(Errno::TIMEDOUT | Errno::INTR | Errno::AGAIN) => Ok(self.is_open()),
            Err(error) => Err(error.into()),
        }
    }

    #[inline]
    fn word(&self) -> &AtomicU32 {
        // SAFETY: the page is aligned and initialised (zeroes), lives as long as `self`, and its first word is only ever accessed through this; or it is a static.
        unsafe { self.word.as_ref() }
    }

    /// Not of a gate that was never open.
    fn clones(&self) -> &AtomicU32 {
        // SAFETY: the second page is part of the mapping.
        let clones = unsafe { self.word.byte_add(page_bytes()) };
        // SAFETY: as in `word`.
        unsafe { clones.as_ref() }
    }
}

impl Clone for Gate {
    fn clone(&self) -> Self {
        if self.was_never_open() {
            return Self::closed();
        }
        self.clones().fetch_add(1, Ordering::Relaxed);
        Self { word: self.word }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        if self.was_never_open() || self.clones().fetch_sub(1, Ordering::Release) != 1 {
            return;
        }
        // What the other clones did comes before this.
        fence(Ordering::Acquire);
        // SAFETY: `open` mapped the pages, this was the last clone, and no reference to their words outlives it.
        let _ = unsafe { munmap(self.word.as_ptr().cast(), 2 * page_bytes()) };
    }
}

fn page_bytes() -> usize {
    rustix::param::page_size()
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn clones_are_one_gate_and_outlive_it() {
        let gate = Gate::open().unwrap();
        let clone = gate.clone();
        assert!(gate.is_open() && clone.is_open());
        assert!(gate.close());
        assert!(!clone.is_open() && !clone.close());
        drop(gate);
        assert!(!clone.is_open());
        assert_eq!(clone.clones().load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_wait_ends_with_its_time_or_when_the_gate_is_closed() {
        let gate = Gate::open().unwrap();
        let time = Duration::from_millis(20);
        let began = Instant::now();
        assert!(gate.is_open_after(time).unwrap());
        assert!(began.elapsed() >= time);
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| gate.is_open_after(Duration::from_secs(3600)));
            assert!(gate.close());
            assert!(!waits.join().unwrap().unwrap());
        });
        assert!(!gate.is_open_after(Duration::from_secs(3600)).unwrap());
    }
}

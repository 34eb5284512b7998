//! The only `unsafe` of this crate: a file mapped into memory, seen as cache lines of atomic words; and the gate that closes in a forked child.
//!
//! What makes it sound, once for all: the mapping is shared with other processes, so it is never seen through anything but atomics; the file
//! never shrinks by our hand (if somebody else truncates it, the kernel answers a store with SIGBUS, which no library can turn into an error); and
//! every [`Lines`] keeps its [`Mapping`] alive.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use memmap2::{Advice, MmapMut, MmapRaw};

/// A cache line of the file.
pub type Line = [AtomicU64; 8];

const LINE_BYTES: u64 = size_of::<Line>() as u64;
const PAGE_BYTES: usize = 4096;

/// A file, mapped whole, readable and writable, shared.
#[derive(Debug)]
pub struct Mapping(MmapRaw);

impl Mapping {
    /// Maps the whole of `file`. Its length must not be 0.
    pub fn new(file: &File) -> io::Result<Arc<Self>> {
        MmapRaw::map_raw(file).map(Self).map(Arc::new)
    }

    /// Makes every page present and writable now, so that no store faults later. Costs 0.2 to 0.4 s a GiB.
    pub fn populate(self: &Arc<Self>) -> io::Result<()> {
        match self.0.advise(Advice::PopulateWrite) {
            // EINVAL: the kernel is older than 5.14. A store to each page does the same, one fault at a time; nothing is in the file yet but zeroes.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                let lines = self.lines(0, self.0.len() as u64 / LINE_BYTES);
                for page in 0..self.0.len() / PAGE_BYTES {
                    lines.get(page * PAGE_BYTES / size_of::<Line>())[0].store(0, Ordering::Relaxed);
                }
                Ok(())
            }
            result => result,
        }
    }

    /// The `count` lines at `offset`.
    ///
    /// # Panics
    /// If `offset` is not that of a line, or the file is too short. Layouts come from the format crate, which tests that neither can be.
    pub fn lines(self: &Arc<Self>, offset: u64, count: u64) -> Lines {
        let end = count
            .checked_mul(LINE_BYTES)
            .and_then(|bytes| bytes.checked_add(offset));
        assert!(
            offset.is_multiple_of(LINE_BYTES) && end.is_some_and(|end| end <= self.0.len() as u64),
            "lines outside the mapping"
        );
        // SAFETY: `offset` was just found to lie within the mapping, or at its end.
        let first = unsafe { self.0.as_mut_ptr().add(offset as usize) };
        // SAFETY: a mapping is never at address 0.
        let first = unsafe { NonNull::new_unchecked(first) };
        Lines {
            first: first.cast(),
            count: count as usize,
            _mapping: Arc::clone(self),
        }
    }
}

/// Lines of a mapping that they keep alive.
#[derive(Clone, Debug)]
pub struct Lines {
    first: NonNull<Line>,
    count: usize,
    _mapping: Arc<Mapping>,
}

// SAFETY: what `first` points to lives as long as the Arc beside it, wherever that goes, and is only ever seen as atomics.
unsafe impl Send for Lines {}
// SAFETY: as for Send: atomics may be shared.
unsafe impl Sync for Lines {}

impl Lines {
    /// How many there are.
    #[inline]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Line `index`.
    ///
    /// # Panics
    /// If there is none. One compare, which an index from a modulo makes the compiler's business or the branch predictor's.
    #[inline]
    pub fn get(&self, index: usize) -> &Line {
        assert!(index < self.count, "line outside the lines");
        // SAFETY: `Mapping::lines` found `count` lines in the mapping, and `index` is below it.
        let line = unsafe { self.first.add(index) };
        // SAFETY: the mapping is page-aligned and `offset` a multiple of the line, the memory is initialised (file or zeroes), it lives as
        // long as `self`, and atomics may change under a shared reference.
        unsafe { line.as_ref() }
    }
}

/// A word that is 1 while its recorder records, 0 once it is finished, and 0 in every forked child.
///
/// It lies on a private page under MADV_WIPEONFORK (Linux 4.14, madvise(2)): the kernel hands a child zeroes, whether it came by fork, clone or
/// vfork-like calls without shared memory, and with no handler of ours. One load, always in cache.
#[derive(Debug)]
pub struct Gate {
    page: MmapMut,
}

impl Gate {
    /// An open gate.
    pub fn open() -> io::Result<Self> {
        let mut page = MmapMut::map_anon(PAGE_BYTES)?;
        // SAFETY: the page is ours alone, anonymous and private; the advice only says what a child will find in it.
        unsafe {
            rustix::mm::madvise(
                page.as_mut_ptr().cast(),
                PAGE_BYTES,
                rustix::mm::Advice::LinuxWipeOnFork,
            )
        }?;
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
        let word = self.page.as_ptr().cast::<AtomicU32>();
        // SAFETY: the page is aligned, zeroed at first, lives as long as `self`, and this word of it is only ever seen as an atomic.
        unsafe { &*word }
    }
}

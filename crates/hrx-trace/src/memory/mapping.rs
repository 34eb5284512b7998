//! A file, mapped whole, and runs of cache lines of it.

use std::fs::File;
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hrx_trace_format::header::PAGE_BYTES;
use memmap2::{Advice, MmapRaw};

/// A cache line of the file.
pub type Line = [AtomicU64; 8];

const LINE_BYTES: u64 = size_of::<Line>() as u64;

/// A file, mapped whole, readable and writable, shared.
#[derive(Debug)]
pub struct Mapping(MmapRaw);

impl Mapping {
    /// Maps the whole of `file`. Its length must not be 0.
    pub fn new(file: &File) -> io::Result<Arc<Self>> {
        MmapRaw::map_raw(file).map(Self).map(Arc::new)
    }

    /// Makes every page present and writable now, so that no store faults later. Costs 0.2 to 0.4 s per GiB.
    pub fn populate(self: &Arc<Self>) -> io::Result<()> {
        match self.0.advise(Advice::PopulateWrite) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => self.populate(),
            // EINVAL: the kernel is older than 5.14. A store to each page does the same, one fault at a time; the file holds only zeroes so far.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                let bytes = self.0.len() as u64;
                let lines = self.lines(0, bytes / LINE_BYTES);
                for page in 0..bytes / PAGE_BYTES {
                    let first_line = page * PAGE_BYTES / LINE_BYTES;
                    lines.get(first_line as usize)[0].store(0, Ordering::Relaxed);
                }
                Ok(())
            }
            result => result,
        }
    }

    /// The `count` lines that begin `offset` bytes into the file.
    ///
    /// # Panics
    /// If `offset` is not a multiple of a line's size, or the file ends before the last line. Neither can be: layouts come from the format crate, whose
    /// tests exclude both.
    pub fn lines(self: &Arc<Self>, offset: u64, count: u64) -> Lines {
        let end = count
            .checked_mul(LINE_BYTES)
            .and_then(|bytes| bytes.checked_add(offset));
        assert!(
            offset.is_multiple_of(LINE_BYTES) && end.is_some_and(|end| end <= self.0.len() as u64),
            "lines outside the mapping"
        );
        // SAFETY: the assertion found `offset` inside the mapping, or at its end.
        let first = unsafe { self.0.as_mut_ptr().add(offset as usize) };
        // SAFETY: a mapping is never at address 0.
        let first = unsafe { NonNull::new_unchecked(first) };
        Lines {
            first: first.cast(),
            count: count as usize,
            _mapping: Some(Arc::clone(self)),
        }
    }
}

/// Consecutive lines of a mapping, which they keep alive, or of a static.
#[derive(Clone, Debug)]
pub struct Lines {
    first: NonNull<Line>,
    count: usize,
    _mapping: Option<Arc<Mapping>>,
}

// SAFETY: the Arc keeps alive what `first` points to, unless it lives forever, on whichever thread, and it is only ever accessed as atomics.
unsafe impl Send for Lines {}
// SAFETY: as for Send; atomics may be shared.
unsafe impl Sync for Lines {}

impl Lines {
    /// Lines of no file.
    pub fn of_static(lines: &'static [Line]) -> Self {
        Self {
            first: NonNull::from(lines).cast(),
            count: lines.len(),
            _mapping: None,
        }
    }

    /// How many lines there are.
    #[inline]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Line `index`.
    ///
    /// # Panics
    /// If there is none. Costs one comparison, which the compiler removes or the branch predictor hides where `index` is a remainder.
    #[inline]
    pub fn get(&self, index: usize) -> &Line {
        self.find(index).expect("line inside the lines")
    }

    /// Line `index`, if there is one.
    #[inline(always)]
    pub fn find(&self, index: usize) -> Option<&Line> {
        if index >= self.count {
            return None;
        }
        // SAFETY: `first` points to `count` lines, as `Mapping::lines` found or the static has, and `index` is below it.
        let line = unsafe { self.first.add(index) };
        // SAFETY: the mapping is page-aligned and `offset` a multiple of the line, or a static is aligned; the memory is initialised (file, zeroes or static) and
        // lives as long as `self`; and atomics may change under a shared reference.
        Some(unsafe { line.as_ref() })
    }
}

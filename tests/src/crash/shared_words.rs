//! Words shared by a child and its parent, which outlive the child: one store for each step says how far it got.
//!
//! The only `unsafe` of the children: a mapped file, seen only as atomics.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::MmapRaw;

/// Words in a mapped file.
#[derive(Debug)]
pub struct SharedWords {
    mapping: MmapRaw,
    count: usize,
}

impl SharedWords {
    /// Maps `count` words of the file `path`, which is created if absent; new words are 0.
    ///
    /// # Errors
    /// The system's error.
    pub fn map(path: &Path, count: usize) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        file.set_len((count * size_of::<AtomicU64>()) as u64)?;
        let mapping = MmapRaw::map_raw(&file)?;
        Ok(Self { mapping, count })
    }

    /// Maps all of the file `path` and changes nothing in it.
    ///
    /// # Errors
    /// The system's error.
    pub fn of_file(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let mapping = MmapRaw::map_raw(&file)?;
        let count = mapping.len() / size_of::<AtomicU64>();
        Ok(Self { mapping, count })
    }

    /// What word `index` says now. None: the file has fewer words, as one that is just being created.
    #[must_use]
    pub fn get_checked(&self, index: usize) -> Option<u64> {
        (index < self.count).then(|| self.get(index).load(Ordering::SeqCst))
    }

    /// Word `index`.
    ///
    /// # Panics
    /// If there are fewer words.
    #[inline]
    #[must_use]
    pub fn get(&self, index: usize) -> &AtomicU64 {
        assert!(
            index < self.count,
            "word {index} of {} is out of range",
            self.count
        );
        let word = self.mapping.as_mut_ptr().cast::<u64>().wrapping_add(index);
        // SAFETY: the word lies in the mapping (just checked), which is page-aligned, lives as long as `self`, and is only ever seen as atomics.
        unsafe { AtomicU64::from_ptr(word) }
    }
}

//! Where captures are: on tmpfs or on a disk. A file that is large or in memory is unlinked as soon as it is open, so an interrupted bench leaves nothing behind
//! that matters.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, ensure};
use hrx_trace::{Options, Recorder};
use tempfile::TempDir;

/// statfs(2).
const TMPFS_MAGIC: rustix::fs::FsWord = 0x0102_1994;

/// A temporary folder, in memory or on a disk.
#[derive(Debug)]
pub struct Place {
    folder: TempDir,
    files: AtomicU64,
}

impl Place {
    /// A folder in `parent`, which has to be a tmpfs.
    pub fn tmpfs(parent: &Path) -> Result<Self> {
        ensure!(
            is_tmpfs(parent)?,
            "{}: expected a tmpfs (choose one by --tmpfs)",
            parent.display()
        );
        Self::new(parent)
    }

    /// A folder in `parent`, which must not be a tmpfs.
    pub fn disk(parent: &Path) -> Result<Self> {
        ensure!(
            !is_tmpfs(parent)?,
            "{}: is a tmpfs, expected a disk (choose one by --disk)",
            parent.display()
        );
        Self::new(parent)
    }

    fn new(parent: &Path) -> Result<Self> {
        let folder = TempDir::with_prefix_in("hrx-bench-", parent)
            .with_context(|| format!("{}: no folder can be made", parent.display()))?;
        Ok(Self {
            folder,
            files: AtomicU64::new(0),
        })
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A path where nothing exists yet.
    pub fn fresh(&self) -> PathBuf {
        let number = self.files.fetch_add(1, Ordering::Relaxed);
        self.folder.path().join(number.to_string())
    }

    /// A recorder in a new file.
    pub fn recorder(&self, options: &Options) -> Result<Recorder> {
        let path = self.fresh();
        let recorder = options.create(&path)?;
        std::fs::remove_file(path)?;
        Ok(recorder)
    }

    /// A recorder in a new file that keeps its name, so that others can read it; it is removed with the folder.
    pub fn named_recorder(&self, options: &Options) -> Result<Recorder> {
        Ok(options.create(self.fresh())?)
    }

    /// Bytes that can still be stored here.
    pub fn available_bytes(&self) -> Result<u64> {
        let system = rustix::fs::statvfs(self.path())?;
        Ok(system.f_bavail * system.f_frsize)
    }
}

fn is_tmpfs(path: &Path) -> Result<bool> {
    let system = rustix::fs::statfs(path).with_context(|| path.display().to_string())?;
    Ok(system.f_type == TMPFS_MAGIC)
}

//! Which captures stay: a service that starts one after the other need not fill its disk.
//!
//! Invariants:
//! - Only a capture that says itself that it was finished is removed. What a crash left stays until a person removes it.
//! - Nothing is removed that a process holds the lock of, that is another user's, or whose name has come to mean another file.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use hrx_trace_format::header::{PAGE_BYTES, STATE_FINISHED};
use hrx_trace_format::{Checksum, Identity};
use rustix::fs::FlockOperation;
use rustix::io::{Errno, retry_on_intr};

use crate::error::{Error, Result};
use crate::folder::{Folder, is_same_file};

/// A finished capture.
struct Finished {
    started_ns: u64,
    name: OsString,
}

/// Removes finished captures of `program` from `folder`, the oldest first, until `keep` of them are left; returns what it removed.
///
/// A capture is of the program that its header names, whatever its file is called, if that ends in `.hrxt`. A live capture, one whose writer died, and one of
/// another user neither count nor are removed; one that is finished and still open in its writer counts, and stays. `program` is at most the first 64 bytes
/// of the name, as in the header: see [`program_name`](crate::program_name). An empty one removes nothing.
///
/// Costs an open and two reads for each `.hrxt` file there.
///
/// # Errors
/// [`Error::Io`] if the folder cannot be opened and listed. A file that cannot be read or removed stays.
pub fn remove_oldest(folder: impl AsRef<Path>, program: &str, keep: usize) -> Result<Vec<PathBuf>> {
    let mut path = folder.as_ref();
    if path.as_os_str().is_empty() {
        path = Path::new(".");
    }
    let refused = |source| Error::Io {
        path: path.to_owned(),
        doing: "list the captures in it",
        source,
    };
    let folder = Folder::open(path).map_err(refused)?;
    let names = fs::read_dir(path).map_err(refused)?;
    let names = names.filter_map(|entry| Some(entry.ok()?.file_name()));
    let mut finished: Vec<Finished> = names
        .filter_map(|name| Finished::look(&folder, name, program))
        .collect();
    finished
        .sort_by(|one, other| (one.started_ns, &one.name).cmp(&(other.started_ns, &other.name)));
    finished.truncate(finished.len().saturating_sub(keep));
    let removed = finished
        .iter()
        .filter(|finished| finished.remove(&folder, program).is_some());
    Ok(removed.map(|finished| path.join(&finished.name)).collect())
}

impl Finished {
    /// None: the file is no finished capture of `program`, or not ours.
    fn look(folder: &Folder, name: OsString, program: &str) -> Option<Self> {
        if Path::new(&name).extension() != Some(OsStr::new("hrxt")) || program.is_empty() {
            return None;
        }
        let file = folder.open_file(&name).ok()?;
        let started_ns = finished_start_ns(&file, program)?;
        Some(Self { started_ns, name })
    }

    /// None: it stays.
    fn remove(&self, folder: &Folder, program: &str) -> Option<()> {
        let file = folder.open_file(&self.name).ok()?;
        // It may have become another file since it was looked at.
        (finished_start_ns(&file, program)? == self.started_ns).then_some(())?;
        // Closing the file gives the lock back.
        match retry_on_intr(|| rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared)) {
            Err(Errno::WOULDBLOCK) => return None,
            // Where there are no locks, the state word alone says that it is finished.
            Ok(()) | Err(_) => {}
        }
        is_same_file(&file, &folder.open_file(&self.name).ok()?)
            .ok()?
            .then_some(())?;
        folder.remove(&self.name).ok()
    }
}

/// When the capture in `file` began, by CLOCK_REALTIME. None if it is not a finished one of `program`, or not ours.
fn finished_start_ns(file: &File, program: &str) -> Option<u64> {
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() || metadata.uid() != rustix::process::geteuid().as_raw() {
        return None;
    }
    let mut page = [0; PAGE_BYTES as usize];
    file.read_exact_at(&mut page, 0).ok()?;
    let identity = Identity::parse(&page, &Checksum::new()).ok()?;
    let mut state = [0; 8];
    file.read_exact_at(&mut state, identity.counters_offset)
        .ok()?;
    let is_finished = u64::from_le_bytes(state) == STATE_FINISHED;
    (is_finished && identity.program() == program).then_some(identity.epoch_realtime_ns)
}

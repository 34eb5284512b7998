//! `--collect`: a folder of runs, of which the last ones stay.
//!
//! Each run has a folder named after the moment it began, so that their names sort as they began. hrx-run holds a lock (flock) on its own while
//! it runs. A run is removed only by someone who got that lock, and if no capture in it has a writer that lives: a descendant may
//! outlive hrx-run. Runs are created and removed under a lock on the whole collection, so that none is removed before it is locked.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process;

use anyhow::{Context, Result};
use jiff::Timestamp;

use crate::captures::is_live;

const PREFIX: &str = "run-";

/// How much stays.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many runs, at least one.
    pub runs_max: usize,
    /// How much they take, all files together.
    pub bytes_max: u64,
}

/// The folder of a run that goes on.
pub struct Run {
    path: PathBuf,
    _lock: File,
}

impl Run {
    /// Makes one in the collection, which is created if it does not exist.
    pub fn begin(collection: &Path) -> Result<Self> {
        let cannot = || format!("cannot create a run in {}", collection.display());
        fs::create_dir_all(collection).with_context(cannot)?;
        let collection = std::path::absolute(collection).with_context(cannot)?;
        let _whole = lock_whole(&collection).with_context(cannot)?;
        let began = Timestamp::now().strftime("%Y%m%dT%H%M%S.%6fZ");
        let path = collection.join(format!("{PREFIX}{began}-{}", process::id()));
        fs::create_dir(&path).with_context(cannot)?;
        let lock = File::open(&path).with_context(cannot)?;
        lock.lock().with_context(cannot)?;
        Ok(Self { path, _lock: lock })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn lock_whole(collection: &Path) -> io::Result<File> {
    let whole = File::open(collection)?;
    whole.lock()?;
    Ok(whole)
}

/// Removes the oldest runs, until the others are within the limits. The newest stays however large it is, and so does one that is live.
pub fn prune(collection: &Path, limits: Limits) -> Result<()> {
    let cannot = || format!("cannot remove old runs in {}", collection.display());
    let _whole = lock_whole(collection).with_context(cannot)?;
    let mut runs = runs(collection).with_context(cannot)?;
    runs.sort();
    let mut bytes = 0u64;
    for (age, run) in runs.iter().rev().enumerate() {
        bytes = bytes.saturating_add(bytes_in(run));
        let within = age < limits.runs_max && bytes <= limits.bytes_max;
        if age > 0 && !within && !is_live_run(run) {
            fs::remove_dir_all(run).with_context(cannot)?;
        }
    }
    Ok(())
}

/// The runs of a collection. What else lies there is none of ours.
fn runs(collection: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(collection)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() && is_run_name(&entry.file_name().to_string_lossy()) {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// As in `run-20261130T235959.123456Z-4711`.
fn is_run_name(name: &str) -> bool {
    let Some((began, process)) = name
        .strip_prefix(PREFIX)
        .and_then(|rest| rest.split_once('-'))
    else {
        return false;
    };
    let pattern = |byte: u8| if byte.is_ascii_digit() { b'0' } else { byte };
    let began: Vec<u8> = began.bytes().map(pattern).collect();
    began == b"00000000T000000.000000Z"
        && !process.is_empty()
        && process.bytes().all(|byte| byte.is_ascii_digit())
}

fn files(run: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(run).into_iter().flatten().flatten();
    entries.map(|entry| entry.path())
}

/// What its files take on the disk.
fn bytes_in(run: &Path) -> u64 {
    const BLOCK_BYTES: u64 = 512;
    files(run)
        .filter_map(|path| fs::symlink_metadata(path).ok())
        .map(|file| file.blocks() * BLOCK_BYTES)
        .sum()
}

fn is_live_run(run: &Path) -> bool {
    let locked = match File::open(run) {
        Ok(folder) => folder.try_lock().is_err(),
        Err(_) => true,
    };
    locked || files(run).any(|path| is_live(&path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hrx_trace::Recorder;
    use tempfile::TempDir;

    /// Runs that are over, of 64 KiB each.
    fn collection(names: &[&str]) -> TempDir {
        let collection = tempfile::tempdir().unwrap();
        for name in names {
            let run = collection.path().join(name);
            fs::create_dir(&run).unwrap();
            fs::write(run.join("a.hrxt"), vec![1; 64 << 10]).unwrap();
        }
        collection
    }

    fn left(collection: &TempDir) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(collection)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    const OLD: &str = "run-20251130T235959.999999Z-9";
    const MIDDLE: &str = "run-20261130T000000.000000Z-1";
    const NEW: &str = "run-20261130T000000.000001Z-1";

    fn prune_to(collection: &TempDir, runs_max: usize, bytes_max: u64) {
        let limits = Limits {
            runs_max,
            bytes_max,
        };
        prune(collection.path(), limits).unwrap();
    }

    #[test]
    fn the_last_ones_stay() {
        let collection = collection(&[NEW, OLD, MIDDLE]);
        prune_to(&collection, 3, u64::MAX);
        assert_eq!(left(&collection), [OLD, MIDDLE, NEW]);
        prune_to(&collection, 2, u64::MAX);
        assert_eq!(left(&collection), [MIDDLE, NEW]);
        prune_to(&collection, 2, 100 << 10);
        assert_eq!(left(&collection), [NEW]);
        prune_to(&collection, 1, 0);
        assert_eq!(left(&collection), [NEW]);
    }

    #[test]
    fn what_is_not_ours_stays() {
        let others = [
            "notes",
            "run-1",
            "run-20261130T000000.000000Z-",
            "run-20261130T000000.000000Z-x",
            "run-20261130T000000Z-1",
        ];
        let collection = collection(&[&others[..], &[OLD, NEW]].concat());
        let file = "run-20240101T000000.000000Z-1";
        fs::write(collection.path().join(file), "").unwrap();
        prune_to(&collection, 1, 0);
        let mut expected = [&others[..], &[file, NEW]].concat();
        expected.sort_unstable();
        assert_eq!(left(&collection), expected);
    }

    #[test]
    fn live_runs_stay() {
        let collection = collection(&[OLD, MIDDLE, NEW]);
        // The program's descendant still records.
        let capture = collection.path().join(OLD).join("b.hrxt");
        let recorder = Recorder::create(capture, 4).unwrap();
        // hrx-run still runs.
        let middle = File::open(collection.path().join(MIDDLE)).unwrap();
        middle.lock().unwrap();
        prune_to(&collection, 1, 0);
        assert_eq!(left(&collection), [OLD, MIDDLE, NEW]);
        drop((recorder, middle));
        prune_to(&collection, 1, 0);
        assert_eq!(left(&collection), [NEW]);
    }

    #[test]
    fn a_run_that_begins_is_the_newest_and_live() {
        let collection = collection(&[OLD]);
        let first = Run::begin(collection.path()).unwrap();
        let second = Run::begin(collection.path()).unwrap();
        assert!(first.path() < second.path());
        prune_to(&collection, 1, 0);
        assert_eq!(left(&collection).len(), 2);
        drop(first);
        prune_to(&collection, 1, 0);
        assert_eq!(left(&collection).len(), 1);
        assert!(second.path().exists());
    }
}

//! Waiting for captures that are still to be created.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use indicatif::HumanCount;

use crate::input::files::captures_in;
use crate::output::console::say;
use crate::output::signals::Stop;

/// Between two looks at a file.
const PAUSE: Duration = Duration::from_millis(50);
/// A recorder takes the lock right after it has created the file. Before that, no lock tells that it lives; and a look at the lock could be in its way.
const UNLOCKED: Duration = Duration::from_secs(1);

/// Waits until all files can be read, or until the command has to stop, and announces it on the standard error.
pub fn wait_for(files: &[PathBuf], stop: &Stop) {
    let missing: Vec<&PathBuf> = files.iter().filter(|file| is_to_come(file)).collect();
    let [first, others @ ..] = missing.as_slice() else {
        return;
    };
    let others = match others.len() {
        0 => String::new(),
        count => format!(" and {} more", HumanCount(count as u64)),
    };
    say(&format!("waiting for {}{others}", first.display()));
    for file in missing {
        while is_to_come(file) && !stop.is_asked() {
            sleep(PAUSE);
        }
    }
}

/// Whether the file is missing, or is a capture that a living recorder is still creating: its magic is written last. A directory is still to come if it
/// contains no capture yet, or one that is still to come.
fn is_to_come(file: &Path) -> bool {
    match fs::metadata(file) {
        Err(error) => error.kind() == io::ErrorKind::NotFound,
        // The attempt to read a directory that cannot be listed reports it.
        Ok(there) if there.is_dir() => captures_in(file)
            .is_ok_and(|found| found.is_empty() || found.iter().any(|file| is_to_come(file))),
        Ok(there) if !there.is_file() => false,
        Ok(there) => {
            let mut magic = [0; 8];
            let read = File::open(file).and_then(|file| file.read_at(&mut magic, 0));
            read.is_ok() && magic == [0; 8] && !is_abandoned(file, &there)
        }
    }
}

/// Whether the recorder that was creating the file is dead, so that nothing will ever come: its lock is free.
fn is_abandoned(file: &Path, there: &fs::Metadata) -> bool {
    let age = there.modified().ok().and_then(|at| at.elapsed().ok());
    age.is_some_and(|age| age > UNLOCKED)
        // Closing the file gives the lock back.
        && File::open(file).is_ok_and(|file| file.try_lock_shared().is_ok())
}

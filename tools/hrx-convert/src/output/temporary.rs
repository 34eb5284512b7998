//! Files under temporary names, removed on every way out.
//!
//! If a signal asks the command to end, it removes them and then dies of that signal, as its parent expects.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use tempfile::TempPath;

use crate::output::signals::is_ignored;

/// The name of a temporary file. The file is removed when this is dropped, and before the command dies of a signal.
pub struct TemporaryFile(TempPath);

/// All temporary names so far. Removed and renamed ones stay here: they are random, so no other file has them.
static NAMES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

impl TemporaryFile {
    /// Creates a file in a folder.
    pub fn create(
        builder: &tempfile::Builder<'_, '_>,
        folder: &Path,
    ) -> io::Result<(File, TemporaryFile)> {
        // While this is held, the command does not die of a signal, so no file exists without being listed.
        let mut names = names();
        if names.is_empty() {
            remove_on_signals()?;
        }
        let (file, path) = builder.tempfile_in(folder)?.into_parts();
        names.push(path.to_path_buf());
        Ok((file, Self(path)))
    }

    /// Renames the file to its final name.
    pub fn persist(self, path: &Path) -> io::Result<()> {
        let _names = names();
        self.0.persist(path).map_err(|error| error.error)
    }
}

fn names() -> MutexGuard<'static, Vec<PathBuf>> {
    NAMES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a thread that waits for a signal.
fn remove_on_signals() -> io::Result<()> {
    let handled = [SIGINT, SIGTERM, SIGHUP]
        .into_iter()
        .filter(|signal| !is_ignored(*signal));
    let mut signals = Signals::new(handled)?;
    thread::Builder::new().spawn(move || {
        if let Some(signal) = signals.forever().next() {
            let names = names();
            for name in names.iter() {
                let _ = fs::remove_file(name);
            }
            // If it fails, there is nothing left to try.
            let _ = emulate_default_handler(signal);
        }
    })?;
    Ok(())
}

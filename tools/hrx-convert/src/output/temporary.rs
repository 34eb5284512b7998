//! A file that gets its name once it is whole.
//!
//! Until then it has none where the file system has such files, so that nothing is left of it however the command ends. Elsewhere it has a temporary
//! name next to its place, and is removed on every way out that the command can see: if a signal asks it to end, it removes the file and then dies of
//! that signal, as its parent expects.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::fs::{AtFlags, CWD, OFlags, linkat};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use tempfile::TempPath;

use crate::output::signals::is_ignored;

/// The mode of any new file; the umask is subtracted from it.
const MODE: u32 = 0o666;
const PREFIX: &str = ".hrx-convert-";

/// A file without its name. It is gone when this is dropped.
#[derive(Debug)]
pub enum TemporaryFile {
    /// Has no name at all.
    Unnamed(File),
    /// Has a temporary name.
    Named(TempPath),
}

/// All temporary names so far. Removed and renamed ones stay here: they are random, so no other file has them.
static NAMES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

impl TemporaryFile {
    /// Creates a file that can become `path`.
    pub fn create(path: &Path) -> io::Result<(File, TemporaryFile)> {
        let folder = folder_of(path);
        Self::unnamed(folder).or_else(|_| Self::named(folder))
    }

    fn unnamed(folder: &Path) -> io::Result<(File, TemporaryFile)> {
        let file = File::options()
            .write(true)
            .mode(MODE)
            .custom_flags(OFlags::TMPFILE.bits() as i32)
            .open(folder)?;
        // It gets its name by way of /proc.
        let (own, by_proc) = (file.metadata()?, fs::metadata(path_in_proc(&file))?);
        if (own.dev(), own.ino()) != (by_proc.dev(), by_proc.ino()) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let kept = file.try_clone()?;
        Ok((file, Self::Unnamed(kept)))
    }

    fn named(folder: &Path) -> io::Result<(File, TemporaryFile)> {
        let mut builder = tempfile::Builder::new();
        builder
            .prefix(PREFIX)
            .permissions(fs::Permissions::from_mode(MODE));
        // While this is held, the command does not die of a signal, so no file exists without being listed.
        let mut names = names();
        if names.is_empty() {
            remove_on_signals()?;
        }
        let (file, path) = builder.tempfile_in(folder)?.into_parts();
        names.push(path.to_path_buf());
        Ok((file, Self::Named(path)))
    }

    /// Gives the file its final name, and replaces what had it.
    pub fn persist(self, path: &Path) -> io::Result<()> {
        let file = match self {
            Self::Named(temporary) => {
                let _names = names();
                return temporary.persist(path).map_err(|error| error.error);
            }
            Self::Unnamed(file) => file,
        };
        match name_it(&file, path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // Only a rename replaces, so the file has a temporary name for that moment.
                tempfile::Builder::new()
                    .prefix(PREFIX)
                    .make_in(folder_of(path), |temporary| name_it(&file, temporary))?
                    .into_temp_path()
                    .persist(path)
                    .map_err(|error| error.error)
            }
            named => named,
        }
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn path_in_proc(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

fn name_it(file: &File, path: &Path) -> io::Result<()> {
    let named = linkat(CWD, path_in_proc(file), CWD, path, AtFlags::SYMLINK_FOLLOW);
    Ok(named?)
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

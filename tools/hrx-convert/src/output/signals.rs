//! Signals that ask the command to end: Ctrl-C, SIGTERM, and the loss of its terminal.
//!
//! Invariants:
//! - The command dies of the signal, as whoever waits for it expects, and what it was writing under a temporary name is gone by then.
//! - Unless it follows: then it closes the output first, and ends as if the captures had ended.
//! - Whoever had a signal ignored, as `nohup` does, is not asked by it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use tempfile::TempPath;

/// Becomes true when somebody wants the end. A second time, the process ends at once.
pub fn stop_on_signals() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    // A shell has the background jobs of a script ignore Ctrl-C; yet it is by SIGINT that a script ends a follower.
    let hangup = (!is_ignored(SIGHUP)).then_some(SIGHUP);
    for signal in [SIGINT, SIGTERM].into_iter().chain(hangup) {
        flag::register_conditional_default(signal, Arc::clone(&stop))?;
        flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}

/// A file under a temporary name, which is removed on every way out: when it is dropped, and before the command dies of a signal.
pub struct Temporary(TempPath);

/// The temporary names. Those that were given away stay here: they are random, and nobody has them any more.
static NAMES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

impl Temporary {
    /// A new file in that folder.
    pub fn create(
        builder: &tempfile::Builder<'_, '_>,
        folder: &Path,
    ) -> io::Result<(File, Temporary)> {
        // As long as this is held, the command does not die of a signal: no file is there without being known.
        let mut names = names();
        if names.is_empty() {
            remove_on_signals()?;
        }
        let (file, path) = builder.tempfile_in(folder)?.into_parts();
        names.push(path.to_path_buf());
        Ok((file, Self(path)))
    }

    /// Gives the file its name.
    pub fn persist(self, path: &Path) -> io::Result<()> {
        let _names = names();
        self.0.persist(path).map_err(|error| error.error)
    }
}

fn names() -> MutexGuard<'static, Vec<PathBuf>> {
    NAMES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has a thread wait for the end.
fn remove_on_signals() -> io::Result<()> {
    let heeded = [SIGINT, SIGTERM, SIGHUP]
        .into_iter()
        .filter(|signal| !is_ignored(*signal));
    let mut signals = Signals::new(heeded)?;
    thread::Builder::new().spawn(move || {
        if let Some(signal) = signals.forever().next() {
            let names = names();
            for name in names.iter() {
                let _ = fs::remove_file(name);
            }
            // Whatever it says, there is nothing else to do.
            let _ = emulate_default_handler(signal);
        }
    })?;
    Ok(())
}

/// Whether whoever started the command has it ignore that signal. Nothing but the system's own list tells.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.unwrap_or_default() >> (signal - 1) & 1 == 1
}

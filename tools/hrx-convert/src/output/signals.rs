//! Signals that ask the command to end while it follows: Ctrl-C, SIGTERM, and the loss of its terminal.
//!
//! Invariants:
//! - A follower closes its output first, and ends as if the captures had ended. Before it has an output, it dies of the signal.
//! - A signal that the command was started with as ignored, as by `nohup`, stays ignored.

use std::fs;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

/// After a signal, what has been recorded by then is still read for this long.
const GRACE: Duration = Duration::from_millis(100);

/// What the signals have asked for.
#[derive(Debug, Default)]
pub struct Stop {
    is_asked: Arc<AtomicBool>,
    /// Whether there is nothing to close.
    dies_at_once: Arc<AtomicBool>,
    /// When it was first seen that the command has to stop.
    seen: OnceLock<Instant>,
}

impl Stop {
    /// Hears the signals from now on. The second one ends the process at once.
    pub fn on_signals() -> io::Result<Arc<Self>> {
        let stop = Self::default();
        // A shell starts the background jobs of a script with SIGINT ignored, but SIGINT is how a script ends a follower: so it is never ignored here.
        let hangup = (!is_ignored(SIGHUP)).then_some(SIGHUP);
        for signal in [SIGINT, SIGTERM].into_iter().chain(hangup) {
            flag::register_conditional_default(signal, Arc::clone(&stop.is_asked))?;
            flag::register_conditional_default(signal, Arc::clone(&stop.dies_at_once))?;
            flag::register(signal, Arc::clone(&stop.is_asked))?;
        }
        Ok(Arc::new(stop))
    }

    /// Whether the command has to stop.
    pub fn is_asked(&self) -> bool {
        self.is_asked.load(Ordering::Relaxed)
    }

    /// Whether the command has to stop reading too, although there may be more to read.
    pub fn is_overdue(&self) -> bool {
        self.is_asked() && self.seen.get_or_init(Instant::now).elapsed() > GRACE
    }

    /// Does what may take long before there is anything to close: a signal ends the process at once.
    pub fn dying_at_once<T>(&self, work: impl FnOnce() -> T) -> T {
        self.dies_at_once.store(true, Ordering::Relaxed);
        let done = work();
        self.dies_at_once.store(false, Ordering::Relaxed);
        done
    }
}

/// Whether the command was started with this signal ignored. Only the list in /proc tells.
pub fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.unwrap_or_default() >> (signal - 1) & 1 == 1
}

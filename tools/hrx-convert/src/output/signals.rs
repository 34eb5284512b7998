//! Signals that ask the command to end while it follows: Ctrl-C, SIGTERM, and the loss of its terminal.
//!
//! Invariants:
//! - A follower closes its output first, and ends as if the captures had ended.
//! - A signal that the command was started with as ignored, as by `nohup`, stays ignored.

use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

/// A flag that the first signal sets. The second one ends the process at once.
pub fn stop_on_signals() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    // A shell starts the background jobs of a script with SIGINT ignored, but SIGINT is how a script ends a follower: so it is never ignored here.
    let hangup = (!is_ignored(SIGHUP)).then_some(SIGHUP);
    for signal in [SIGINT, SIGTERM].into_iter().chain(hangup) {
        flag::register_conditional_default(signal, Arc::clone(&stop))?;
        flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
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

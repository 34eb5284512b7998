//! A thread that says at an interval that the process lives: see [`crate::Options::heartbeat`].
//!
//! It must not be noticed. All signals are blocked in it, so that they go to the program's own threads. No one waits for it. And a process whose main thread
//! left by `pthread_exit` ends when the last of the others has: there this thread must not be the last, with all signals blocked.

use std::fs;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::io::Errno;

use crate::ffi::SignalMask;
use crate::life::Life;

/// By this name the heartbeats of a process know each other, also those of other libraries that have this crate in them. At most 15 bytes.
const NAME: &str = "hrx-heartbeat";

const PERIOD_MIN: Duration = Duration::from_millis(1);
/// A process that only has heartbeats left lives on for a period.
const PERIOD_MAX: Duration = Duration::from_secs(60);

/// Starts the heartbeat of a capture. False: there is no room for another thread.
pub fn start(life: Arc<Life>, period: Duration) -> bool {
    let period = period.clamp(PERIOD_MIN, PERIOD_MAX);
    // The thread begins with the mask of this one.
    let mask = SignalMask::block_all();
    let thread = thread::Builder::new().name(NAME.to_owned());
    let started = thread.spawn(move || beat(&life, period, mask)).is_ok();
    mask.restore();
    started
}

fn beat(life: &Life, period: Duration, mask: SignalMask) {
    loop {
        life.alive();
        let goes_on = life.goes_on_after(period);
        if is_last() {
            // The C library now calls the exit handlers in this thread, and signals take effect again.
            return mask.restore();
        }
        // A thread that cannot wait must not beat without pause.
        if !matches!(goes_on, Ok(true)) {
            return;
        }
    }
}

/// Whether the main thread has ended, and no others but heartbeats are left. True as well where /proc does not tell.
fn is_last() -> bool {
    // Not available once the main thread has ended: proc_pid_exe(5). Needs no descriptor.
    match fs::read_link("/proc/self/exe") {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            only_heartbeats_left().unwrap_or_else(|error| !is_passing(&error))
        }
        _ => false,
    }
}

fn only_heartbeats_left() -> io::Result<bool> {
    let main = fs::read_link("/proc/self")?;
    for thread in fs::read_dir("/proc/self/task")? {
        let thread = thread?;
        if thread.file_name() == main.as_os_str() {
            continue;
        }
        match fs::read(thread.path().join("comm")) {
            Ok(name) if name.trim_ascii_end() != NAME.as_bytes() => return Ok(false),
            Ok(_) => {}
            // It has ended meanwhile.
            Err(error) if is_of_no_thread(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

fn is_of_no_thread(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || is(error, Errno::SRCH)
}

/// Whether there may be an answer at the next beat: descriptors or memory were short.
fn is_passing(error: &io::Error) -> bool {
    [Errno::MFILE, Errno::NFILE, Errno::NOMEM]
        .iter()
        .any(|&errno| is(error, errno))
}

fn is(error: &io::Error, errno: Errno) -> bool {
    error.raw_os_error() == Some(errno.raw_os_error())
}

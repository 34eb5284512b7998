//! Converts captures while they are recorded.
//!
//! Invariants:
//! - The writer is never slowed: its file is read by pread, and its lock is tried without waiting.
//! - An event is handed on at most [`PAUSE_MAX`] and the time of one round after it was recorded.
//! - Every region comes out once: those that run are written at the end, if they still run.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use hrx_trace_reader::{Ending, Follower};

use crate::input::captures::Captures;
use crate::input::conversion::{Followed, Outcome, Sieve};
use crate::input::files::captures_in;
use crate::input::filter::Filter;

/// Nothing happens: the longest that an event waits.
const PAUSE_MAX: Duration = Duration::from_millis(50);
/// A small ring is written in a hurry.
const PAUSE_MIN: Duration = Duration::from_millis(1);

/// Waits until all files are there, or until `stop`, and says so.
pub fn wait_for(files: &[PathBuf], stop: &AtomicBool) {
    let missing: Vec<&PathBuf> = files.iter().filter(|file| is_to_come(file)).collect();
    let [first, others @ ..] = missing.as_slice() else {
        return;
    };
    let others = match others.len() {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    crate::output::console::say(&format!("waiting for {}{others}", first.display()));
    for file in missing {
        while is_to_come(file) && !stop.load(Ordering::Relaxed) {
            sleep(PAUSE_MAX);
        }
    }
}

/// Whether nothing is there, or a capture whose creation has not come to its end: the magic, which is written last. Of a directory, whether it
/// holds no capture yet, or one that is to come.
fn is_to_come(file: &Path) -> bool {
    match fs::metadata(file) {
        Err(error) => error.kind() == io::ErrorKind::NotFound,
        // Whoever reads one that cannot be read tells.
        Ok(there) if there.is_dir() => captures_in(file)
            .is_ok_and(|found| found.is_empty() || found.iter().any(|file| is_to_come(file))),
        Ok(there) if !there.is_file() => false,
        Ok(_) => {
            let mut magic = [0; 8];
            let read = File::open(file).and_then(|file| file.read_at(&mut magic, 0));
            read.is_ok() && magic == [0; 8]
        }
    }
}

/// Writes all captures until each is finished or its writer is dead, or until `stop`.
pub fn follow(
    captures: &mut Captures,
    filter: &mut Filter,
    mut writer: impl Followed,
    stop: &AtomicBool,
) -> io::Result<Vec<Outcome>> {
    let count = captures.len();
    let mut followed: Vec<(Follower, Sieve)> = captures
        .iter()
        .map(|capture| {
            let reading = capture.reading(filter.since_ns(), count);
            let follower = Follower::new(&capture.trace, reading);
            (follower, Sieve::default())
        })
        .collect();
    // The head is for whoever reads already.
    writer.flush()?;
    let mut pause = PAUSE_MIN;
    loop {
        let mut fullest = 0.0f64;
        for (capture, (follower, sieve)) in captures.iter().zip(&mut followed) {
            let mut seen = 0u64;
            while let Some(event) = follower.next(&capture.trace) {
                sieve.pass(filter, &mut writer, capture, &capture.shifted(event))?;
                seen += 1;
            }
            fullest = fullest.max(seen as f64 / capture.trace.identity().capacity as f64);
        }
        if fullest > 0.0 {
            writer.flush()?;
        }
        let live = captures
            .iter()
            .any(|capture| capture.trace.ending() == Ending::Live);
        if stop.load(Ordering::Relaxed) || !live {
            break;
        }
        pause = next_pause(pause, fullest);
        sleep(pause);
        for (capture, (follower, _)) in captures.iter_mut().zip(&mut followed) {
            follower.advance(&mut capture.trace);
        }
    }
    let mut outcomes = Vec::with_capacity(count);
    for (capture, (mut follower, mut sieve)) in captures.iter_mut().zip(followed) {
        follower.conclude(&mut capture.trace);
        while let Some(event) = follower.next(&capture.trace) {
            sieve.pass(filter, &mut writer, capture, &capture.shifted(event))?;
        }
        let report = capture.shifted_report(follower.finish(&capture.trace));
        outcomes.push(sieve.outcome(filter, capture, report));
    }
    writer.finish(captures, &outcomes)?;
    Ok(outcomes)
}

/// So that a ring fills by a quarter between two rounds. `filled`: the part that it filled by in the last one.
fn next_pause(pause: Duration, filled: f64) -> Duration {
    let factor = 0.25 / filled.max(1e-6);
    pause.mul_f64(factor.min(64.0)).clamp(PAUSE_MIN, PAUSE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_suit_the_rate() {
        assert_eq!(next_pause(PAUSE_MIN, 0.0), PAUSE_MAX);
        assert_eq!(next_pause(PAUSE_MAX, 0.25), PAUSE_MAX);
        assert_eq!(next_pause(PAUSE_MAX, 0.5), PAUSE_MAX / 2);
        assert_eq!(next_pause(PAUSE_MIN, 1.0), PAUSE_MIN);
    }
}

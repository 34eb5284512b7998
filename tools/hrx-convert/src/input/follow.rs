//! The loop that writes captures while they are being recorded.
//!
//! Invariants:
//! - The writer is never slowed down: its file is read by pread, and its lock is tried without waiting.
//! - An event is handed on at most [`PAUSE_MAX`] and the time of one round after it was recorded.
//! - A signal is heard within a moment, whatever a round holds: reading goes on for a tenth of a second, and the rest is counted as not read.
//! - Every region is written once. Open regions are written at the end, if they are still open then.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use hrx_trace_reader::{Ending, Follower};

use crate::input::captures::Captures;
use crate::input::filter::Filter;
use crate::input::format::FollowedFormat;
use crate::input::outcome::Outcome;
use crate::input::sieve::Sieve;
use crate::output::console::say;
use crate::output::signals::Stop;

/// While nothing happens; an event waits no longer than this.
const PAUSE_MAX: Duration = Duration::from_millis(50);
/// While a small ring is being written fast.
const PAUSE_MIN: Duration = Duration::from_millis(1);
/// Between two looks at what lies at the paths of the captures.
const LOOK: Duration = Duration::from_millis(500);

/// Writes all captures until each is finished or its writer is dead, or until the command has to stop.
///
/// # Errors
/// Those of the format.
pub fn follow(
    captures: &mut Captures,
    filter: &mut Filter,
    mut format: impl FollowedFormat,
    stop: &Arc<Stop>,
) -> io::Result<Vec<Outcome>> {
    let count = captures.len();
    let mut followed: Vec<(Follower, Sieve)> = captures
        .iter()
        .map(|capture| {
            let heard = Arc::clone(stop);
            capture.trace.interrupt_when(move || heard.is_overdue());
            let reading = capture.reading(filter.since_ns(), count);
            let follower = Follower::new(capture.trace.clone(), reading);
            (follower, Sieve::default())
        })
        .collect();
    let mut places: Vec<Option<Inode>> = captures
        .iter()
        .map(|capture| inode_at(&capture.path))
        .collect();
    let mut looked = Instant::now();
    // Flush the header for live readers.
    format.flush()?;
    let mut pause = PAUSE_MIN;
    loop {
        let mut fullest = 0.0f64;
        for (capture, (follower, sieve)) in captures.iter().zip(&mut followed) {
            let mut seen = 0u64;
            for event in follower.by_ref() {
                sieve.pass(filter, &mut format, capture, &capture.shifted(event))?;
                seen += 1;
            }
            fullest = fullest.max(seen as f64 / capture.trace.identity().capacity as f64);
        }
        if fullest > 0.0 {
            format.flush()?;
        }
        let live = followed.iter().any(|(follower, _)| {
            matches!(follower.trace().ending(), Ending::Live | Ending::Ending)
        });
        if stop.is_asked() || !live {
            break;
        }
        pause = next_pause(pause, fullest);
        sleep(pause);
        if looked.elapsed() >= LOOK {
            say_what_is_replaced(captures, &mut places);
            looked = Instant::now();
        }
        for (capture, (follower, _)) in captures.iter().zip(&mut followed) {
            capture.forget_names();
            follower.advance();
        }
    }
    say_what_is_replaced(captures, &mut places);
    let mut outcomes = Vec::with_capacity(count);
    for (capture, (mut follower, mut sieve)) in captures.iter_mut().zip(followed) {
        capture.forget_names();
        follower.conclude();
        for event in follower.by_ref() {
            sieve.pass(filter, &mut format, capture, &capture.shifted(event))?;
        }
        let report = capture.shifted_report(follower.report());
        capture.trace = follower.into_trace();
        outcomes.push(sieve.outcome(filter, capture, report));
    }
    format.finish(captures, &mut outcomes)?;
    Ok(outcomes)
}

/// A file, by device and number.
type Inode = (u64, u64);

fn inode_at(path: &Path) -> Option<Inode> {
    let there = fs::metadata(path).ok()?;
    Some((there.dev(), there.ino()))
}

/// Says once of each capture if another file has its path by now: what is recorded there is not followed.
fn say_what_is_replaced(captures: &Captures, places: &mut [Option<Inode>]) {
    for (capture, place) in captures.iter().zip(places) {
        let now = inode_at(&capture.path);
        if place.is_some() && now.is_some() && now != *place {
            say(&format!(
                "{}: another file lies there now, which is not followed; the one that was there was renamed or removed, and is followed to its end",
                capture.path.display()
            ));
            *place = None;
        }
    }
}

/// Aims at a quarter of a ring being filled between two rounds. `filled` is the part of it that was filled in the last one.
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

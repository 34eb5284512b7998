//! The loop that writes captures while they are being recorded.
//!
//! Invariants:
//! - The writer is never slowed down: its file is read by pread, and its lock is tried without waiting.
//! - An event is handed on at most [`PAUSE_MAX`] and the time of one round after it was recorded.
//! - Every region is written once. Open regions are written at the end, if they are still open then.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use hrx_trace_reader::{Ending, Follower};

use crate::input::captures::Captures;
use crate::input::filter::Filter;
use crate::input::format::FollowedFormat;
use crate::input::outcome::Outcome;
use crate::input::sieve::Sieve;

/// While nothing happens; an event waits no longer than this.
const PAUSE_MAX: Duration = Duration::from_millis(50);
/// While a small ring is being written fast.
const PAUSE_MIN: Duration = Duration::from_millis(1);

/// Writes all captures until each is finished or its writer is dead, or until `stop` is set.
///
/// # Errors
/// Those of the format.
pub fn follow(
    captures: &mut Captures,
    filter: &mut Filter,
    mut format: impl FollowedFormat,
    stop: &AtomicBool,
) -> io::Result<Vec<Outcome>> {
    let count = captures.len();
    let mut followed: Vec<(Follower, Sieve)> = captures
        .iter()
        .map(|capture| {
            let reading = capture.reading(filter.since_ns(), count);
            let follower = Follower::new(capture.trace.clone(), reading);
            (follower, Sieve::default())
        })
        .collect();
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
        let live = followed
            .iter()
            .any(|(follower, _)| follower.trace().ending() == Ending::Live);
        if stop.load(Ordering::Relaxed) || !live {
            break;
        }
        pause = next_pause(pause, fullest);
        sleep(pause);
        for (follower, _) in &mut followed {
            follower.advance();
        }
    }
    let mut outcomes = Vec::with_capacity(count);
    for (capture, (mut follower, mut sieve)) in captures.iter_mut().zip(followed) {
        follower.conclude();
        for event in follower.by_ref() {
            sieve.pass(filter, &mut format, capture, &capture.shifted(event))?;
        }
        let report = capture.shifted_report(follower.report());
        capture.trace = follower.into_trace();
        outcomes.push(sieve.outcome(filter, capture, report));
    }
    format.finish(captures, &outcomes)?;
    Ok(outcomes)
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

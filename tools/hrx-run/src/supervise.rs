//! The time that a program runs: signals are passed on, stops followed, hangs noticed, until it has ended.

use std::io;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::ending::{Ending, see};
use crate::launch::Program;
use crate::relay::Relay;
use crate::signals::Signals;
use crate::stuck::StuckWatch;
use crate::terminal::{State, look, stop_too};

/// Waits for the end of the program, and does not take its status. `stuck` is called for each hang.
pub fn until_end(
    program: &Program,
    signals: &Signals,
    mut relay: Relay,
    mut watch: Option<StuckWatch>,
    mut stuck: impl FnMut(),
) -> io::Result<Ending> {
    loop {
        match look(program)? {
            State::Ended => return see(program),
            State::Stopped(signal) => {
                stop_too(signal);
                if let Some(watch) = &mut watch {
                    watch.begin_anew(Instant::now());
                }
            }
            State::Running => {}
        }
        let now = Instant::now();
        if let Some(watch) = &mut watch
            && watch.is_stuck(now)
        {
            stuck();
        }
        let settled = relay.settle(now);
        let next_look = watch.as_ref().map(StuckWatch::next_look);
        let until = [settled, next_look].into_iter().flatten().min();
        wait(signals, &relay, until)?;
        let now = Instant::now();
        relay.listen(now);
        while let Some(received) = signals.next()? {
            relay.take(received, now);
        }
    }
}

/// Until a signal comes, the sentinel has something to say, or that moment. SIGCHLD is a signal: the program's end and its stops end the wait.
fn wait(signals: &Signals, relay: &Relay, until: Option<Instant>) -> io::Result<()> {
    let mut ready = vec![PollFd::new(signals, PollFlags::IN)];
    let sentinel = relay.sentinel();
    if let Some(sentinel) = &sentinel {
        ready.push(PollFd::new(sentinel, PollFlags::IN));
    }
    let left = |until: Instant| {
        let left = until.saturating_duration_since(Instant::now());
        // Rounded up, so that the moment has come when the wait is over.
        Timespec::try_from(left + Duration::from_millis(1))
    };
    let timeout = until.map(left).transpose().map_err(io::Error::other)?;
    match poll(&mut ready, timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

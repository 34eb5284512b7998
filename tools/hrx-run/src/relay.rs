//! Passes on to the program what was sent to hrx-run alone.
//!
//! The program must get each signal once: neither never, as when `kill PID` names hrx-run alone, nor twice, as when the terminal, a shell's `kill %1`,
//! systemd or Slurm signals everything and hrx-run passes its own copy on. A second SIGTERM stops many programs in the middle of their checkpoint.
//! A signal does not tell how many it was sent to; the [sentinel](crate::sentinel) does. What it got as well, the program got.

use std::time::{Duration, Instant};

use nix::libc;
use rustix::fd::BorrowedFd;
use rustix::process::Pid;

use crate::inherited;
use crate::sentinel::{Report, Sentinel};
use crate::signals::Received;

/// How far apart the copies of one signal may come: systemd and pkill send them one after the other.
pub const SETTLE: Duration = Duration::from_millis(50);

/// Passes signals on to the program.
pub struct Relay {
    program: Pid,
    sentinel: Option<Sentinel>,
    /// Signals that hrx-run got and that may have gone to everybody.
    undecided: Vec<Undecided>,
    /// Signals that the sentinel got and hrx-run has not got yet.
    heard: Vec<(i32, Instant)>,
}

struct Undecided {
    signal: i32,
    since: Instant,
    /// The number of the question to the sentinel whose answer has to be there.
    question: u64,
}

impl Relay {
    pub fn new(program: Pid, sentinel: Option<Sentinel>) -> Self {
        Self {
            program,
            sentinel,
            undecided: Vec::new(),
            heard: Vec::new(),
        }
    }

    /// What becomes readable when the sentinel has something to say.
    pub fn sentinel(&self) -> Option<BorrowedFd<'_>> {
        self.sentinel.as_ref().map(Sentinel::reports)
    }

    /// Takes a signal that hrx-run got.
    pub fn take(&mut self, received: Received, now: Instant) {
        let signal = received.signal;
        if signal == libc::SIGCHLD {
            return;
        }
        if let Some(at) = self.heard.iter().position(|(heard, _)| *heard == signal) {
            self.heard.remove(at);
            return;
        }
        // As the kernel has it of pending signals, which the sentinel's still may be: a second one is the first, and a stop and SIGCONT cancel out.
        self.undecided
            .retain(|undecided| !cancels(signal, undecided.signal));
        let is_same = |undecided: &Undecided| undecided.signal == signal;
        if self.undecided.iter().any(is_same) {
            return;
        }
        match &mut self.sentinel {
            Some(sentinel) => self.undecided.push(Undecided {
                signal,
                since: now,
                question: sentinel.ask(),
            }),
            // The terminal signals the whole foreground group.
            None if received.from_kernel => {}
            None => inherited::send(self.program, signal),
        }
    }

    /// Reads what the sentinel has to say.
    pub fn listen(&mut self, now: Instant) {
        let Some(sentinel) = &mut self.sentinel else {
            return;
        };
        let mut gone = false;
        for report in sentinel.listen() {
            match report {
                Report::Signal(signal) => {
                    let own = |undecided: &Undecided| undecided.signal == signal;
                    match self.undecided.iter().position(own) {
                        Some(at) => drop(self.undecided.remove(at)),
                        None => self.heard.push((signal, now)),
                    }
                }
                Report::Gone => gone = true,
            }
        }
        if gone {
            self.sentinel = None;
        }
    }

    /// Passes on what the sentinel did not get, and says when to come again.
    pub fn settle(&mut self, now: Instant) -> Option<Instant> {
        let answered = self.sentinel.as_ref().map_or(u64::MAX, Sentinel::answered);
        let is_settled = |since: Instant| now.duration_since(since) >= SETTLE;
        self.heard.retain(|(_, since)| !is_settled(*since));
        let program = self.program;
        self.undecided.retain(|undecided| {
            let decided = undecided.question <= answered && is_settled(undecided.since);
            if decided {
                inherited::send(program, undecided.signal);
            }
            !decided
        });
        let next = |undecided: &Undecided| undecided.since.max(now) + SETTLE;
        self.undecided.iter().map(next).min()
    }
}

/// Whether the kernel drops a pending signal when another is sent.
fn cancels(sent: i32, pending: i32) -> bool {
    let stops = |signal| matches!(signal, libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU);
    (stops(sent) && pending == libc::SIGCONT) || (sent == libc::SIGCONT && stops(pending))
}

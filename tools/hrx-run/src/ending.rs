//! How the program ended, as the kernel tells its parent, and how hrx-run ends the same way.

use std::io;
use std::process;
use std::time::Duration;

use nix::sys::signal::Signal;
use rustix::time::{ClockId, clock_gettime};

use crate::inherited::die_of;
use crate::launch::Program;
use crate::status::{Status, wait_without_taking};

/// What a shell adds to the number of the signal that a command died of.
const SHELL_SIGNAL: i32 = 128;

/// The end of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    pub how: How,
    pub core_dumped: bool,
    /// The most memory that it, or a descendant it waited for, had resident, in bytes.
    pub peak_bytes: u64,
    /// Processor time of it and of descendants that it waited for, in nanoseconds.
    pub user_ns: u64,
    pub system_ns: u64,
    pub took: Duration,
    pub seen: Seen,
}

/// When hrx-run learnt of the end, by three clocks, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    pub monotonic_ns: u64,
    pub boottime_ns: u64,
    pub realtime_ns: u64,
}

/// What it ended by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It exited with this code.
    Exited(i32),
    /// This signal killed it.
    Killed(i32),
}

/// Waits for the end of a program. Its status is not taken, and its process id its own, until [`reap`].
pub fn see(program: &Program) -> io::Result<Ending> {
    let status = wait_without_taking(program.pid)?;
    let seen = Seen::now();
    Ok(Ending {
        how: How::of(&status),
        core_dumped: status.core_dumped,
        peak_bytes: status.peak_bytes,
        user_ns: status.user_ns,
        system_ns: status.system_ns,
        took: program.started.elapsed(),
        seen,
    })
}

/// Takes the status of a program that has ended.
pub fn reap(program: &mut Program) -> io::Result<()> {
    program.child.wait().map(drop)
}

impl Seen {
    /// The three clocks, read again where the thread lost its processor in between.
    fn now() -> Self {
        const BRACKET_NS: u64 = 1_000;
        const BRACKETS_MAX: usize = 16;
        let brackets = (0..BRACKETS_MAX).map(|_| {
            let seen = Self {
                monotonic_ns: clock_ns(ClockId::Monotonic),
                boottime_ns: clock_ns(ClockId::Boottime),
                realtime_ns: clock_ns(ClockId::Realtime),
            };
            (clock_ns(ClockId::Monotonic) - seen.monotonic_ns, seen)
        });
        let mut tightest = (u64::MAX, Self::default());
        for bracket in brackets {
            if bracket.0 < tightest.0 {
                tightest = bracket;
            }
            if tightest.0 < BRACKET_NS {
                break;
            }
        }
        tightest.1
    }
}

fn clock_ns(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    // Neither is negative: the clocks began in 1970 or at boot.
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

impl How {
    fn of(status: &Status) -> Self {
        match status.by_signal {
            true => Self::Killed(status.number),
            false => Self::Exited(status.number),
        }
    }

    /// Whether it ended as its author meant it to.
    pub fn is_success(self) -> bool {
        self == Self::Exited(0)
    }

    /// The signal that killed the program, or a command of the shell that the program is, which reports it by its exit code.
    pub fn signal(self) -> Option<i32> {
        match self {
            Self::Killed(signal) => Some(signal),
            Self::Exited(code) => {
                Some(code - SHELL_SIGNAL).filter(|signal| (1..=64).contains(signal))
            }
        }
    }

    /// "exited with 3", "was killed by SIGSEGV".
    pub fn text(self) -> String {
        match (self, self.signal()) {
            (Self::Killed(signal), _) => format!("was killed by {}", signal_name(signal)),
            (Self::Exited(code), Some(signal)) => {
                let name = signal_name(signal);
                format!("exited with {code}, as a shell does for a command that {name} killed")
            }
            (Self::Exited(code), None) => format!("exited with {code}"),
        }
    }

    /// Ends hrx-run the same way.
    pub fn end(self) -> ! {
        match self {
            Self::Exited(code) => process::exit(code),
            Self::Killed(signal) => die_of(signal),
        }
    }
}

fn signal_name(signal: i32) -> String {
    match Signal::try_from(signal) {
        Ok(signal) => signal.as_str().to_owned(),
        Err(_) => format!("signal {signal}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_words() {
        assert_eq!(How::Exited(3).text(), "exited with 3");
        assert_eq!(How::Killed(11).text(), "was killed by SIGSEGV");
        assert_eq!(How::Killed(40).text(), "was killed by signal 40");
        let text = "exited with 137, as a shell does for a command that SIGKILL killed";
        assert_eq!(How::Exited(137).text(), text);
        // No signal has that number.
        assert_eq!(How::Exited(255).text(), "exited with 255");
        assert_eq!(How::Exited(128).text(), "exited with 128");
    }
}

//! How the program ended, as the kernel tells its parent, and how hrx-run ends the same way.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{self, ExitStatus};
use std::time::Duration;

use nix::sys::signal::Signal;
use wait4::Wait4;

use crate::inherited::die_of;
use crate::launch::Program;

/// What a shell adds to the number of the signal that a command died of.
const SHELL_SIGNAL: i32 = 128;

/// The end of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    pub how: How,
    pub core_dumped: bool,
    /// The most memory that it, or a descendant it waited for, had resident, in bytes.
    pub peak_bytes: u64,
    pub took: Duration,
}

/// What it ended by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It exited with this code.
    Exited(i32),
    /// This signal killed it.
    Killed(i32),
}

/// Takes the status of a program that has ended.
pub fn reap(program: &mut Program) -> io::Result<Ending> {
    let took = program.started.elapsed();
    let used = program.child.wait4()?;
    Ok(Ending {
        how: How::of(used.status),
        core_dumped: used.status.core_dumped(),
        peak_bytes: used.rusage.maxrss,
        took,
    })
}

impl How {
    fn of(status: ExitStatus) -> Self {
        match status.signal() {
            Some(signal) => Self::Killed(signal),
            None => Self::Exited(status.code().unwrap_or_default()),
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

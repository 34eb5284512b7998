//! The signals that this process is sent, read one by one instead of taking effect.

use std::io;
use std::thread::sleep;
use std::time::Duration;

use nix::libc;
use nix::sys::signal::SigSet;
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::fd::{AsFd, BorrowedFd};

/// The signals sent to this process, all of which are blocked.
pub struct Signals(SignalFd);

/// One of them.
pub struct Received {
    pub signal: i32,
    /// Sent by the kernel, as the terminal's are, and not by a process.
    pub from_kernel: bool,
}

impl Signals {
    /// Every signal there is.
    pub fn open() -> io::Result<Self> {
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        Ok(Self(SignalFd::with_flags(&SigSet::all(), flags)?))
    }

    /// The next one that came, if any.
    pub fn next(&self) -> io::Result<Option<Received>> {
        let received = self.0.read_signal()?;
        Ok(received.map(|information| Received {
            signal: information.ssi_signo as i32,
            from_kernel: information.ssi_code == libc::SI_KERNEL,
        }))
    }

    /// Drops those that have come, and those that come in that time.
    pub fn discard(&self, time: Duration) {
        sleep(time);
        while let Ok(Some(_)) = self.next() {}
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

//! The status of a child that has ended, looked at without taking it: until it is taken, the child's process id belongs to no other process.
//!
//! With `inherited`, all unsafe code of the command: the C library's `waitid` does not have the kernel's fifth argument, which tells what the child used.

use std::io;
use std::mem::MaybeUninit;

use nix::libc;
use rustix::process::Pid;

/// How a child ended, and what it used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Its exit code, or the signal that killed it.
    pub number: i32,
    pub by_signal: bool,
    pub core_dumped: bool,
    /// The most memory that it, or a descendant that was waited for, had resident, in bytes.
    pub peak_bytes: u64,
    /// Processor time of it and of descendants that were waited for, in nanoseconds.
    pub user_ns: u64,
    pub system_ns: u64,
}

/// Waits until the child has ended.
pub fn wait_without_taking(child: Pid) -> io::Result<Status> {
    loop {
        let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
        let mut usage = MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the kernel writes one of each struct, both of which are ours, and reads the numbers.
        let result = unsafe {
            libc::syscall(
                libc::SYS_waitid,
                libc::P_PID,
                child.as_raw_pid(),
                info.as_mut_ptr(),
                libc::WEXITED | libc::WNOWAIT,
                usage.as_mut_ptr(),
            )
        };
        if result == 0 {
            // SAFETY: filled by the kernel, and zeroes before.
            let info = unsafe { info.assume_init() };
            // SAFETY: as above.
            let usage = unsafe { usage.assume_init() };
            return Ok(status(&info, &usage));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn status(info: &libc::siginfo_t, usage: &libc::rusage) -> Status {
    Status {
        // SAFETY: what `waitid` fills in has this field.
        number: unsafe { info.si_status() },
        by_signal: info.si_code != libc::CLD_EXITED,
        core_dumped: info.si_code == libc::CLD_DUMPED,
        // Linux counts in KiB.
        peak_bytes: usage.ru_maxrss.unsigned_abs() << 10,
        user_ns: nanoseconds(usage.ru_utime),
        system_ns: nanoseconds(usage.ru_stime),
    }
}

fn nanoseconds(time: libc::timeval) -> u64 {
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_usec.unsigned_abs() * 1_000
}

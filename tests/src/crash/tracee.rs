//! A child under ptrace: stopped, stepped by single instructions, let go to where it stops itself.
//!
//! A stopped child has executed exactly the instructions before the stop, and stores reach a shared mapping in program order as far as the
//! process itself can tell: the file as it is then is the file that a death at this instruction leaves.

use std::io;
use std::process::{Child, Command};

use nix::sys::ptrace;
use nix::sys::signal::{Signal, raise};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// The signal by which a thread of a child says that it has come to a place agreed upon.
const HERE: Signal = Signal::SIGUSR1;

/// In the child: hands it over to its parent, and stops.
///
/// # Errors
/// What the system says: a sandbox may forbid ptrace.
pub fn hand_over() -> io::Result<()> {
    ptrace::traceme()?;
    here()
}

/// In the child: stops this thread until the parent lets it go on. Only after [`hand_over`]; else it kills.
///
/// # Errors
/// What the system says.
pub fn here() -> io::Result<()> {
    Ok(raise(HERE)?)
}

/// A child that has handed itself over. Killed when dropped.
#[derive(Debug)]
pub struct Tracee {
    child: Child,
    /// Its threads, the first one first.
    threads: Vec<Pid>,
}

impl Tracee {
    /// Starts `command`, whose program calls [`hand_over`], and returns when it has.
    ///
    /// # Panics
    /// If it does not.
    pub fn start(command: &mut Command) -> Self {
        let child = command.spawn().expect("the child starts");
        let first = Pid::from_raw(child.id().cast_signed());
        let tracee = Self {
            child,
            threads: vec![first],
        };
        assert_eq!(wait(first), WaitStatus::Stopped(first, HERE));
        // A test that fails leaves no stopped child behind.
        let options = ptrace::Options::PTRACE_O_EXITKILL
            | ptrace::Options::PTRACE_O_TRACECLONE
            | ptrace::Options::PTRACE_O_TRACESYSGOOD;
        ptrace::setoptions(first, options).expect("ptrace takes its options");
        tracee
    }

    /// The process, which is also its first thread.
    #[must_use]
    pub fn process(&self) -> Pid {
        self.threads[0]
    }

    /// Lets `thread` execute one instruction.
    ///
    /// # Panics
    /// If it stops for any other reason, or dies.
    pub fn step(&self, thread: Pid) {
        let stopped = resume(thread, || ptrace::step(thread, None));
        assert_eq!(stopped, WaitStatus::Stopped(thread, Signal::SIGTRAP));
    }

    /// Lets `thread` run until it calls [`here`].
    ///
    /// # Panics
    /// If it stops for any other reason, or dies.
    pub fn run(&self, thread: Pid) {
        let stopped = resume(thread, || ptrace::cont(thread, None));
        assert_eq!(stopped, WaitStatus::Stopped(thread, HERE));
    }

    /// Lets the first thread run until it has started another one, which then stands still before its first instruction.
    ///
    /// # Panics
    /// If it stops for any other reason, or dies.
    pub fn run_until_thread(&mut self) -> Pid {
        let first = self.process();
        let stopped = resume(first, || ptrace::cont(first, None));
        let WaitStatus::PtraceEvent(_, Signal::SIGTRAP, _) = stopped else {
            panic!("the child started no thread");
        };
        let started = ptrace::getevent(first).expect("the event names the thread");
        let started = Pid::from_raw(i32::try_from(started).expect("a thread id"));
        self.threads.push(started);
        assert_eq!(wait(started), WaitStatus::Stopped(started, Signal::SIGSTOP));
        started
    }

    /// Lets `thread` run until it enters a system call or leaves it (true), or calls [`here`] (false), which begins with system calls of its own.
    ///
    /// # Panics
    /// If it stops for any other reason, or dies.
    pub fn run_until_system_call(&self, thread: Pid) -> bool {
        match resume(thread, || ptrace::syscall(thread, None)) {
            WaitStatus::PtraceSyscall(_) => true,
            WaitStatus::Stopped(_, HERE) => false,
            other => panic!("the child neither called the system nor was there: {other:?}"),
        }
    }
}

/// Lets `thread` go on by `go`, until it stops for a reason that is not job control: the whole test may be suspended, and resumed.
fn resume(thread: Pid, go: impl Fn() -> nix::Result<()>) -> WaitStatus {
    loop {
        go().expect("the child goes on");
        match wait(thread) {
            WaitStatus::Stopped(_, Signal::SIGSTOP | Signal::SIGTSTP | Signal::SIGCONT) => {}
            stopped => return stopped,
        }
    }
}

/// Waits for this very thread: the test's other children are somebody else's.
fn wait(thread: Pid) -> WaitStatus {
    waitpid(thread, Some(WaitPidFlag::__WALL)).expect("the child can be waited for")
}

impl Drop for Tracee {
    fn drop(&mut self) {
        let _ = self.child.kill();
        // A traced thread stays until it is waited for, and the process until its last thread is gone.
        for thread in self.threads.iter().rev() {
            while let Ok(status) = waitpid(*thread, Some(WaitPidFlag::__WALL)) {
                if matches!(status, WaitStatus::Exited(..) | WaitStatus::Signaled(..)) {
                    break;
                }
            }
        }
    }
}

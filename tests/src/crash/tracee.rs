//! A child under ptrace: stopped, stepped by single instructions, or run until it stops itself.
//!
//! A stopped child has executed exactly the instructions before the stop, and its stores reach a shared mapping in program order as far as it can
//! tell itself. The file at that moment is the file that a death at this instruction leaves.

use std::io;
use std::process::{Child, Command};

use nix::sys::ptrace;
use nix::sys::signal::{Signal, raise};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// The signal with which a child's thread says that it has reached an agreed point.
const HERE: Signal = Signal::SIGUSR1;

/// In the child: asks to be traced by the parent, and stops.
///
/// # Errors
/// The system's error: a sandbox may forbid ptrace.
pub fn hand_over() -> io::Result<()> {
    ptrace::traceme()?;
    here()
}

/// In the child: stops this thread until the parent resumes it. Before [`hand_over`], the signal would kill the child.
///
/// # Errors
/// The system's error.
pub fn here() -> io::Result<()> {
    Ok(raise(HERE)?)
}

/// A traced child. Killed when dropped.
#[derive(Debug)]
pub struct Tracee {
    child: Child,
    /// Its threads, the main thread first.
    threads: Vec<Pid>,
}

impl Tracee {
    /// Starts `command` and returns once its program has called [`hand_over`].
    ///
    /// # Panics
    /// If it does not call it.
    pub fn start(command: &mut Command) -> Self {
        let child = command.spawn().expect("the child starts");
        let first = Pid::from_raw(child.id().cast_signed());
        let tracee = Self {
            child,
            threads: vec![first],
        };
        assert_eq!(wait(first), WaitStatus::Stopped(first, HERE));
        // A failing test leaves no stopped child.
        let options = ptrace::Options::PTRACE_O_EXITKILL
            | ptrace::Options::PTRACE_O_TRACECLONE
            | ptrace::Options::PTRACE_O_TRACESYSGOOD;
        ptrace::setoptions(first, options).expect("ptrace takes its options");
        tracee
    }

    /// The process id, which is also the id of its main thread.
    #[must_use]
    pub fn process(&self) -> Pid {
        self.threads[0]
    }

    /// Executes one instruction of `thread`.
    ///
    /// # Panics
    /// If it stops for another reason, or dies.
    pub fn step(&self, thread: Pid) {
        let stopped = resume(thread, || ptrace::step(thread, None));
        assert_eq!(stopped, WaitStatus::Stopped(thread, Signal::SIGTRAP));
    }

    /// Runs `thread` until it calls [`here`].
    ///
    /// # Panics
    /// If it stops for another reason, or dies.
    pub fn run(&self, thread: Pid) {
        let stopped = resume(thread, || ptrace::cont(thread, None));
        assert_eq!(stopped, WaitStatus::Stopped(thread, HERE));
    }

    /// Runs the main thread until it has started another one, which is then stopped before its first instruction.
    ///
    /// # Panics
    /// If it stops for another reason, or dies.
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

    /// Runs `thread` until it enters or leaves a system call (true), or calls [`here`] (false), which itself begins with system calls.
    ///
    /// # Panics
    /// If it stops for another reason, or dies.
    pub fn run_until_system_call(&self, thread: Pid) -> bool {
        match resume(thread, || ptrace::syscall(thread, None)) {
            WaitStatus::PtraceSyscall(_) => true,
            WaitStatus::Stopped(_, HERE) => false,
            other => panic!("the child neither made a system call nor called `here`: {other:?}"),
        }
    }
}

/// Resumes `thread` with `go` until it stops for a reason other than job control: the whole test may be suspended and resumed.
fn resume(thread: Pid, go: impl Fn() -> nix::Result<()>) -> WaitStatus {
    loop {
        go().expect("the child resumes");
        match wait(thread) {
            WaitStatus::Stopped(_, Signal::SIGSTOP | Signal::SIGTSTP | Signal::SIGCONT) => {}
            stopped => return stopped,
        }
    }
}

/// Waits for this thread alone: other threads of the test have children too.
fn wait(thread: Pid) -> WaitStatus {
    waitpid(thread, Some(WaitPidFlag::__WALL)).expect("the child can be waited for")
}

impl Drop for Tracee {
    fn drop(&mut self) {
        let _ = self.child.kill();
        // A traced thread remains until it is waited for, and the process until its last thread is gone.
        for thread in self.threads.iter().rev() {
            while let Ok(status) = waitpid(*thread, Some(WaitPidFlag::__WALL)) {
                if matches!(status, WaitStatus::Exited(..) | WaitStatus::Signaled(..)) {
                    break;
                }
            }
        }
    }
}

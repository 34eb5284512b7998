//! What hrx-run was started with, and how the program gets it back unchanged. All unsafe code of the command is here.
//!
//! Before `main`, Rust's runtime ignores SIGPIPE and opens /dev/null in the place of closed standard streams. systemd starts its services with
//! SIGPIPE ignored, shells start commands with closed streams, and a program can see both. So a constructor, which runs before the runtime, notes them.
//!
//! From [`Inherited::take`] to the end every signal is blocked and read from a descriptor: no handler runs in hrx-run, so none is inherited, and
//! nothing but SIGKILL and SIGSTOP takes effect on it.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{self, Command};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::libc;
use nix::sys::signal::SigSet;
use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Pid, Resource, Rlimit, Signal, getpid, getppid, set_dumpable_behavior,
    set_parent_process_death_signal, setrlimit,
};

static PIPE_IGNORED: AtomicBool = AtomicBool::new(false);
static CLOSED: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];

#[used]
// SAFETY: the C library calls each entry of this section once, before `main`, with arguments that a C function may leave unread.
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = note;

extern "C" fn note() {
    PIPE_IGNORED.store(is_ignored(libc::SIGPIPE), Ordering::Relaxed);
    for (stream, closed) in (0..).zip(&CLOSED) {
        // SAFETY: F_GETFD reads the flags of a descriptor, or fails if there is none.
        let flags = unsafe { libc::fcntl(stream, libc::F_GETFD) };
        closed.store(flags == -1, Ordering::Relaxed);
    }
}

fn is_ignored(signal: i32) -> bool {
    // SAFETY: all fields of this C struct may be zero.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: a null new action changes nothing, and the old one is written to a struct of ours.
    let result = unsafe { libc::sigaction(signal, ptr::null(), &raw mut action) };
    result == 0 && action.sa_sigaction == libc::SIG_IGN
}

/// Makes `signal` mean `handler`: `SIG_DFL` or `SIG_IGN`. Async-signal-safe. SIGKILL and SIGSTOP mean what they always do.
fn set_meaning(signal: i32, handler: libc::sighandler_t) {
    // SAFETY: neither value is a function, so nothing of this process can be called by it.
    unsafe { libc::signal(signal, handler) };
}

/// What hrx-run inherited, of what it or Rust's runtime changes.
#[derive(Clone, Copy, Debug)]
pub struct Inherited {
    mask: SigSet,
    pipe_ignored: bool,
    child_ignored: bool,
    closed: [bool; 3],
}

impl Inherited {
    /// Notes it, blocks every signal, and has the kernel keep the status of ended children, which it does not while SIGCHLD is ignored.
    pub fn take() -> io::Result<Self> {
        let mask = SigSet::thread_get_mask()?;
        SigSet::all().thread_set_mask()?;
        let child_ignored = is_ignored(libc::SIGCHLD);
        set_meaning(libc::SIGCHLD, libc::SIG_DFL);
        Ok(Self {
            mask,
            pipe_ignored: PIPE_IGNORED.load(Ordering::Relaxed),
            child_ignored,
            closed: [0, 1, 2].map(|stream: usize| CLOSED[stream].load(Ordering::Relaxed)),
        })
    }

    /// Has the command start with all of it.
    pub fn restore_in(&self, command: &mut Command) {
        let inherited = *self;
        // SAFETY: the closure calls nothing but system calls, which are async-signal-safe, and allocates nothing.
        unsafe { command.pre_exec(move || inherited.restore()) };
    }

    /// Has the command start with all of it, and die when hrx-run is killed: SIGKILL cannot be passed on otherwise.
    pub fn restore_in_program(&self, command: &mut Command) {
        let inherited = *self;
        let parent = getpid();
        // SAFETY: the closure calls nothing but system calls, which are async-signal-safe, and allocates nothing.
        unsafe { command.pre_exec(move || inherited.restore_program(parent)) };
    }

    fn restore_program(&self, parent: Pid) -> io::Result<()> {
        for (stream, closed) in (0..).zip(self.closed) {
            if closed {
                // SAFETY: this process is about to execute another program, and nothing of it uses its standard streams.
                unsafe { libc::close(stream) };
            }
        }
        set_parent_process_death_signal(Some(Signal::KILL))?;
        if getppid() != Some(parent) {
            // It was killed before that was set.
            return Err(Errno::SRCH.into());
        }
        self.restore()
    }

    fn restore(&self) -> io::Result<()> {
        let meaning = |ignored| {
            if ignored {
                libc::SIG_IGN
            } else {
                libc::SIG_DFL
            }
        };
        set_meaning(libc::SIGPIPE, meaning(self.pipe_ignored));
        set_meaning(libc::SIGCHLD, meaning(self.child_ignored));
        // What was sent since the fork is delivered now, as it would have been.
        Ok(self.mask.thread_set_mask()?)
    }
}

/// Sends a signal, one of the real-time signals too.
pub fn send(process: Pid, signal: i32) {
    // SAFETY: kill reads two numbers.
    unsafe { libc::kill(process.as_raw_pid(), signal) };
}

/// Stops hrx-run by that signal until it is continued.
pub fn stop_by(signal: i32) {
    let blocked = take_by_default(signal);
    if let Ok(blocked) = blocked {
        let _ = blocked.thread_set_mask();
    }
}

/// Ends hrx-run by that signal, without a core file of its own.
pub fn die_of(signal: i32) -> ! {
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    let _ = setrlimit(Resource::Core, none);
    // The limit does not hold for a core that is piped to a program.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let _ = take_by_default(signal);
    // Not reached, unless the signal does not kill.
    process::exit(128 + signal)
}

/// Sends hrx-run the signal with its default meaning, and gives the mask that was set before.
fn take_by_default(signal: i32) -> nix::Result<SigSet> {
    set_meaning(signal, libc::SIG_DFL);
    let blocked = SigSet::thread_get_mask()?;
    send(getpid(), signal);
    // SAFETY: all bytes of this C struct may be zero.
    let mut one: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set is ours; a number that is no signal is refused.
    unsafe { libc::sigaddset(&raw mut one, signal) };
    // SAFETY: reads the set that was made above.
    unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const one, ptr::null_mut()) };
    Ok(blocked)
}

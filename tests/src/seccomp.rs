//! Simulates the errors of other kernels, file systems and unlucky moments: the kernel asks a filter of ours before it does what a program wants.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::mem::zeroed;
use std::ptr::from_mut;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

/// The numbers of the calls in `calls`, which are separated by commas.
fn numbers(calls: &str) -> impl Iterator<Item = i64> {
    calls.split(',').map(|call| match call {
        "clone" => libc::SYS_clone,
        "clone3" => libc::SYS_clone3,
        "fallocate" => libc::SYS_fallocate,
        "flock" => libc::SYS_flock,
        "getrandom" => libc::SYS_getrandom,
        "madvise" => libc::SYS_madvise,
        other => panic!("no call {other:?} can be refused"),
    })
}

/// A filter that does `action` with `calls`.
fn filter(calls: &str, action: SeccompAction) -> BpfProgram {
    let rules = numbers(calls).map(|number| (number, Vec::new()));
    filter_by(rules.collect(), action)
}

/// A filter that does `action` with the calls that `rules` describe.
fn filter_by(rules: BTreeMap<i64, Vec<SeccompRule>>, action: SeccompAction) -> BpfProgram {
    let architecture = std::env::consts::ARCH
        .try_into()
        .expect("an architecture with seccomp");
    SeccompFilter::new(rules, SeccompAction::Allow, action, architecture)
        .expect("a filter")
        .try_into()
        .expect("a program")
}

/// From now on, the kernel answers `calls` with the error `errno`, as an older kernel or another file system would.
///
/// # Panics
/// If the kernel has no seccomp.
pub fn refuse(calls: &str, errno: u32) {
    seccompiler::apply_filter(&filter(calls, SeccompAction::Errno(errno)))
        .expect("the kernel supports seccomp");
}

/// From now on, an allocation (fallocate(2)) of more than `bytes` is answered with EINTR, as if it took longer than the time between two signals.
///
/// # Panics
/// If the kernel has no seccomp.
pub fn interrupt_reservations_above(bytes: u64) {
    const LENGTH_ARGUMENT: u8 = 3;
    let is_long = SeccompCondition::new(
        LENGTH_ARGUMENT,
        SeccompCmpArgLen::Qword,
        SeccompCmpOp::Gt,
        bytes,
    );
    let rule = SeccompRule::new(vec![is_long.expect("a condition")]).expect("a rule");
    let rules = [(libc::SYS_fallocate, vec![rule])].into();
    seccompiler::apply_filter(&filter_by(rules, SeccompAction::Errno(libc::EINTR as u32)))
        .expect("the kernel supports seccomp");
}

/// From now on, the calling thread's first `count` of each of `calls` are answered with EINTR, as if a signal had come; later ones are made. Each answer is sent
/// to the receiver.
///
/// # Panics
/// If the kernel has no seccomp notifications (Linux 5.5).
#[must_use]
pub fn interrupt(calls: &str, count: usize) -> Receiver<()> {
    const MARK: u16 = 7;
    let mut program = filter(calls, SeccompAction::Trace(MARK.into()));
    for step in &mut program {
        if step.k == libc::SECCOMP_RET_TRACE | u32::from(MARK) {
            step.k = libc::SECCOMP_RET_USER_NOTIF;
        }
    }
    let (answered, answers) = channel();
    let (listens, listener) = channel();
    // Started before the filter is there, so that it does not wait for itself.
    thread::spawn(move || {
        let Ok(listener) = listener.recv() else {
            return;
        };
        let mut interrupted: HashMap<i32, usize> = HashMap::new();
        while let Ok(asked) = next_call(listener) {
            let so_far = interrupted.entry(asked.data.nr).or_default();
            let is_interrupted = *so_far < count;
            if is_interrupted {
                *so_far += 1;
                let _ = answered.send(());
            }
            let _ = answer(listener, asked.id, is_interrupted);
        }
    });
    let listener = listen(program).expect("the kernel supports seccomp notifications");
    listens.send(listener).expect("the thread waits");
    answers
}

/// Applies `program` to this thread. Returns the descriptor by which its calls are answered.
fn listen(program: BpfProgram) -> io::Result<i32> {
    let mut steps: Vec<libc::sock_filter> = program
        .iter()
        .map(|step| libc::sock_filter {
            code: step.code,
            jt: step.jt,
            jf: step.jf,
            k: step.k,
        })
        .collect();
    let program = libc::sock_fprog {
        len: u16::try_from(steps.len()).expect("a short program"),
        filter: steps.as_mut_ptr(),
    };
    nix::sys::prctl::set_no_new_privs()?;
    // SAFETY: `program` and the steps that it points to live until the call returns, which only reads them.
    let listener = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_NEW_LISTENER,
            &raw const program,
        )
    };
    match i32::try_from(listener) {
        Ok(listener) if listener >= 0 => Ok(listener),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Waits for the next call that is to be answered.
fn next_call(listener: i32) -> io::Result<libc::seccomp_notif> {
    // SAFETY: zeroes are a valid value of this struct of integers, and the kernel demands them.
    let mut asked: libc::seccomp_notif = unsafe { zeroed() };
    // SAFETY: the kernel writes no more than the struct.
    let failed = unsafe {
        libc::ioctl(
            listener,
            libc::SECCOMP_IOCTL_NOTIF_RECV,
            from_mut(&mut asked),
        )
    };
    match failed {
        0 => Ok(asked),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Has the call `id` fail by EINTR, or has the kernel make it.
fn answer(listener: i32, id: u64, interrupted: bool) -> io::Result<()> {
    let mut answer = libc::seccomp_notif_resp {
        id,
        val: 0,
        error: if interrupted { -libc::EINTR } else { 0 },
        flags: if interrupted {
            0
        } else {
            libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32
        },
    };
    // SAFETY: the kernel reads no more than the struct.
    let failed = unsafe {
        libc::ioctl(
            listener,
            libc::SECCOMP_IOCTL_NOTIF_SEND,
            from_mut(&mut answer),
        )
    };
    match failed {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

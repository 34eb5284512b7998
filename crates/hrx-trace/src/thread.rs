//! Who is calling: the operating system's id of the thread, and its ordinal, which chooses its ring and its favourite open slot.
//!
//! Thread-local, without a destructor (so it works while a thread ends, and in a signal handler) and without allocation. The system call is made
//! once a thread.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

#[derive(Clone, Copy)]
pub struct Thread {
    /// gettid(2).
    pub id: u32,
    /// 0 for the first thread of the process that asks, 1 for the second …
    pub ordinal: u32,
    /// The process in which `id` was asked for.
    process: u32,
}

thread_local! {
    static CURRENT: Cell<Thread> = const { Cell::new(Thread { id: 0, ordinal: 0, process: 0 }) };
}

/// The process that created a recorder last: a forked child that makes one of its own has a new id for the thread that forked.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// Tells which process this is; to be called before [`current`] in each process.
pub fn enter_process() {
    PROCESS.store(std::process::id(), Ordering::Relaxed);
    current();
}

/// The calling thread. One thread-local load, but for its first call.
#[inline]
pub fn current() -> Thread {
    let thread = CURRENT.get();
    if thread.process == PROCESS.load(Ordering::Relaxed) {
        thread
    } else {
        first_call()
    }
}

#[cold]
fn first_call() -> Thread {
    static ORDINALS: AtomicU32 = AtomicU32::new(0);
    let before = CURRENT.get();
    let thread = Thread {
        id: rustix::thread::gettid()
            .as_raw_nonzero()
            .get()
            .cast_unsigned(),
        ordinal: if before.id == 0 {
            ORDINALS.fetch_add(1, Ordering::Relaxed)
        } else {
            before.ordinal
        },
        process: PROCESS.load(Ordering::Relaxed),
    };
    CURRENT.set(thread);
    thread
}

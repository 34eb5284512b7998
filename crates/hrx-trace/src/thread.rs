//! Who is calling: the operating system's id of the thread, and its ordinal, which chooses its ring and its favourite open slot.
//!
//! Thread-local, without a destructor (so it works while a thread ends, and in a signal handler) and without allocation. The system call is made
//! once a thread.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

#[derive(Clone, Copy, Debug)]
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

/// The calling thread, in the process `process`: a forked child that makes a recorder of its own has a new id for the thread that forked. One
/// thread-local load, but for its first call.
#[inline]
pub fn current(process: u32) -> Thread {
    let thread = CURRENT.get();
    if thread.process == process {
        thread
    } else {
        first_call(process)
    }
}

#[cold]
fn first_call(process: u32) -> Thread {
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
        process,
    };
    CURRENT.set(thread);
    thread
}

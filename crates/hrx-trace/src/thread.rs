//! The calling thread: the operating system's id of it, and its ordinal, which chooses its ring and its favourite open slot.
//!
//! Thread-local, without a destructor (so it works while a thread ends, and in a signal handler) and without allocation. The system call is made
//! once per thread.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

/// Two 32-bit fields, so that it travels in one register.
#[derive(Clone, Copy, Debug)]
pub struct Thread {
    /// gettid(2).
    pub id: u32,
    /// 0 for the first thread of the process that asks, 1 for the second …
    pub ordinal: u32,
}

/// The thread, and the process in which its id was looked up.
struct Known {
    thread: Cell<Thread>,
    process: Cell<u32>,
}

thread_local! {
    static KNOWN: Known = const {
        Known { thread: Cell::new(Thread { id: 0, ordinal: 0 }), process: Cell::new(0) }
    };
}

/// The calling thread in the process `process`: in a forked child that creates a recorder of its own, the thread that forked has a new id. Costs one
/// thread-local load, after a thread's first call.
#[inline]
pub fn current(process: u32) -> Thread {
    KNOWN.with(|known| {
        if known.process.get() == process {
            known.thread.get()
        } else {
            first_call(known, process)
        }
    })
}

#[cold]
fn first_call(known: &Known, process: u32) -> Thread {
    static ORDINALS: AtomicU32 = AtomicU32::new(0);
    let before = known.thread.get();
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
    };
    known.thread.set(thread);
    known.process.set(process);
    thread
}

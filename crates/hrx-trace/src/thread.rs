//! Who is calling: the operating system's id of the thread, and its ordinal, which chooses its ring and its favourite open slot.
//!
//! Thread-local, without a destructor (so it works while a thread ends, and in a signal handler) and without allocation. The system call is made
//! once a thread.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

/// Two words, so that it travels in a register.
#[derive(Clone, Copy, Debug)]
pub struct Thread {
    /// gettid(2).
    pub id: u32,
    /// 0 for the first thread of the process that asks, 1 for the second …
    pub ordinal: u32,
}

/// The thread, and the process in which its id was asked for.
struct Known {
    thread: Cell<Thread>,
    process: Cell<u32>,
}

thread_local! {
    static KNOWN: Known = const {
        Known { thread: Cell::new(Thread { id: 0, ordinal: 0 }), process: Cell::new(0) }
    };
}

/// The calling thread, in the process `process`: a forked child that makes a recorder of its own has a new id for the thread that forked. One
/// thread-local load, but for its first call.
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

//! The calling thread: the operating system's id of it, its ordinal, which chooses its ring, and where it looks for open slots.
//!
//! Thread-local, without a destructor (so it works while a thread ends, and in a signal handler) and without allocation. The system call is made
//! once per thread. A thread has to be introduced to each capture, so that the capture can name it.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::vacancy::{Hints, OwnHints};

/// Two 32-bit fields, so that it travels in one register.
#[derive(Clone, Copy, Debug)]
pub struct Thread {
    /// gettid(2).
    pub id: u32,
    /// 0 for the first thread of the process that asks, 1 for the second …
    pub ordinal: u32,
}

/// The thread, the process in which its id was looked up, and the capture that knows it.
struct Known {
    thread: Cell<Thread>,
    process: Cell<u32>,
    capture: Cell<u32>,
    hints: OwnHints,
}

thread_local! {
    static KNOWN: Known = const {
        Known {
            thread: Cell::new(Thread { id: 0, ordinal: 0 }),
            process: Cell::new(0),
            capture: Cell::new(0),
            hints: OwnHints::none(),
        }
    };
}

/// The number of a new capture of this process, from 1. After 2^32 - 1 of them they come again.
pub fn new_capture() -> u32 {
    static CAPTURES: AtomicU32 = AtomicU32::new(1);
    CAPTURES.fetch_add(1, Ordering::Relaxed).max(1)
}

/// The calling thread. None: since it was introduced to the capture with this number, it has been introduced to another one, or it never was. Costs one
/// thread-local load.
#[inline(always)]
pub fn known_to(capture: u32) -> Option<Thread> {
    KNOWN.with(|known| (known.capture.get() == capture).then(|| known.thread.get()))
}

/// The calling thread, which the capture with this number, of the process `process`, knows from now on. In a forked child that creates a recorder of its own,
/// the thread that forked has a new id.
#[cold]
pub fn introduce(capture: u32, process: u32) -> Thread {
    static ORDINALS: AtomicU32 = AtomicU32::new(0);
    KNOWN.with(|known| {
        if known.process.get() != process {
            let before = known.thread.get();
            known.thread.set(Thread {
                id: rustix::thread::gettid()
                    .as_raw_nonzero()
                    .get()
                    .cast_unsigned(),
                ordinal: if before.id == 0 {
                    ORDINALS.fetch_add(1, Ordering::Relaxed)
                } else {
                    before.ordinal
                },
            });
            known.process.set(process);
        }
        known.capture.set(capture);
        known.thread.get()
    })
}

/// The calling thread's hints.
#[derive(Debug)]
pub struct ThreadHints;

// Each call passes a number in or out: a closure around the work that uses them would keep the compiler from inlining that.
impl Hints for ThreadHints {
    #[inline(always)]
    fn freed(&self) -> u16 {
        KNOWN.with(|known| known.hints.freed())
    }

    #[inline(always)]
    fn set_freed(&self, freed: u16) {
        KNOWN.with(|known| known.hints.set_freed(freed));
    }

    fn cursor(&self) -> u16 {
        KNOWN.with(|known| known.hints.cursor())
    }

    fn set_cursor(&self, cursor: u16) {
        KNOWN.with(|known| known.hints.set_cursor(cursor));
    }
}

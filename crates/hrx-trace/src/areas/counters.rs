//! The capture's counters, on their two lines.

use std::mem::offset_of;
use std::sync::atomic::{AtomicU64, Ordering};

use hrx_trace_format::Counters;
use hrx_trace_format::header::{STATE_FINISHED, STATE_LEFT_BY_EXIT, STATE_RECORDING};

use crate::memory::Lines;

/// A counter that grows by one at a time: its place in the lines, in words.
#[derive(Clone, Copy, Debug)]
#[repr(usize)]
pub enum Counter {
    Rejected = offset_of!(Counters, rejected) / 8,
    OpenRefused = offset_of!(Counters, open_refused) / 8,
    NamesRefused = offset_of!(Counters, names_refused) / 8,
    NamesTooLong = offset_of!(Counters, names_too_long) / 8,
    ArgumentsRefused = offset_of!(Counters, arguments_refused) / 8,
}

const STATE: usize = offset_of!(Counters, state) / 8;
const FINISHED_NS: usize = offset_of!(Counters, finished_ns) / 8;
const DROPPED: usize = offset_of!(Counters, dropped) / 8;
const LAST_ALIVE_NS: usize = offset_of!(Counters, last_alive_ns) / 8;

const HIDDEN_NOW: usize = offset_of!(Counters, hidden_now) / 8;

/// The lines of [`Counters`].
#[derive(Clone, Debug)]
pub struct CounterLines(Lines);

impl CounterLines {
    /// The counters on these two lines.
    pub fn new(lines: Lines) -> Self {
        Self(lines)
    }

    /// Says that the capture records.
    pub fn set_recording(&self) {
        self.word(STATE).store(STATE_RECORDING, Ordering::Relaxed);
    }

    /// Counts one more. Not called for an event that is recorded.
    #[cold]
    pub fn count(&self, counter: Counter) {
        self.word(counter as usize).fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a region that found the open table full, and that from now on one more runs without being shown.
    #[cold]
    pub fn hide(&self) {
        self.count(Counter::OpenRefused);
        self.word(HIDDEN_NOW).fetch_add(1, Ordering::Relaxed);
    }

    /// Takes back that a region runs without being shown. Release: a reader that sees it no longer counted finds its completed record.
    #[cold]
    pub fn unhide(&self) {
        self.word(HIDDEN_NOW).fetch_sub(1, Ordering::Release);
    }

    /// Caches how many events were overwritten, for tools that do not derive it.
    pub fn set_dropped(&self, dropped: u64) {
        self.word(DROPPED).store(dropped, Ordering::Relaxed);
    }

    /// Says that the capture came to a clean end, `now_ns` after its start.
    pub fn set_finished(&self, now_ns: u64) {
        self.word(FINISHED_NS).store(now_ns, Ordering::Relaxed);
        self.word(STATE).store(STATE_FINISHED, Ordering::Release);
    }

    /// Says that the process began to exit, `now_ns` after the capture's start, unless the capture has come to its end before.
    pub fn set_left_by_exit(&self, now_ns: u64) {
        self.word(FINISHED_NS).store(now_ns, Ordering::Relaxed);
        let _ = self.word(STATE).compare_exchange(
            STATE_RECORDING,
            STATE_LEFT_BY_EXIT,
            Ordering::Release,
            Ordering::Relaxed,
        );
    }

    /// Says that the process lived `now_ns` after the capture's start. Of moments that threads say at the same time, the latest stays.
    #[inline]
    pub fn raise_last_alive(&self, now_ns: u64) {
        self.word(LAST_ALIVE_NS)
            .fetch_max(now_ns, Ordering::Relaxed);
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        &self.0.get(index / 8)[index % 8]
    }
}

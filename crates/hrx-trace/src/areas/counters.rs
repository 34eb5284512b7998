//! The capture's counters, on their one line.

use std::mem::offset_of;
use std::sync::atomic::{AtomicU64, Ordering};

use hrx_trace_format::Counters;
use hrx_trace_format::header::{STATE_FINISHED, STATE_RECORDING};

use crate::memory::Lines;

/// A counter that grows by one at a time: its place in the line, in words.
#[derive(Clone, Copy, Debug)]
#[repr(usize)]
pub enum Counter {
    Rejected = offset_of!(Counters, rejected) / 8,
    OpenRefused = offset_of!(Counters, open_refused) / 8,
    LabelsRefused = offset_of!(Counters, names_refused) / 8,
}

const STATE: usize = offset_of!(Counters, state) / 8;
const FINISHED_NS: usize = offset_of!(Counters, finished_ns) / 8;
const DROPPED: usize = offset_of!(Counters, dropped) / 8;

/// The line of [`Counters`].
#[derive(Debug)]
pub struct CountersLine(Lines);

impl CountersLine {
    /// The counters of a capture that begins to record. `line` is one line.
    pub fn recording(line: Lines) -> Self {
        let counters = Self(line);
        counters
            .word(STATE)
            .store(STATE_RECORDING, Ordering::Relaxed);
        counters
    }

    /// Counts one more. Not called for an event that is recorded.
    #[cold]
    pub fn count(&self, counter: Counter) {
        self.word(counter as usize).fetch_add(1, Ordering::Relaxed);
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

    fn word(&self, index: usize) -> &AtomicU64 {
        &self.0.get(0)[index]
    }
}

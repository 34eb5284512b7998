//! What a capture's header says of its life: that it was finished, that its process lived, that the process began to exit.
//!
//! It holds the mapping and the gate, and not the recorder. So whatever outlives the recorder can hold it: the heartbeat, and the list of captures that the exit
//! handler goes through.

use std::io;
use std::time::Duration;

use crate::areas::{ControlLines, CounterLines};
use crate::memory::Gate;
use crate::moment::Moment;

/// A capture's life.
#[derive(Debug)]
pub struct Life {
    pub gate: Gate,
    pub counters: CounterLines,
    pub control_lines: ControlLines,
    /// The capture's start, in nanoseconds of CLOCK_MONOTONIC.
    pub epoch_ns: u64,
}

impl Life {
    /// Says that the process lives. The clock is read first, so the moment in the file is never later than the death.
    #[inline]
    pub fn alive(&self) {
        if self.gate.is_open() {
            self.counters.raise_last_alive(self.now_ns());
        }
    }

    /// Waits that long, or until the capture is over. Whether it still runs then.
    pub fn goes_on_after(&self, time: Duration) -> io::Result<bool> {
        self.gate.is_open_after(time)
    }

    /// Ends the capture cleanly.
    pub fn finish(&self) {
        if self.gate.close() {
            self.cache_dropped();
            self.counters.set_finished(self.now_ns());
        }
    }

    /// Says that the end is a clean one. The capture goes on.
    pub fn conclude(&self) {
        // Closed in a forked child too.
        if self.gate.is_open() {
            self.cache_dropped();
            self.counters.set_finished(self.now_ns());
        }
    }

    /// Says that the process began to exit. The capture goes on: other exit handlers may record, and may crash.
    pub fn leave_by_exit(&self) {
        // Closed in a forked child too.
        if self.gate.is_open() {
            self.cache_dropped();
            self.counters.set_left_by_exit(self.now_ns());
        }
    }

    /// Writes the number of overwritten records into the header, for simple tools.
    pub fn cache_dropped(&self) {
        self.counters.set_dropped(self.control_lines.overwritten());
    }

    #[inline]
    fn now_ns(&self) -> u64 {
        // No wrapping: the clock does not go back.
        Moment::now().monotonic_ns().wrapping_sub(self.epoch_ns)
    }
}

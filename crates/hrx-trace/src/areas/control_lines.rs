//! The control lines of all rings: how many tickets they have given out, seen together.

use std::sync::atomic::Ordering;

use crate::memory::Lines;

/// The control lines of a capture, read and never written.
#[derive(Debug)]
pub struct ControlLines {
    lines: Lines,
    /// From one ring's line to the next.
    stride: usize,
    /// Records in each ring.
    capacity: u64,
}

impl ControlLines {
    /// `lines` begins with ring 0's line and ends with that of the last ring; `stride` is in lines, and above 0.
    pub fn new(lines: Lines, stride: usize, capacity: u64) -> Self {
        Self {
            lines,
            stride,
            capacity,
        }
    }

    /// How many records of all rings have been overwritten.
    pub fn overwritten(&self) -> u64 {
        (0..self.lines.count())
            .step_by(self.stride)
            .map(|line| self.lines.get(line)[0].load(Ordering::Relaxed))
            .map(|claimed| claimed.saturating_sub(self.capacity))
            .sum()
    }
}

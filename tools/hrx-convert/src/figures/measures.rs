//! Counts and sums over completed regions.

use std::io;

use hrx_trace_reader::Event;

use crate::figures::durations::{DurationStore, Durations};

/// Counts and sums over some completed regions, and their durations: as they are gathered, or as they are described.
#[derive(Clone, Debug, Default)]
pub struct Measures<D> {
    pub count: u64,
    pub failed: u64,
    pub cancelled: u64,
    pub total_ns: u128,
    pub max_ns: u64,
    pub copied_bytes: u128,
    /// The total duration of the regions that copied something.
    pub copying_ns: u128,
    pub durations: D,
}

impl<D> Measures<D> {
    /// Adds those of other regions, except for their durations.
    pub fn add<Others>(&mut self, other: &Measures<Others>) {
        self.count += other.count;
        self.failed += other.failed;
        self.cancelled += other.cancelled;
        self.total_ns += other.total_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
        self.copied_bytes += other.copied_bytes;
        self.copying_ns += other.copying_ns;
    }

    /// Replaces the durations.
    pub fn with<Others>(&self, durations: Others) -> Measures<Others> {
        Measures {
            count: self.count,
            failed: self.failed,
            cancelled: self.cancelled,
            total_ns: self.total_ns,
            max_ns: self.max_ns,
            copied_bytes: self.copied_bytes,
            copying_ns: self.copying_ns,
            durations,
        }
    }

    /// The mean duration, rounded down; None without regions.
    pub fn mean_ns(&self) -> Option<u64> {
        let mean_ns = self.total_ns.checked_div(self.count.into())?;
        u64::try_from(mean_ns).ok()
    }

    /// Bytes per nanosecond, which is GB/s, over the regions that copied something; None if no time passed in any.
    pub fn gigabytes_per_second(&self) -> Option<f64> {
        (self.copying_ns > 0).then(|| self.copied_bytes as f64 / self.copying_ns as f64)
    }
}

impl Measures<Durations> {
    /// Adds a region.
    #[inline]
    pub fn note(&mut self, event: &Event, store: &mut DurationStore) -> io::Result<()> {
        self.count += 1;
        self.failed += u64::from(event.failed);
        self.cancelled += u64::from(event.cancelled);
        self.total_ns += u128::from(event.duration_ns);
        self.max_ns = self.max_ns.max(event.duration_ns);
        if event.copied_bytes > 0 {
            self.copied_bytes += u128::from(event.copied_bytes);
            self.copying_ns += u128::from(event.duration_ns);
        }
        self.durations.record(event.duration_ns, store)
    }
}

//! What a reader hands out: completed regions and running ones, in the file's unit, nanoseconds since the capture's start.

use hrx_trace_format::record::FLAG_SATURATED;
use hrx_trace_format::{OpenRecord, Record};

/// One completed region, as the host observed it.
///
/// Fields will be added. To make an event of your own, change the fields of `Event::default()`, which are all 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// The ring that holds it.
    pub ring: u32,
    /// Its ticket in that ring, from 1: the order of completion within the ring.
    pub sequence: u64,
    /// When it began, in nanoseconds since the capture's start.
    pub start_ns: u64,
    /// How long it took, in nanoseconds.
    pub duration_ns: u64,
    /// Bytes it copied.
    pub copied_bytes: u64,
    /// The caller's submission or graph id; 0: none.
    pub correlation_id: u64,
    /// 0 upload, 1 compute, 2 download, 3 NPU, 4 host; others are the caller's own.
    pub lane: u32,
    /// Its name, see [`Trace::label`](crate::Trace::label); 0: none.
    pub label_id: u32,
    /// The operating system's id of the thread that recorded it.
    pub thread_id: u32,
    /// The caller's error code; 0: none.
    pub status: u32,
    /// Whether the region failed.
    pub failed: bool,
    /// Whether a value did not fit its field, which then holds the largest that fits.
    pub saturated: bool,
}

impl Event {
    #[inline]
    pub(crate) fn new(ring: u32, record: &Record) -> Self {
        Self {
            ring,
            sequence: record.sequence,
            start_ns: record.start_ns,
            duration_ns: record.duration_ns,
            copied_bytes: record.copied_bytes,
            correlation_id: record.correlation_id,
            lane: record.lane,
            label_id: record.label_id,
            thread_id: record.thread_id,
            status: record.status,
            failed: record.failed(),
            saturated: record.saturated(),
        }
    }

    /// When it completed, in nanoseconds since the capture's start; saturates.
    #[must_use]
    pub fn end_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.duration_ns)
    }

    /// Whether any of it lies between two moments: it ended at `from_ns` or later, and began before `to_ns`.
    #[must_use]
    pub fn is_within(&self, from_ns: u64, to_ns: u64) -> bool {
        self.end_ns() >= from_ns && self.start_ns < to_ns
    }
}

/// One region that had begun and not completed when the file was read, or when its writer died.
///
/// Fields will be added. To make one of your own, change the fields of `OpenRegion::default()`, which are all 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenRegion {
    /// Its slot in the open table.
    pub slot: u32,
    /// When it began, in nanoseconds since the capture's start.
    pub start_ns: u64,
    /// Bytes it was announced to copy; 0: none, or unknown.
    pub copied_bytes: u64,
    /// The caller's submission or graph id; 0: none.
    pub correlation_id: u64,
    /// As in [`Event::lane`].
    pub lane: u32,
    /// Its name, see [`Trace::label`](crate::Trace::label); 0: none.
    pub label_id: u32,
    /// The operating system's id of the thread that began it.
    pub thread_id: u32,
    /// Whether a value did not fit its field, which then holds the largest that fits.
    pub saturated: bool,
}

impl OpenRegion {
    pub(crate) fn new(slot: u32, open: &OpenRecord) -> Self {
        Self {
            slot,
            start_ns: open.start_ns,
            copied_bytes: open.copied_bytes,
            correlation_id: open.correlation_id,
            lane: open.lane,
            label_id: open.label_id,
            thread_id: open.thread_id,
            saturated: open.flags & FLAG_SATURATED != 0,
        }
    }
}

//! What a reader hands out: completed regions and running ones, in the file's own units (nanoseconds since the capture's start).

/// One completed region, as the host observed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The ring it lay in.
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
    /// See [`crate::Trace::label`]; 0: none.
    pub label_id: u32,
    /// The operating system's id of the thread that recorded it.
    pub thread_id: u32,
    /// The caller's error code; 0: none.
    pub status: u32,
    /// Whether the region failed.
    pub failed: bool,
    /// Whether a value did not fit its field; the largest that fits stands in its place.
    pub saturated: bool,
}

impl Event {
    /// When it was complete, in nanoseconds since the capture's start; saturates.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenRegion {
    /// The slot of the open table it lies in.
    pub slot: u32,
    /// When it began, in nanoseconds since the capture's start.
    pub start_ns: u64,
    /// Bytes it was announced to copy; 0: none, or unknown.
    pub copied_bytes: u64,
    /// The caller's submission or graph id; 0: none.
    pub correlation_id: u64,
    /// As in [`Event::lane`].
    pub lane: u32,
    /// See [`crate::Trace::label`]; 0: none.
    pub label_id: u32,
    /// The operating system's id of the thread that began it.
    pub thread_id: u32,
    /// Whether a value did not fit its field.
    pub saturated: bool,
}

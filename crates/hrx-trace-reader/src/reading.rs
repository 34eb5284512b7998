//! How the events of a capture are read: from when on, and with how much memory.

/// Small enough to stay in the processor's second-level cache between pread and checksum.
pub(crate) const CHUNKS_BYTES: u64 = 1 << 18;

/// How the events of a capture are read.
///
/// To choose, change the fields of `Reading::default()`, which reads everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reading {
    /// Events that completed before this moment, in nanoseconds since the capture's start, need not be read: most of what lies before it is
    /// [`not_read`](crate::Account::not_read). No later event is missed, if the program passes each event to `record` within a second of its end.
    /// 0: from the start.
    pub since_ns: u64,
    /// Memory in bytes for records that are read at once, for all rings together, but at least 1 KiB each. 256 KiB by default.
    pub chunk_bytes: u64,
}

impl Default for Reading {
    fn default() -> Self {
        Self {
            since_ns: 0,
            chunk_bytes: CHUNKS_BYTES,
        }
    }
}

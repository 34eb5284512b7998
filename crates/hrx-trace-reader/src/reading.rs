//! How the events of a capture are read: from when on, and with how much memory.

/// Small enough to stay in the processor's second-level cache between pread and checksum.
pub(crate) const CHUNKS_BYTES: u64 = 1 << 18;

/// Memory for arguments whose event has not come: some hundred thousand of them.
const PENDING_BYTES: u64 = 1 << 26;

/// How the events of a capture are read.
///
/// To choose, change the fields of `Reading::default()`, which reads everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reading {
    /// Events that completed before this moment, in nanoseconds since the capture's start, need not be read: most of what lies before it is
    /// [`not_read`](crate::Account::not_read). No later event is missed, if the program passes each event to `record` within a second of its end.
    /// Arguments that were recorded before this moment may not be read, though their region completed later: then they are
    /// [lost](crate::Event::arguments_lost). 0: from the start.
    pub since_ns: u64,
    /// Memory in bytes for records that are read at once, for all rings together, but at least 1 KiB each. 256 KiB by default.
    pub chunk_bytes: u64,
    /// Memory in bytes for arguments whose event has not come yet, for all rings together, but at least 64 KiB each, and at most 4 KiB for each region that
    /// can be open. Arguments that find no room are [`evicted`](crate::Account::evicted), the oldest first. 64 MiB by default.
    pub pending_bytes: u64,
}

impl Default for Reading {
    fn default() -> Self {
        Self {
            since_ns: 0,
            chunk_bytes: CHUNKS_BYTES,
            pending_bytes: PENDING_BYTES,
        }
    }
}

//! What can go wrong, all of it before or after recording: `record` itself cannot fail.

use std::io;
use std::path::PathBuf;

/// Why a capture could not be started, or read back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A capture of no events was asked for.
    #[error("trace capacity must be nonzero")]
    ZeroCapacity,
    /// A capture is running.
    #[error("{0}")]
    Busy(&'static str),
    /// A size is out of the format's range.
    #[error(
        "trace of {rings} rings of {capacity} events with {label_bytes} bytes of labels: expected 1 to 1024 rings, up to 2^46 events, up to 16 MiB of labels"
    )]
    TooLarge {
        /// Events in each ring.
        capacity: u64,
        /// Rings.
        rings: u32,
        /// Bytes of the label table.
        label_bytes: u64,
    },
    /// What the program says of itself does not fit the header.
    #[error("trace attribute {key:?}: {reason}")]
    Attribute {
        /// Its key.
        key: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The file is there already. It is never overwritten: it may be the trace of the last crash.
    #[error("{}: exists already, and a trace is never overwritten: move it away or choose another name", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The folder is not there.
    #[error("{}: its folder does not exist", path.display())]
    NoFolder {
        /// The file.
        path: PathBuf,
    },
    /// The folder cannot be written to.
    #[error("{}: no permission to create it: {source}", path.display())]
    Permission {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The space cannot be had: the disk or the quota is full, or RLIMIT_FSIZE is below it.
    #[error("{}: no room for its {bytes} bytes: {source}", path.display())]
    NoSpace {
        /// The file.
        path: PathBuf,
        /// Bytes the trace needs.
        bytes: u64,
        /// What the system said.
        source: io::Error,
    },
    /// The platform lacks what the crash promise needs.
    #[error("{}: this system does not support {what}: {source}", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What is missing.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// Anything else that the system refused.
    #[error("{}: cannot {doing}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

/// A result with this crate's error.
pub type Result<T> = std::result::Result<T, Error>;

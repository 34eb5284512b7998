//! What can go wrong. All of it happens before recording or after it: `record` itself cannot fail.

use std::io;
use std::path::PathBuf;

/// Why a capture could not be started, or its file not be written to the disk.
///
/// Where the system refused something, its reason is the [`source`](std::error::Error::source) and not part of the message.
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
        "size of the trace: found {rings} as the number of rings, {capacity} as the events in each, {label_bytes} as the bytes for labels; expected 1 to 1024 rings, up to 2^46 events, up to 16 MiB for labels"
    )]
    TooLarge {
        /// Events in each ring.
        capacity: u64,
        /// Number of rings.
        rings: u32,
        /// Bytes of the label table.
        label_bytes: u64,
    },
    /// What the program says about itself does not fit the header.
    #[error("trace attribute {key:?}: {reason}")]
    Attribute {
        /// The attribute's key.
        key: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The file exists. It is never overwritten: it may be the trace of the last crash.
    #[error("{}: exists already, and a trace is never overwritten: move it away or choose another name", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The folder does not exist.
    #[error("{}: its folder does not exist", path.display())]
    NoFolder {
        /// The file.
        path: PathBuf,
    },
    /// The folder cannot be written to.
    #[error("{}: no permission to create it", path.display())]
    Permission {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// There is no room: the disk or the quota is full, or RLIMIT_FSIZE is below the file's size.
    #[error("{}: no room for its {bytes} bytes", path.display())]
    NoSpace {
        /// The file.
        path: PathBuf,
        /// How many bytes the trace needs.
        bytes: u64,
        /// The system's reason.
        source: io::Error,
    },
    /// The platform lacks something that the crash promise needs.
    #[error("{}: this system does not support {what}", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What is missing.
        what: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// Anything else that the system refused.
    #[error("{}: cannot {doing}", path.display())]
    Io {
        /// The file, or the folder it was to be in.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// The system's reason.
        source: io::Error,
    },
}

/// A result with this crate's error.
pub type Result<T> = std::result::Result<T, Error>;

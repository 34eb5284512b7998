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
        "size of the trace: found {rings} as the number of rings, {capacity} as the events in each, {open_regions} as the regions shown while they run, {name_bytes} as the bytes for names; expected 1 to 1024 rings, up to 2^46 events, up to 65534 regions, up to 16 MiB for names"
    )]
    TooLarge {
        /// Events in each ring.
        capacity: u64,
        /// Number of rings.
        rings: u32,
        /// Slots of the open table.
        open_regions: u32,
        /// Bytes of the name table.
        name_bytes: u64,
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
    /// No file can be made in the folder: its file system, or the user's quota, has no inode left, or no room for the name.
    #[error("{}: no room for another file in its folder (`df -i` shows the inodes that are left)", path.display())]
    NoInode {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The file does not fit into this process's memory: its address space, its mappings or its locked pages are limited.
    #[error("{}: this process has no address space for its {bytes} bytes{}", path.display(), said(*limit))]
    NoMemory {
        /// The file.
        path: PathBuf,
        /// How many bytes the trace needs.
        bytes: u64,
        /// RLIMIT_AS (`ulimit -v`), in bytes, if there is a limit.
        limit: Option<u64>,
        /// The system's reason.
        source: io::Error,
    },
    /// The name of the file has placeholders that stand for nothing, or for what a name must not have.
    #[error("name of the trace: found {found:?}, {expected}")]
    Name {
        /// The name with its placeholders.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// A variable of the environment is not as it must be.
    #[error("${variable}: found {found:?}, {expected}")]
    Variable {
        /// The variable's name.
        variable: String,
        /// Its value.
        found: String,
        /// What was expected.
        expected: String,
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

/// What an error says of RLIMIT_AS.
fn said(limit: Option<u64>) -> String {
    limit.map_or_else(String::new, |bytes| {
        format!(", which `ulimit -v` limits to {bytes}")
    })
}

/// A result with this crate's error.
pub type Result<T> = std::result::Result<T, Error>;

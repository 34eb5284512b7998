//! Why a file cannot be read as a trace at all. Whatever is wrong behind a whole header is no error: it is counted in the [`crate::Report`].

use std::io;
use std::path::PathBuf;

use hrx_trace_format::HeaderError;

/// Why a file cannot be read as a trace. The display names the file; the source says what was found and what was expected.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused.
    #[error("cannot read {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A directory, a pipe, a device.
    #[error("cannot read {}: found {found}, expected a regular file", path.display())]
    NotAFile {
        /// What was to be read.
        path: PathBuf,
        /// What it is.
        found: &'static str,
    },
    /// The file has no header that can be used.
    #[error("cannot read {}", path.display())]
    Header {
        /// The file.
        path: PathBuf,
        /// What is wrong with its header.
        source: HeaderError,
    },
}

//! Why a file cannot be read as a trace at all. Damage in a file whose header is whole is no error: the [`Report`](crate::Report) counts it.

use std::io;
use std::path::PathBuf;

use hrx_trace_format::HeaderError;

/// Why a file cannot be read as a trace. The message names the file; [`source`](std::error::Error::source) says what was found and expected.
///
/// Bytes in memory and files that were handed over open have no path; their place is taken by `(bytes)` and `(open file)`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("cannot read {}", path.display())]
    #[non_exhaustive]
    Io {
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
    /// It is a directory, a pipe, a socket or a device.
    #[error("cannot read {}: found {found}, expected a regular file", path.display())]
    #[non_exhaustive]
    NotAFile {
        /// The path that was to be read.
        path: PathBuf,
        /// What is there, with its article.
        found: &'static str,
    },
    /// The file has no usable header.
    #[error("cannot read {}", path.display())]
    #[non_exhaustive]
    Header {
        /// The file.
        path: PathBuf,
        /// What is wrong with the header.
        source: HeaderError,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use hrx_trace_format::{Checksum, Identity};
    use std::error::Error as _;

    /// Printing an error with its sources, as anyhow's `{:#}` does, says each thing once.
    #[test]
    fn no_error_prints_its_source() {
        let path = || PathBuf::from("run.hrxt");
        let errors = [
            Error::Io {
                path: path(),
                source: io::Error::other("medium error"),
            },
            Error::NotAFile {
                path: path(),
                found: "a pipe",
            },
            Error::Header {
                path: path(),
                source: Identity::parse(b"\x8bHRXT", &Checksum::new()).unwrap_err(),
            },
        ];
        for error in errors {
            let said = error.to_string();
            assert!(said.contains("run.hrxt"), "{said}");
            if let Some(source) = error.source() {
                assert!(!said.contains(&source.to_string()), "{said}: {source}");
            }
        }
    }
}

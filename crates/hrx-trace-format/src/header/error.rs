//! What is wrong with a header: each message names the place, what was found and what was expected.

use crate::constants::{COUNTERS_OFFSET, IDENTITY_BYTES, MAGIC, VERSION_MAJOR};

/// Why the first bytes of a file are not a usable identity.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// Too few bytes for a header.
    #[error("cut short: found {found} bytes, expected a header of at least {expected}")]
    Short {
        /// How many bytes there are.
        found: u64,
        /// How many bytes a header needs.
        expected: u64,
    },
    /// Zeroes in place of the magic: the file's creation was cut short, or its first page was never written back.
    #[error(
        "no magic at offset 0: found zeroes, so the file's creation was cut short before anything was recorded"
    )]
    Unpublished,
    /// The magic with its line ends changed, or its high bit lost.
    #[error(
        "magic at offset 0 damaged as by a text-mode transfer: found {found:02x?}, expected {MAGIC:02x?}"
    )]
    TextMode {
        /// The first eight bytes of the file.
        found: [u8; 8],
    },
    /// Some other kind of file.
    #[error("not a trace: at offset 0 found {found:02x?}, expected the magic {MAGIC:02x?}")]
    NotATrace {
        /// The first eight bytes of the file.
        found: [u8; 8],
    },
    /// A major version this reader does not know.
    #[error(
        "format version at offset 8: found {found_major}.{found_minor}, expected {VERSION_MAJOR}.x: convert it with the hrx-convert of the version that recorded it"
    )]
    Version {
        /// The file's major version.
        found_major: u16,
        /// The file's minor version.
        found_minor: u16,
    },
    /// The identity has an impossible size.
    #[error(
        "identity size at offset 12: found {found}, expected {IDENTITY_BYTES} to {COUNTERS_OFFSET}"
    )]
    IdentityBytes {
        /// The value in the file.
        found: u32,
    },
    /// The identity is damaged.
    #[error(
        "header checksum at offset 16: found {found:#010x}, expected {expected:#010x} for the bytes there"
    )]
    Checksum {
        /// The value in the file.
        found: u32,
        /// The checksum of the file's bytes.
        expected: u32,
    },
    /// The checksum holds, but a field makes no sense: the file was not written by a writer that follows the specification.
    #[error("header field {field} at offset {offset}: found {found}, expected {expected}")]
    Field {
        /// The field's name.
        field: &'static str,
        /// Its offset in the file.
        offset: u64,
        /// The value in the file.
        found: u64,
        /// The rule it breaks.
        expected: &'static str,
    },
}

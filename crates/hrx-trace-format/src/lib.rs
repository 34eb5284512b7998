//! The bytes of a `.hrxt` file, and nothing else: no I/O, no allocation.
//!
//! `spec/FORMAT.md` is the normative text; a test of the `tests` crate holds its tables against the constants
//! here. Each module is one idea:
//!
//! - [`header`]: who recorded, and where in the file everything lies; the live counters.
//! - [`record`]: one completed region, 64 bytes that verify themselves.
//! - [`open`]: one region that is still running, in the same 64 bytes' shape.
//! - [`label`]: an interned name.
//! - [`checksum`]: the salted CRC-32 that all of them share.
//!
//! All times are host-observed nanoseconds since the capture's start; none is a device timestamp.
#![cfg_attr(not(feature = "std"), no_std)]
// But for the one call of folding.rs.
#![deny(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::unwrap_used
    )
)]

pub mod checksum;
#[cfg(target_arch = "x86_64")]
mod folding;
pub mod header;
pub mod label;
pub mod open;
pub mod record;

pub use checksum::{Area, Checksum};
pub use header::{Counters, Geometry, HeaderError, Identity};
pub use open::OpenRecord;
pub use record::Record;

#[cfg(target_endian = "big")]
compile_error!(
    "the format is little-endian and is read and written in place: big-endian hosts are not supported"
);

/// What every output says of its times.
pub const MEASUREMENT: &str = "host-observed synchronized region latency; not device timestamps";

/// The name of an event that was recorded without a label.
pub const UNLABELLED: &str = "native region";

/// The lanes that have a name. Any other number is a lane of its own.
pub const LANE_NAMES: [&str; 5] = ["upload", "compute", "download", "NPU", "host"];

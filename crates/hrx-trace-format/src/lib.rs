//! The bytes of a `.hrxt` file, and nothing else: no I/O, no allocation, `no_std` without the default feature `std`.
//!
//! `spec/FORMAT.md` in the project's sources is the normative text; a test there compares its tables, constants and messages with this crate.
//! Each module is one idea, and each may use only those below it:
//!
//! - [`header`]: who recorded, where in the file everything lies, and the live counters.
//! - [`item`]: a ring's record of any kind.
//! - [`mod@line`]: the lines of an open slot after its open record.
//! - [`amendment`], [`argument`]: what changed about a running region; a key and a value of an event.
//! - [`open`]: one region that is still running, in the same 64 bytes' shape as a record.
//! - [`record`], [`mark`], [`value`]: one completed region, a moment, a sample of a number; 64 bytes that verify themselves.
//! - [`name`]: a name of a label, a lane, a thread, a key or a group.
//! - [`witness`]: how the process ended, from one that saw it.
//! - [`checksum`]: the salted CRC-32 that all of them share.
//! - `sealed`: what all items of 64 bytes have in common.
//! - `constants`: sizes, limits and magic words. Each module re-exports its own.
//!
//! All times are host-observed nanoseconds since the capture's start; none is a device timestamp.
//!
//! A record verifies itself, in its own ring and in no other:
//!
//! ```
//! use hrx_trace_format::{Area, Checksum, Record};
//!
//! let checksum = Checksum::new();
//! let salt = Area::Ring(0).salt(0x1234_5678);
//! let bytes = [0; 64]; // 64 bytes from a file
//! let record = Record::from_bytes(bytes);
//! assert!(!record.verifies(&checksum, salt)); // zeroes are no record
//!
//! let record = Record { sequence: 1, duration_ns: 750, ..record }.sealed(&checksum, salt);
//! assert!(record.verifies(&checksum, salt));
//! assert!(!record.verifies(&checksum, Area::Ring(1).salt(0x1234_5678)));
//! ```
//!
//! [`Record`], [`Mark`], [`Value`], [`Argument`], [`Amendment`], [`OpenRecord`], [`Witness`], [`Counters`] and [`Identity`] are byte layouts: all of their bytes have a name, so they cannot grow, and their fields can be
//! written as struct literals. Whatever may grow with the format is `#[non_exhaustive]`.
#![cfg_attr(not(feature = "std"), no_std)]
// Except for the calls in folding.rs.
#![deny(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::unwrap_used
    )
)]

pub mod amendment;
pub mod argument;
pub mod checksum;
mod constants;
#[cfg(target_arch = "x86_64")]
mod folding;
pub mod header;
pub mod item;
pub mod line;
pub mod mark;
pub mod name;
pub mod open;
pub mod record;
mod sealed;
pub mod value;
pub mod witness;

pub use amendment::Amendment;
pub use argument::{Argument, ArgumentValue, ArgumentsOf};
pub use checksum::{Area, Checksum, Unsealed};
pub use constants::{LANE_NAMES, MEASUREMENT, UNLABELLED};
pub use header::{Counters, Geometry, HeaderError, Identity};
pub use item::{Holder, Item};
pub use mark::Mark;
pub use name::Name;
pub use open::OpenRecord;
pub use record::Record;
pub use value::Value;
pub use witness::Witness;

#[cfg(target_endian = "big")]
compile_error!(
    "the format is little-endian and is read and written in place: big-endian hosts are not supported"
);

/// Compiles and runs the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

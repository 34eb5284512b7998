//! Page 0: the identity, which says who recorded and where everything lies and is written once; and the live counters, on lines of their own.
//!
//! Invariants:
//! - The identity never changes once its magic is there. The magic is published last, so a file whose creation was cut short is not a trace.
//! - The identity verifies itself by CRC-32. The counters cannot, since they change under the reader; so no counter is needed to believe a record.
//! - Every offset derives from the ones before it, in [`Geometry::layout`], and is stated in the identity: readers take them from there.
//!
//! `parse` reads an identity from arbitrary bytes, `geometry` lays a new file out, `identity` and `counters` are the two layouts, `error` says what is
//! wrong with a header.

mod counters;
mod error;
mod geometry;
mod identity;
mod parse;

pub use self::counters::Counters;
pub use self::error::HeaderError;
pub use self::geometry::Geometry;
pub use self::identity::{IDENTITY_OFFSET_KNOWN, Identity};
pub use crate::constants::{
    CAPACITY_MAX, CLOCK_MONOTONIC, CONTROL_OFFSET, CONTROL_STRIDE, COUNTERS_BYTES, COUNTERS_OFFSET,
    IDENTITY_BYTES, MAGIC, PAGE_BYTES, RING_COUNT_MAX, STATE_FINISHED, STATE_LEFT_BY_EXIT,
    STATE_RECORDING, VERSION_MAJOR, VERSION_MINOR,
};

//! Numbers: statistics of regions, what is busy when, the facts of a capture, and the document that holds them all.
//!
//! May use `text`, `input`, `output`.

pub mod digest;
pub mod expect;
pub mod facts;
pub mod spill;
pub mod statistics;
pub mod sweep;

//! Words for people: names of regions and lanes, counts and durations, columns, and text that a terminal can be given.
//!
//! May use `input`, `output`.

pub mod columns;
pub mod names;
pub mod printable;
pub mod words;
pub mod wrap;

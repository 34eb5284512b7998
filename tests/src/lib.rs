//! What the tests of the whole project share, the tests of the tools included. The tests themselves stand in `tests/`, one file an idea.

pub mod capture;
pub mod crash;
pub mod document;
pub mod history;
pub mod host;
pub mod imports;
pub mod programs;
pub mod seeds;
pub mod viewers;

/// Compiles what the README tells people to write.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

//! What the tests of the whole project share, the tests of the tools included. The tests themselves stand in `tests/`, one file an idea.

pub mod capture;
pub mod document;
pub mod programs;
pub mod viewers;

/// Compiles what the README tells people to write.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

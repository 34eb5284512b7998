//! What the tests that cross crates share.

pub mod document;

/// Compiles what the README tells people to write.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

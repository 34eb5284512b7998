//! What crosses the crates: the tests stand in `tests/`, one file an idea.

/// Compiles and runs what the README tells people to write.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

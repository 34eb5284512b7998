//! What the tests of the whole project share, the tests of the tools included. The tests themselves stand in `tests/`, one file an idea.

pub mod capture;
pub mod crash;
pub mod document;
pub mod history;
pub mod host;
pub mod programs;
pub mod seeds;
pub mod viewers;

/// Compiles the code in the READMEs.
#[cfg(doctest)]
mod readmes {
    #[doc = include_str!("../../README.md")]
    struct Project;

    #[doc = include_str!("../../crates/hrx-trace/README.md")]
    struct Recorder;
}

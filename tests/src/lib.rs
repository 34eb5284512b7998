//! Helpers shared by the tests of the whole project, those of the tools included. The tests themselves are in `tests/`, one idea a file.

pub mod capture;
pub mod crash;
pub mod document;
pub mod history;
pub mod host;
pub mod imports;
pub mod programs;
pub mod requests;
pub mod scale;
pub mod seccomp;
pub mod seeds;
pub mod skip;
pub mod viewers;

/// Compiles the code in the READMEs.
#[cfg(doctest)]
mod readmes {
    #[doc = include_str!("../../README.md")]
    struct Project;

    #[doc = include_str!("../../crates/hrx-trace/README.md")]
    struct Recorder;
}

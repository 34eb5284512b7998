//! How a capture is created: exclusively, with its space reserved and its pages present before the first event, or not at all.
//!
//! `capture` puts a recorder together. It uses `file`, which makes the file; `process`, which says who records; and `random`.

mod capture;
mod file;
mod process;
pub mod random;

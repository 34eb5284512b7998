//! Answers: questions about captures that the command answers itself instead of converting.
//!
//! May use `cli` and all wings below it. No answer uses another.

pub mod check;
pub mod diff;
pub mod generate;
pub mod info;
pub mod summary;

//! What is written: files that appear only when they are whole, gzip, the terminal, progress, and signals that stop it.
//!
//! May use no other wing.

pub mod console;
pub mod file;
pub mod progress;
pub mod signals;

//! How an output is written.

use std::fs::File;

/// How an output is written; by default plain, and whole or not at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutputOptions {
    /// Compressed, as one gzip member.
    pub gzip: bool,
    /// In its place from the beginning, to be read while it grows.
    pub grows: bool,
    /// Makes a complete document of a file that grows: it follows each piece, and the next piece overwrites it.
    pub tail: &'static [u8],
    /// Also if it replaces a file that is write-protected or another user's.
    pub force: bool,
}

impl OutputOptions {
    /// The tail, if the file can have one. A pipe or a device cannot.
    pub fn tail_of(self, file: &File) -> &'static [u8] {
        match self.grows && file.metadata().is_ok_and(|file| file.is_file()) {
            true => self.tail,
            false => b"",
        }
    }
}

/// A piece of an output, by what comes after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// More will follow at once.
    Part,
    /// A reader waits for it.
    Awaited,
    /// Nothing.
    Last,
}

//! A file that grows and is a complete document after every piece.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::output::options::Piece;

/// A file that ends in a tail, until its last piece. A piece and its tail are a single write, so that a kill leaves both or neither.
pub struct TailedFile {
    file: File,
    tail: &'static [u8],
    /// The offset of the next piece.
    at: u64,
}

impl TailedFile {
    pub fn new(file: File, tail: &'static [u8]) -> Self {
        Self { file, tail, at: 0 }
    }

    pub fn write(&mut self, bytes: &[u8], piece: Piece) -> io::Result<()> {
        if self.file.metadata()?.len() < self.at {
            // The file was emptied: what follows begins it, and no zeroes stand before it.
            self.at = 0;
        }
        let end = self.at + bytes.len() as u64;
        if piece == Piece::Last {
            self.file.write_all_at(bytes, self.at)?;
            return self.file.set_len(end);
        }
        let with_tail = [bytes, self.tail].concat();
        self.file.write_all_at(&with_tail, self.at)?;
        self.at = end;
        Ok(())
    }
}

//! Gzip, written so that a file that grows is a complete member at any time.

use std::fs::File;
use std::io::{self, Write};
use std::mem;
use std::os::unix::fs::FileExt;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

use crate::output::options::Piece;

/// zlib's fastest: the next level takes several times as long, and saves a fifth of the size.
const LEVEL: Compression = Compression::fast();
/// Deflate, no flags, no time, the fastest level, unknown system (RFC 1952).
const GZIP_HEAD: [u8; 10] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 4, 255];
/// An empty last block, which may follow a flush (RFC 1951).
pub const LAST_BLOCK: [u8; 2] = [3, 0];
/// The head of a last block whose bytes are stored as they are, after their number and its complement.
const LAST_STORED_BLOCK: u8 = 1;

/// A gzip member.
///
/// In a file that grows, every piece is followed by an end, which the next piece overwrites: Perfetto refuses a member without an end, and other
/// readers ignore a second member. A piece and its end are a single write, so that a kill leaves both or neither.
pub struct GzipMember {
    file: File,
    /// Holds what is not yet in the file.
    deflate: DeflateEncoder<Vec<u8>>,
    crc: Crc,
    /// The offset of the next piece in a file that grows; None if pieces just follow each other.
    at: Option<u64>,
    /// What the text of a file that grows ends in, until its last piece.
    tail: &'static [u8],
    /// A piece is written once it has this size.
    piece_bytes: usize,
}

impl GzipMember {
    pub fn new(
        file: File,
        grows: bool,
        tail: &'static [u8],
        piece_bytes: usize,
    ) -> io::Result<Self> {
        let grows = grows && file.metadata()?.is_file();
        Ok(Self {
            file,
            deflate: DeflateEncoder::new(GZIP_HEAD.to_vec(), LEVEL),
            crc: Crc::new(),
            at: grows.then_some(0),
            tail,
            piece_bytes,
        })
    }

    pub fn write(&mut self, bytes: &[u8], piece: Piece) -> io::Result<()> {
        if let Some(at) = self.at
            && self.file.metadata()?.len() < at
        {
            // The file was emptied. What follows needs a beginning, and what was not yet in the file is older than its emptying.
            self.deflate = DeflateEncoder::new(GZIP_HEAD.to_vec(), LEVEL);
            self.crc = Crc::new();
            self.at = Some(0);
        }
        self.deflate.write_all(bytes)?;
        self.crc.update(bytes);
        if piece == Piece::Last {
            return self.finish();
        }
        let flush = piece == Piece::Awaited;
        let is_full = self.deflate.get_ref().len() >= self.piece_bytes;
        if flush || is_full && self.at.is_some() {
            self.deflate.flush()?;
        }
        if flush || is_full {
            self.put()?;
        }
        Ok(())
    }

    fn put(&mut self) -> io::Result<()> {
        let mut piece = mem::take(self.deflate.get_mut());
        let Some(at) = self.at else {
            return self.file.write_all(&piece);
        };
        self.at = Some(at + piece.len() as u64);
        match u16::try_from(self.tail.len()) {
            Ok(tail_bytes @ 1..) => {
                piece.push(LAST_STORED_BLOCK);
                piece.extend_from_slice(&tail_bytes.to_le_bytes());
                piece.extend_from_slice(&(!tail_bytes).to_le_bytes());
                piece.extend_from_slice(self.tail);
            }
            _ => piece.extend_from_slice(&LAST_BLOCK),
        }
        let mut of_tail = Crc::new();
        of_tail.update(self.tail);
        let mut with_tail = Crc::new();
        with_tail.combine(&self.crc);
        with_tail.combine(&of_tail);
        piece.extend_from_slice(&trailer(&with_tail));
        self.file.write_all_at(&piece, at)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.deflate.try_finish()?;
        let mut piece = mem::take(self.deflate.get_mut());
        piece.extend_from_slice(&trailer(&self.crc));
        match self.at {
            None => self.file.write_all(&piece),
            Some(at) => {
                self.file.write_all_at(&piece, at)?;
                self.file.set_len(at + piece.len() as u64)
            }
        }
    }
}

/// The checksum and the length of a member's text.
fn trailer(crc: &Crc) -> [u8; 8] {
    let words = u64::from(crc.amount()) << 32 | u64::from(crc.sum());
    words.to_le_bytes()
}

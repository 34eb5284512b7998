//! Gzip, written so that a file that grows is a complete member at any time.

use std::fs::File;
use std::io::{self, Write};
use std::mem;
use std::os::unix::fs::FileExt;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

/// zlib's fastest: the next level takes several times as long, and saves a fifth of the size.
const LEVEL: Compression = Compression::fast();
/// Deflate, no flags, no time, the fastest level, unknown system (RFC 1952).
const GZIP_HEAD: [u8; 10] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 4, 255];
/// An empty last block, which may follow a flush (RFC 1951).
pub const LAST_BLOCK: [u8; 2] = [3, 0];

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
    /// A piece is written once it has this size.
    piece_bytes: usize,
}

impl GzipMember {
    pub fn new(file: File, grows: bool, piece_bytes: usize) -> io::Result<Self> {
        let grows = grows && file.metadata()?.is_file();
        Ok(Self {
            file,
            deflate: DeflateEncoder::new(GZIP_HEAD.to_vec(), LEVEL),
            crc: Crc::new(),
            at: grows.then_some(0),
            piece_bytes,
        })
    }

    pub fn write(&mut self, bytes: &[u8], flush: bool) -> io::Result<()> {
        self.deflate.write_all(bytes)?;
        self.crc.update(bytes);
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
        piece.extend_from_slice(&LAST_BLOCK);
        piece.extend_from_slice(&self.trailer());
        self.file.write_all_at(&piece, at)
    }

    /// The checksum and the length of everything so far.
    fn trailer(&self) -> [u8; 8] {
        let words = u64::from(self.crc.amount()) << 32 | u64::from(self.crc.sum());
        words.to_le_bytes()
    }

    pub fn finish(mut self) -> io::Result<()> {
        self.deflate.try_finish()?;
        let mut piece = mem::take(self.deflate.get_mut());
        piece.extend_from_slice(&self.trailer());
        match self.at {
            None => self.file.write_all(&piece),
            Some(at) => self.file.write_all_at(&piece, at),
        }
    }
}

//! What encodes the bytes of an output: nothing, or gzip.

use std::fs::File;
use std::io::{self, Write};

use crate::output::gzip::GzipMember;
use crate::output::options::{OutputOptions, Piece};
use crate::output::tailed::TailedFile;

/// The size of a chunk. Small enough to still be in the second-level cache when it is written.
pub const CHUNK_BYTES: usize = 256 << 10;

/// Encodes and writes chunks.
pub enum Encoder {
    Plain(File),
    Tailed(TailedFile),
    Gzip(Box<GzipMember>),
}

impl Encoder {
    pub fn new(file: File, options: OutputOptions) -> io::Result<Self> {
        let tail = options.tail_of(&file);
        Ok(match options.gzip {
            true => {
                let member = GzipMember::new(file, options.grows, tail, CHUNK_BYTES)?;
                Self::Gzip(Box::new(member))
            }
            false if tail.is_empty() => Self::Plain(file),
            false => Self::Tailed(TailedFile::new(file, tail)),
        })
    }

    pub fn write(&mut self, bytes: &[u8], piece: Piece) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.write_all(bytes),
            Self::Tailed(file) => file.write(bytes, piece),
            Self::Gzip(member) => member.write(bytes, piece),
        }
    }
}

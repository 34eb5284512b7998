//! What encodes the bytes of an output: nothing, or gzip.

use std::fs::File;
use std::io::{self, Write};

use crate::output::gzip::GzipMember;
use crate::output::options::OutputOptions;

/// The size of a chunk. Small enough to still be in the second-level cache when it is written.
pub const CHUNK_BYTES: usize = 256 << 10;

/// Encodes and writes chunks.
pub enum Encoder {
    Plain(File),
    Gzip(Box<GzipMember>),
}

impl Encoder {
    pub fn new(file: File, options: OutputOptions) -> io::Result<Self> {
        Ok(match options.gzip {
            false => Self::Plain(file),
            true => Self::Gzip(Box::new(GzipMember::new(file, options.grows, CHUNK_BYTES)?)),
        })
    }

    pub fn write(&mut self, bytes: &[u8], flush: bool) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.write_all(bytes),
            Self::Gzip(member) => member.write(bytes, flush),
        }
    }

    pub fn finish(self) -> io::Result<()> {
        match self {
            Self::Plain(_) => Ok(()),
            Self::Gzip(member) => member.finish(),
        }
    }
}

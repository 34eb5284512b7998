//! Columns of the packed timeline: a LEB128 varint for each event, or bytes.

use std::io::{self, BufWriter, Seek, Write};

use crate::output::scratch::ScratchFile;

/// A column that is being written, in an unnamed temporary file.
pub struct Column {
    pub name: &'static str,
    pub bytes: usize,
    file: BufWriter<ScratchFile>,
}

impl Column {
    pub fn new(name: &'static str) -> io::Result<Self> {
        Ok(Self {
            name,
            bytes: 0,
            file: BufWriter::new(ScratchFile::new()?),
        })
    }

    pub fn push(&mut self, value: u64) -> io::Result<()> {
        let (varint, bytes) = varint(value);
        self.push_bytes(&varint[..bytes])
    }

    pub fn push_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes += bytes.len();
        self.file.write_all(bytes)
    }

    /// Copies the whole column.
    pub fn copy_into(self, sink: &mut impl Write) -> io::Result<()> {
        let mut file = self.file.into_inner()?;
        file.rewind()?;
        io::copy(&mut file, sink).map(drop)
    }
}

/// The bytes of a varint, and their number.
fn varint(mut value: u64) -> ([u8; 10], usize) {
    let mut bytes = [0; 10];
    let mut count = 0;
    while value >= 0x80 {
        bytes[count] = value as u8 | 0x80;
        value >>= 7;
        count += 1;
    }
    bytes[count] = value as u8;
    (bytes, count + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints() {
        let packed = |value| {
            let (bytes, count) = varint(value);
            bytes[..count].to_vec()
        };
        assert_eq!(packed(0), [0]);
        assert_eq!(packed(127), [127]);
        assert_eq!(packed(300), [0xAC, 0x02]);
        assert_eq!(packed(u64::MAX).len(), 10);
    }
}

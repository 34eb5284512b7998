//! JSON inside a page: an island of data that no markup can end early.

use std::io::{self, Write};

/// Escapes every `<`. JSON has `<` only inside strings, where an escape means the same.
pub struct IslandJson<'sink, Sink>(pub &'sink mut Sink);

impl<Sink: Write> Write for IslandJson<'_, Sink> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|byte| *byte == b'<') {
            match part.strip_suffix(b"<") {
                Some(before) => {
                    self.0.write_all(before)?;
                    self.0.write_all(b"\\u003c")?;
                }
                None => self.0.write_all(part)?,
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

//! The document on its way to the output, gathered into chunks.

use std::io::{self, Write};

use serde_json::Value;

use crate::formats::chrome::json::push_json;
use crate::formats::chrome::size::DocumentSize;
use crate::output::console::say;

/// A chunk is written out once it holds this many bytes.
pub const CHUNK_BYTES: usize = 256 << 10;
/// Most chunks have passed their size by less than this.
const SPARE_BYTES: usize = 64 << 10;

/// A document, event by event. Each event begins with a comma and a line break.
pub struct JsonDocument<Sink> {
    sink: Sink,
    /// What is not written out yet: lines are appended here.
    pub chunk: Vec<u8>,
    /// Regions, marks and values so far.
    pub events: u64,
    pub size: DocumentSize,
}

impl<Sink: Write> JsonDocument<Sink> {
    pub fn new(sink: Sink) -> Self {
        Self {
            sink,
            chunk: Vec::with_capacity(CHUNK_BYTES + SPARE_BYTES),
            events: 0,
            size: DocumentSize::default(),
        }
    }

    /// Adds an event.
    pub fn push_line(&mut self, event: &Value) {
        self.chunk.extend_from_slice(b",\n");
        push_json(&mut self.chunk, event);
    }

    #[inline]
    pub fn write_out_if_full(&mut self) -> io::Result<()> {
        match self.chunk.len() >= CHUNK_BYTES {
            true => self.write_out(),
            false => Ok(()),
        }
    }

    /// Hands everything on to the output's reader.
    pub fn flush(&mut self) -> io::Result<()> {
        self.write_out()?;
        self.sink.flush()
    }

    /// Writes these parts after everything else, uncopied. Not flushed: the output is at its end, and until it is complete a reader finds the tail.
    pub fn end(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        self.write_out()?;
        for part in parts {
            self.sink.write_all(part)?;
        }
        Ok(())
    }

    fn write_out(&mut self) -> io::Result<()> {
        if let Some(warning) = self.size.add(self.chunk.len(), self.events) {
            say(&warning);
        }
        self.sink.write_all(&self.chunk)?;
        self.chunk.clear();
        Ok(())
    }
}

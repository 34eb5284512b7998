//! The document of the in-memory tracer, byte for byte. It has no place for marks, values, arguments, labels, open regions, a second capture, or losses
//! other than overwritten records: it counts those of any kind.

use std::io::{self, Write};

use hrx_trace_reader::Event;
use hrx_trace_reader::seed::{Document, TraceEvent};

use crate::input::captures::{Capture, Captures};
use crate::input::format::Format;
use crate::input::outcome::Outcome;

/// Writes one capture as that document.
pub struct Seed<Sink> {
    document: Document<Sink>,
}

impl<Sink: Write> Seed<Sink> {
    /// Writes the head.
    pub fn new(capture: &Capture, sink: Sink) -> io::Result<Self> {
        let document = Document::new(sink, capture.trace.overwritten())?;
        Ok(Self { document })
    }
}

impl<Sink: Write> Format for Seed<Sink> {
    #[inline]
    fn event(&mut self, _: &Capture, event: &Event) -> io::Result<()> {
        self.document.event(&TraceEvent::from(event))
    }

    fn finish(self, _: &Captures, _: &mut [Outcome]) -> io::Result<()> {
        self.document.finish()?.flush()
    }
}

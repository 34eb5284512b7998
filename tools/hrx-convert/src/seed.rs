//! The document of the in-memory tracer, byte for byte. It has no place for open regions, labels or losses other than overwritten events.

use std::io;

use hrx_trace_reader::seed::{TraceEvent, write_document};
use hrx_trace_reader::{Report, Trace};

use crate::output::Output;
use crate::progress::Watched;

/// Writes the document and says what became of every event.
pub fn convert(trace: &Trace, output: &mut Output) -> io::Result<Report> {
    let quiet = output.is_terminal();
    let mut events = trace.events();
    let watched = Watched::new(events.by_ref(), quiet);
    write_document(
        output,
        trace.overwritten(),
        watched.map(|event| TraceEvent::from(&event)),
    )?;
    Ok(events.finish())
}

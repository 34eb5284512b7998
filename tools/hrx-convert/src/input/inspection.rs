//! Reading captures through for their reports alone.

use std::path::{Path, PathBuf};
use std::time::Instant;

use hrx_trace_reader::{Report, Trace};

use crate::output::progress::WithProgress;

/// A capture that has been read through.
#[derive(Debug)]
pub struct Inspected<'trace> {
    pub path: &'trace Path,
    pub trace: &'trace Trace,
    pub report: Report,
}

/// Reads each capture from its first event to its last.
pub fn inspect(traces: &[(PathBuf, Trace)]) -> Vec<Inspected<'_>> {
    traces
        .iter()
        .map(|(path, trace)| Inspected {
            path,
            trace,
            report: read_through(trace),
        })
        .collect()
}

fn read_through(trace: &Trace) -> Report {
    let mut events = trace.events();
    WithProgress::new(events.by_ref(), Instant::now(), false).for_each(drop);
    events.finish()
}

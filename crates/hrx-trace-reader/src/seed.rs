//! The seed's types and its JSON document, for programs and scripts that were written for the in-memory tracer.
//!
//! The document equals the seed's byte for byte: compact, every object's keys in alphabetical order, times as microseconds by the seed's
//! own expression, and the label that says what they are.

use std::io::{self, Write};
use std::time::Duration;

use hrx_trace_format::MEASUREMENT;
use serde::Serialize;

use crate::{Event, Trace};

/// Bounded trace of host-observed synchronized region latencies, driver and scheduling overhead included. These are never device timestamps.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExecutionTrace {
    /// Events in completion order; timestamps retain actual start order.
    pub events: Vec<TraceEvent>,
    /// Oldest events discarded when capacity was exceeded.
    pub dropped: u64,
}

/// A synchronized native region as the host observed it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceEvent {
    /// Start relative to capture start, in microseconds.
    pub start_us: f64,
    /// Host-observed execution latency, in microseconds.
    pub duration_us: f64,
    /// Upload=0, compute=1, download=2, NPU=3, host=4.
    pub lane: usize,
    /// Explicit copied bytes in the region.
    pub copied_bytes: usize,
    /// Whether execution failed.
    pub failed: bool,
}

impl From<&Event> for TraceEvent {
    fn from(event: &Event) -> Self {
        Self {
            start_us: microseconds(event.start_ns),
            duration_us: microseconds(event.duration_ns),
            lane: event.lane as usize,
            copied_bytes: usize::try_from(event.copied_bytes).unwrap_or(usize::MAX),
            failed: event.failed,
        }
    }
}

/// The seed's expression: another one would round differently.
fn microseconds(nanoseconds: u64) -> f64 {
    Duration::from_nanos(nanoseconds).as_secs_f64() * 1e6
}

impl From<&Trace> for ExecutionTrace {
    fn from(trace: &Trace) -> Self {
        Self {
            events: trace
                .events()
                .map(|event| TraceEvent::from(&event))
                .collect(),
            dropped: trace.overwritten(),
        }
    }
}

impl ExecutionTrace {
    /// Chrome/Perfetto trace JSON with an explicit measurement-scope label.
    ///
    /// # Errors
    /// None that is known; the seed's signature.
    pub fn to_json(&self) -> io::Result<String> {
        let mut document = Vec::new();
        write_document(&mut document, self.dropped, self.events.iter().cloned())?;
        String::from_utf8(document).map_err(io::Error::other)
    }
}

/// One event of the document. The order of the fields is the alphabetical one of their keys.
#[derive(Serialize)]
struct DocumentEvent {
    args: DocumentArgs,
    cat: &'static str,
    dur: f64,
    name: &'static str,
    ph: &'static str,
    pid: u32,
    tid: usize,
    ts: f64,
}

#[derive(Serialize)]
struct DocumentArgs {
    copied_bytes: usize,
    failed: bool,
}

/// Writes the seed's document event by event. `dropped` stands before them: see [`Trace::overwritten`].
///
/// # Errors
/// Those of `writer`, with their kind.
pub fn write_document(
    mut writer: impl Write,
    dropped: u64,
    events: impl Iterator<Item = TraceEvent>,
) -> io::Result<()> {
    write!(
        writer,
        r#"{{"displayTimeUnit":"ms","dropped_events":{dropped},"measurement":"{MEASUREMENT}","traceEvents":["#
    )?;
    for (index, event) in events.enumerate() {
        if index > 0 {
            writer.write_all(b",")?;
        }
        let event = DocumentEvent {
            args: DocumentArgs {
                copied_bytes: event.copied_bytes,
                failed: event.failed,
            },
            cat: "hrx.host",
            dur: event.duration_us,
            name: "native region (host-observed)",
            ph: "X",
            pid: 0,
            tid: event.lane,
            ts: event.start_us,
        };
        serde_json::to_writer(&mut writer, &event)?;
    }
    writer.write_all(b"]}")
}

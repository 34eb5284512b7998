//! The seed: the types and the JSON document of the in-memory tracer that this project replaces, for programs and scripts written for it.
//!
//! The document equals the seed's byte for byte: compact, every object's keys in alphabetical order, times in microseconds computed by the seed's
//! own expression, and the label that says what they measure. The types have the seed's fields and no others, and will not grow.
//!
//! The seed knew regions alone: marks, values and arguments are not in its document. What newer records overwrote is counted there whatever it was.

use std::io::{self, Write};
use std::time::Duration;

use hrx_trace_format::MEASUREMENT;
use serde::Serialize;

use crate::event::{Event, Kind};
use crate::trace::Trace;

/// Bounded trace of host-observed synchronized region latencies, driver and scheduling overhead included. These are never device timestamps.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExecutionTrace {
    /// Events in completion order; timestamps retain actual start order.
    pub events: Vec<TraceEvent>,
    /// Oldest events discarded when capacity was exceeded: records of any kind, also of marks, values and arguments.
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

/// The seed's expression; any other would round differently.
fn microseconds(nanoseconds: u64) -> f64 {
    Duration::from_nanos(nanoseconds).as_secs_f64() * 1e6
}

impl From<&Trace> for ExecutionTrace {
    fn from(trace: &Trace) -> Self {
        Self {
            events: trace
                .events()
                .filter(|event| event.kind == Kind::Region)
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
    /// None that is known. The signature is the seed's.
    pub fn to_json(&self) -> io::Result<String> {
        let mut document = Vec::new();
        write_document(&mut document, self.dropped, self.events.iter().cloned())?;
        String::from_utf8(document).map_err(io::Error::other)
    }
}

/// One event of the document. Its fields are in the alphabetical order of their keys.
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

/// The seed's document, written event by event.
#[derive(Debug)]
pub struct Document<Sink> {
    sink: Sink,
    is_empty: bool,
}

impl<Sink: Write> Document<Sink> {
    /// Writes what precedes the events. `dropped` is part of it, and counts records of any kind: see [`Trace::overwritten`].
    ///
    /// # Errors
    /// Those of `sink`.
    pub fn new(mut sink: Sink, dropped: u64) -> io::Result<Self> {
        write!(
            sink,
            r#"{{"displayTimeUnit":"ms","dropped_events":{dropped},"measurement":"{MEASUREMENT}","traceEvents":["#
        )?;
        Ok(Self {
            sink,
            is_empty: true,
        })
    }

    /// Writes an event.
    ///
    /// # Errors
    /// Those of the sink, with their kind.
    pub fn event(&mut self, event: &TraceEvent) -> io::Result<()> {
        if !self.is_empty {
            self.sink.write_all(b",")?;
        }
        self.is_empty = false;
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
        Ok(serde_json::to_writer(&mut self.sink, &event)?)
    }

    /// Writes what follows the events, and returns the sink.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn finish(mut self) -> io::Result<Sink> {
        self.sink.write_all(b"]}")?;
        Ok(self.sink)
    }
}

/// Writes the seed's document. The events are to be regions. `dropped` precedes the events: see [`Trace::overwritten`].
///
/// # Errors
/// Those of `sink`, with their kind.
pub fn write_document(
    sink: impl Write,
    dropped: u64,
    events: impl Iterator<Item = TraceEvent>,
) -> io::Result<()> {
    let mut document = Document::new(sink, dropped)?;
    for event in events {
        document.event(&event)?;
    }
    document.finish()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Image;
    use hrx_trace_format::Record;
    use hrx_trace_format::record::FLAG_FAILED;

    fn some_events() -> Vec<TraceEvent> {
        vec![
            TraceEvent {
                start_us: 0.0,
                duration_us: 1.5,
                lane: 0,
                copied_bytes: 4096,
                failed: false,
            },
            TraceEvent {
                start_us: 1234.567,
                duration_us: 1e-3,
                lane: usize::MAX,
                copied_bytes: 0,
                failed: true,
            },
        ]
    }

    #[test]
    fn the_document_byte_for_byte() {
        let trace = ExecutionTrace {
            events: some_events(),
            dropped: 7,
        };
        assert_eq!(
            trace.to_json().unwrap(),
            concat!(
                r#"{"displayTimeUnit":"ms","dropped_events":7,"#,
                r#""measurement":"host-observed synchronized region latency; not device timestamps","traceEvents":["#,
                r#"{"args":{"copied_bytes":4096,"failed":false},"cat":"hrx.host","dur":1.5,"#,
                r#""name":"native region (host-observed)","ph":"X","pid":0,"tid":0,"ts":0.0},"#,
                r#"{"args":{"copied_bytes":0,"failed":true},"cat":"hrx.host","dur":0.001,"#,
                r#""name":"native region (host-observed)","ph":"X","pid":0,"tid":18446744073709551615,"ts":1234.567}]}"#,
            )
        );
    }

    #[test]
    fn the_document_without_events() {
        let trace = ExecutionTrace {
            events: vec![],
            dropped: 0,
        };
        assert_eq!(
            trace.to_json().unwrap(),
            r#"{"displayTimeUnit":"ms","dropped_events":0,"measurement":"host-observed synchronized region latency; not device timestamps","traceEvents":[]}"#
        );
    }

    #[test]
    fn the_types_serialize_as_the_seed_did() {
        let trace = ExecutionTrace {
            events: some_events()[..1].to_vec(),
            dropped: 7,
        };
        assert_eq!(
            serde_json::to_string(&trace).unwrap(),
            r#"{"events":[{"start_us":0.0,"duration_us":1.5,"lane":0,"copied_bytes":4096,"failed":false}],"dropped":7}"#
        );
    }

    /// The seed built its document from `serde_json::Value`s; this one is streamed. Any time must print as the same number.
    #[test]
    fn times_print_as_the_seed_printed_them() {
        let mut nanoseconds = 1u64;
        for step in 0..2000u64 {
            nanoseconds = nanoseconds
                .wrapping_mul(6364136223846793005)
                .wrapping_add(step);
            let duration_us = microseconds(nanoseconds >> (step % 64));
            let event = TraceEvent {
                duration_us,
                ..some_events()[0].clone()
            };
            let mut document = Vec::new();
            write_document(&mut document, 0, [event].into_iter()).unwrap();
            let document = String::from_utf8(document).unwrap();
            let expected = format!(r#""dur":{},"#, serde_json::json!(duration_us));
            assert!(
                document.contains(&expected),
                "{document} without {expected}"
            );
        }
    }

    #[test]
    fn a_capture_as_the_seed_returned_it() {
        let mut image = Image::new(2, 1);
        image.record_some(0, 4);
        image.record(
            0,
            Record {
                start_ns: 1_234_567,
                duration_ns: 1,
                copied_bytes: 8,
                lane: 2,
                flags: FLAG_FAILED,
                ..bytemuck::Zeroable::zeroed()
            },
        );
        let trace = ExecutionTrace::from(&image.trace());
        assert_eq!(trace.dropped, 3);
        assert_eq!(trace.events.len(), 2);
        assert_eq!(
            trace.events[1],
            TraceEvent {
                start_us: Duration::from_nanos(1_234_567).as_secs_f64() * 1e6,
                duration_us: Duration::from_nanos(1).as_secs_f64() * 1e6,
                lane: 2,
                copied_bytes: 8,
                failed: true
            }
        );
    }

    #[test]
    fn the_kind_of_a_sinks_error_is_kept() {
        struct Closed(usize);
        impl Write for Closed {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                if self.0 == 0 {
                    return Err(io::ErrorKind::BrokenPipe.into());
                }
                let count = bytes.len().min(self.0);
                self.0 -= count;
                Ok(count)
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let whole = ExecutionTrace {
            events: some_events(),
            dropped: 7,
        }
        .to_json()
        .unwrap()
        .len();
        for room in 0..whole {
            let error = write_document(Closed(room), 7, some_events().into_iter()).unwrap_err();
            assert_eq!(
                error.kind(),
                io::ErrorKind::BrokenPipe,
                "after {room} bytes"
            );
        }
    }
}

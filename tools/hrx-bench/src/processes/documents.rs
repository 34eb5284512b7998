//! hrx-convert's document, written with serde_json alone in two ways, to compare hrx-convert with. Both use hrx-convert's reader.

use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use clap::ValueEnum;
use hrx_trace_reader::{Event, Names, Trace};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::processes::usage::{Usage, measure};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SerdeJson {
    /// A struct per event, serialized into a buffered writer.
    Typed,
    /// A `json!` value per event, all of them in memory, then one string, as the in-memory tracer exports.
    Values,
}

impl SerdeJson {
    /// Writes `capture` to `out` in a process of its own.
    pub fn measure(self, capture: &Path, out: Stdio) -> Result<Usage> {
        let name = self.to_possible_value().context("it has a name")?;
        measure(
            Command::new(std::env::current_exe()?)
                .args(["write", name.get_name()])
                .arg(capture)
                .stdout(out),
        )
    }

    /// Writes `capture` to the standard output.
    pub fn write(self, capture: &Path) -> Result<()> {
        let trace = Trace::open(capture)?;
        let mut out = BufWriter::with_capacity(256 << 10, io::stdout().lock());
        match self {
            Self::Typed => typed(&trace, &mut out)?,
            Self::Values => out.write_all(values(&trace)?.as_bytes())?,
        }
        out.flush()?;
        Ok(())
    }
}

/// An event of the document, under Chrome's own name for it.
#[derive(Serialize)]
struct CompleteEvent<'trace> {
    ph: &'static str,
    cat: &'static str,
    name: &'trace str,
    pid: u32,
    tid: u32,
    ts: f64,
    dur: f64,
    args: Arguments<'trace>,
}

#[derive(Serialize)]
struct Arguments<'trace> {
    lane: u32,
    copied_bytes: u64,
    failed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    correlation_id: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread: Option<&'trace str>,
    thread_id: u32,
    sequence: u64,
}

/// The names that events show, made once per label.
#[derive(Default)]
struct EventNames(Vec<[Option<String>; 2]>);

impl EventNames {
    fn of(&mut self, trace: &Trace, event: &Event) -> &str {
        let index = event.label_id as usize;
        if self.0.len() <= index {
            self.0.resize(index + 1, [None, None]);
        }
        self.0[index][usize::from(event.failed)].get_or_insert_with(|| name(trace, event))
    }
}

fn name(trace: &Trace, event: &Event) -> String {
    let failed = if event.failed { " [failed]" } else { "" };
    format!("{} (host-observed){failed}", trace.name(event.label_id))
}

/// As hrx-convert writes a duration that nothing in its track shares an end with: 0.4 ns short, and 0.3 ns for none (spec/OUTPUT.md). From whole tenths
/// of a nanosecond, so that the double is the one that those decimals are read as.
fn duration_microseconds(duration_ns: u64) -> f64 {
    let tenths_ns = match duration_ns {
        0 => 3,
        _ => duration_ns * 10 - 4,
    };
    tenths_ns as f64 / 10_000.0
}

fn microseconds(ns: u64) -> f64 {
    ns as f64 / 1e3
}

/// The first track of the event's lane, as hrx-convert numbers it.
fn track(event: &Event) -> u32 {
    (event.lane + 1) * 1_000
}

/// The name of the event's thread when it ended.
fn thread<'table>(table: &'table Names, event: &Event) -> Option<&'table str> {
    let name = table.thread(event.thread_id, event.end_ns())?;
    Some(&name.text)
}

fn typed(trace: &Trace, out: impl Write) -> Result<()> {
    /// A sequence that is generated while it is written.
    struct Events<'trace>(&'trace Trace);

    impl Serialize for Events<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            use serde::ser::SerializeSeq;
            let mut sequence = serializer.serialize_seq(None)?;
            let mut names = EventNames::default();
            let table = self.0.names();
            for event in self.0.events() {
                sequence.serialize_element(&CompleteEvent {
                    ph: "X",
                    cat: "hrx.host-observed",
                    name: names.of(self.0, &event),
                    pid: self.0.identity().process_id,
                    tid: track(&event),
                    ts: microseconds(event.start_ns),
                    dur: duration_microseconds(event.duration_ns),
                    args: Arguments {
                        lane: event.lane,
                        copied_bytes: event.copied_bytes,
                        failed: event.failed,
                        status: (event.failed || event.status != 0).then_some(event.status),
                        correlation_id: (event.correlation_id != 0).then_some(event.correlation_id),
                        thread: thread(&table, &event),
                        thread_id: event.thread_id,
                        sequence: event.sequence,
                    },
                })?;
            }
            sequence.end()
        }
    }

    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Document<'trace> {
        display_time_unit: &'static str,
        trace_events: Events<'trace>,
    }

    serde_json::to_writer(
        out,
        &Document {
            display_time_unit: "ns",
            trace_events: Events(trace),
        },
    )?;
    Ok(())
}

fn values(trace: &Trace) -> Result<String> {
    let events: Vec<Event> = trace.events().collect();
    let table = trace.names();
    let values: Vec<Value> = events
        .iter()
        .map(|event| {
            let mut value = json!({
                "ph": "X", "cat": "hrx.host-observed", "name": name(trace, event),
                "pid": trace.identity().process_id, "tid": track(event),
                "ts": microseconds(event.start_ns), "dur": duration_microseconds(event.duration_ns),
                "args": {
                    "lane": event.lane, "copied_bytes": event.copied_bytes, "failed": event.failed,
                    "thread_id": event.thread_id, "sequence": event.sequence,
                },
            });
            if let Some(thread) = thread(&table, event) {
                value["args"]["thread"] = json!(thread);
            }
            if event.failed || event.status != 0 {
                value["args"]["status"] = json!(event.status);
            }
            if event.correlation_id != 0 {
                value["args"]["correlation_id"] = json!(event.correlation_id);
            }
            value
        })
        .collect();
    Ok(serde_json::to_string(
        &json!({"displayTimeUnit": "ns", "traceEvents": values}),
    )?)
}

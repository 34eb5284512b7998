//! The beginning of the document, the names of its processes and tracks, and the facts about the captures at its end.

use std::io::{self, Write};

use hrx_trace_format::MEASUREMENT;
use serde_json::json;

use crate::figures::exact::Exact;
use crate::figures::metadata::Metadata;
use crate::formats::chrome::document::JsonDocument;
use crate::formats::chrome::instants::{MarkKind, push_mark};
use crate::formats::chrome::json::push_json;
use crate::input::captures::{Capture, Captures};
use crate::input::outcome::Outcome;
use crate::tracks::names::TRACK_SUFFIX;
use crate::tracks::tids::capture_tid;

/// The outermost JSON value of the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentForm {
    /// An object, with the facts about the captures next to the events. Cut anywhere, it is refused by all viewers.
    Object,
    /// The events alone, so that Perfetto opens the document wherever it is cut. The facts are a mark on the timeline. The unit cannot be said, and
    /// chrome://tracing takes it for milliseconds.
    Array,
}

impl DocumentForm {
    /// Begins the document.
    pub fn begin<Sink>(self, document: &mut JsonDocument<Sink>, captures: &Captures) {
        let head = match self {
            Self::Object => {
                let zero_ns = captures.origin().trace.identity().epoch_realtime_ns;
                let rank =
                    rank(captures).map(|rank| format!(r#""distributedInfo":{{"rank":{rank}}},"#));
                format!(
                    r#"{{"displayTimeUnit":"ns","measurement":"{MEASUREMENT}","baseTimeNanoseconds":{zero_ns},{}"traceEvents":["#,
                    rank.unwrap_or_default()
                )
            }
            Self::Array => "[".to_owned(),
        };
        document.chunk.extend_from_slice(head.as_bytes());
    }

    /// Ends the document with the facts about the captures, and with how many values it does not show.
    pub fn end<Sink: Write>(
        self,
        document: &mut JsonDocument<Sink>,
        captures: &Captures,
        outcomes: &[Outcome],
        values_left_out: u64,
    ) -> io::Result<()> {
        let merged = Metadata::new(captures, outcomes);
        match self {
            Self::Object => {
                // The same members at the top level and inside `metadata`.
                let mut facts = serde_json::to_string(&merged)?;
                drop(merged);
                facts.pop();
                if values_left_out > 0 {
                    facts += &format!(r#","values_left_out":{}"#, json!(Exact(values_left_out)));
                }
                let members = &facts.as_bytes()[1..];
                let metadata = format!(r#","metadata":{{"measurement":"{MEASUREMENT}","#);
                document.end(&[b"\n],", members, metadata.as_bytes(), members, b"}}\n"])
            }
            Self::Array => {
                let mut facts = serde_json::to_value(&merged)?;
                facts["measurement"] = MEASUREMENT.into();
                if values_left_out > 0 {
                    facts["values_left_out"] = json!(Exact(values_left_out));
                }
                let last_ns = outcomes.iter().map(Outcome::last_shown_ns).max();
                let pid = captures.origin().pid;
                push_mark(
                    &mut document.chunk,
                    MarkKind::Instant,
                    (pid, capture_tid(pid)),
                    last_ns.unwrap_or_default(),
                    "metadata of the whole trace (host-observed)",
                    &facts,
                );
                document.chunk.extend_from_slice(b"\n]\n");
                document.flush()
            }
        }
    }
}

/// The rank that all captures have, if they say one.
fn rank(captures: &Captures) -> Option<u64> {
    let mut ranks = captures.iter().map(|capture| {
        let mut attributes = capture.trace.identity().attributes();
        attributes.find_map(|(key, value)| (key == "rank").then(|| value.parse::<u64>().ok())?)
    });
    let first = ranks.next()??;
    ranks.all(|rank| rank == Some(first)).then_some(first)
}

/// Names the capture's process. It is the document's first event if it is that of the first capture.
pub fn name_process<Sink: Write>(document: &mut JsonDocument<Sink>, capture: &Capture) {
    let pid = capture.pid;
    let separator: &[u8] = if capture.index == 0 { b"\n" } else { b",\n" };
    document.chunk.extend_from_slice(separator);
    let name = json!({
        "ph": "M", "name": "process_name", "pid": pid,
        "args": {"name": format!("{} (host-observed)", capture.process_name())},
    });
    push_json(&mut document.chunk, &name);
    document.push_line(&json!({
        "ph": "M", "name": "process_sort_index", "pid": pid, "args": {"sort_index": capture.index},
    }));
}

/// Names a track, and has chrome://tracing sort it by its tid, as Perfetto does.
pub fn name_track<Sink: Write>(document: &mut JsonDocument<Sink>, pid: u32, tid: u32, name: &str) {
    document.push_line(&json!({
        "ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": format!("{name}{TRACK_SUFFIX}")},
    }));
    document.push_line(&json!({
        "ph": "M", "name": "thread_sort_index", "pid": pid, "tid": tid, "args": {"sort_index": tid},
    }));
}

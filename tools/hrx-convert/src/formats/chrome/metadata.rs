//! The beginning of the document, the names of its processes and tracks, and the facts about the captures at its end.

use std::io::{self, Write};

use hrx_trace_format::MEASUREMENT;
use serde_json::json;

use crate::figures::groups::LaneKey;
use crate::figures::metadata::Metadata;
use crate::formats::chrome::document::JsonDocument;
use crate::formats::chrome::instants::{MarkKind, push_mark};
use crate::formats::chrome::json::push_json;
use crate::input::captures::{Capture, Captures};
use crate::input::outcome::Outcome;
use crate::tracks::tids::CAPTURE_TID;

/// Tracks of a lane that have a sort index of their own. chrome://tracing sorts by it; Perfetto sorts by the tid.
const SORTED_SUB_LANES: u64 = 1 << 10;

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

    /// Ends the document with the facts about the captures.
    pub fn end<Sink: Write>(
        self,
        document: &mut JsonDocument<Sink>,
        captures: &Captures,
        outcomes: &[Outcome],
    ) -> io::Result<()> {
        let merged = Metadata::new(captures, outcomes);
        match self {
            Self::Object => {
                // The same members at the top level and inside `metadata`.
                let facts = serde_json::to_string(&merged)?;
                drop(merged);
                let members = &facts.as_bytes()[1..facts.len() - 1];
                let metadata = format!(r#","metadata":{{"measurement":"{MEASUREMENT}","#);
                document.end(&[b"\n],", members, metadata.as_bytes(), members, b"}}\n"])
            }
            Self::Array => {
                let mut facts = serde_json::to_value(&merged)?;
                facts["measurement"] = MEASUREMENT.into();
                let last_ns = outcomes.iter().map(Outcome::last_shown_ns).max();
                push_mark(
                    &mut document.chunk,
                    MarkKind::Instant,
                    (captures.origin().pid, CAPTURE_TID),
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

pub fn name_track<Sink: Write>(
    document: &mut JsonDocument<Sink>,
    pid: u32,
    tid: u32,
    name: &str,
    sort_index: u64,
) {
    document.push_line(&json!({
        "ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": name},
    }));
    document.push_line(&json!({
        "ph": "M", "name": "thread_sort_index", "pid": pid, "tid": tid, "args": {"sort_index": sort_index},
    }));
}

/// The sort index of a sub-lane's track.
pub fn sort_index(lane: LaneKey, sub_lane: usize) -> u64 {
    let lane = match lane {
        LaneKey::Number(lane) => u64::from(lane) + 1,
        LaneKey::Others => 1 << 33,
    };
    lane * SORTED_SUB_LANES + (sub_lane as u64).min(SORTED_SUB_LANES - 1)
}

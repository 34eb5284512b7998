//! Regions, as slices of their tracks: a completed one is an `X` event, an open one a `B` without an `E`.

use std::collections::BTreeMap;

use hrx_trace_reader::{Argument, Event, OpenRegion};
use serde_json::{Value, json};

use crate::figures::arguments::{Integers, Keys};
use crate::figures::exact::Exact;
use crate::formats::chrome::json::{
    push_exact, push_group, push_integer, push_name, push_recorded, push_text, push_value_name,
};
use crate::formats::chrome::times::{push_duration, push_ts, push_ts_within};
use crate::input::captures::Capture;
use crate::text::names::{Names, label_group, thread_name};
use crate::tracks::lanes::{Place, SHOWN_NS_MAX};

/// What is written of names, each rendered once.
pub struct Texts {
    /// The names of regions and marks.
    pub names: Names,
    /// The members that name the groups of labels.
    pub groups: Names,
    /// The names of counters of values.
    pub value_names: Names,
    /// The names of arguments, by capture.
    pub keys: BTreeMap<usize, Keys>,
}

impl Texts {
    pub fn new() -> Self {
        Self {
            names: Names::new(push_name),
            groups: Names::new(push_group),
            value_names: Names::new(push_value_name),
            keys: BTreeMap::new(),
        }
    }

    fn arguments(&mut self, capture: &Capture, arguments: &[Argument]) -> Value {
        let keys = self.keys.entry(capture.index).or_default();
        let object = keys.object(&capture.trace, arguments, Integers::Exact);
        serde_json::to_value(&object).unwrap_or_default()
    }

    /// Adds the members about an event that few events have: the group of its label, and its arguments.
    #[inline]
    pub fn push_about(&mut self, line: &mut Vec<u8>, capture: &Capture, event: &Event) {
        self.groups.push(line, capture, event.label_id);
        if !event.arguments.is_empty() || event.arguments_lost != 0 {
            self.push_arguments(line, capture, event);
        }
    }

    #[cold]
    fn push_arguments(&mut self, line: &mut Vec<u8>, capture: &Capture, event: &Event) {
        if !event.arguments.is_empty() {
            line.extend_from_slice(b",\"arguments\":");
            push_recorded(line, &self.arguments(capture, &event.arguments));
        }
        if event.arguments_lost != 0 {
            line.extend_from_slice(b",\"arguments_lost\":");
            push_exact(line, event.arguments_lost);
        }
    }
}

/// The member that names a thread; nothing, if its name is empty.
pub fn thread_member(text: &str) -> Box<[u8]> {
    let mut member = Vec::new();
    if !text.is_empty() {
        member.extend_from_slice(br#","thread":"#);
        push_text(&mut member, text);
    }
    member.into()
}

/// The slices of one capture.
#[derive(Clone, Copy)]
pub struct Slices<'process> {
    pub capture: &'process Capture,
    /// The members after a name, up to the tid.
    pub after_name: &'process [u8],
    /// Whether rings have to be named.
    pub several_rings: bool,
    /// Whether failed regions have a colour.
    pub colours_failed: bool,
}

impl Slices<'_> {
    /// Adds a completed region, which is shown from `start_ns` to `end_ns`. `thread`: the member that names the thread, or nothing.
    #[inline]
    pub fn push(
        self,
        line: &mut Vec<u8>,
        texts: &mut Texts,
        event: &Event,
        thread: &[u8],
        place: Place,
        (start_ns, end_ns): (u64, u64),
    ) {
        line.extend_from_slice(b",\n{\"ph\":\"X\",\"cat\":\"hrx.host-observed\",\"name\":\"");
        texts.names.push(line, self.capture, event.label_id);
        if event.failed {
            line.extend_from_slice(b" [failed]");
        }
        if event.cancelled {
            line.extend_from_slice(b" [cancelled]");
        }
        line.extend_from_slice(self.after_name);
        push_integer(line, u64::from(place.tid));
        line.extend_from_slice(b",\"ts\":");
        push_ts(line, start_ns);
        line.extend_from_slice(b",\"dur\":");
        push_duration(line, end_ns - start_ns, place.ties);
        if event.failed && self.colours_failed {
            // chrome://tracing throws at a colour that it does not know.
            line.extend_from_slice(b",\"cname\":\"terrible\"");
        }
        line.extend_from_slice(b",\"args\":{\"lane\":");
        push_integer(line, u64::from(event.lane));
        line.extend_from_slice(b",\"copied_bytes\":");
        push_exact(line, event.copied_bytes);
        line.extend_from_slice(match event.failed {
            false => b",\"failed\":false",
            true => b",\"failed\":true",
        });
        if event.failed || event.status != 0 {
            line.extend_from_slice(b",\"status\":");
            push_integer(line, u64::from(event.status));
        }
        if event.correlation_id != 0 {
            line.extend_from_slice(b",\"correlation_id\":");
            push_exact(line, event.correlation_id);
        }
        line.extend_from_slice(b",\"thread_id\":");
        push_integer(line, u64::from(event.thread_id));
        line.extend_from_slice(thread);
        line.extend_from_slice(b",\"sequence\":");
        push_exact(line, event.sequence);
        if self.several_rings {
            line.extend_from_slice(b",\"ring\":");
            push_integer(line, u64::from(event.ring));
        }
        if event.saturated {
            line.extend_from_slice(b",\"saturated\":true");
        }
        if event.cancelled {
            line.extend_from_slice(b",\"cancelled\":true");
        }
        if event.hidden {
            line.extend_from_slice(b",\"hidden\":true");
        }
        if end_ns - start_ns != event.duration_ns {
            // The timeline ends before the region does: these are the region's own times.
            line.extend_from_slice(b",\"start_ns\":");
            push_exact(line, event.start_ns);
            line.extend_from_slice(b",\"duration_ns\":");
            push_exact(line, event.duration_ns);
        }
        texts.push_about(line, self.capture, event);
        line.extend_from_slice(b"}}");
    }

    /// Adds the beginning of a region that was still running at `until_ns`, when its end was seen or at the last sign of life.
    pub fn push_open(
        self,
        line: &mut Vec<u8>,
        texts: &mut Texts,
        region: &OpenRegion,
        tid: u32,
        until_ns: u64,
    ) {
        line.extend_from_slice(b",\n{\"ph\":\"B\"");
        self.push_open_name(line, texts, region, tid);
        line.extend_from_slice(b",\"ts\":");
        push_ts(line, region.start_ns.min(SHOWN_NS_MAX));
        line.extend_from_slice(b",\"args\":");
        let capture = self.capture;
        let mut args = json!({
            "lane": region.lane,
            "copied_bytes": Exact(region.copied_bytes),
            "unfinished": true,
            "running_ns": Exact(until_ns.saturating_sub(region.start_ns)),
            "thread_id": region.thread_id,
        });
        if region.correlation_id != 0 {
            args["correlation_id"] = json!(Exact(region.correlation_id));
        }
        if region.status != 0 {
            args["status"] = json!(region.status);
        }
        if region.saturated {
            args["saturated"] = json!(true);
        }
        if region.waiting {
            args["waiting"] = json!(true);
        }
        if let Some(thread) = thread_name(capture, region.thread_id, region.start_ns) {
            args["thread"] = json!(thread);
        }
        if let Some(group) = label_group(&capture.trace, region.label_id) {
            args["group"] = json!(group);
        }
        if !region.arguments.is_empty() {
            args["arguments"] = texts.arguments(capture, &region.arguments);
        }
        if region.arguments_lost != 0 {
            args["arguments_lost"] = json!(Exact(region.arguments_lost));
        }
        push_recorded(line, &args);
        line.push(b'}');
    }

    /// Adds the end of the region of a track that was begun last, of those that were still running at `last_ns`: a moment later than any arrow
    /// that leads to one.
    pub fn push_end(
        self,
        line: &mut Vec<u8>,
        texts: &mut Texts,
        region: &OpenRegion,
        tid: u32,
        last_ns: u64,
    ) {
        line.extend_from_slice(b",\n{\"ph\":\"E\"");
        self.push_open_name(line, texts, region, tid);
        line.extend_from_slice(b",\"ts\":");
        push_ts_within(line, last_ns.min(SHOWN_NS_MAX + 1), 4);
        line.push(b'}');
    }

    fn push_open_name(self, line: &mut Vec<u8>, texts: &mut Texts, region: &OpenRegion, tid: u32) {
        line.extend_from_slice(b",\"cat\":\"hrx.host-observed\",\"name\":\"");
        texts.names.push(line, self.capture, region.label_id);
        line.extend_from_slice(b" [unfinished]");
        if region.waiting {
            line.extend_from_slice(b" [waiting]");
        }
        line.extend_from_slice(self.after_name);
        push_integer(line, u64::from(tid));
    }
}

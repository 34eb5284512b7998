//! Chrome's trace JSON, right in Perfetto, chrome://tracing and speedscope alike.
//!
//! One object, streamed: a head with the label, an event a line, and behind them, where the losses are known, everything there is to say of the
//! capture. What these viewers require, and what holds here for every input:
//! - strictly valid JSON in raw UTF-8; names never empty; control characters escaped, but for NUL, which is shown as ␀ (Perfetto ends a name
//!   there); no string of an event ends in a backslash (Perfetto takes the quote behind it for escaped); whatever exceeds 2^53 is a string;
//! - times are microseconds since the capture's start with exactly three decimals, made of integers; `displayTimeUnit` is "ns". Perfetto
//!   reads them to the nanosecond up to 2^43 µs, 101.8 days, except on the 52nd day (2^42 µs to 2^52 ns), where a quarter comes out a
//!   nanosecond late; up to twice 2^43 µs they are within a nanosecond, and twice as far off with every further doubling;
//! - pid is the writer's; tids are above 0 and below 2^32; two regions of one tid are apart or properly nested (see [`crate::tracks::lanes`]);
//! - a region that never completed is a `B` without an `E`, written last, with a mark at the last moment known, so that it has a length
//!   in chrome://tracing and speedscope too; the marks of the capture itself stand on a track of their own;
//! - the label "host-observed" and the losses stand at the top level, in `metadata`, and on the timeline;
//! - an arrow is an `s` and an `f` at the beginnings of its two regions, behind their own lines: viewers bind each to the innermost slice of its
//!   moment, which on these tracks is the one that begins there. A region without a duration holds no moment, and has no arrow. (Members
//!   of the slices themselves, `bind_id` and the like, have chrome://tracing complain of every region that an arrow enters and another leaves.);
//! - `cname` is a colour that chrome://tracing knows, for it throws at any other.

mod size;

use std::io::{self, Write};

use hrx_trace_format::MEASUREMENT;
use hrx_trace_reader::Event;
use serde_json::{Value, json};

use self::size::Size;
use crate::figures::exact::Exact;
use crate::figures::metadata::Metadata;
use crate::input::captures::{Capture, Captures};
use crate::input::format::{FollowedFormat, Format};
use crate::input::outcome::Outcome;
use crate::text::names::{Names, shown};
use crate::tracks::copy_rates::CopyRates;
use crate::tracks::extras::Extras;
use crate::tracks::flows::{Flows, Region};
use crate::tracks::lanes::{Lanes, Place, SHOWN_NS_MAX, Times};
use crate::tracks::marks;
use crate::tracks::names::{copy_rate_name, track_name};
use crate::tracks::tids::CAPTURE_TID;

/// Written out once so many bytes have gathered.
const CHUNK_BYTES: usize = 256 << 10;
/// Tracks of a lane that have a sort index of their own. chrome://tracing goes by it; Perfetto by the tid.
const SORTED_SUB_LANES: u64 = 1 << 10;

/// A mark that is nothing else.
const INSTANT: &str = r#""ph":"i","s":"t""#;
/// A mark that also ends what speedscope shows of an unfinished region: at its track's last slice, and instants are none there.
const LAST_SLICE: &str = r#""ph":"X","dur":0.000"#;

/// Writes captures as one document of Chrome's trace JSON.
pub struct Chrome<Sink> {
    sink: Sink,
    buffer: Vec<u8>,
    names: Names,
    flows: Flows,
    /// The number of the last arrow.
    arrows: u64,
    events: u64,
    size: Size,
    extras: Extras,
    /// By capture.
    processes: Vec<Process>,
    form: Form,
}

/// What a document is as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// An object, with what is to be said of the captures beside the events.
    Object,
    /// The events alone: Perfetto opens it wherever it is cut. What is to be said stands on the timeline.
    Array,
}

/// What one capture is to a viewer.
struct Process {
    lanes: Lanes,
    copy_rates: CopyRates,
    /// Between an event's name and its tid.
    behind_name: Vec<u8>,
    several_rings: bool,
}

impl Process {
    fn new(capture: &Capture, count: usize) -> Self {
        Self {
            lanes: Lanes::new(Times::Microseconds),
            copy_rates: CopyRates::new(count),
            behind_name: format!(r#"","pid":{},"tid":"#, capture.pid).into_bytes(),
            several_rings: capture.trace.identity().ring_count > 1,
        }
    }
}

impl<Sink: Write> Chrome<Sink> {
    /// A document that is read when it is whole.
    pub fn new(captures: &Captures, extras: Extras, sink: Sink) -> Self {
        Self::of_form(Form::Object, captures, extras, sink)
    }

    /// A document that may be read before it is whole.
    pub fn following(captures: &Captures, extras: Extras, sink: Sink) -> Self {
        Self::of_form(Form::Array, captures, extras, sink)
    }

    /// Prepares the head.
    fn of_form(form: Form, captures: &Captures, extras: Extras, sink: Sink) -> Self {
        let mut chrome = Self {
            sink,
            buffer: Vec::with_capacity(CHUNK_BYTES + (64 << 10)),
            names: Names::new(quoted),
            flows: Flows::new(),
            arrows: 0,
            events: 0,
            size: Size::default(),
            extras,
            processes: captures
                .iter()
                .map(|capture| Process::new(capture, captures.len()))
                .collect(),
            form,
        };
        let head = match form {
            Form::Object => {
                format!(r#"{{"displayTimeUnit":"ns","measurement":"{MEASUREMENT}","traceEvents":["#)
            }
            Form::Array => "[".to_owned(),
        };
        chrome.buffer.extend_from_slice(head.as_bytes());
        for capture in captures.iter() {
            let pid = capture.pid;
            let separator: &[u8] = if capture.index == 0 { b"\n" } else { b",\n" };
            chrome.buffer.extend_from_slice(separator);
            chrome.push_json(&json!({
                "ph": "M", "name": "process_name", "pid": pid,
                "args": {"name": format!("{} (host-observed)", capture.process_name())},
            }));
            chrome.push_line(&json!({
                "ph": "M", "name": "process_sort_index", "pid": pid, "args": {"sort_index": capture.index},
            }));
            if !extras.no_marks {
                chrome.name_track(pid, CAPTURE_TID, marks::TRACK, 0);
            }
        }
        chrome
    }
}

impl<Sink: Write> Format for Chrome<Sink> {
    fn expect(&mut self, events: u64) {
        self.size.expect(events);
    }

    fn left_out(&mut self) {
        self.size.left_out();
    }

    /// Writes a completed region.
    #[inline]
    fn event(&mut self, capture: &Capture, event: &Event) -> io::Result<()> {
        let start_ns = event.start_ns.min(SHOWN_NS_MAX);
        let end_ns = event.end_ns().min(SHOWN_NS_MAX);
        let place = self.place(capture, event.lane, start_ns, Some(end_ns));

        let process = &mut self.processes[capture.index];
        if !self.extras.no_counters {
            let rates = &mut process.copy_rates;
            rates.add(event.lane, start_ns, end_ns, event.copied_bytes);
        }
        let line = &mut self.buffer;
        line.extend_from_slice(b",\n{\"ph\":\"X\",\"cat\":\"hrx.host-observed\",\"name\":\"");
        self.names.push(line, capture, event.label_id);
        if event.failed {
            line.extend_from_slice(b" [failed]");
        }
        line.extend_from_slice(&process.behind_name);
        push_integer(line, u64::from(place.tid));
        line.extend_from_slice(b",\"ts\":");
        push_microseconds(line, start_ns);
        line.extend_from_slice(b",\"dur\":");
        push_microseconds(line, end_ns - start_ns);
        if event.failed && !self.extras.no_colors {
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
        line.extend_from_slice(b",\"sequence\":");
        push_exact(line, event.sequence);
        if process.several_rings {
            line.extend_from_slice(b",\"ring\":");
            push_integer(line, u64::from(event.ring));
        }
        if event.saturated {
            line.extend_from_slice(b",\"saturated\":true");
        }
        if end_ns - start_ns != event.duration_ns {
            // The timeline ends before the region does; its own figures are here.
            line.extend_from_slice(b",\"start_ns\":");
            push_exact(line, event.start_ns);
            line.extend_from_slice(b",\"duration_ns\":");
            push_exact(line, event.duration_ns);
        }
        line.extend_from_slice(b"}}");
        if !self.extras.no_flows {
            let region = Region {
                start_ns,
                tid: place.tid,
                is_point: start_ns == end_ns,
            };
            let link = self.flows.link(capture, event.correlation_id, region);
            if let Some(before) = link.and_then(|link| link.before)
                && !before.is_point
                && !region.is_point
            {
                self.arrows += 1;
                push_arrow(line, &process.behind_name, self.arrows, [before, region]);
            }
        }
        self.events += 1;
        if self.buffer.len() >= CHUNK_BYTES {
            self.write_out()?;
        }
        Ok(())
    }

    /// Writes what was running, the marks, and everything there is to say of the captures.
    fn finish(mut self, captures: &Captures, outcomes: &[Outcome]) -> io::Result<()> {
        for (capture, outcome) in captures.iter().zip(outcomes) {
            self.open_regions(capture, outcome);
            if !self.extras.no_marks {
                for mark in marks::of(captures, capture, outcome) {
                    self.mark(
                        INSTANT,
                        capture.pid,
                        CAPTURE_TID,
                        mark.at_ns,
                        &mark.name,
                        &mark.args,
                    );
                }
            }
            self.counters(capture)?;
            if self.buffer.len() >= CHUNK_BYTES {
                self.write_out()?;
            }
        }
        let merged = Metadata::new(captures, outcomes);
        if self.form == Form::Array {
            let origin = captures.origin();
            let last_ns = outcomes.iter().map(Outcome::last_shown_ns);
            let mut facts = serde_json::to_value(&merged)?;
            facts["measurement"] = MEASUREMENT.into();
            let name = "metadata of the whole trace (host-observed)";
            let last_ns = last_ns.max().unwrap_or_default();
            self.mark(INSTANT, origin.pid, CAPTURE_TID, last_ns, name, &facts);
            self.buffer.extend_from_slice(b"\n]\n");
            return self.flush();
        }
        // The same members at the top level and inside `metadata`.
        let facts = serde_json::to_string(&merged)?;
        drop(merged);
        let members = &facts.as_bytes()[1..facts.len() - 1];
        let metadata = format!(r#","metadata":{{"measurement":"{MEASUREMENT}","#);
        self.write_out()?;
        for part in [b"\n],", members, metadata.as_bytes(), members, b"}}\n"] {
            self.sink.write_all(part)?;
        }
        self.sink.flush()
    }
}

impl<Sink: Write> FollowedFormat for Chrome<Sink> {
    fn flush(&mut self) -> io::Result<()> {
        self.write_out()?;
        self.sink.flush()
    }
}

impl<Sink: Write> Chrome<Sink> {
    fn open_regions(&mut self, capture: &Capture, outcome: &Outcome) {
        // From the oldest to the newest.
        let open = &outcome.report.open_regions;
        // The newest is placed first, so that those that began before it can go around it. They are written oldest first, for within a
        // track chrome://tracing wants beginnings in order.
        let mut places: Vec<Place> = open
            .iter()
            .rev()
            .map(|region| {
                let start_ns = region.start_ns.min(SHOWN_NS_MAX);
                self.place(capture, region.lane, start_ns, None)
            })
            .collect();
        places.reverse();
        for (region, place) in open.iter().zip(&places) {
            let line = &mut self.buffer;
            line.extend_from_slice(b",\n{\"ph\":\"B\",\"cat\":\"hrx.host-observed\",\"name\":\"");
            self.names.push(line, capture, region.label_id);
            line.extend_from_slice(b" [unfinished]");
            line.extend_from_slice(&self.processes[capture.index].behind_name);
            push_integer(line, u64::from(place.tid));
            line.extend_from_slice(b",\"ts\":");
            push_microseconds(line, region.start_ns.min(SHOWN_NS_MAX));
            line.extend_from_slice(b",\"args\":");
            let mut args = json!({
                "lane": region.lane,
                "copied_bytes": Exact(region.copied_bytes),
                "unfinished": true,
                "running_ns": Exact(outcome.report.last_ns.saturating_sub(region.start_ns)),
                "thread_id": region.thread_id,
            });
            if region.correlation_id != 0 {
                args["correlation_id"] = json!(Exact(region.correlation_id));
            }
            if region.saturated {
                args["saturated"] = json!(true);
            }
            self.push_json(&args);
            self.buffer.push(b'}');
        }
        places.sort_by_key(|place| place.tid);
        places.dedup_by_key(|place| place.tid);
        for place in places {
            self.mark(
                LAST_SLICE,
                capture.pid,
                place.tid,
                outcome.last_shown_ns(),
                marks::unfinished(outcome),
                &json!({}),
            );
        }
    }

    /// How fast each lane copied.
    fn counters(&mut self, capture: &Capture) -> io::Result<()> {
        let samples = self.processes[capture.index].copy_rates.samples();
        for (lane, samples) in samples {
            let name = copy_rate_name(lane);
            for sample in samples {
                let mut at = Vec::new();
                push_microseconds(&mut at, sample.at_ns.min(SHOWN_NS_MAX));
                self.buffer.extend_from_slice(b",\n{\"ph\":\"C\",\"ts\":");
                self.buffer.extend_from_slice(&at);
                self.buffer.push(b',');
                self.push_members(&json!({
                    "name": name, "cat": "hrx.host-observed", "pid": capture.pid,
                    "args": {"GB/s": sample.gigabytes_per_second},
                }));
            }
            if self.buffer.len() >= CHUNK_BYTES {
                self.write_out()?;
            }
        }
        Ok(())
    }

    fn mark(&mut self, kind: &str, pid: u32, tid: u32, at_ns: u64, name: &str, args: &Value) {
        self.buffer.extend_from_slice(b",\n{");
        self.buffer.extend_from_slice(kind.as_bytes());
        self.buffer.extend_from_slice(b",\"ts\":");
        push_microseconds(&mut self.buffer, at_ns.min(SHOWN_NS_MAX));
        self.buffer.push(b',');
        self.push_members(
            &json!({"name": name, "cat": marks::CATEGORY, "pid": pid, "tid": tid, "args": args}),
        );
    }

    fn place(&mut self, capture: &Capture, lane: u32, start_ns: u64, end_ns: Option<u64>) -> Place {
        let lanes = &mut self.processes[capture.index].lanes;
        let place = lanes.place(lane, start_ns, end_ns);
        if place.is_new {
            let sub_lane = place.sub_lane as u64;
            let sort_index =
                (u64::from(lane) + 1) * SORTED_SUB_LANES + sub_lane.min(SORTED_SUB_LANES - 1);
            self.name_track(
                capture.pid,
                place.tid,
                &track_name(lane, place.sub_lane),
                sort_index,
            );
        }
        place
    }

    #[cold]
    fn name_track(&mut self, pid: u32, tid: u32, name: &str, sort_index: u64) {
        self.push_line(&json!({
            "ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": name},
        }));
        self.push_line(&json!({
            "ph": "M", "name": "thread_sort_index", "pid": pid, "tid": tid, "args": {"sort_index": sort_index},
        }));
    }

    fn push_line(&mut self, event: &Value) {
        self.buffer.extend_from_slice(b",\n");
        self.push_json(event);
    }

    /// The rest of an object that has been begun.
    fn push_members(&mut self, value: &Value) {
        self.buffer
            .extend_from_slice(&value.to_string().as_bytes()[1..]);
    }

    fn push_json(&mut self, value: &Value) {
        self.buffer.extend_from_slice(value.to_string().as_bytes());
    }

    fn write_out(&mut self) -> io::Result<()> {
        if let Some(warning) = self.size.add(self.buffer.len(), self.events) {
            crate::output::console::say(&warning);
        }
        self.sink.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

/// A region's name as it stands between quotes, up to what the region itself adds.
fn quoted(capture: &Capture, label_id: u32, line: &mut Vec<u8>) {
    let name = shown(capture, label_id);
    let quoted = Value::from(format!("{name} (host-observed)")).to_string();
    line.extend_from_slice(&quoted.as_bytes()[1..quoted.len() - 1]);
}

/// An arrow between two regions of a process.
#[inline]
fn push_arrow(line: &mut Vec<u8>, pid: &[u8], id: u64, [from, to]: [Region; 2]) {
    for (head, region) in [
        (&b",\n{\"ph\":\"s\""[..], from),
        (b",\n{\"ph\":\"f\",\"bp\":\"e\"", to),
    ] {
        line.extend_from_slice(head);
        line.extend_from_slice(b",\"cat\":\"hrx.host-observed\",\"id\":");
        push_integer(line, id);
        line.extend_from_slice(b",\"name\":\"correlation");
        line.extend_from_slice(pid);
        push_integer(line, u64::from(region.tid));
        line.extend_from_slice(b",\"ts\":");
        push_microseconds(line, region.start_ns);
        line.push(b'}');
    }
}

/// A number that a double holds exactly, or a string.
#[inline]
fn push_exact(line: &mut Vec<u8>, value: u64) {
    if value <= Exact::NUMBER_MAX {
        push_integer(line, value);
    } else {
        line.push(b'"');
        push_integer(line, value);
        line.push(b'"');
    }
}

#[inline]
fn push_integer(line: &mut Vec<u8>, value: u64) {
    line.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Nanoseconds as microseconds with exactly three decimals.
#[inline]
fn push_microseconds(line: &mut Vec<u8>, ns: u64) {
    let decimals = (ns % 1_000) as u16;
    let digit = |value: u16| b'0' + (value % 10) as u8;
    push_integer(line, ns / 1_000);
    line.extend_from_slice(&[
        b'.',
        digit(decimals / 100),
        digit(decimals / 10),
        digit(decimals),
    ]);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use hrx_trace_format::{Geometry, OpenRecord, Record, UNLABELLED};
    use proptest::prelude::*;

    use super::{Chrome, *};
    use crate::input::conversion::write_everything;
    use crate::text::names::NAMES_BYTES_MAX;
    use hrx_trace_reader::Trace;
    use hrx_trace_tests::capture::{Capture, region, running};

    fn convert(capture: &Capture) -> (Captures, Vec<u8>) {
        let captures = Captures::of_bytes([capture.bytes()]);
        let mut document = Vec::new();
        let chrome = Chrome::new(&captures, Extras::default(), &mut document);
        write_everything(&captures, chrome);
        (captures, document)
    }

    fn parse(document: &[u8]) -> Value {
        serde_json::from_slice(document).expect("strictly valid JSON")
    }

    fn of_phase<'a>(document: &'a Value, phase: &str) -> Vec<&'a Value> {
        let events = document["traceEvents"].as_array().expect("an array");
        let regions = events
            .iter()
            .filter(|event| event["cat"] != marks::CATEGORY);
        regions.filter(|event| event["ph"] == phase).collect()
    }

    fn marks_of(document: &Value) -> Vec<&Value> {
        let events = document["traceEvents"].as_array().expect("an array");
        events
            .iter()
            .filter(|event| event["cat"] == marks::CATEGORY)
            .collect()
    }

    /// The plain writer: the completed regions of a document as values, field by field.
    fn plainly(trace: &Trace) -> Vec<Value> {
        let several_rings = trace.identity().ring_count > 1;
        let exact = |value: u64| match value > 1 << 53 {
            true => json!(value.to_string()),
            false => json!(value),
        };
        let microseconds = |ns: u64| -> Value {
            let text = format!("{}.{:03}", ns / 1_000, ns % 1_000);
            serde_json::from_str(&text).expect("a number")
        };
        let mut lanes = Lanes::new(Times::Microseconds);
        trace
            .events()
            .map(|event| {
                let start_ns = event.start_ns.min(1 << 62);
                let end_ns = event.end_ns().min(1 << 62);
                let label = match trace.name(event.label_id) {
                    name if name.is_empty() => UNLABELLED.to_owned(),
                    name => name.replace('\0', "␀"),
                };
                let failed = if event.failed { " [failed]" } else { "" };
                let mut args = BTreeMap::from([
                    ("lane", json!(event.lane)),
                    ("copied_bytes", exact(event.copied_bytes)),
                    ("failed", json!(event.failed)),
                    ("thread_id", json!(event.thread_id)),
                    ("sequence", exact(event.sequence)),
                ]);
                let mut add = |condition: bool, key, value| {
                    if condition {
                        args.insert(key, value);
                    }
                };
                let cut = end_ns - start_ns != event.duration_ns;
                add(
                    event.failed || event.status != 0,
                    "status",
                    json!(event.status),
                );
                add(
                    event.correlation_id != 0,
                    "correlation_id",
                    exact(event.correlation_id),
                );
                add(several_rings, "ring", json!(event.ring));
                add(event.saturated, "saturated", json!(true));
                add(cut, "start_ns", exact(event.start_ns));
                add(cut, "duration_ns", exact(event.duration_ns));
                let mut region = json!({
                    "ph": "X",
                    "cat": "hrx.host-observed",
                    "name": format!("{label} (host-observed){failed}"),
                    "pid": trace.identity().process_id,
                    "tid": lanes.place(event.lane, start_ns, Some(end_ns)).tid,
                    "ts": microseconds(start_ns),
                    "dur": microseconds(end_ns - start_ns),
                    "args": args,
                });
                if event.failed {
                    region["cname"] = json!("terrible");
                }
                region
            })
            .collect()
    }

    fn any_record() -> impl Strategy<Value = Record> {
        let time = || prop_oneof![0u64..100, 0u64..10_000_000, any::<u64>()];
        let lane = prop_oneof![0u32..7, any::<u32>(), Just(u32::MAX), Just(999_999_999)];
        let places = (time(), time(), lane, 0u32..9);
        let fields = (
            any::<u64>(),
            any::<u64>(),
            any::<u32>(),
            0u32..3,
            any::<u8>(),
        );
        (places, fields).prop_map(
            |(
                (start_ns, duration_ns, lane, label_id),
                (copied_bytes, correlation_id, thread_id, status, flags),
            )| {
                Record {
                    label_id,
                    copied_bytes,
                    correlation_id: [0, 1, 2, correlation_id][usize::from(flags >> 2 & 3)],
                    thread_id,
                    status,
                    flags,
                    ..region(lane, start_ns, duration_ns)
                }
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn equals_the_plain_writer(
            records in prop::collection::vec((0u32..3, any_record()), 0..60),
            label in any::<String>(),
            rings in 1u32..4,
        ) {
            let mut capture = Capture::with(Geometry { ring_count: rings, ..Geometry::new(16) });
            for text in [label.as_str(), "gemm \"a\\b\" \u{1}\t\u{7f} é 🚀 \u{5d0}", ""] {
                capture.label(text);
            }
            for (ring, record) in records {
                capture.record_in(ring % rings, record);
            }
            let (captures, document) = convert(&capture);
            let document = parse(&document);
            let plain = plainly(&captures[0].trace);
            prop_assert_eq!(of_phase(&document, "X"), plain.iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn arrows_lead_to_what_completed_next_and_began_no_earlier() {
        let mut capture = Capture::new(16);
        // A chain of three; one that began before; one without a duration; one of another id.
        for (lane, start_ns, duration_ns, correlation_id) in [
            (0, 1_000, 500, 7),
            (1, 2_000, 500, 7),
            (2, 2_000, 900, 7),
            (3, 1_500, 2_000, 7),
            (4, 4_000, 0, 7),
            (0, 5_000, 1, 8),
        ] {
            capture.record(Record {
                correlation_id,
                ..region(lane, start_ns, duration_ns)
            });
        }
        let (_, document) = convert(&capture);
        let document = parse(&document);
        let ends = |phase: &str| -> Vec<_> {
            let ends = of_phase(&document, phase).into_iter();
            ends.map(|end| (end["id"].clone(), end["tid"].clone(), end["ts"].clone()))
                .collect()
        };
        let end = |id, tid, ts: f64| (json!(id), json!(tid), json!(ts));
        assert_eq!(ends("s"), [end(1, 1, 1.0), end(2, 2, 2.0)]);
        assert_eq!(ends("f"), [end(1, 2, 2.0), end(2, 3, 2.0)]);
    }

    #[test]
    fn microseconds_have_exactly_three_decimals() {
        for ns in [
            0,
            1,
            10,
            999,
            1_000,
            1_001,
            123_456_789,
            (1 << 53) + 1,
            SHOWN_NS_MAX,
            u64::MAX,
        ] {
            let mut text = Vec::new();
            push_microseconds(&mut text, ns);
            let plain = format!("{}.{:03}", ns / 1_000, ns % 1_000);
            assert_eq!(String::from_utf8_lossy(&text), plain);
        }
    }

    /// The whole text of a small document: what a person sees who opens the file.
    #[test]
    fn the_document() {
        let mut capture = Capture::new(2).attributes("rank=3\nnote=a \"b\"\n");
        let gemm = capture.label("gemm");
        capture.record(region(0, 1, 1));
        capture.record(Record {
            label_id: gemm,
            copied_bytes: 1 << 60,
            correlation_id: 7,
            ..region(1, 1_000, 2_345)
        });
        capture.record(Record {
            label_id: gemm,
            flags: 1,
            status: 5,
            ..region(1, 2_000, 4_000)
        });
        capture.open(
            4,
            OpenRecord {
                label_id: gemm,
                correlation_id: 8,
                ..running(1, 6_500)
            },
        );
        let (_, document) = convert(&capture);
        let text = String::from_utf8(document).expect("UTF-8");
        let (events, rest) = text.split_once("\n],").expect("an end of the events");
        assert_eq!(
            events,
            r#"{"displayTimeUnit":"ns","measurement":"host-observed synchronized region latency; not device timestamps","traceEvents":[
{"args":{"name":"pipeline rank=3 note=a \"b\" (host-observed)"},"name":"process_name","ph":"M","pid":4242},
{"args":{"sort_index":0},"name":"process_sort_index","ph":"M","pid":4242},
{"args":{"name":"capture (host-observed)"},"name":"thread_name","ph":"M","pid":4242,"tid":999999999},
{"args":{"sort_index":0},"name":"thread_sort_index","ph":"M","pid":4242,"tid":999999999},
{"args":{"name":"compute"},"name":"thread_name","ph":"M","pid":4242,"tid":2},
{"args":{"sort_index":2048},"name":"thread_sort_index","ph":"M","pid":4242,"tid":2},
{"ph":"X","cat":"hrx.host-observed","name":"gemm (host-observed)","pid":4242,"tid":2,"ts":1.000,"dur":2.345,"args":{"lane":1,"copied_bytes":"1152921504606846976","failed":false,"correlation_id":7,"thread_id":99,"sequence":2}},
{"args":{"name":"compute (2)"},"name":"thread_name","ph":"M","pid":4242,"tid":1001000001},
{"args":{"sort_index":2049},"name":"thread_sort_index","ph":"M","pid":4242,"tid":1001000001},
{"ph":"X","cat":"hrx.host-observed","name":"gemm (host-observed) [failed]","pid":4242,"tid":1001000001,"ts":2.000,"dur":4.000,"cname":"terrible","args":{"lane":1,"copied_bytes":0,"failed":true,"status":5,"thread_id":99,"sequence":3}},
{"ph":"B","cat":"hrx.host-observed","name":"gemm (host-observed) [unfinished]","pid":4242,"tid":2,"ts":6.500,"args":{"copied_bytes":0,"correlation_id":8,"lane":1,"running_ns":0,"thread_id":99,"unfinished":true}},
{"ph":"X","dur":0.000,"ts":6.500,"args":{},"cat":"hrx.capture.host-observed","name":"unfinished at the last known moment (host-observed)","pid":4242,"tid":2},
{"ph":"i","s":"t","ts":1.000,"args":{"overwritten":1},"cat":"hrx.capture.host-observed","name":"begin: 1 older event overwritten (host-observed)","pid":4242,"tid":999999999},
{"ph":"i","s":"t","ts":6.500,"args":{"ending":"writer-died"},"cat":"hrx.capture.host-observed","name":"end: the writer died; this is the last moment known (host-observed)","pid":4242,"tid":999999999},
{"ph":"C","ts":0.000,"args":{"GB/s":11523069409050.309},"cat":"hrx.host-observed","name":"compute copy rate (host-observed)","pid":4242},
{"ph":"C","ts":1.024,"args":{"GB/s":491650961452813.2},"cat":"hrx.host-observed","name":"compute copy rate (host-observed)","pid":4242},
{"ph":"C","ts":3.072,"args":{"GB/s":131074914527947.27},"cat":"hrx.host-observed","name":"compute copy rate (host-observed)","pid":4242},
{"ph":"C","ts":4.096,"args":{"GB/s":0.0},"cat":"hrx.host-observed","name":"compute copy rate (host-observed)","pid":4242}"#
        );
        // The same facts at the top level and in `metadata`, every key once.
        let whole = parse(text.as_bytes());
        let (top, metadata) = rest.split_once(r#","metadata":{"measurement":"host-observed synchronized region latency; not device timestamps","#).expect("metadata");
        assert_eq!(metadata, format!("{top}}}}}\n"));
        assert_eq!(whole["dropped_events"], 1);
        assert_eq!(whole["attributes"], json!({"rank": "3", "note": "a \"b\""}));
        assert_eq!(whole["clocks"]["epoch_realtime_ns"], "1795996800123456789");
        assert_eq!(whole["clocks"]["epoch_monotonic_ns"], 77_000_000_001u64);
        assert_eq!(whole["account"]["claimed"], 3);
        assert_eq!(whole["open_regions"][0]["label"], "gemm");
        assert_eq!(whole["ending"], "writer-died");
    }

    #[test]
    fn an_unfinished_region_has_its_track_to_itself_from_its_beginning_on() {
        let mut capture = Capture::new(8);
        capture
            .record(region(2, 0, 100))
            .record(region(2, 150, 100));
        // Around a completed region; begun inside one; around one another; two with one beginning.
        for (slot, start_ns) in [120, 500, 200, 400, 300, 400].into_iter().enumerate() {
            capture.open(slot as u32, running(2, start_ns));
        }
        let (_, document) = convert(&capture);
        let document = parse(&document);
        let begun: Vec<_> = of_phase(&document, "B")
            .iter()
            .map(|event| {
                (
                    event["ts"].as_f64().expect("a time"),
                    event["tid"].as_u64().expect("a tid"),
                )
            })
            .collect();
        let (second, capture) = (1_002_000_001, u64::from(CAPTURE_TID));
        assert_eq!(
            begun,
            [
                (0.12, 3),
                (0.2, second),
                (0.3, 3),
                (0.4, second),
                (0.4, 3),
                (0.5, 3)
            ]
        );
        // Each track of an unfinished region reaches to the last moment.
        let marks = marks_of(&document);
        let tids: Vec<_> = marks
            .iter()
            .filter_map(|mark| mark["tid"].as_u64())
            .collect();
        assert_eq!(tids, [3, second, capture, capture]);
    }

    #[test]
    fn losses_are_marked() {
        let mut capture = Capture::new(8);
        capture.record(region(0, 5, 5)).tear();
        capture.counters.rejected = 1_234;
        let (_, document) = convert(&capture);
        let document = parse(&document);
        let marks = marks_of(&document);
        let names: Vec<_> = marks
            .iter()
            .filter_map(|mark| mark["name"].as_str())
            .collect();
        assert_eq!(
            names,
            [
                "begin: nothing older was overwritten (host-observed)",
                "losses: 1 torn; 1,234 rejected, begun before the capture (host-observed)",
                "end: the writer died; this is the last moment known (host-observed)"
            ]
        );
    }

    #[test]
    fn several_rings_say_from_when_on_all_are_complete() {
        let mut capture = Capture::with(Geometry {
            ring_count: 2,
            ..Geometry::new(1)
        });
        capture.record_in(0, region(0, 1_000, 500));
        capture.record_in(1, region(0, 2_000, 500));
        capture.record_in(1, region(0, 3_000, 500));
        let (_, document) = convert(&capture);
        let document = parse(&document);
        let rings: Vec<_> = of_phase(&document, "X")
            .iter()
            .map(|event| event["args"]["ring"].clone())
            .collect();
        assert_eq!(rings, [0, 1]);
        assert_eq!(document["rings"][1]["overwritten"], 1);
        let complete = marks_of(&document)[1];
        assert_eq!(complete["ts"], 3.5);
        assert_eq!(
            complete["name"],
            "complete: from here on nothing was overwritten in any ring (host-observed)"
        );
    }

    /// Memory: labels whose escaped names exceed the cache are escaped anew, and come out the same.
    /// The bug: the counters of all captures were held until the last was made, hundreds of megabytes of many captures.
    #[test]
    fn counters_are_written_out_as_they_are_made() {
        struct Widest(usize);
        impl Write for &mut Widest {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0 = self.0.max(bytes.len());
                Ok(bytes.len())
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut capture = Capture::new(64_000);
        for i in 0..64_000 {
            capture.record(Record {
                copied_bytes: i,
                ..region(i as u32 % 64, i * 1_000, 500)
            });
        }
        let captures = Captures::of_bytes([capture.bytes()]);
        let mut widest = Widest(0);
        write_everything(
            &captures,
            Chrome::new(&captures, Extras::default(), &mut widest),
        );
        // A lane's counter more.
        assert!(widest.0 < 3 * CHUNK_BYTES, "{}", widest.0);
    }

    #[test]
    fn more_names_than_are_kept() {
        let mut capture = Capture::with(Geometry {
            label_bytes: 4 << 20,
            ..Geometry::new(600)
        });
        // 16 KiB each, six times that when escaped.
        let labels: Vec<u32> = (0..200)
            .map(|i| capture.label(&format!("{i}{}", "\u{1}".repeat(16_000))))
            .collect();
        for (i, label_id) in (0..).zip(labels.iter().chain(&labels)) {
            capture.record(Record {
                label_id: *label_id,
                ..region(0, i, 1)
            });
        }
        let captures = Captures::of_bytes([capture.bytes()]);
        let mut document = Vec::new();
        let mut chrome = Chrome::new(&captures, Extras::default(), &mut document);
        for event in captures[0].trace.events() {
            chrome.event(&captures[0], &event).expect("memory");
            assert!(chrome.names.kept_bytes() <= NAMES_BYTES_MAX);
        }
        let report = captures[0].trace.report();
        chrome
            .finish(&captures, &[Outcome::new(report)])
            .expect("memory");
        let document = parse(&document);
        for (i, event) in of_phase(&document, "X").iter().enumerate() {
            let name = event["name"].as_str().expect("a name");
            assert!(
                name.starts_with(&format!("{}\u{1}", i % 200))
                    && name.ends_with("\u{1} (host-observed)")
            );
        }
    }
}

//! Chrome's trace JSON, valid for Perfetto, chrome://tracing and speedscope alike.
//!
//! One object, streamed: a head with the label, one event a line, and after the events, where the losses are known, all facts about the
//! captures. What these viewers require, and what therefore holds for every input:
//! - The JSON is strictly valid, in raw UTF-8. Names are never empty. Control characters are escaped, except NUL, which is shown as ␀ (Perfetto
//!   ends a name there). No string of an event ends in a backslash (Perfetto takes the quote after it for escaped). Integers above 2^53 are strings.
//! - Times are microseconds since the capture's start, in decimals made from integers (see [`times`]). `displayTimeUnit` is "ns". Perfetto
//!   reads them to the nanosecond up to 2^43 µs, 101.8 days. Up to twice that they are within a nanosecond, and the error doubles with every
//!   further doubling.
//! - The pid is the writer's. Tids are above 0 and below 2^32. Two regions of one tid are apart or properly nested (see [`crate::tracks::lanes`]).
//! - A region that never completed is a `B` without an `E`, written last, with a mark at the last sign of life, so that it has a length
//!   in chrome://tracing and speedscope too. With several captures it has an `E` at that moment: it would last until the end of all others otherwise.
//! - The marks of the capture itself have a track of their own. A value that is not finite, for which JSON has no number, is left out and counted.
//! - The label "host-observed" and the losses are at the top level, in `metadata`, and on the timeline.

mod arrows;
mod counters;
mod document;
mod instants;
mod json;
mod metadata;
mod moments;
mod size;
mod slices;
mod times;

use std::io::{self, Write};

use hrx_trace_reader::{Event, Kind};
use serde_json::Value;

use self::arrows::Arrows;
use self::counters::push_counters;
use self::document::JsonDocument;
use self::instants::{MarkKind, push_mark};
use self::metadata::{DocumentForm, name_process, name_track};
use self::moments::push_sample;
use self::slices::{Slices, Texts, thread_member};
use self::times::{PRECISION, imprecision};
use crate::input::captures::{Capture, Captures};
use crate::input::format::{FollowedFormat, Format};
use crate::input::outcome::{Outcome, running_until};
use crate::output::console::say;
use crate::tracks::copy_rates::CopyRates;
use crate::tracks::extras::Extras;
use crate::tracks::flows::FlowEnd;
use crate::tracks::lanes::{Lanes, Place, SHOWN_NS_MAX};
use crate::tracks::marks;
use crate::tracks::names::track_name;
use crate::tracks::threads::Threads;
use crate::tracks::tids::capture_tid;

/// What makes a whole of a document after any of its events.
pub const TAIL: &[u8] = b"\n]}\n";

/// Writes captures as one document of Chrome's trace JSON.
pub struct Chrome<Sink> {
    document: JsonDocument<Sink>,
    form: DocumentForm,
    texts: Texts,
    arrows: Arrows,
    extras: Extras,
    /// By capture.
    processes: Vec<ChromeProcess>,
}

/// A capture, as a viewer sees it.
struct ChromeProcess {
    lanes: Lanes,
    /// The members that name the threads.
    threads: Threads<Box<[u8]>>,
    copy_rates: CopyRates,
    /// Values that are not finite.
    values_left_out: u64,
    /// The members between an event's name and its tid.
    after_name: Vec<u8>,
    several_rings: bool,
}

impl ChromeProcess {
    fn new(capture: &Capture, captures: usize) -> Self {
        Self {
            lanes: Lanes::new(capture.pid, PRECISION, captures).of(capture),
            threads: Threads::new(),
            copy_rates: CopyRates::new(captures),
            values_left_out: 0,
            after_name: format!(r#"","pid":{},"tid":"#, capture.pid).into_bytes(),
            several_rings: capture.trace.identity().ring_count > 1,
        }
    }

    /// How slices are written, and the member that names the thread of one that ended at `end_ns`.
    #[inline]
    fn slices<'process>(
        &'process mut self,
        capture: &'process Capture,
        extras: Extras,
        (thread_id, end_ns): (u32, u64),
    ) -> (Slices<'process>, &'process [u8]) {
        if self.threads.is_unread() {
            self.threads.read(capture, thread_member);
        }
        let slices = Slices {
            capture,
            after_name: &self.after_name,
            several_rings: self.several_rings,
            colours_failed: !extras.no_colors,
        };
        let thread = self.threads.get(thread_id, end_ns);
        (slices, thread.map_or(b"", |member| member))
    }
}

impl<Sink: Write> Chrome<Sink> {
    /// A document that is read once it is complete, or whenever it ends in [`TAIL`].
    pub fn new(captures: &Captures, extras: Extras, sink: Sink) -> Self {
        Self::of_form(DocumentForm::Object, captures, extras, sink)
    }

    /// A document that may be read before it is complete, wherever it is cut.
    pub fn without_tail(captures: &Captures, extras: Extras, sink: Sink) -> Self {
        Self::of_form(DocumentForm::Array, captures, extras, sink)
    }

    fn of_form(form: DocumentForm, captures: &Captures, extras: Extras, sink: Sink) -> Self {
        let mut document = JsonDocument::new(sink);
        form.begin(&mut document, captures);
        for capture in captures.iter() {
            name_process(&mut document, capture);
            if !extras.no_marks {
                let tid = capture_tid(capture.pid);
                name_track(&mut document, capture.pid, tid, marks::TRACK);
            }
        }
        Self {
            document,
            form,
            texts: Texts::new(),
            arrows: Arrows::new(captures),
            extras,
            processes: captures
                .iter()
                .map(|capture| ChromeProcess::new(capture, captures.len()))
                .collect(),
        }
    }

    #[inline]
    fn place(
        &mut self,
        capture: &Capture,
        (lane, thread_id): (u32, u32),
        start_ns: u64,
        end_ns: Option<u64>,
    ) -> Option<Place> {
        let lanes = &mut self.processes[capture.index].lanes;
        let place = lanes.place(lane, thread_id, start_ns, end_ns)?;
        if place.is_new {
            self.begin_track(capture, place);
        }
        Some(place)
    }

    #[cold]
    fn begin_track(&mut self, capture: &Capture, place: Place) {
        let name = track_name(capture, place.lane, place.sub_lane);
        name_track(&mut self.document, capture.pid, place.tid, &name);
    }

    /// Begins the regions that were still running. With several captures, which end at different moments, each of them ends where its own capture
    /// does; otherwise the last moment shown is marked on each of their tracks.
    fn open_regions(&mut self, capture: &Capture, outcome: &Outcome, ends: bool) {
        // From the oldest to the newest.
        let open = &outcome.report.open_regions;
        // The newest is placed first, so that those that began before it can go around it. They are written oldest first, because
        // chrome://tracing wants the beginnings of a track in order.
        let mut places: Vec<Place> = open
            .iter()
            .rev()
            .filter_map(|region| {
                let start_ns = region.start_ns.min(SHOWN_NS_MAX);
                self.place(capture, (region.lane, region.thread_id), start_ns, None)
            })
            .collect();
        places.reverse();
        let chunk = &mut self.document.chunk;
        let process = &mut self.processes[capture.index];
        let (slices, _) = process.slices(capture, self.extras, (0, 0));
        for (region, place) in open.iter().zip(&places) {
            let (until_ns, _) = running_until(&capture.trace, &outcome.report, capture.shift_ns);
            slices.push_open(chunk, &mut self.texts, region, place.tid, until_ns);
            if !self.extras.no_flows {
                let to = FlowEnd {
                    start_ns: region.start_ns.min(SHOWN_NS_MAX),
                    tid: place.tid,
                };
                let after_name = slices.after_name;
                self.arrows
                    .push(chunk, after_name, capture, region.correlation_id, to);
            }
        }
        if ends {
            let until_ns = outcome.open_until_ns(capture);
            for (region, place) in open.iter().zip(&places).rev() {
                slices.push_end(chunk, &mut self.texts, region, place.tid, until_ns);
            }
            return;
        }
        places.sort_by_key(|place| place.tid);
        places.dedup_by_key(|place| place.tid);
        for place in places {
            push_mark(
                chunk,
                MarkKind::LastSlice,
                (capture.pid, place.tid),
                outcome.end_ns(capture),
                marks::unfinished(capture, outcome),
                &Value::Object(Default::default()),
            );
        }
    }

    fn push_moment(&mut self, capture: &Capture, event: &Event) {
        match event.kind {
            Kind::Value if event.value.is_finite() => {
                let chunk = &mut self.document.chunk;
                push_sample(chunk, &mut self.texts, capture, event);
            }
            Kind::Value => self.processes[capture.index].values_left_out += 1,
            _ => {
                let place = self.processes[capture.index].lanes.first(event.lane);
                if place.is_new {
                    self.begin_track(capture, place);
                }
                let chunk = &mut self.document.chunk;
                let process = &mut self.processes[capture.index];
                let of_thread = (event.thread_id, event.start_ns);
                let (slices, thread) = process.slices(capture, self.extras, of_thread);
                slices.push_instant(chunk, &mut self.texts, event, thread, place.tid);
            }
        }
    }
}

impl<Sink: Write> Format for Chrome<Sink> {
    fn expect(&mut self, events: u64) {
        self.document.size.expect(events);
    }

    fn left_out(&mut self) {
        self.document.size.left_out();
    }

    #[inline]
    fn event(&mut self, capture: &Capture, event: &Event) -> io::Result<()> {
        let start_ns = event.start_ns.min(SHOWN_NS_MAX);
        let end_ns = event.end_ns().min(SHOWN_NS_MAX);
        if !self.extras.no_counters {
            let rates = &mut self.processes[capture.index].copy_rates;
            rates.add(event.lane, start_ns, end_ns, event.copied_bytes);
        }
        let of = (event.lane, event.thread_id);
        let Some(place) = self.place(capture, of, start_ns, Some(end_ns)) else {
            return Ok(());
        };
        let process = &mut self.processes[capture.index];
        let chunk = &mut self.document.chunk;
        let times_ns = (start_ns, end_ns);
        let of_thread = (event.thread_id, event.end_ns());
        let (slices, thread) = process.slices(capture, self.extras, of_thread);
        slices.push(chunk, &mut self.texts, event, thread, place, times_ns);
        if !self.extras.no_flows {
            let to = FlowEnd {
                start_ns,
                tid: place.tid,
            };
            let after_name = &process.after_name;
            self.arrows
                .push(chunk, after_name, capture, event.correlation_id, to);
        }
        self.document.events += 1;
        self.document.write_out_if_full()
    }

    fn moment(&mut self, capture: &Capture, event: &Event) -> io::Result<()> {
        self.push_moment(capture, event);
        self.document.events += 1;
        self.document.write_out_if_full()
    }

    /// Writes the regions still running, the marks, the counters and the facts about the captures.
    fn finish(mut self, captures: &Captures, outcomes: &mut [Outcome]) -> io::Result<()> {
        let mut values_left_out = 0;
        for (capture, outcome) in captures.iter().zip(outcomes.iter_mut()) {
            self.open_regions(capture, outcome, captures.len() > 1);
            self.processes[capture.index].lanes.note_limits(outcome);
            let left_out = self.processes[capture.index].values_left_out;
            values_left_out += left_out;
            if !self.extras.no_marks {
                for mark in marks::of(captures, capture, outcome, left_out) {
                    push_mark(
                        &mut self.document.chunk,
                        MarkKind::Instant,
                        (capture.pid, capture_tid(capture.pid)),
                        mark.at_ns,
                        &mark.name,
                        &mark.args,
                    );
                }
            }
            let samples = self.processes[capture.index].copy_rates.samples();
            push_counters(&mut self.document, capture, samples)?;
            self.document.write_out_if_full()?;
        }
        let last_ns = outcomes.iter().map(Outcome::last_shown_ns).max();
        if let Some(warning) = imprecision(last_ns.unwrap_or_default()) {
            say(&warning);
        }
        self.form
            .end(&mut self.document, captures, outcomes, values_left_out)
    }
}

impl<Sink: Write> FollowedFormat for Chrome<Sink> {
    fn flush(&mut self) -> io::Result<()> {
        for process in &mut self.processes {
            process.threads.forget();
        }
        self.document.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use hrx_trace_format::name::NAME_LABEL;
    use hrx_trace_format::record::{FLAG_ARGUMENTS, FLAG_CANCELLED, FLAG_WAITING, OPEN_SLOT_NONE};
    use hrx_trace_format::{ArgumentValue, Geometry, Name, OpenRecord, Record};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::document::CHUNK_BYTES;
    use super::*;
    use crate::input::conversion::write_everything;
    use crate::text::names::NAMES_BYTES_MAX;
    use crate::tracks::names::MARK_CATEGORY;
    use hrx_trace_reader::Trace;
    use hrx_trace_tests::capture::{Capture, mark, region, running, value};

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
        let regions = events.iter().filter(|event| event["cat"] != MARK_CATEGORY);
        regions.filter(|event| event["ph"] == phase).collect()
    }

    fn marks_of(document: &Value) -> Vec<&Value> {
        let events = document["traceEvents"].as_array().expect("an array");
        events
            .iter()
            .filter(|event| event["cat"] == MARK_CATEGORY)
            .collect()
    }

    /// The naive conversion: the completed regions of a document as values, field by field.
    fn naively(trace: &Trace) -> Vec<Value> {
        let several_rings = trace.identity().ring_count > 1;
        let exact = |value: u64| match value > 1 << 53 {
            true => json!(value.to_string()),
            false => json!(value),
        };
        let number = |text: String| -> Value { serde_json::from_str(&text).expect("a number") };
        let moment = |ns: u64| match ns {
            // Written early, or the trace processor rounds them up.
            4_398_046_511_104_001..=4_503_599_627_370_496 => {
                let hundredths = ns * 100 - 25;
                number(format!(
                    "{}.{:05}",
                    hundredths / 100_000,
                    hundredths % 100_000
                ))
            }
            _ => number(format!("{}.{:03}", ns / 1_000, ns % 1_000)),
        };
        let duration = |ns: u64, ties: u8| match ns {
            0 => number("0.0003".to_owned()),
            1..=549_755_813_888_000 => {
                let tenths = ns * 10 - [4, 2][usize::from(ties)];
                number(format!("{}.{:04}", tenths / 10_000, tenths % 10_000))
            }
            _ => moment(ns),
        };
        let mut lanes = Lanes::new(trace.identity().process_id, PRECISION, 1);
        trace
            .events()
            .map(|event| {
                let start_ns = event.start_ns.min(1 << 62);
                let end_ns = event.end_ns().min(1 << 62);
                let label = match trace.name(event.label_id) {
                    name if name.is_empty() => "(empty)".to_owned(),
                    name => name.replace('\0', "␀"),
                };
                let failed = if event.failed { " [failed]" } else { "" };
                let cancelled = if event.cancelled { " [cancelled]" } else { "" };
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
                add(event.cancelled, "cancelled", json!(true));
                add(event.hidden, "hidden", json!(true));
                add(
                    event.arguments_lost > 0,
                    "arguments_lost",
                    exact(event.arguments_lost),
                );
                add(cut, "start_ns", exact(event.start_ns));
                add(cut, "duration_ns", exact(event.duration_ns));
                let place = lanes.place(event.lane, event.thread_id, start_ns, Some(end_ns));
                let place = place.expect("a track");
                let mut region = json!({
                    "ph": "X",
                    "cat": "hrx.host-observed",
                    "name": format!("{label} (host-observed){failed}{cancelled}"),
                    "pid": trace.identity().process_id,
                    "tid": place.tid,
                    "ts": moment(start_ns),
                    "dur": duration(end_ns - start_ns, place.ties),
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
        fn equals_the_naive_conversion(
            records in prop::collection::vec((0u32..3, any_record()), 0..60),
            label in any::<String>(),
            rings in 1u32..4,
        ) {
            let mut capture = Capture::with(Geometry::new(16).ring_count(rings));
            for text in [label.as_str(), "gemm \"a\\b\" \u{1}\t\u{7f} é 🚀 \u{5d0}", ""] {
                capture.label(text);
            }
            for (ring, record) in records {
                capture.record_in(ring % rings, record);
            }
            let (captures, document) = convert(&capture);
            let document = parse(&document);
            let naive = naively(&captures[0].trace);
            prop_assert_eq!(of_phase(&document, "X"), naive.iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn arrows_lead_to_what_completed_next_and_began_no_earlier() {
        let mut capture = Capture::new(16);
        // A chain of three; a region that began earlier; one without a duration; one of another id.
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
        assert_eq!(
            ends("s"),
            [
                end(1, 1_000, 1.0001),
                end(2, 2_000, 2.0001),
                end(3, 4_000, 1.5001)
            ]
        );
        assert_eq!(
            ends("f"),
            [
                end(1, 2_000, 2.0001),
                end(2, 3_000, 2.0001),
                end(3, 5_000, 4.0001)
            ]
        );
    }

    /// The whole text of a small document, as a person sees it who opens the file.
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
            r#"{"displayTimeUnit":"ns","measurement":"host-observed synchronized region latency; not device timestamps","baseTimeNanoseconds":1795996800123456789,"distributedInfo":{"rank":3},"traceEvents":[
{"args":{"name":"pipeline rank=3 note=a \"b\" (host-observed)"},"name":"process_name","ph":"M","pid":4242},
{"args":{"sort_index":0},"name":"process_sort_index","ph":"M","pid":4242},
{"args":{"name":"capture (host-observed) · track"},"name":"thread_name","ph":"M","pid":4242,"tid":1},
{"args":{"sort_index":1},"name":"thread_sort_index","ph":"M","pid":4242,"tid":1},
{"args":{"name":"compute · track"},"name":"thread_name","ph":"M","pid":4242,"tid":2000},
{"args":{"sort_index":2000},"name":"thread_sort_index","ph":"M","pid":4242,"tid":2000},
{"ph":"X","cat":"hrx.host-observed","name":"gemm (host-observed)","pid":4242,"tid":2000,"ts":1.000,"dur":2.3446,"args":{"lane":1,"copied_bytes":"1152921504606846976","failed":false,"correlation_id":7,"thread_id":99,"sequence":2}},
{"args":{"name":"compute (2) · track"},"name":"thread_name","ph":"M","pid":4242,"tid":2001},
{"args":{"sort_index":2001},"name":"thread_sort_index","ph":"M","pid":4242,"tid":2001},
{"ph":"X","cat":"hrx.host-observed","name":"gemm (host-observed) [failed]","pid":4242,"tid":2001,"ts":2.000,"dur":3.9996,"cname":"terrible","args":{"lane":1,"copied_bytes":0,"failed":true,"status":5,"thread_id":99,"sequence":3}},
{"ph":"B","cat":"hrx.host-observed","name":"gemm (host-observed) [unfinished]","pid":4242,"tid":2000,"ts":6.500,"args":{"copied_bytes":0,"correlation_id":8,"lane":1,"running_ns":0,"thread_id":99,"unfinished":true}},
{"ph":"X","dur":0.0004,"ts":6.5004,"args":{},"cat":"hrx.capture.host-observed","name":"unfinished at the last sign of life (host-observed)","pid":4242,"tid":2000},
{"ph":"i","s":"t","ts":1.000,"args":{"overwritten":1},"cat":"hrx.capture.host-observed","name":"begin: 1 older event overwritten (host-observed)","pid":4242,"tid":1},
{"ph":"i","s":"t","ts":6.500,"args":{"ending":"not-finished"},"cat":"hrx.capture.host-observed","name":"end: not finished; this is the last sign of life (host-observed)","pid":4242,"tid":1},
{"ph":"C","ts":0.000,"args":{"B/s":115230694090503e8},"cat":"hrx.host-observed","name":"compute copy rate (host-observed)","pid":4242},
{"ph":"C","ts":1.024,"args":{"B/s":491650961452813e9},"cat":"hrx.host-observed","name":"compute copy rate (host-observed)","pid":4242},
{"ph":"C","ts":3.072,"args":{"B/s":131074914527947e9},"cat":"hrx.host-observed","name":"compute copy rate (host-observed)","pid":4242},
{"ph":"C","ts":4.096,"args":{"B/s":0},"cat":"hrx.host-observed","name":"compute copy rate (host-observed)","pid":4242}"#
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
        assert_eq!(whole["ending"], "not-finished");
    }

    #[test]
    fn an_unfinished_region_has_its_track_to_itself_from_its_beginning_on() {
        let mut capture = Capture::new(8);
        capture
            .record(region(2, 0, 100))
            .record(region(2, 150, 100));
        // Around a completed region; begun inside one; around each other; two with the same beginning.
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
        let (first, second, capture) = (3_000, 3_001, u64::from(capture_tid(4_242)));
        assert_eq!(
            begun,
            [
                (0.12, first),
                (0.2, second),
                (0.3, first),
                (0.4, second),
                (0.4, first),
                (0.5, first)
            ]
        );
        // Each track with an unfinished region extends to the last moment.
        let marks = marks_of(&document);
        let tids: Vec<_> = marks
            .iter()
            .filter_map(|mark| mark["tid"].as_u64())
            .collect();
        assert_eq!(tids, [first, second, capture, capture]);
    }

    /// What a program may say besides when its regions ran, as a person sees it who opens the file.
    #[test]
    fn marks_values_and_arguments() {
        let mut made = Capture::new(64);
        let gpu = made.group("GPU 0");
        let stream = (1 << 31) + 3;
        made.name(&Name::lane(stream, "stream 3").in_group(gpu));
        made.name(&Name::thread(99, 0, "worker-3"));
        let nccl = made.group("nccl");
        let reduce = made.name(&Name::of(NAME_LABEL, "all_reduce").in_group(nccl));
        let [batch, path] = ["batch", "path"].map(|key| made.key(key));
        made.mark_with(
            hrx_trace_format::Mark {
                label_id: reduce,
                correlation_id: 7,
                ..mark(stream, 500)
            },
            &[
                (batch, ArgumentValue::U64(u64::MAX)),
                (path, ArgumentValue::Text(b"C:\\dir\\")),
                (path, ArgumentValue::F64(0.5)),
            ],
        );
        made.value(value(reduce, 600, -0.25));
        made.value(value(0, 700, f64::NAN));
        made.record(Record {
            label_id: reduce,
            flags: FLAG_CANCELLED | FLAG_ARGUMENTS,
            open_slot: OPEN_SLOT_NONE,
            ..region(stream, 1_000, 50)
        });
        made.open_with(
            2,
            OpenRecord {
                flags: FLAG_WAITING,
                ..running(0, 2_000)
            },
            &[(batch, ArgumentValue::Bool(true))],
        );
        made.counters.hidden_now = 3;
        let (_, document) = convert(&made);
        let text = String::from_utf8(document).expect("UTF-8");
        let whole = parse(text.as_bytes());
        assert_eq!(whole["values_left_out"], 1);
        assert_eq!(whole["metadata"]["values_left_out"], 1);
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| line.contains("hrx.host-observed") || line.contains("\"hidden:"))
            .map(|line| line.trim_end_matches(','))
            .collect();
        assert_eq!(
            lines,
            [
                r#"{"ph":"i","s":"t","cat":"hrx.host-observed","name":"all_reduce (host-observed)","pid":4242,"tid":103000,"ts":0.500,"args":{"lane":2147483651,"correlation_id":7,"thread_id":99,"thread":"worker-3","sequence":4,"group":"nccl","arguments":{"batch":"18446744073709551615","path":["C:\\dir\u005c",0.5]}}}"#,
                r#"{"ph":"C","ts":0.600,"args":{"value":-0.25},"cat":"hrx.host-observed","name":"nccl: all_reduce (host-observed)","pid":4242}"#,
                r#"{"ph":"X","cat":"hrx.host-observed","name":"all_reduce (host-observed) [cancelled]","pid":4242,"tid":103000,"ts":1.000,"dur":0.0496,"args":{"lane":2147483651,"copied_bytes":0,"failed":false,"thread_id":99,"thread":"worker-3","sequence":7,"cancelled":true,"hidden":true,"group":"nccl","arguments_lost":1}}"#,
                r#"{"ph":"B","cat":"hrx.host-observed","name":"native region (host-observed) [unfinished] [waiting]","pid":4242,"tid":1000,"ts":2.000,"args":{"arguments":{"batch":true},"copied_bytes":0,"lane":0,"running_ns":0,"thread":"worker-3","thread_id":99,"unfinished":true,"waiting":true}}"#,
                r#"{"ph":"i","s":"t","ts":2.000,"args":{"hidden_now":3},"cat":"hrx.capture.host-observed","name":"hidden: 3 more regions running, not shown because the open table was full (host-observed)","pid":4242,"tid":1}"#,
            ]
        );
        assert!(text.contains(r#"{"name":"GPU 0: stream 3 · track"}"#));
    }

    /// The bug: of three processes merged, one had died early with regions open, and they lasted until the end of the whole.
    #[test]
    fn with_several_captures_what_was_running_ends_with_its_own() {
        let mut early = Capture::new(8);
        early.record(region(1, 100, 400));
        early.open(0, running(1, 50)).open(1, running(1, 200));
        early.open(2, running(1, 500));
        let mut late = Capture::new(8);
        late.record(region(0, 9_000, 1_000));
        let captures = Captures::of_bytes([early.bytes(), late.bytes()]);
        let mut document = Vec::new();
        let chrome = Chrome::new(&captures, Extras::default(), &mut document);
        write_everything(&captures, chrome);
        let document = parse(&document);
        let ends: Vec<_> = of_phase(&document, "E")
            .iter()
            .map(|event| {
                (
                    event["tid"].clone(),
                    event["ts"].clone(),
                    event["pid"].clone(),
                )
            })
            .collect();
        let end = |tid| (json!(tid), json!(0.5014), json!(4242));
        assert_eq!(ends.len(), of_phase(&document, "B").len());
        // The newest ends first. It began at the capture's last moment, and is shown for a nanosecond.
        assert_eq!(ends, [end(2_000), end(2_001), end(2_000)]);
        assert!(marks_of(&document).iter().all(|mark| mark["ph"] == "i"));
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
                "losses: 1 torn; 1,234 rejected, begun before the capture or with no handle left (host-observed)",
                "end: not finished; this is the last sign of life (host-observed)"
            ]
        );
    }

    #[test]
    fn a_mark_says_since_when_all_rings_are_complete() {
        let mut capture = Capture::with(Geometry::new(1).ring_count(2));
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

    /// The bug: the counters of all captures were held until the last one was made: hundreds of megabytes for many captures.
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
        // A chunk may be exceeded by one lane's counter.
        assert!(widest.0 < 3 * CHUNK_BYTES, "{}", widest.0);
    }

    /// Labels whose escaped names exceed the cache are escaped again, with the same result.
    #[test]
    fn more_names_than_are_kept() {
        let mut capture = Capture::with(Geometry::new(600).name_bytes(4 << 20));
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
            assert!(chrome.texts.names.kept_bytes() <= NAMES_BYTES_MAX);
        }
        let report = captures[0].trace.report();
        chrome
            .finish(&captures, &mut [Outcome::new(report)])
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

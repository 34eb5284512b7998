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
//! - A region that never completed is a `B` without an `E`, written last, with a mark at the last known moment, so that it has a length
//!   in chrome://tracing and speedscope too. The marks of the capture itself have a track of their own.
//! - The label "host-observed" and the losses are at the top level, in `metadata`, and on the timeline.

mod arrows;
mod counters;
mod document;
mod instants;
mod json;
mod metadata;
mod size;
mod slices;
mod times;

use std::io::{self, Write};

use hrx_trace_reader::Event;
use serde_json::Value;

use self::arrows::Arrows;
use self::counters::push_counters;
use self::document::JsonDocument;
use self::instants::{MarkKind, push_mark};
use self::json::push_name;
use self::metadata::{DocumentForm, name_process, name_track, sort_index};
use self::slices::Slices;
use self::times::{PRECISION, imprecision};
use crate::input::captures::{Capture, Captures};
use crate::input::format::{FollowedFormat, Format};
use crate::input::outcome::Outcome;
use crate::output::console::say;
use crate::text::names::Names;
use crate::tracks::copy_rates::CopyRates;
use crate::tracks::extras::Extras;
use crate::tracks::flows::FlowEnd;
use crate::tracks::lanes::{Lanes, Place, SHOWN_NS_MAX};
use crate::tracks::marks;
use crate::tracks::names::track_name;
use crate::tracks::tids::CAPTURE_TID;

/// What makes a whole of a document after any of its events.
pub const TAIL: &[u8] = b"\n]}\n";

/// Writes captures as one document of Chrome's trace JSON.
pub struct Chrome<Sink> {
    document: JsonDocument<Sink>,
    form: DocumentForm,
    names: Names,
    arrows: Arrows,
    extras: Extras,
    /// By capture.
    processes: Vec<ChromeProcess>,
}

/// A capture, as a viewer sees it.
struct ChromeProcess {
    lanes: Lanes,
    copy_rates: CopyRates,
    /// The members between an event's name and its tid.
    after_name: Vec<u8>,
    several_rings: bool,
}

impl ChromeProcess {
    fn new(capture: &Capture, captures: usize) -> Self {
        Self {
            lanes: Lanes::new(PRECISION, captures).of(capture),
            copy_rates: CopyRates::new(captures),
            after_name: format!(r#"","pid":{},"tid":"#, capture.pid).into_bytes(),
            several_rings: capture.trace.identity().ring_count > 1,
        }
    }

    fn slices<'process>(
        &'process self,
        capture: &'process Capture,
        extras: Extras,
    ) -> Slices<'process> {
        Slices {
            capture,
            after_name: &self.after_name,
            several_rings: self.several_rings,
            colours_failed: !extras.no_colors,
        }
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
                name_track(&mut document, capture.pid, CAPTURE_TID, marks::TRACK, 0);
            }
        }
        Self {
            document,
            form,
            names: Names::new(push_name),
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
        lane: u32,
        start_ns: u64,
        end_ns: Option<u64>,
    ) -> Option<Place> {
        let lanes = &mut self.processes[capture.index].lanes;
        let place = lanes.place(lane, start_ns, end_ns)?;
        if place.is_new {
            self.begin_track(capture, place);
        }
        Some(place)
    }

    #[cold]
    fn begin_track(&mut self, capture: &Capture, place: Place) {
        let name = track_name(place.lane, place.sub_lane);
        let index = sort_index(place.lane, place.sub_lane);
        name_track(&mut self.document, capture.pid, place.tid, &name, index);
    }

    /// Begins the regions that were still running, and marks the last moment shown on each of their tracks.
    fn open_regions(&mut self, capture: &Capture, outcome: &Outcome) {
        // From the oldest to the newest.
        let open = &outcome.report.open_regions;
        // The newest is placed first, so that those that began before it can go around it. They are written oldest first, because
        // chrome://tracing wants the beginnings of a track in order.
        let mut places: Vec<Place> = open
            .iter()
            .rev()
            .filter_map(|region| {
                let start_ns = region.start_ns.min(SHOWN_NS_MAX);
                self.place(capture, region.lane, start_ns, None)
            })
            .collect();
        places.reverse();
        let chunk = &mut self.document.chunk;
        let process = &self.processes[capture.index];
        let slices = process.slices(capture, self.extras);
        for (region, place) in open.iter().zip(&places) {
            let last_ns = outcome.report.last_ns;
            slices.push_open(chunk, &mut self.names, region, place.tid, last_ns);
            if !self.extras.no_flows {
                let to = FlowEnd {
                    start_ns: region.start_ns.min(SHOWN_NS_MAX),
                    tid: place.tid,
                };
                let after_name = &process.after_name;
                self.arrows
                    .push(chunk, after_name, capture, region.correlation_id, to);
            }
        }
        places.sort_by_key(|place| place.tid);
        places.dedup_by_key(|place| place.tid);
        for place in places {
            push_mark(
                chunk,
                MarkKind::LastSlice,
                (capture.pid, place.tid),
                outcome.last_shown_ns(),
                marks::unfinished(outcome),
                &Value::Object(Default::default()),
            );
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
        let Some(place) = self.place(capture, event.lane, start_ns, Some(end_ns)) else {
            return Ok(());
        };
        let process = &mut self.processes[capture.index];
        let chunk = &mut self.document.chunk;
        let times_ns = (start_ns, end_ns);
        process
            .slices(capture, self.extras)
            .push(chunk, &mut self.names, event, place, times_ns);
        if !self.extras.no_flows {
            let to = FlowEnd {
                start_ns,
                tid: place.tid,
            };
            let after_name = &process.after_name;
            self.arrows
                .push(chunk, after_name, capture, event.correlation_id, to);
        }
        self.document.regions += 1;
        self.document.write_out_if_full()
    }

    /// Writes the regions still running, the marks, the counters and the facts about the captures.
    fn finish(mut self, captures: &Captures, outcomes: &mut [Outcome]) -> io::Result<()> {
        for (capture, outcome) in captures.iter().zip(outcomes.iter_mut()) {
            self.open_regions(capture, outcome);
            self.processes[capture.index].lanes.note_limits(outcome);
            if !self.extras.no_marks {
                for mark in marks::of(captures, capture, outcome) {
                    push_mark(
                        &mut self.document.chunk,
                        MarkKind::Instant,
                        (capture.pid, CAPTURE_TID),
                        mark.at_ns,
                        &mark.name,
                        &mark.args,
                    );
                }
            }
            let samples = self.processes[capture.index].copy_rates.samples();
            push_counters(&mut self.document, capture.pid, samples)?;
            self.document.write_out_if_full()?;
        }
        let last_ns = outcomes.iter().map(Outcome::last_shown_ns).max();
        if let Some(warning) = imprecision(last_ns.unwrap_or_default()) {
            say(&warning);
        }
        self.form.end(&mut self.document, captures, outcomes)
    }
}

impl<Sink: Write> FollowedFormat for Chrome<Sink> {
    fn flush(&mut self) -> io::Result<()> {
        self.document.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use hrx_trace_format::{Geometry, OpenRecord, Record, UNLABELLED};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::document::CHUNK_BYTES;
    use super::*;
    use crate::input::conversion::write_everything;
    use crate::text::names::NAMES_BYTES_MAX;
    use crate::tracks::names::MARK_CATEGORY;
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
        let mut lanes = Lanes::new(PRECISION, 1);
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
                let place = lanes.place(event.lane, start_ns, Some(end_ns));
                let place = place.expect("a track");
                let mut region = json!({
                    "ph": "X",
                    "cat": "hrx.host-observed",
                    "name": format!("{label} (host-observed){failed}"),
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
            [end(1, 1, 1.0001), end(2, 2, 2.0001), end(3, 4, 1.5001)]
        );
        assert_eq!(
            ends("f"),
            [end(1, 2, 2.0001), end(2, 3, 2.0001), end(3, 5, 4.0001)]
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
{"args":{"name":"capture (host-observed)"},"name":"thread_name","ph":"M","pid":4242,"tid":999999999},
{"args":{"sort_index":0},"name":"thread_sort_index","ph":"M","pid":4242,"tid":999999999},
{"args":{"name":"compute"},"name":"thread_name","ph":"M","pid":4242,"tid":2},
{"args":{"sort_index":2048},"name":"thread_sort_index","ph":"M","pid":4242,"tid":2},
{"ph":"X","cat":"hrx.host-observed","name":"gemm (host-observed)","pid":4242,"tid":2,"ts":1.000,"dur":2.3446,"args":{"lane":1,"copied_bytes":"1152921504606846976","failed":false,"correlation_id":7,"thread_id":99,"sequence":2}},
{"args":{"name":"compute (2)"},"name":"thread_name","ph":"M","pid":4242,"tid":1001000001},
{"args":{"sort_index":2049},"name":"thread_sort_index","ph":"M","pid":4242,"tid":1001000001},
{"ph":"X","cat":"hrx.host-observed","name":"gemm (host-observed) [failed]","pid":4242,"tid":1001000001,"ts":2.000,"dur":3.9996,"cname":"terrible","args":{"lane":1,"copied_bytes":0,"failed":true,"status":5,"thread_id":99,"sequence":3}},
{"ph":"B","cat":"hrx.host-observed","name":"gemm (host-observed) [unfinished]","pid":4242,"tid":2,"ts":6.500,"args":{"copied_bytes":0,"correlation_id":8,"lane":1,"running_ns":0,"thread_id":99,"unfinished":true}},
{"ph":"X","dur":0.0004,"ts":6.5004,"args":{},"cat":"hrx.capture.host-observed","name":"unfinished at the last known moment (host-observed)","pid":4242,"tid":2},
{"ph":"i","s":"t","ts":1.000,"args":{"overwritten":1},"cat":"hrx.capture.host-observed","name":"begin: 1 older event overwritten (host-observed)","pid":4242,"tid":999999999},
{"ph":"i","s":"t","ts":6.500,"args":{"ending":"writer-died"},"cat":"hrx.capture.host-observed","name":"end: the writer died; this is the last moment known (host-observed)","pid":4242,"tid":999999999},
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
        assert_eq!(whole["ending"], "writer-died");
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
        // Each track with an unfinished region extends to the last moment.
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
        let mut capture = Capture::with(Geometry::new(600).label_bytes(4 << 20));
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

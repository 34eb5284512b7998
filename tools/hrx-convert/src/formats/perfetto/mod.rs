//! Perfetto's own format: a protobuf of TrackEvent packets, a track for each lane and sub-lane under the track of the capture.
//!
//! What Perfetto requires, and what holds here for every input:
//! - times are whole nanoseconds of CLOCK_BOOTTIME, which Perfetto shows everything in: what it was when the timeline began, and what CLOCK_MONOTONIC
//!   counted since. A snapshot ties it to the other clocks. So a trace of the same host's devices lines up, whatever snapshots that one holds;
//! - two regions of one track are apart or properly nested, in the order they are written too (see [`crate::tracks::lanes`]): an end closes the innermost
//!   region, whichever was meant;
//! - a region that never completed is a begin without an end;
//! - the lanes' tracks are children of the track of the capture's marks, in the order of the lanes: under a process's own, Perfetto sorts by name;
//! - integers above 2^63 - 1 are strings: Perfetto keeps integers in an i64, and would show -1;
//! - the label "host-observed" is in every region's name and category and in the metadata; losses are marks and metadata.
//!
//! Each track is a packet sequence of its own, with its uuid as a default and a clock that counts from packet to packet: since the regions of a track
//! rarely go back in time, most times take two bytes. One that does go back says its times absolutely.
//! What a sequence needs to be read (names, defaults, clock) stands before its first use, so that the file can be read while it is being written.
//!
//! A region's two packets are put together by a [`pen`], everything else is prost's, from [`messages`].

mod messages;
mod pen;

use std::collections::BTreeSet;
use std::io::{self, Write};

use hrx_trace_format::MEASUREMENT;
use hrx_trace_reader::{Event, Label, OpenRegion};
use prost::Message;
use prost::bytes::BufMut;
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint};
use serde_json::Value;

use self::messages::{
    CLOCK_BOOTTIME, CLOCK_MONOTONIC, CLOCK_OF_SEQUENCE, CLOCK_REALTIME, COUNTER, ChromeEventBundle,
    ChromeMetadata, Clock, ClockSnapshot, CounterDescriptor, DebugAnnotation, EXPLICIT,
    INCREMENTAL_STATE_CLEARED, INSTANT, Interned, InternedData, NEEDS_INCREMENTAL_STATE,
    ProcessDescriptor, SLICE_BEGIN, SLICE_END, TracePacket, TracePacketDefaults, TraceUuid,
    TrackDescriptor, TrackEvent, TrackEventDefaults,
};
use self::pen::{Length, Pen, Short, WORD_VARINT_MAX, key, varint};
use crate::figures::metadata::Metadata;
use crate::input::captures::{Capture, Captures};
use crate::input::format::{FollowedFormat, Format};
use crate::input::outcome::Outcome;
use crate::text::names::shown;
use crate::tracks::copy_rates::CopyRates;
use crate::tracks::extras::Extras;
use crate::tracks::flows::{Flows, Region, mixed};
use crate::tracks::lanes::{Lanes, Place, SHOWN_NS_MAX, Times};
use crate::tracks::marks;
use crate::tracks::names::{copy_rate_name, track_name};

/// Written out once so many bytes have gathered.
const CHUNK_BYTES: usize = 256 << 10;
/// More than the two packets of a region take.
const REGION_BYTES_MAX: usize = 2 << 10;
/// Epochs are cut here, so that no time on the timeline exceeds an i64, by any clock.
const EPOCH_NS_MAX: u64 = 1 << 61;
/// The sequence of everything that is no region.
const HEAD_SEQUENCE: u32 = 1;
/// Memory for what the tracks remember of the names they know, in words of 64 names.
const KNOWN_WORDS_MAX: usize = 1 << 20;
const CATEGORY: &str = "hrx.host-observed";
const CATEGORY_IID: u64 = 1;

/// Field numbers of what is encoded by hand.
mod field {
    pub const TRACE_PACKET: u32 = 1;
    pub const PACKET_TIMESTAMP: u32 = 8;
    pub const PACKET_TIMESTAMP_CLOCK_ID: u32 = 58;
    pub const PACKET_SEQUENCE_ID: u32 = 10;
    pub const PACKET_SEQUENCE_FLAGS: u32 = 13;
    pub const PACKET_TRACK_EVENT: u32 = 11;
    pub const EVENT_TYPE: u32 = 9;
    pub const EVENT_CATEGORY_IIDS: u32 = 3;
    pub const EVENT_NAME_IID: u32 = 10;
    pub const EVENT_NAME: u32 = 23;
    pub const EVENT_FLOW_IDS: u32 = 47;
    pub const EVENT_DEBUG_ANNOTATIONS: u32 = 4;
    pub const ANNOTATION_NAME_IID: u32 = 1;
    pub const ANNOTATION_BOOL_VALUE: u32 = 2;
    pub const ANNOTATION_UINT_VALUE: u32 = 3;
    pub const ANNOTATION_STRING_VALUE: u32 = 6;
}

/// The args of a region; the iid of each name is its number here.
#[derive(Clone, Copy)]
enum Arg {
    CopiedBytes = 1,
    Failed,
    Status,
    CorrelationId,
    ThreadId,
    Ring,
    Saturated,
    StartNs,
    DurationNs,
    Unfinished,
    RunningNs,
}

/// Their names, from iid 1 on.
const ARG_NAMES: [&str; 11] = [
    "copied_bytes",
    "failed",
    "status",
    "correlation_id",
    "thread_id",
    "ring",
    "saturated",
    "start_ns",
    "duration_ns",
    "unfinished",
    "running_ns",
];

/// Writes captures as one trace of Perfetto's.
pub struct Perfetto<Sink> {
    sink: Sink,
    /// Filled up to `used`; there is always room for a region.
    chunk: Box<[u8]>,
    used: usize,
    /// The timeline's zero on CLOCK_BOOTTIME.
    epoch_ns: u64,
    /// The last packet sequence.
    sequences: u32,
    known_words: usize,
    flows: Flows,
    extras: Extras,
    /// By capture.
    processes: Vec<Process>,
}

/// What one capture is to Perfetto.
struct Process {
    /// What its tracks' and flows' numbers are derived from.
    key: u64,
    lanes: Lanes,
    copy_rates: CopyRates,
    /// By [`Place::track`].
    tracks: Vec<Track>,
    several_rings: bool,
}

struct Track {
    /// The fields of a packet that name its sequence, and that say it needs what was said of the sequence before.
    of_begin: Short,
    /// All but the time of the packet that ends a region. It stands right behind its begin, which has said what it needs.
    of_end: Short,
    /// What its clock stands at.
    clock_ns: u64,
    /// The names that the sequence knows, a bit for each by their iid.
    known: Vec<u64>,
}

impl Process {
    fn new(capture: &Capture, count: usize) -> Self {
        let identity = capture.trace.identity();
        let (halves, _) = identity.capture_id.as_chunks::<8>();
        let key = |key, half: &[u8; 8]| mixed(key ^ u64::from_le_bytes(*half));
        Self {
            key: halves.iter().fold(capture.index as u64, key),
            lanes: Lanes::new(Times::Nanoseconds),
            copy_rates: CopyRates::new(count),
            tracks: Vec::new(),
            several_rings: identity.ring_count > 1,
        }
    }

    /// A number that no other track has, in this trace or one that is put beside it: as good as random, and the same in every conversion.
    fn uuid(&self, what: TrackOf) -> u64 {
        let number = match what {
            TrackOf::Process => 0,
            TrackOf::Capture => 1,
            TrackOf::Rate(lane) => 1 << 32 | u64::from(lane),
            TrackOf::Lane(lane, sub_lane) => mixed(2 << 32 | u64::from(lane)) ^ sub_lane as u64,
        };
        mixed(self.key ^ mixed(number)).max(1)
    }
}

/// What a track shows.
#[derive(Clone, Copy)]
enum TrackOf {
    Process,
    Capture,
    Rate(u32),
    Lane(u32, usize),
}

/// Where a track of a lane stands among its siblings: lane by lane, in each lane its copy rate last. In an i32 there is room for a thousand
/// tracks of each of a million lanes; what lies beyond shares ranks, in order nevertheless.
fn rank(lane: u32, in_lane: usize) -> i32 {
    const EACH: u32 = 1 << 10;
    const LANES: u32 = 1 << 20;
    let rank = match lane {
        0..LANES => (lane + 1) * EACH + (in_lane as u32).min(EACH - 1),
        _ => (LANES + 1) * EACH + (lane >> 3),
    };
    rank.min(i32::MAX as u32) as i32
}

impl<Sink: Write> Perfetto<Sink> {
    /// Writes the head.
    pub fn new(captures: &Captures, extras: Extras, sink: Sink) -> io::Result<Self> {
        let identity = captures.origin().trace.identity();
        let monotonic_ns = identity.epoch_monotonic_ns.min(EPOCH_NS_MAX);
        let epoch_ns = match identity.epoch_boottime_ns {
            0 => monotonic_ns,
            known => known.min(EPOCH_NS_MAX),
        };
        let mut perfetto = Self {
            sink,
            chunk: vec![0; CHUNK_BYTES + REGION_BYTES_MAX].into(),
            used: 0,
            epoch_ns,
            sequences: HEAD_SEQUENCE,
            known_words: 0,
            flows: Flows::new(),
            extras,
            processes: captures
                .iter()
                .map(|capture| Process::new(capture, captures.len()))
                .collect(),
        };
        let clock = |clock_id, timestamp| Clock {
            clock_id: Some(clock_id),
            timestamp: Some(timestamp),
            is_incremental: None,
        };
        perfetto.packet(&TracePacket {
            sequence_flags: Some(INCREMENTAL_STATE_CLEARED),
            trace_packet_defaults: Some(TracePacketDefaults {
                timestamp_clock_id: Some(CLOCK_BOOTTIME),
                track_event_defaults: None,
            }),
            clock_snapshot: Some(ClockSnapshot {
                clocks: vec![
                    clock(CLOCK_BOOTTIME, epoch_ns),
                    clock(CLOCK_MONOTONIC, monotonic_ns),
                    clock(CLOCK_REALTIME, identity.epoch_realtime_ns.min(EPOCH_NS_MAX)),
                ],
                primary_trace_clock: Some(CLOCK_BOOTTIME),
            }),
            ..of_sequence(HEAD_SEQUENCE)
        })?;
        let (halves, _) = identity.capture_id.as_chunks::<8>();
        let half = |index: usize| halves.get(index).map(|half| i64::from_be_bytes(*half));
        perfetto.packet(&TracePacket {
            trace_uuid: Some(TraceUuid {
                msb: half(0),
                lsb: half(1),
            }),
            ..of_sequence(HEAD_SEQUENCE)
        })?;
        perfetto.metadata("hrx-measurement", MEASUREMENT.to_owned())?;
        for capture in captures.iter() {
            let process = &perfetto.processes[capture.index];
            let uuid = process.uuid(TrackOf::Process);
            let marks_uuid = process.uuid(TrackOf::Capture);
            perfetto.track(TrackDescriptor {
                uuid: Some(uuid),
                process: Some(ProcessDescriptor {
                    pid: Some(i32::try_from(capture.pid).unwrap_or(i32::MAX)),
                    process_name: Some(format!("{} (host-observed)", capture.process_name())),
                }),
                ..TrackDescriptor::default()
            })?;
            perfetto.track(TrackDescriptor {
                uuid: Some(marks_uuid),
                parent_uuid: Some(uuid),
                name: Some(marks::TRACK.to_owned()),
                child_ordering: Some(EXPLICIT),
                ..TrackDescriptor::default()
            })?;
        }
        Ok(perfetto)
    }
}

impl<Sink: Write> Format for Perfetto<Sink> {
    /// Writes a completed region.
    #[inline]
    fn event(&mut self, capture: &Capture, event: &Event) -> io::Result<()> {
        let start_ns = event.start_ns.min(SHOWN_NS_MAX);
        let end_ns = event.end_ns().min(SHOWN_NS_MAX);
        let place = self.place(capture, event.lane, start_ns, Some(end_ns))?;
        let name = self.name(capture, place.track, event.label_id, event.failed)?;
        let flow = match self.extras.no_flows {
            true => None,
            false => {
                let region = Region {
                    start_ns,
                    ..Region::default()
                };
                self.flows.link(capture, event.correlation_id, region)
            }
        };
        let process = &mut self.processes[capture.index];
        if !self.extras.no_counters {
            let rates = &mut process.copy_rates;
            rates.add(event.lane, start_ns, end_ns, event.copied_bytes);
        }

        let track = &mut process.tracks[place.track];
        let (start_ns, end_ns) = (self.epoch_ns + start_ns, self.epoch_ns + end_ns);
        let (begun, ended) = match start_ns >= track.clock_ns {
            true => {
                let since_ns = start_ns - track.clock_ns;
                track.clock_ns = end_ns;
                ((since_ns, None), (end_ns - start_ns, None))
            }
            false => {
                let absolute = Some(CLOCK_BOOTTIME);
                ((start_ns, absolute), (end_ns, absolute))
            }
        };

        let mut pen = Pen::new(&mut self.chunk, self.used);
        let packet = begin_packet(&mut pen, begun);
        pen.short(&track.of_begin);
        let begin = pen.begin(key(field::PACKET_TRACK_EVENT, WireType::LengthDelimited));
        pen.word(EVENT_HEAD, 4);
        match &name {
            Name::Interned(iid) => {
                pen.byte(key(field::EVENT_NAME_IID, WireType::Varint));
                pen.varint(*iid);
            }
            Name::Inline(name) => {
                pen.key(field::EVENT_NAME, WireType::LengthDelimited);
                pen.varint(name.len() as u64);
                pen.bytes(name.as_bytes());
            }
        }
        put_integer(&mut pen, Arg::CopiedBytes, event.copied_bytes);
        put_bool(&mut pen, Arg::Failed, event.failed);
        if event.failed || event.status != 0 {
            put_integer(&mut pen, Arg::Status, u64::from(event.status));
        }
        if event.correlation_id != 0 {
            put_integer(&mut pen, Arg::CorrelationId, event.correlation_id);
        }
        put_integer(&mut pen, Arg::ThreadId, u64::from(event.thread_id));
        if process.several_rings {
            put_integer(&mut pen, Arg::Ring, u64::from(event.ring));
        }
        if event.saturated {
            put_bool(&mut pen, Arg::Saturated, true);
        }
        if end_ns - start_ns != event.duration_ns {
            // The timeline ends before the region does; its own figures are here.
            put_integer(&mut pen, Arg::StartNs, event.start_ns);
            put_integer(&mut pen, Arg::DurationNs, event.duration_ns);
        }
        if let Some(flow) = flow {
            pen.key(field::EVENT_FLOW_IDS, WireType::SixtyFourBit);
            pen.word((process.key ^ flow.chain).to_le_bytes(), 8);
        }
        pen.end(begin);
        pen.end(packet);
        let packet = begin_packet(&mut pen, ended);
        pen.short(&track.of_end);
        pen.end(packet);
        self.used = pen.at();
        if self.used >= CHUNK_BYTES {
            self.write_out()?;
        }
        Ok(())
    }

    /// Writes what was running, the marks, the counters, and everything there is to say of the captures.
    fn finish(mut self, captures: &Captures, outcomes: &[Outcome]) -> io::Result<()> {
        for (capture, outcome) in captures.iter().zip(outcomes) {
            let report = &outcome.report;
            // The newest is placed first, so that those that began before it can go around it.
            let mut tracks = BTreeSet::new();
            for region in report.open_regions.iter().rev() {
                tracks.insert(self.open_region(capture, region, report.last_ns)?);
            }
            for track in tracks {
                self.mark(
                    track,
                    outcome.last_shown_ns(),
                    marks::unfinished(outcome).to_owned(),
                    &Value::Null,
                )?;
            }
            if !self.extras.no_marks {
                let uuid = self.processes[capture.index].uuid(TrackOf::Capture);
                for mark in marks::of(captures, capture, outcome) {
                    self.mark(uuid, mark.at_ns, mark.name, &mark.args)?;
                }
            }
            self.counters(capture)?;
        }
        let facts = serde_json::to_string(&Metadata::new(captures, outcomes))?;
        self.metadata("hrx-capture", facts)?;
        self.flush()
    }
}

impl<Sink: Write> FollowedFormat for Perfetto<Sink> {
    fn flush(&mut self) -> io::Result<()> {
        self.write_out()?;
        self.sink.flush()
    }
}

/// What a region is called.
enum Name {
    Interned(u64),
    Inline(String),
}

impl<Sink: Write> Perfetto<Sink> {
    /// Says something of a moment on a track.
    fn mark(&mut self, track_uuid: u64, at_ns: u64, name: String, args: &Value) -> io::Result<()> {
        let arg = |(name, value): (&String, &Value)| annotation(name, value);
        let args = args.as_object().into_iter().flatten().map(arg).collect();
        self.event_at(
            at_ns,
            TrackEvent {
                categories: vec![marks::CATEGORY.to_owned()],
                name: Some(name),
                r#type: Some(INSTANT),
                track_uuid: Some(track_uuid),
                debug_annotations: args,
                ..TrackEvent::default()
            },
        )
    }

    /// Begins a region that never ends, and gives its track.
    fn open_region(
        &mut self,
        capture: &Capture,
        region: &OpenRegion,
        last_ns: u64,
    ) -> io::Result<u64> {
        let start_ns = region.start_ns.min(SHOWN_NS_MAX);
        let place = self.place(capture, region.lane, start_ns, None)?;
        let process = &self.processes[capture.index];
        let uuid = process.uuid(TrackOf::Lane(region.lane, place.sub_lane));
        let arg = |arg: Arg, value: Value| annotation(ARG_NAMES[arg as usize - 1], &value);
        let mut args = vec![
            arg(Arg::CopiedBytes, region.copied_bytes.into()),
            arg(Arg::Unfinished, true.into()),
            arg(
                Arg::RunningNs,
                last_ns.saturating_sub(region.start_ns).into(),
            ),
            arg(Arg::ThreadId, region.thread_id.into()),
        ];
        if region.correlation_id != 0 {
            args.push(arg(Arg::CorrelationId, region.correlation_id.into()));
        }
        if region.saturated {
            args.push(arg(Arg::Saturated, true.into()));
        }
        let name = shown(capture, region.label_id);
        self.event_at(
            region.start_ns,
            TrackEvent {
                categories: vec![CATEGORY.to_owned()],
                name: Some(format!("{name} (host-observed) [unfinished]")),
                r#type: Some(SLICE_BEGIN),
                track_uuid: Some(uuid),
                debug_annotations: args,
                ..TrackEvent::default()
            },
        )?;
        Ok(uuid)
    }

    /// How fast each lane copied.
    fn counters(&mut self, capture: &Capture) -> io::Result<()> {
        let process = &mut self.processes[capture.index];
        let samples = process.copy_rates.samples();
        let parent_uuid = process.uuid(TrackOf::Capture);
        for (lane, samples) in samples {
            let uuid = self.processes[capture.index].uuid(TrackOf::Rate(lane));
            self.track(TrackDescriptor {
                uuid: Some(uuid),
                parent_uuid: Some(parent_uuid),
                name: Some(format!("{} GB/s", copy_rate_name(lane))),
                counter: Some(CounterDescriptor {
                    unit_name: Some("GB/s".to_owned()),
                }),
                sibling_order_rank: Some(rank(lane, usize::MAX)),
                ..TrackDescriptor::default()
            })?;
            for sample in samples {
                self.event_at(
                    sample.at_ns,
                    TrackEvent {
                        r#type: Some(COUNTER),
                        track_uuid: Some(uuid),
                        double_counter_value: Some(sample.gigabytes_per_second),
                        ..TrackEvent::default()
                    },
                )?;
            }
        }
        Ok(())
    }

    #[inline]
    fn place(
        &mut self,
        capture: &Capture,
        lane: u32,
        start_ns: u64,
        end_ns: Option<u64>,
    ) -> io::Result<Place> {
        let lanes = &mut self.processes[capture.index].lanes;
        let place = lanes.place(lane, start_ns, end_ns);
        if place.is_new {
            self.open_track(capture, lane, place.sub_lane)?;
        }
        Ok(place)
    }

    /// Describes a track and begins its sequence.
    #[cold]
    fn open_track(&mut self, capture: &Capture, lane: u32, sub_lane: usize) -> io::Result<()> {
        self.sequences += 1;
        let sequence = self.sequences;
        let process = &mut self.processes[capture.index];
        let uuid = process.uuid(TrackOf::Lane(lane, sub_lane));
        let parent_uuid = process.uuid(TrackOf::Capture);
        let of_begin = Short::new(|out| {
            put_varint(out, field::PACKET_SEQUENCE_ID, sequence.into());
            let flags = NEEDS_INCREMENTAL_STATE.into();
            put_varint(out, field::PACKET_SEQUENCE_FLAGS, flags);
        });
        let event = Short::new(|out| put_varint(out, field::EVENT_TYPE, SLICE_END as u64));
        let of_end = Short::new(|out| {
            put_varint(out, field::PACKET_SEQUENCE_ID, sequence.into());
            put_bytes(out, field::PACKET_TRACK_EVENT, event.bytes());
        });
        process.tracks.push(Track {
            of_begin,
            of_end,
            clock_ns: self.epoch_ns,
            known: Vec::new(),
        });
        let clock = |clock_id, is_incremental| Clock {
            clock_id: Some(clock_id),
            timestamp: Some(self.epoch_ns),
            is_incremental,
        };
        let interned = |(iid, name): (u64, &&str)| Interned {
            iid: Some(iid),
            name: Some((*name).to_owned()),
        };
        let packet = TracePacket {
            sequence_flags: Some(INCREMENTAL_STATE_CLEARED),
            trace_packet_defaults: Some(TracePacketDefaults {
                timestamp_clock_id: Some(CLOCK_OF_SEQUENCE),
                track_event_defaults: Some(TrackEventDefaults {
                    track_uuid: Some(uuid),
                }),
            }),
            clock_snapshot: Some(ClockSnapshot {
                clocks: vec![
                    clock(CLOCK_OF_SEQUENCE, Some(true)),
                    clock(CLOCK_BOOTTIME, None),
                ],
                primary_trace_clock: None,
            }),
            interned_data: Some(InternedData {
                event_categories: vec![interned((CATEGORY_IID, &CATEGORY))],
                debug_annotation_names: (1..).zip(&ARG_NAMES).map(interned).collect(),
                event_names: Vec::new(),
            }),
            ..of_sequence(sequence)
        };
        self.packet(&packet)?;
        self.track(TrackDescriptor {
            uuid: Some(uuid),
            parent_uuid: Some(parent_uuid),
            name: Some(track_name(lane, sub_lane)),
            sibling_order_rank: Some(rank(lane, sub_lane.min((1 << 10) - 2))),
            ..TrackDescriptor::default()
        })
    }

    /// What to call a region on that track; makes the name known there.
    #[inline]
    fn name(
        &mut self,
        capture: &Capture,
        track: usize,
        label_id: u32,
        failed: bool,
    ) -> io::Result<Name> {
        let iid = 2 * u64::from(label_id) + u64::from(failed) + 1;
        let known = &self.processes[capture.index].tracks[track].known;
        let word = known.get((iid / 64) as usize);
        if word.is_some_and(|word| word >> (iid % 64) & 1 != 0) {
            return Ok(Name::Interned(iid));
        }
        self.learn(capture, track, label_id, failed, iid)
    }

    #[cold]
    fn learn(
        &mut self,
        capture: &Capture,
        track: usize,
        label_id: u32,
        failed: bool,
        iid: u64,
    ) -> io::Result<Name> {
        let failed = if failed { " [failed]" } else { "" };
        let name = format!("{} (host-observed){failed}", shown(capture, label_id));
        // Ids that cannot be believed are any number.
        if capture.trace.label(label_id) == Label::Unreadable {
            return Ok(Name::Inline(name));
        }
        let tracks = &mut self.processes[capture.index].tracks;
        let words = (iid / 64 + 1) as usize;
        let more = words.saturating_sub(tracks[track].known.len());
        if self.known_words + more > KNOWN_WORDS_MAX {
            // Saying a name again does no harm.
            for process in &mut self.processes {
                process
                    .tracks
                    .iter_mut()
                    .for_each(|track| track.known = Vec::new());
            }
            self.known_words = 0;
        }
        let track = &mut self.processes[capture.index].tracks[track];
        if track.known.len() < words {
            self.known_words += words - track.known.len();
            track.known.resize(words, 0);
        }
        track.known[words - 1] |= 1 << (iid % 64);
        let mut packet = Vec::from(track.of_begin.bytes());
        let names = TracePacket {
            interned_data: Some(InternedData {
                event_names: vec![Interned {
                    iid: Some(iid),
                    name: Some(name),
                }],
                ..InternedData::default()
            }),
            ..TracePacket::default()
        };
        packet.extend(names.encode_to_vec());
        self.encoded_packet(&packet)?;
        Ok(Name::Interned(iid))
    }

    fn track(&mut self, descriptor: TrackDescriptor) -> io::Result<()> {
        self.packet(&TracePacket {
            track_descriptor: Some(descriptor),
            ..of_sequence(HEAD_SEQUENCE)
        })
    }

    /// Says something of the whole trace.
    fn metadata(&mut self, name: &str, value: String) -> io::Result<()> {
        self.packet(&TracePacket {
            timestamp: Some(self.epoch_ns),
            timestamp_clock_id: Some(CLOCK_BOOTTIME),
            chrome_events: Some(ChromeEventBundle {
                metadata: vec![ChromeMetadata {
                    name: Some(name.to_owned()),
                    string_value: Some(value),
                }],
            }),
            ..of_sequence(HEAD_SEQUENCE)
        })
    }

    /// Writes an event of the head's sequence.
    fn event_at(&mut self, at_ns: u64, event: TrackEvent) -> io::Result<()> {
        self.packet(&TracePacket {
            timestamp: Some(self.epoch_ns + at_ns.min(SHOWN_NS_MAX)),
            sequence_flags: Some(NEEDS_INCREMENTAL_STATE),
            track_event: Some(event),
            ..of_sequence(HEAD_SEQUENCE)
        })
    }

    fn packet(&mut self, packet: &TracePacket) -> io::Result<()> {
        self.encoded_packet(&packet.encode_to_vec())
    }

    fn encoded_packet(&mut self, packet: &[u8]) -> io::Result<()> {
        if self.used + packet.len() + 16 > CHUNK_BYTES {
            self.write_out()?;
        }
        if packet.len() + 16 > CHUNK_BYTES {
            let mut head = Vec::new();
            encode_key(field::TRACE_PACKET, WireType::LengthDelimited, &mut head);
            encode_varint(packet.len() as u64, &mut head);
            self.sink.write_all(&head)?;
            return self.sink.write_all(packet);
        }
        let mut out = &mut self.chunk[self.used..];
        put_bytes(&mut out, field::TRACE_PACKET, packet);
        let left = out.len();
        self.used = self.chunk.len() - left;
        Ok(())
    }

    fn write_out(&mut self) -> io::Result<()> {
        self.sink.write_all(&self.chunk[..self.used])?;
        self.used = 0;
        Ok(())
    }
}

/// A packet of that sequence.
fn of_sequence(sequence: u32) -> TracePacket {
    TracePacket {
        trusted_packet_sequence_id: Some(sequence),
        ..TracePacket::default()
    }
}

fn annotation(name: &str, value: &Value) -> DebugAnnotation {
    let integer = value.as_u64().filter(|value| i64::try_from(*value).is_ok());
    let text = || {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    DebugAnnotation {
        name: Some(name.to_owned()),
        bool_value: value.as_bool(),
        uint_value: integer,
        string_value: (!value.is_boolean() && integer.is_none()).then(text),
        name_iid: None,
    }
}

#[inline]
fn put_varint(out: &mut impl BufMut, field: u32, value: u64) {
    encode_key(field, WireType::Varint, out);
    encode_varint(value, out);
}

#[inline]
fn put_bytes(out: &mut impl BufMut, field: u32, bytes: &[u8]) {
    encode_key(field, WireType::LengthDelimited, out);
    encode_varint(bytes.len() as u64, out);
    out.put_slice(bytes);
}

/// What every begin of a region says: a begin, of our category.
const EVENT_HEAD: [u8; 8] = [
    key(field::EVENT_TYPE, WireType::Varint),
    SLICE_BEGIN as u8,
    key(field::EVENT_CATEGORY_IIDS, WireType::Varint),
    CATEGORY_IID as u8,
    0,
    0,
    0,
    0,
];

/// Begins a packet of that time.
#[inline]
fn begin_packet(pen: &mut Pen, (timestamp, clock): (u64, Option<u32>)) -> Length {
    let packet = pen.begin(key(field::TRACE_PACKET, WireType::LengthDelimited));
    pen.byte(key(field::PACKET_TIMESTAMP, WireType::Varint));
    pen.varint(timestamp);
    if let Some(clock) = clock {
        pen.key(field::PACKET_TIMESTAMP_CLOCK_ID, WireType::Varint);
        pen.varint(clock.into());
    }
    packet
}

/// An arg; as a string where Perfetto has no integer for it.
#[inline]
fn put_integer(pen: &mut Pen, arg: Arg, value: u64) {
    if value <= WORD_VARINT_MAX {
        const KEY: u8 = key(field::ANNOTATION_UINT_VALUE, WireType::Varint);
        let (bytes, len) = varint(value);
        put_annotation(pen, arg, KEY, len);
        pen.word(bytes, len);
    } else {
        put_large(pen, arg, value);
    }
}

#[cold]
fn put_large(pen: &mut Pen, arg: Arg, value: u64) {
    if value <= i64::MAX as u64 {
        const KEY: u8 = key(field::ANNOTATION_UINT_VALUE, WireType::Varint);
        put_annotation(pen, arg, KEY, encoded_len_varint(value));
        pen.varint(value);
    } else {
        const KEY: u8 = key(field::ANNOTATION_STRING_VALUE, WireType::LengthDelimited);
        let mut digits = itoa::Buffer::new();
        let digits = digits.format(value).as_bytes();
        put_annotation(pen, arg, KEY, 1 + digits.len());
        pen.varint(digits.len() as u64);
        pen.bytes(digits);
    }
}

#[inline]
fn put_bool(pen: &mut Pen, arg: Arg, value: bool) {
    const KEY: u8 = key(field::ANNOTATION_BOOL_VALUE, WireType::Varint);
    put_annotation(pen, arg, KEY, 1);
    pen.byte(value.into());
}

/// An annotation up to the key of its value, which takes so many bytes, fewer than a hundred.
#[inline]
fn put_annotation(pen: &mut Pen, arg: Arg, value_key: u8, value_bytes: usize) {
    const KEY: u8 = key(field::EVENT_DEBUG_ANNOTATIONS, WireType::LengthDelimited);
    const NAME: u8 = key(field::ANNOTATION_NAME_IID, WireType::Varint);
    let value_len = 3 + value_bytes as u8;
    pen.word([KEY, value_len, NAME, arg as u8, value_key, 0, 0, 0], 5);
}

#[cfg(test)]
mod tests {
    use hrx_trace_format::{Geometry, OpenRecord, Record};

    use super::messages::Trace;
    use super::*;
    use crate::input::conversion::write_everything;
    use hrx_trace_tests::capture::{Capture as Made, region, running};

    fn convert(made: &[&Made], extras: Extras) -> (Vec<u8>, Vec<TracePacket>) {
        let captures = Captures::new(
            (0..)
                .zip(made)
                .map(|(index, made): (u32, _)| {
                    let trace = hrx_trace_reader::Trace::from_bytes(made.bytes());
                    (format!("{index}.hrxt").into(), trace.expect("a trace"))
                })
                .collect(),
        );
        let mut bytes = Vec::new();
        let perfetto = Perfetto::new(&captures, extras, &mut bytes).expect("memory");
        write_everything(&captures, perfetto);
        let trace = Trace::decode(&*bytes).expect("a trace of Perfetto's");
        (bytes, trace.packet)
    }

    /// The events of sequences other than the head's: what each packet says, and when on CLOCK_BOOTTIME.
    fn events(packets: &[TracePacket]) -> Vec<(u32, u64, &TrackEvent)> {
        let mut clocks = std::collections::BTreeMap::new();
        let mut events = Vec::new();
        for packet in packets {
            let sequence = packet.trusted_packet_sequence_id.expect("a sequence");
            if sequence == HEAD_SEQUENCE {
                continue;
            }
            if let Some(snapshot) = &packet.clock_snapshot {
                assert_eq!(packet.sequence_flags, Some(INCREMENTAL_STATE_CLEARED));
                clocks.insert(sequence, snapshot.clocks[0].timestamp.expect("a time"));
            }
            if let Some(event) = &packet.track_event {
                let begins = event.r#type == Some(SLICE_BEGIN);
                assert_eq!(
                    packet.sequence_flags,
                    begins.then_some(NEEDS_INCREMENTAL_STATE)
                );
                let clock = clocks.get_mut(&sequence).expect("a clock before its use");
                let timestamp = packet.timestamp.expect("a time");
                let at_ns = match packet.timestamp_clock_id {
                    Some(clock_id) => {
                        assert_eq!(clock_id, CLOCK_BOOTTIME);
                        timestamp
                    }
                    None => {
                        *clock += timestamp;
                        *clock
                    }
                };
                events.push((sequence, at_ns, event));
            }
        }
        events
    }

    fn arg(iid: Arg, uint_value: u64) -> DebugAnnotation {
        DebugAnnotation {
            name_iid: Some(iid as u64),
            uint_value: Some(uint_value),
            ..DebugAnnotation::default()
        }
    }

    fn flag(iid: Arg, value: bool) -> DebugAnnotation {
        DebugAnnotation {
            name_iid: Some(iid as u64),
            bool_value: Some(value),
            ..DebugAnnotation::default()
        }
    }

    /// What is encoded by hand is what the messages say.
    #[test]
    fn a_region_is_two_packets() {
        let mut made = Made::with(Geometry {
            ring_count: 2,
            ..Geometry::new(4)
        });
        let gemm = made.label("gemm");
        made.record(Record {
            label_id: gemm,
            copied_bytes: u64::MAX,
            correlation_id: 300,
            flags: 3,
            status: 5,
            ..region(1, 1_000, 2_345)
        });
        // Around the first: its times are absolute.
        made.record(region(1, 1, u64::MAX));
        let (_, packets) = convert(&[&made], Extras::default());
        let events = events(&packets);
        let epoch_ns = made.identity.epoch_boottime_ns;
        let times: Vec<u64> = events.iter().map(|event| event.1 - epoch_ns).collect();
        assert_eq!(times, [1_000, 3_345, 1, SHOWN_NS_MAX]);
        let too_large = DebugAnnotation {
            name_iid: Some(Arg::CopiedBytes as u64),
            string_value: Some(u64::MAX.to_string()),
            ..DebugAnnotation::default()
        };
        let iid = 2 * u64::from(gemm) + 2;
        let begin = TrackEvent {
            category_iids: vec![CATEGORY_IID],
            name_iid: Some(iid),
            r#type: Some(SLICE_BEGIN),
            flow_ids: events[0].2.flow_ids.clone(),
            debug_annotations: vec![
                too_large,
                flag(Arg::Failed, true),
                arg(Arg::Status, 5),
                arg(Arg::CorrelationId, 300),
                arg(Arg::ThreadId, 99),
                arg(Arg::Ring, 0),
                flag(Arg::Saturated, true),
            ],
            ..TrackEvent::default()
        };
        assert_eq!(*events[0].2, begin);
        assert_eq!(begin.flow_ids.len(), 1);
        let end = TrackEvent {
            r#type: Some(SLICE_END),
            ..TrackEvent::default()
        };
        assert_eq!(*events[1].2, end);
        let args = &events[2].2.debug_annotations;
        assert_eq!(
            args[3..],
            [arg(Arg::Ring, 0), arg(Arg::StartNs, 1), {
                DebugAnnotation {
                    name_iid: Some(Arg::DurationNs as u64),
                    string_value: Some(u64::MAX.to_string()),
                    ..DebugAnnotation::default()
                }
            }]
        );
        let names = packets
            .iter()
            .filter_map(|packet| packet.interned_data.as_ref());
        let names: Vec<_> = names.flat_map(|interned| &interned.event_names).collect();
        assert_eq!(names[0].iid, Some(iid));
        assert_eq!(
            names[0].name.as_deref(),
            Some("gemm (host-observed) [failed]")
        );
        assert_eq!(
            names[1].name.as_deref(),
            Some("native region (host-observed)")
        );
        assert_eq!(names.len(), 2);
    }

    /// Labels and tracks so many that what tracks remember of names is forgotten again and again, and a name larger than a chunk.
    #[test]
    fn names_are_known_before_they_are_used() {
        let mut made = Made::with(Geometry {
            label_bytes: 4 << 20,
            ..Geometry::new(400)
        });
        let labels: Vec<u32> = (0..200)
            .map(|i| made.label(&format!("{i}{}", "x".repeat(16_000))))
            .collect();
        for (i, label_id) in (0..).zip(labels.iter().chain(&labels)) {
            made.record(Record {
                label_id: *label_id,
                ..region(i as u32 % 3, i, 1)
            });
        }
        let (_, packets) = convert(&[&made], Extras::default());
        let mut known = std::collections::BTreeSet::new();
        let mut named = 0;
        for packet in &packets {
            let sequence = packet.trusted_packet_sequence_id;
            for interned in packet
                .interned_data
                .iter()
                .flat_map(|data| &data.event_names)
            {
                known.insert((sequence, interned.iid));
            }
            if let Some(iid) = packet.track_event.as_ref().and_then(|event| event.name_iid) {
                assert!(known.contains(&(sequence, Some(iid))));
                named += 1;
            }
        }
        assert_eq!(named, 400);
    }

    #[test]
    fn track_numbers_are_distinct_and_the_same_each_time() {
        let mut made = Made::new(64);
        for lane in [0, 1, 2, u32::MAX, 1 << 20] {
            for start_ns in 0..9 {
                made.record(region(lane, start_ns, 100));
            }
        }
        made.record(Record {
            copied_bytes: 5,
            ..region(0, 500, 5)
        });
        let (bytes, packets) = convert(&[&made, &made], Extras::default());
        assert_eq!(bytes, convert(&[&made, &made], Extras::default()).0);
        let tracks = packets
            .iter()
            .filter_map(|packet| packet.track_descriptor.as_ref());
        let uuids: Vec<_> = tracks.map(|track| track.uuid).collect();
        // Of each capture: the process, the marks, the lanes' own, a copy rate.
        assert_eq!(uuids.len(), 2 * (2 + 5 * 9 + 1));
        let distinct: BTreeSet<_> = uuids.iter().collect();
        assert_eq!(distinct.len(), uuids.len());
    }

    #[test]
    fn ranks_are_in_the_order_of_lanes() {
        let lanes = [0, 1, 4, 5, (1 << 20) - 1, 1 << 20, 1 << 30, u32::MAX];
        let ranks: Vec<i32> = lanes
            .iter()
            .flat_map(|lane| [rank(*lane, 0), rank(*lane, usize::MAX)])
            .collect();
        assert!(ranks.is_sorted() && ranks[0] > 0, "{ranks:?}");
    }

    #[test]
    fn each_extra_can_be_switched_off() {
        let mut made = Made::new(4);
        made.record(Record {
            copied_bytes: 5,
            correlation_id: 7,
            ..region(0, 500, 5)
        });
        made.open(
            0,
            OpenRecord {
                correlation_id: 7,
                ..running(1, 600)
            },
        );
        let count = |extras: Extras| {
            let (_, packets) = convert(&[&made], extras);
            let of = |kind: i32| {
                let events = packets
                    .iter()
                    .filter_map(|packet| packet.track_event.as_ref());
                events.filter(|event| event.r#type == Some(kind)).count()
            };
            let events = packets
                .iter()
                .filter_map(|packet| packet.track_event.as_ref());
            let flows = events.map(|event| event.flow_ids.len()).sum::<usize>();
            (of(INSTANT), of(COUNTER), flows)
        };
        let all = Extras::default();
        assert_eq!(count(all), (3, 2, 1));
        // The mark on the unfinished region's track stays.
        assert_eq!(
            count(Extras {
                no_marks: true,
                ..all
            }),
            (1, 2, 1)
        );
        assert_eq!(
            count(Extras {
                no_counters: true,
                ..all
            }),
            (3, 0, 1)
        );
        assert_eq!(
            count(Extras {
                no_flows: true,
                ..all
            }),
            (3, 2, 0)
        );
    }

    #[test]
    fn epochs_beyond_reason_do_not_overflow() {
        let mut made = Made::new(2);
        made.identity.epoch_monotonic_ns = u64::MAX;
        made.identity.epoch_boottime_ns = u64::MAX;
        made.identity.epoch_realtime_ns = u64::MAX;
        made.record(region(0, u64::MAX, u64::MAX));
        let (_, packets) = convert(&[&made], Extras::default());
        let latest = events(&packets).iter().map(|event| event.1).max();
        assert_eq!(latest, Some(EPOCH_NS_MAX + SHOWN_NS_MAX));
    }
}

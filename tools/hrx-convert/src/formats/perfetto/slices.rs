//! Regions and marks, as slices and instants of their tracks. A completed region is a begin and an end packet, encoded by hand; a mark is one packet;
//! an open region is a begin packet alone, or with an end if others go on after it.

use std::io::{self, Write};

use hrx_trace_reader::{Event, Kind, OpenRegion};
use prost::encoding::WireType;
use serde_json::Value;

use crate::formats::perfetto::annotations::{annotation, put_bool, put_integer, put_text};
use crate::formats::perfetto::head::Head;
use crate::formats::perfetto::interned::{Arg, CATEGORY_IID};
use crate::formats::perfetto::messages::{
    CLOCK_BOOTTIME, INSTANT, SLICE_BEGIN, SLICE_END, TrackEvent, field,
};
use crate::formats::perfetto::packets::PacketStream;
use crate::formats::perfetto::pen::{Length, Pen, key};
use crate::formats::perfetto::sequence::{Sequence, SliceName};
use crate::input::captures::Capture;
use crate::text::names::{label_group, shown, thread_name};
use crate::tracks::names::REGION_CATEGORY;

/// How every begin event of a region starts: a begin, of our category.
const BEGIN_EVENT: [u8; 8] = event_head(SLICE_BEGIN);
/// How every event of a mark starts.
const MARK_EVENT: [u8; 8] = event_head(INSTANT);

const fn event_head(kind: i32) -> [u8; 8] {
    [
        key(field::EVENT_TYPE, WireType::Varint),
        kind as u8,
        key(field::EVENT_CATEGORY_IIDS, WireType::Varint),
        CATEGORY_IID as u8,
        0,
        0,
        0,
        0,
    ]
}

/// A completed region or a mark, and what its packets say besides the event's own fields.
pub struct Slice<'event> {
    pub event: &'event Event,
    pub name: SliceName,
    /// On CLOCK_BOOTTIME, as shown.
    pub start_ns: u64,
    pub end_ns: u64,
    pub flow_id: Option<u64>,
    /// Whether the lane has to be named, because its track is that of several.
    pub names_lane: bool,
    /// The numbers of the names of its thread and its label's group, if they have some.
    pub thread: Option<u64>,
    pub group: Option<u64>,
    /// Its arguments, encoded.
    pub arguments: &'event [u8],
    /// Whether the ring has to be named.
    pub several_rings: bool,
}

impl Slice<'_> {
    /// Writes its packets.
    #[inline]
    pub fn put(&self, pen: &mut Pen, sequence: &mut Sequence) {
        let Self {
            event,
            start_ns,
            end_ns,
            ..
        } = *self;
        let (begin_time, end_time) = match sequence.clock_ns {
            None => ((start_ns, None), (end_ns, None)),
            Some(clock_ns) if start_ns >= clock_ns => {
                sequence.clock_ns = Some(end_ns);
                ((start_ns - clock_ns, None), (end_ns - start_ns, None))
            }
            Some(_) => {
                let absolute = Some(CLOCK_BOOTTIME);
                ((start_ns, absolute), (end_ns, absolute))
            }
        };
        let is_mark = event.kind == Kind::Mark;

        let packet = begin_packet(pen, begin_time);
        pen.short(&sequence.of_begin);
        let begin = pen.begin(key(field::PACKET_TRACK_EVENT, WireType::LengthDelimited));
        pen.word(if is_mark { MARK_EVENT } else { BEGIN_EVENT }, 4);
        match &self.name {
            SliceName::Interned(iid) => {
                pen.byte(key(field::EVENT_NAME_IID, WireType::Varint));
                pen.varint(*iid);
            }
            SliceName::Inline(name) => {
                pen.key(field::EVENT_NAME, WireType::LengthDelimited);
                pen.varint(name.len() as u64);
                pen.bytes(name.as_bytes());
            }
        }
        if !is_mark {
            put_integer(pen, Arg::CopiedBytes, event.copied_bytes);
            put_bool(pen, Arg::Failed, event.failed);
        }
        if event.failed || event.status != 0 {
            put_integer(pen, Arg::Status, u64::from(event.status));
        }
        if event.correlation_id != 0 {
            put_integer(pen, Arg::CorrelationId, event.correlation_id);
        }
        put_integer(pen, Arg::ThreadId, u64::from(event.thread_id));
        if self.names_lane {
            put_integer(pen, Arg::Lane, u64::from(event.lane));
        }
        if let Some(thread) = self.thread {
            put_text(pen, Arg::Thread, thread);
        }
        if self.several_rings {
            put_integer(pen, Arg::Ring, u64::from(event.ring));
        }
        if event.saturated {
            put_bool(pen, Arg::Saturated, true);
        }
        if let Some(group) = self.group {
            put_text(pen, Arg::Group, group);
        }
        if event.cancelled {
            put_bool(pen, Arg::Cancelled, true);
        }
        if event.hidden {
            put_bool(pen, Arg::Hidden, true);
        }
        if event.arguments_lost != 0 {
            put_integer(pen, Arg::ArgumentsLost, event.arguments_lost);
        }
        pen.bytes(self.arguments);
        if end_ns - start_ns != event.duration_ns {
            // The timeline ends before the region does: these are the region's own times.
            put_integer(pen, Arg::StartNs, event.start_ns);
            put_integer(pen, Arg::DurationNs, event.duration_ns);
        }
        if let Some(flow_id) = self.flow_id {
            pen.key(field::EVENT_FLOW_IDS, WireType::SixtyFourBit);
            pen.word(flow_id.to_le_bytes(), 8);
        }
        pen.end(begin);
        pen.end(packet);
        if is_mark {
            return;
        }

        let packet = begin_packet(pen, end_time);
        pen.short(&sequence.of_end);
        pen.end(packet);
    }
}

/// Begins a packet up to and including its time: a timestamp, and its clock if it is not the sequence's own.
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

/// A region that was still running.
pub struct OpenSlice<'report> {
    pub region: &'report OpenRegion,
    pub track_uuid: u64,
    pub flow_id: Option<u64>,
    /// Whether the lane has to be named, because its track is that of several.
    pub names_lane: bool,
    /// The last sign of life, up to which it has been running at least.
    pub until_ns: u64,
    /// Its arguments, as JSON.
    pub arguments: Value,
}

impl OpenSlice<'_> {
    /// Writes its begin.
    pub fn write<Sink: Write>(
        &self,
        packets: &mut PacketStream<Sink>,
        head: Head,
        capture: &Capture,
    ) -> io::Result<()> {
        let region = self.region;
        let arg = |arg: Arg, value: Value| annotation(arg.name(), &value);
        let running_ns = self.until_ns.saturating_sub(region.start_ns);
        let mut args = vec![
            arg(Arg::CopiedBytes, region.copied_bytes.into()),
            arg(Arg::Unfinished, true.into()),
            arg(Arg::RunningNs, running_ns.into()),
            arg(Arg::ThreadId, region.thread_id.into()),
        ];
        if region.correlation_id != 0 {
            args.push(arg(Arg::CorrelationId, region.correlation_id.into()));
        }
        if self.names_lane {
            args.push(arg(Arg::Lane, region.lane.into()));
        }
        if region.status != 0 {
            args.push(arg(Arg::Status, region.status.into()));
        }
        if region.saturated {
            args.push(arg(Arg::Saturated, true.into()));
        }
        if region.waiting {
            args.push(arg(Arg::Waiting, true.into()));
        }
        if let Some(thread) = thread_name(capture, region.thread_id, region.start_ns) {
            args.push(arg(Arg::Thread, thread.into()));
        }
        if let Some(group) = label_group(&capture.trace, region.label_id) {
            args.push(arg(Arg::Group, group.into()));
        }
        if !region.arguments.is_empty() {
            args.push(arg(Arg::Arguments, self.arguments.clone()));
        }
        if region.arguments_lost != 0 {
            args.push(arg(Arg::ArgumentsLost, region.arguments_lost.into()));
        }
        let waiting = if region.waiting { " [waiting]" } else { "" };
        let name = shown(capture, region.label_id);
        head.event_at(
            packets,
            region.start_ns,
            TrackEvent {
                categories: vec![REGION_CATEGORY.to_owned()],
                name: Some(format!("{name} (host-observed) [unfinished]{waiting}")),
                r#type: Some(SLICE_BEGIN),
                track_uuid: Some(self.track_uuid),
                debug_annotations: args,
                flow_ids: self.flow_id.into_iter().collect(),
                ..TrackEvent::default()
            },
        )
    }

    /// Writes the end of the region of its track that began last.
    pub fn write_end<Sink: Write>(
        &self,
        packets: &mut PacketStream<Sink>,
        head: Head,
        at_ns: u64,
    ) -> io::Result<()> {
        head.end_at(
            packets,
            at_ns,
            TrackEvent {
                r#type: Some(SLICE_END),
                track_uuid: Some(self.track_uuid),
                ..TrackEvent::default()
            },
        )
    }
}

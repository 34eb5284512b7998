//! Perfetto's own format: TrackEvent packets in protobuf, with a track for each lane and sub-lane.
//!
//! What Perfetto requires, and what therefore holds for every input:
//! - Times are whole nanoseconds of CLOCK_BOOTTIME, in which Perfetto shows everything: its value when the timeline began, plus what
//!   CLOCK_MONOTONIC has counted since. So a trace of the same host's devices lines up with this one, whatever snapshots that trace holds. With
//!   several captures, a clock snapshot for each ties it to the other clocks. One capture has none: its process would not be the only group of tracks
//!   then, and Perfetto opens the only one of itself.
//! - Two regions of one track are apart or properly nested, also in the order in which they are written (see [`crate::tracks::lanes`]): an end
//!   packet closes the innermost region, whichever one it was meant for.
//! - A region that never completed is a begin without an end. With several captures it ends at its own capture's last sign of life: it would last until the
//!   end of all others otherwise.
//! - Tracks of lanes are threads of the process. Perfetto shows them as it opens a trace, in the order of their tids (see [`crate::tracks::tids`]); tracks of any other
//!   kind it sorts by name, and tracks inside others it leaves closed.
//! - A value that is not finite is left out and counted: no picture could be drawn of it.
//! - Integers above 2^63 - 1 are strings: Perfetto stores integers in an i64, and would show -1.
//! - The label "host-observed" is in every region's name and category and in the metadata. Losses are marks and metadata.
//!
//! Each track is a packet sequence of its own, with the track's uuid as a default. With several captures it has a clock that counts from packet to
//! packet: the regions of a track rarely go back in time, so most times take two bytes. A region that does go back states its times absolutely.
//! A sequence's names, defaults and clock are written before their first use, so that the file can be read while it is being written.
//!
//! The two packets of a completed region are encoded by hand, with a [`pen`]. Everything else is encoded by prost, from [`messages`].

mod annotations;
mod counters;
mod head;
mod instants;
mod interned;
mod messages;
mod packets;
mod pen;
mod sequence;
mod slices;
mod track_ids;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use hrx_trace_reader::{Argument, Event, Kind, Name};
use serde_json::{Value, json};

use self::annotations::encoded;
use self::head::{HEAD_SEQUENCE, Head};
use self::interned::Arg;
use self::messages::{COUNTER, CounterDescriptor, ThreadDescriptor, TrackDescriptor, TrackEvent};
use self::packets::{PacketStream, REGION_BYTES_MAX};
use self::pen::Pen;
use self::sequence::{Sequence, SliceName};
use self::slices::{OpenSlice, Slice};
use self::track_ids::{TrackIds, TrackOf};
use crate::figures::arguments::{Integers, Keys};
use crate::figures::exact::Exact;
use crate::figures::groups::LaneKey;
use crate::figures::metadata::Metadata;
use crate::input::captures::{Capture, Captures};
use crate::input::format::{FollowedFormat, Format};
use crate::input::labels::LabelCache;
use crate::input::outcome::{Outcome, running_until};
use crate::text::names::{label_group, shown, without_nul};
use crate::tracks::copy_rates::CopyRates;
use crate::tracks::extras::Extras;
use crate::tracks::flows::{FlowEnd, Flows};
use crate::tracks::lanes::{Lanes, Place, Precision, SHOWN_NS_MAX};
use crate::tracks::marks;
use crate::tracks::names::{track_name, value_name};
use crate::tracks::threads::Threads;

/// Memory for the names that all sequences know, in words of 64 names.
const KNOWN_WORDS_MAX: usize = 1 << 20;

/// Whole nanoseconds are exact.
const PRECISION: Precision = Precision {
    exact_ns_max: SHOWN_NS_MAX,
    ties_max: u8::MAX,
};

/// Writes captures as one trace of Perfetto's.
pub struct Perfetto<Sink> {
    packets: PacketStream<Sink>,
    head: Head,
    /// The number of the latest packet sequence.
    latest_sequence: u32,
    /// Words that all sequences have for the names they know.
    known_words: usize,
    flows: Flows,
    extras: Extras,
    keys: BTreeMap<usize, Keys>,
    texts: Texts,
    /// By capture.
    processes: Vec<PerfettoProcess>,
}

/// The texts that sequences intern, and their numbers: the names of threads and of groups.
#[derive(Default)]
struct Texts {
    /// From 1 on.
    iids: BTreeMap<String, u64>,
    /// By number, from 0 on.
    texts: Vec<String>,
    /// The group of each label; 0: none.
    groups: Option<LabelCache<u64>>,
}

impl Texts {
    /// The number of a text; 0 for none.
    fn iid(&mut self, text: &str) -> u64 {
        if text.is_empty() {
            return 0;
        }
        let next = self.texts.len() as u64 + 1;
        let text = without_nul(text.into()).into_owned();
        let iid = *self.iids.entry(text.clone()).or_insert(next);
        if iid == next {
            self.texts.push(text);
        }
        iid
    }

    #[inline]
    fn group(&mut self, capture: &Capture, label_id: u32) -> u64 {
        let known = self.groups.as_ref();
        match known.and_then(|groups| groups.get(capture, label_id)) {
            Some(iid) => *iid,
            None => self.read_group(capture, label_id),
        }
    }

    #[cold]
    fn read_group(&mut self, capture: &Capture, label_id: u32) -> u64 {
        let group = label_group(&capture.trace, label_id).unwrap_or_default();
        let iid = self.iid(&group);
        // A label that is still being written may be complete the next time.
        if capture.trace.label(label_id) != Name::Unreadable {
            let groups = self.groups.get_or_insert_with(LabelCache::new);
            groups.put(capture, label_id, iid);
        }
        iid
    }
}

/// A capture, as Perfetto sees it.
struct PerfettoProcess {
    ids: TrackIds,
    lanes: Lanes,
    /// The numbers of the threads' names.
    threads: Threads<u64>,
    copy_rates: CopyRates,
    /// The labels whose values have a track.
    values: BTreeSet<u32>,
    /// Values that are not finite.
    values_left_out: u64,
    /// By [`Place::track`].
    sequences: Vec<Sequence>,
    several_rings: bool,
}

impl PerfettoProcess {
    fn new(capture: &Capture, captures: usize) -> Self {
        Self {
            ids: TrackIds::new(capture),
            lanes: Lanes::new(capture.pid, PRECISION, captures).of(capture),
            threads: Threads::new(),
            copy_rates: CopyRates::new(captures),
            values: BTreeSet::new(),
            values_left_out: 0,
            sequences: Vec::new(),
            several_rings: capture.trace.identity().ring_count > 1,
        }
    }
}

impl<Sink: Write> Perfetto<Sink> {
    /// Writes the head.
    pub fn new(captures: &Captures, extras: Extras, sink: Sink) -> io::Result<Self> {
        let mut packets = PacketStream::new(sink);
        let count = captures.len();
        let origin = captures.origin().trace.identity();
        let head = Head::begin(&mut packets, origin, count > 1)?;
        head.describe(&mut packets, captures)?;
        Ok(Self {
            packets,
            head,
            latest_sequence: HEAD_SEQUENCE,
            known_words: 0,
            flows: Flows::new(captures),
            extras,
            keys: BTreeMap::new(),
            texts: Texts::default(),
            processes: captures
                .iter()
                .map(|capture| PerfettoProcess::new(capture, count))
                .collect(),
        })
    }

    #[inline]
    fn place(
        &mut self,
        capture: &Capture,
        (lane, thread_id): (u32, u32),
        start_ns: u64,
        end_ns: Option<u64>,
    ) -> io::Result<Option<Place>> {
        let lanes = &mut self.processes[capture.index].lanes;
        let place = lanes.place(lane, thread_id, start_ns, end_ns);
        if let Some(place) = place
            && place.is_new
        {
            self.begin_track(capture, place)?;
        }
        Ok(place)
    }

    /// The id that ties the region to the others of its correlation id, if it has one.
    #[inline]
    fn flow_id(&mut self, capture: &Capture, correlation_id: u64, start_ns: u64) -> Option<u64> {
        if self.extras.no_flows {
            return None;
        }
        let end = FlowEnd { start_ns, tid: 0 };
        let link = self.flows.link(capture, correlation_id, end)?;
        Some(self.processes[capture.index].ids.flow(link.chain))
    }

    /// Begins the track's sequence and describes the track.
    #[cold]
    fn begin_track(&mut self, capture: &Capture, place: Place) -> io::Result<()> {
        let Place { lane, sub_lane, .. } = place;
        let has_clock = self.processes.len() > 1;
        let process = &mut self.processes[capture.index];
        let ids = process.ids;
        let uuid = ids.uuid(TrackOf::Lane(lane, sub_lane));
        self.latest_sequence += 1;
        process.sequences.push(Sequence::begin(
            &mut self.packets,
            self.latest_sequence,
            has_clock.then_some(self.head.epoch_ns),
            uuid,
        )?);
        self.head.track(
            &mut self.packets,
            TrackDescriptor {
                uuid: Some(uuid),
                parent_uuid: Some(ids.uuid(TrackOf::Process)),
                thread: Some(ThreadDescriptor::of(
                    capture.pid,
                    place.tid,
                    &track_name(capture, lane, sub_lane),
                )),
                ..TrackDescriptor::default()
            },
        )
    }

    /// The name of an event on that track, which the track's sequence knows from here on.
    #[inline]
    fn name(&mut self, capture: &Capture, track: usize, event: &Event) -> io::Result<SliceName> {
        let Event {
            label_id, failed, ..
        } = *event;
        if event.cancelled {
            let failed = if failed { " [failed]" } else { "" };
            let name = shown(capture, label_id);
            let name = format!("{name} (host-observed){failed} [cancelled]");
            return Ok(SliceName::Inline(name));
        }
        let iid = 2 * u64::from(label_id) + u64::from(failed) + 1;
        let sequence = &self.processes[capture.index].sequences[track];
        match sequence.names.knows(iid) {
            true => Ok(SliceName::Interned(iid)),
            false => self.learn(capture, track, label_id, failed, iid),
        }
    }

    /// The numbers of the names of the event's thread and of its label's group, which the track's sequence knows from here on.
    #[inline]
    fn texts(
        &mut self,
        capture: &Capture,
        track: usize,
        event: &Event,
    ) -> io::Result<[Option<u64>; 2]> {
        let process = &mut self.processes[capture.index];
        if process.threads.is_unread() {
            let texts = &mut self.texts;
            process.threads.read(capture, |name| texts.iid(name));
        }
        let thread = process.threads.get(event.thread_id, event.end_ns());
        let thread = thread.copied().unwrap_or_default();
        let group = self.texts.group(capture, event.label_id);
        for iid in [thread, group] {
            if iid != 0 && !process.sequences[track].texts.knows(iid) {
                self.learn_text(capture, track, iid)?;
                return self.texts(capture, track, event);
            }
        }
        Ok([thread, group].map(|iid| (iid != 0).then_some(iid)))
    }

    #[cold]
    fn learn_text(&mut self, capture: &Capture, track: usize, iid: u64) -> io::Result<()> {
        let text = self.texts.texts[iid as usize - 1].clone();
        let words = self.processes[capture.index].sequences[track]
            .texts
            .words_to_learn(iid);
        self.make_room(words);
        let sequence = &mut self.processes[capture.index].sequences[track];
        self.known_words += sequence.texts.words_to_learn(iid);
        sequence.learn_text(&mut self.packets, iid, text)
    }

    /// Has all sequences forget what they know if there is no room for so many words more.
    fn make_room(&mut self, words: usize) {
        if self.known_words + words > KNOWN_WORDS_MAX {
            let processes = self.processes.iter_mut();
            let sequences = processes.flat_map(|process| &mut process.sequences);
            sequences.for_each(Sequence::forget);
            self.known_words = 0;
        }
    }

    /// The arguments as an arg of their event; nothing, if there are none.
    fn arguments(&mut self, capture: &Capture, arguments: &[Argument]) -> Value {
        let keys = self.keys.entry(capture.index).or_default();
        let object = keys.object(&capture.trace, arguments, Integers::AsNumbers);
        serde_json::to_value(&object).unwrap_or_default()
    }

    #[cold]
    fn learn(
        &mut self,
        capture: &Capture,
        track: usize,
        label_id: u32,
        failed: bool,
        iid: u64,
    ) -> io::Result<SliceName> {
        let failed = if failed { " [failed]" } else { "" };
        let name = format!("{} (host-observed){failed}", shown(capture, label_id));
        // The id of an unreadable label may be any number, and far too large for a bit of its own.
        if capture.trace.label(label_id) == Name::Unreadable {
            return Ok(SliceName::Inline(name));
        }
        let words = self.processes[capture.index].sequences[track]
            .names
            .words_to_learn(iid);
        self.make_room(words);
        let sequence = &mut self.processes[capture.index].sequences[track];
        self.known_words += sequence.names.words_to_learn(iid);
        sequence.learn_name(&mut self.packets, iid, name)?;
        Ok(SliceName::Interned(iid))
    }

    /// Begins the regions that were still running. With several captures, which end at different moments, each of them ends where its own capture
    /// does; otherwise the last moment shown is marked on each of their tracks.
    fn open_regions(&mut self, capture: &Capture, outcome: &Outcome) -> io::Result<()> {
        let ends = self.processes.len() > 1;
        let ids = self.processes[capture.index].ids;
        // From the oldest to the newest.
        let open = &outcome.report.open_regions;
        let flow_ids: Vec<Option<u64>> = open
            .iter()
            .map(|region| {
                let start_ns = region.start_ns.min(SHOWN_NS_MAX);
                self.flow_id(capture, region.correlation_id, start_ns)
            })
            .collect();
        let (until_ns, _) = running_until(&capture.trace, &outcome.report, capture.shift_ns);
        let drawn_until_ns = outcome.open_until_ns(capture);
        let mut tracks = BTreeSet::new();
        // The newest is placed first, so that those that began before it can go around it.
        for (region, flow_id) in open.iter().zip(flow_ids).rev() {
            let start_ns = region.start_ns.min(SHOWN_NS_MAX);
            let of = (region.lane, region.thread_id);
            let Some(place) = self.place(capture, of, start_ns, None)? else {
                continue;
            };
            let arguments = self.arguments(capture, &region.arguments);
            let slice = OpenSlice {
                region,
                track_uuid: ids.uuid(TrackOf::Lane(place.lane, place.sub_lane)),
                names_lane: place.lane == LaneKey::Others,
                flow_id,
                until_ns,
                arguments,
            };
            slice.write(&mut self.packets, self.head, capture)?;
            if ends {
                slice.write_end(&mut self.packets, self.head, drawn_until_ns)?;
            } else {
                tracks.insert(slice.track_uuid);
            }
        }
        let name = marks::unfinished(capture, outcome);
        for uuid in tracks {
            let at_ns = outcome.end_ns(capture);
            let packets = &mut self.packets;
            instants::write_mark(
                packets,
                self.head,
                uuid,
                at_ns,
                name.to_owned(),
                &Value::Null,
            )?;
        }
        Ok(())
    }
}

impl<Sink: Write> Perfetto<Sink> {
    /// Adds a sample to the counter of its label.
    fn value(&mut self, capture: &Capture, value: &Event) -> io::Result<()> {
        let process = &mut self.processes[capture.index];
        if !value.value.is_finite() {
            process.values_left_out += 1;
            return Ok(());
        }
        let ids = process.ids;
        let uuid = ids.uuid(TrackOf::Value(value.label_id));
        if process.values.insert(value.label_id) {
            let descriptor = TrackDescriptor {
                uuid: Some(uuid),
                parent_uuid: Some(ids.uuid(TrackOf::Process)),
                name: Some(value_name(capture, value.label_id)),
                counter: Some(CounterDescriptor::default()),
                ..TrackDescriptor::default()
            };
            self.head.track(&mut self.packets, descriptor)?;
        }
        let sample = TrackEvent {
            r#type: Some(COUNTER),
            track_uuid: Some(uuid),
            double_counter_value: Some(value.value),
            ..TrackEvent::default()
        };
        self.head
            .event_at(&mut self.packets, value.start_ns, sample)
    }

    /// Writes a region or a mark on its track, from `start_ns` to `end_ns`.
    #[inline]
    fn slice(
        &mut self,
        capture: &Capture,
        event: &Event,
        place: Place,
        flow_id: Option<u64>,
        (start_ns, end_ns): (u64, u64),
    ) -> io::Result<()> {
        let track = place.track;
        let name = self.name(capture, track, event)?;
        let [thread, group] = self.texts(capture, track, event)?;
        let arguments = match event.arguments.is_empty() {
            true => Vec::new(),
            false => encoded(Arg::Arguments, &self.arguments(capture, &event.arguments)),
        };
        let name_bytes = match &name {
            SliceName::Interned(_) => 0,
            SliceName::Inline(name) => name.len(),
        };
        let process = &mut self.processes[capture.index];
        let sequence = &mut process.sequences[track];
        let slice = Slice {
            event,
            name,
            start_ns: self.head.epoch_ns + start_ns,
            end_ns: self.head.epoch_ns + end_ns,
            flow_id,
            names_lane: place.lane == LaneKey::Others,
            thread,
            group,
            arguments: &arguments,
            several_rings: process.several_rings,
        };
        let more_bytes = arguments.len() + name_bytes;
        if more_bytes > REGION_BYTES_MAX / 2 {
            let mut buffer = vec![0; REGION_BYTES_MAX + more_bytes];
            let mut pen = Pen::new(&mut buffer, 0);
            slice.put(&mut pen, sequence);
            let end = pen.at();
            return self.packets.put_whole(&buffer[..end]);
        }
        let mut pen = self.packets.pen();
        slice.put(&mut pen, sequence);
        let end = pen.at();
        self.packets.advance_to(end)
    }
}

impl<Sink: Write> Format for Perfetto<Sink> {
    #[inline]
    fn event(&mut self, capture: &Capture, event: &Event) -> io::Result<()> {
        let start_ns = event.start_ns.min(SHOWN_NS_MAX);
        let end_ns = event.end_ns().min(SHOWN_NS_MAX);
        let of = (event.lane, event.thread_id);
        if !self.extras.no_counters {
            let rates = &mut self.processes[capture.index].copy_rates;
            rates.add(event.lane, start_ns, end_ns, event.copied_bytes);
        }
        let Some(place) = self.place(capture, of, start_ns, Some(end_ns))? else {
            return Ok(());
        };
        let flow_id = self.flow_id(capture, event.correlation_id, start_ns);
        self.slice(capture, event, place, flow_id, (start_ns, end_ns))
    }

    fn moment(&mut self, capture: &Capture, event: &Event) -> io::Result<()> {
        if event.kind == Kind::Value {
            return self.value(capture, event);
        }
        let place = self.processes[capture.index].lanes.first(event.lane);
        if place.is_new {
            self.begin_track(capture, place)?;
        }
        let at_ns = event.start_ns.min(SHOWN_NS_MAX);
        self.slice(capture, event, place, None, (at_ns, at_ns))
    }

    /// Writes the regions still running, the marks, the counters and the facts about the captures.
    fn finish(mut self, captures: &Captures, outcomes: &mut [Outcome]) -> io::Result<()> {
        for (capture, outcome) in captures.iter().zip(outcomes.iter_mut()) {
            self.open_regions(capture, outcome)?;
            self.processes[capture.index].lanes.note_limits(outcome);
            let process = &mut self.processes[capture.index];
            let (packets, head, ids) = (&mut self.packets, self.head, process.ids);
            if !self.extras.no_marks {
                let uuid = ids.uuid(TrackOf::Capture);
                let left_out = process.values_left_out;
                for mark in marks::of(captures, capture, outcome, left_out) {
                    instants::write_mark(packets, head, uuid, mark.at_ns, mark.name, &mark.args)?;
                }
            }
            let samples = process.copy_rates.samples();
            counters::write_counters(packets, head, (capture, ids), samples)?;
        }
        if captures.len() > 1 {
            self.head.tie_clocks(&mut self.packets, captures)?;
        }
        let left_out = self.processes.iter().map(|process| process.values_left_out);
        let left_out = left_out.sum::<u64>();
        let mut facts = serde_json::to_string(&Metadata::new(captures, outcomes))?;
        if left_out > 0 {
            facts.pop();
            facts += &format!(r#","values_left_out":{}}}"#, json!(Exact(left_out)));
        }
        self.head
            .metadata(&mut self.packets, "hrx-capture", facts)?;
        self.flush()
    }
}

impl<Sink: Write> FollowedFormat for Perfetto<Sink> {
    fn flush(&mut self) -> io::Result<()> {
        for process in &mut self.processes {
            process.threads.forget();
        }
        self.packets.flush()
    }
}

#[cfg(test)]
mod tests {
    use hrx_trace_format::name::NAME_LABEL;
    use hrx_trace_format::record::FLAG_CANCELLED;
    use hrx_trace_format::{ArgumentValue, Geometry, Name as Written, OpenRecord, Record};
    use prost::Message;

    use super::head::{EPOCH_NS_MAX, HEAD_SEQUENCE};
    use super::interned::{Arg, CATEGORY_IID};
    use super::messages::{
        CLOCK_BOOTTIME, COUNTER, DebugAnnotation, INCREMENTAL_STATE_CLEARED, INSTANT,
        NEEDS_INCREMENTAL_STATE, SLICE_BEGIN, SLICE_END, Trace, TracePacket, TrackEvent,
    };
    use super::*;
    use crate::input::conversion::write_everything;
    use hrx_trace_tests::capture::{Capture as Made, mark, region, running, value};

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

    /// The events of all sequences but the head's: sequence, time on CLOCK_BOOTTIME, and event.
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
                let is_end = event.r#type == Some(SLICE_END);
                assert_eq!(
                    packet.sequence_flags,
                    (!is_end).then_some(NEEDS_INCREMENTAL_STATE)
                );
                let clock = clocks.get_mut(&sequence);
                let timestamp = packet.timestamp.expect("a time");
                let at_ns = match (packet.timestamp_clock_id, clock) {
                    (None, Some(clock)) => {
                        *clock += timestamp;
                        *clock
                    }
                    (clock_id, _) => {
                        assert!(clock_id.is_none_or(|clock_id| clock_id == CLOCK_BOOTTIME));
                        timestamp
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

    /// The bug: each lane had a track and a packet sequence, however many lanes there were.
    #[test]
    fn lanes_without_a_track_of_their_own_are_named_in_their_regions() {
        const LANES: u32 = 4_200;
        const HUNG: u32 = 9_999;
        let mut made = Made::new(LANES.into());
        for lane in 0..LANES {
            made.record(region(lane, 10 * u64::from(lane), 7));
        }
        made.open(0, running(HUNG, 1 << 20));
        let (_, packets) = convert(&[&made], Extras::default());
        let tracks = packets.iter().filter_map(|packet| {
            let track = packet.track_descriptor.as_ref()?.thread.as_ref()?;
            Some((track.tid?, track.thread_name.clone()?))
        });
        let mut tracks: Vec<_> = tracks.collect();
        // That of the capture's marks comes first.
        assert_eq!(tracks.len(), 1 + 4_096 + 1);
        tracks.sort();
        assert_eq!(tracks[4_097].1, "other lanes · track");
        assert_eq!(tracks[4_096].1, format!("lane {HUNG} · track"));
        let events = events(&packets);
        let begins = || {
            events
                .iter()
                .filter(|event| event.2.r#type == Some(SLICE_BEGIN))
        };
        assert_eq!(begins().count() as u32, LANES);
        let named = begins().filter_map(|(_, _, event)| {
            let lane = |arg: &&DebugAnnotation| arg.name_iid == Some(Arg::Lane as u64);
            event.debug_annotations.iter().find(lane)?.uint_value
        });
        // One lane less has a track: the one on which something hangs has one.
        let expected: Vec<u64> = (4_095..u64::from(LANES)).collect();
        assert_eq!(named.collect::<Vec<_>>(), expected);
    }

    /// prost decodes what was encoded by hand.
    #[test]
    fn a_region_is_two_packets() {
        let mut made = Made::with(Geometry::new(4).ring_count(2));
        let gemm = made.label("gemm");
        made.record(Record {
            label_id: gemm,
            copied_bytes: u64::MAX,
            correlation_id: 300,
            flags: 3,
            status: 5,
            ..region(1, 1_000, 2_345)
        });
        // It contains the first one, so its times are absolute.
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

    /// Enough labels and tracks that sequences forget the names they know again and again, and names that are written past the chunk.
    #[test]
    fn names_are_known_before_they_are_used() {
        let mut made = Made::with(Geometry::new(400).name_bytes(4 << 20));
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
        // For each capture: its process, its marks, its sub-lanes, and one copy rate.
        assert_eq!(uuids.len(), 2 * (2 + 5 * 9 + 1));
        let distinct: BTreeSet<_> = uuids.iter().collect();
        assert_eq!(distinct.len(), uuids.len());
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
        assert_eq!(count(all), (3, 2, 2));
        // The mark on the unfinished region's track stays.
        assert_eq!(
            count(Extras {
                no_marks: true,
                ..all
            }),
            (1, 2, 2)
        );
        assert_eq!(
            count(Extras {
                no_counters: true,
                ..all
            }),
            (3, 0, 2)
        );
        assert_eq!(
            count(Extras {
                no_flows: true,
                ..all
            }),
            (3, 2, 0)
        );
    }

    /// The arguments of an event, one below the other; and texts that are interned, or too long for the buffer of plain regions.
    #[test]
    fn marks_values_and_arguments() {
        let mut made = Made::new(64);
        made.name(&Written::thread(99, 0, "worker-3"));
        let nccl = made.group("nccl");
        let reduce = made.name(&Written::of(NAME_LABEL, "all_reduce").in_group(nccl));
        let [batch, path] = ["batch", "path"].map(|key| made.key(key));
        let long = "x".repeat(256);
        let mut arguments = vec![
            (batch, ArgumentValue::U64(u64::MAX)),
            (batch, ArgumentValue::I64(-5)),
            (path, ArgumentValue::F64(0.5)),
        ];
        arguments.extend((0..3).map(|_| (path, ArgumentValue::Text(long.as_bytes()))));
        made.mark(hrx_trace_format::Mark {
            label_id: reduce,
            ..mark(1, 500)
        });
        made.value(value(reduce, 600, -0.25));
        made.value(value(reduce, 650, f64::INFINITY));
        made.record_with(
            Record {
                flags: FLAG_CANCELLED,
                ..region(1, 1_000, 50)
            },
            &arguments[..1],
        );
        let mut many = Made::new(1 << 10);
        let key = many.key("key");
        let arguments_of_16_kib = vec![(key, ArgumentValue::Text(long.as_bytes())); 70];
        many.record_with(region(1, 5, 50), &arguments_of_16_kib);
        let (_, packets) = convert(&[&made], Extras::default());
        let events = events(&packets);
        let types: Vec<_> = events.iter().filter_map(|event| event.2.r#type).collect();
        assert_eq!(types, [INSTANT, SLICE_BEGIN, SLICE_END]);
        let text = |iid: Arg, text: u64| DebugAnnotation {
            name_iid: Some(iid as u64),
            string_value_iid: Some(text),
            ..DebugAnnotation::default()
        };
        assert_eq!(
            events[0].2.debug_annotations,
            [
                arg(Arg::ThreadId, 99),
                text(Arg::Thread, 1),
                text(Arg::Group, 2)
            ]
        );
        let region = events[1].2;
        assert_eq!(
            region.name.as_deref(),
            Some("native region (host-observed) [cancelled]")
        );
        let last = region.debug_annotations.last().expect("arguments");
        assert_eq!(last.name_iid, Some(Arg::Arguments as u64));
        let entry = &last.dict_entries[0];
        assert_eq!(entry.name.as_deref(), Some("batch"));
        assert_eq!(entry.string_value.as_deref(), Some("18446744073709551615"));
        let interned = packets
            .iter()
            .filter_map(|packet| packet.interned_data.as_ref());
        let texts: Vec<_> = interned
            .flat_map(|data| &data.debug_annotation_string_values)
            .filter_map(|text| text.name.as_deref())
            .collect();
        assert_eq!(texts, ["worker-3", "nccl"]);
        let samples = packets
            .iter()
            .filter_map(|packet| packet.track_event.as_ref());
        let samples: Vec<_> = samples
            .filter_map(|event| event.double_counter_value)
            .collect();
        assert_eq!(samples, [-0.25]);

        let (_, packets) = convert(&[&many], Extras::default());
        let of_many = self::events(&packets);
        let last = of_many[0].2.debug_annotations.last().expect("arguments");
        assert_eq!(last.dict_entries[0].array_values.len(), 70);

        // Every kind of value, in an order of its own below its name.
        let mut all = Made::new(64);
        let keys = ["batch", "path"].map(|key| all.key(key));
        let arguments: Vec<_> = arguments
            .iter()
            .map(|(key, value)| (keys[usize::from(*key == path)], *value))
            .collect();
        all.mark_with(mark(1, 500), &arguments);
        let (_, packets) = convert(&[&all], Extras::default());
        let all = self::events(&packets);
        let last = all[0].2.debug_annotations.last().expect("arguments");
        assert_eq!(last.dict_entries[0].array_values[1].int_value, Some(-5));
        assert_eq!(last.dict_entries[1].array_values[0].double_value, Some(0.5));
        assert_eq!(
            last.dict_entries[1].array_values[3].string_value,
            Some(long)
        );
    }

    /// The bug: of several captures, one had ended early with regions open, and they lasted until the end of the whole. And wall times after a suspend
    /// were off by as long as it took.
    #[test]
    fn with_several_captures_each_has_its_end_and_its_clocks() {
        const SLEPT_NS: u64 = 8 * 3_600_000_000_000;
        let mut early = Made::new(8);
        early.record(region(1, 100, 400));
        early.open(0, running(1, 50)).open(1, running(1, 200));
        let mut late = Made::new(8);
        late.identity.epoch_monotonic_ns += 1_000_000;
        late.identity.epoch_realtime_ns += 1_000_000 + SLEPT_NS;
        late.record(region(0, 9_000, 1_000));
        let (_, packets) = convert(&[&late, &early], Extras::default());
        let zero_ns = early.identity.epoch_boottime_ns;
        let of_head = packets
            .iter()
            .filter(|packet| packet.trusted_packet_sequence_id == Some(HEAD_SEQUENCE));
        let ends: Vec<_> = of_head
            .clone()
            .filter(|packet| {
                let event = packet.track_event.as_ref();
                event.is_some_and(|event| event.r#type == Some(SLICE_END))
            })
            .map(|packet| packet.timestamp.expect("a time") - zero_ns)
            .collect();
        assert_eq!(ends, [500, 500]);
        let snapshots: Vec<Vec<_>> = of_head
            .filter_map(|packet| packet.clock_snapshot.as_ref())
            .map(|snapshot| {
                let clocks = snapshot.clocks.iter();
                clocks
                    .map(|clock| (clock.clock_id, clock.timestamp))
                    .collect()
            })
            .collect();
        let expected = |made: &Made, shift_ns: u64| {
            vec![
                (Some(6), Some(zero_ns + shift_ns)),
                (Some(1), Some(made.identity.epoch_realtime_ns)),
                (Some(3), Some(made.identity.epoch_monotonic_ns)),
            ]
        };
        assert_eq!(snapshots, [expected(&early, 0), expected(&late, 1_000_000)]);
        // One capture alone has none: Perfetto opens a process of itself only if it is the one group.
        let (_, packets) = convert(&[&early], Extras::default());
        assert!(packets.iter().all(|packet| packet.clock_snapshot.is_none()));
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

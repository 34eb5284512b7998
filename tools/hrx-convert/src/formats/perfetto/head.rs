//! Packet sequence 1, which holds everything but completed regions: clocks, metadata, tracks, and events at single moments.

use std::io::{self, Write};

use hrx_trace_format::MEASUREMENT;
use hrx_trace_reader::Identity;

use crate::formats::perfetto::messages::{
    CLOCK_BOOTTIME, CLOCK_MONOTONIC, CLOCK_REALTIME, ChromeEventBundle, ChromeMetadata, Clock,
    ClockSnapshot, INCREMENTAL_STATE_CLEARED, NEEDS_INCREMENTAL_STATE, ProcessDescriptor,
    ThreadDescriptor, TracePacket, TracePacketDefaults, TraceUuid, TrackDescriptor, TrackEvent,
    shown_pid,
};
use crate::formats::perfetto::packets::PacketStream;
use crate::formats::perfetto::track_ids::{TrackIds, TrackOf};
use crate::input::captures::{Capture, Captures};
use crate::tracks::lanes::SHOWN_NS_MAX;
use crate::tracks::marks;
use crate::tracks::tids::capture_tid;

/// The number of this sequence.
pub const HEAD_SEQUENCE: u32 = 1;
/// Epochs are cut here, so that no time on the timeline exceeds an i64 on any clock.
pub const EPOCH_NS_MAX: u64 = 1 << 61;

/// The sequence, once its clocks are written.
#[derive(Clone, Copy)]
pub struct Head {
    /// The timeline's zero on CLOCK_BOOTTIME.
    pub epoch_ns: u64,
}

impl Head {
    /// Writes the clock of all packets and the trace's own id, and if `ties_clocks`, what the other clocks showed.
    pub fn begin<Sink: Write>(
        packets: &mut PacketStream<Sink>,
        identity: &Identity,
        ties_clocks: bool,
    ) -> io::Result<Self> {
        let monotonic_ns = identity.epoch_monotonic_ns.min(EPOCH_NS_MAX);
        let epoch_ns = match identity.epoch_boottime_ns {
            0 => monotonic_ns,
            known => known.min(EPOCH_NS_MAX),
        };
        packets.put(&TracePacket {
            sequence_flags: Some(INCREMENTAL_STATE_CLEARED),
            trace_packet_defaults: Some(TracePacketDefaults {
                timestamp_clock_id: Some(CLOCK_BOOTTIME),
                track_event_defaults: None,
            }),
            clock_snapshot: ties_clocks.then(|| snapshot(identity, epoch_ns, true)),
            ..TracePacket::of_sequence(HEAD_SEQUENCE)
        })?;
        let (halves, _) = identity.capture_id.as_chunks::<8>();
        let half = |index: usize| halves.get(index).map(|half| i64::from_be_bytes(*half));
        packets.put(&TracePacket {
            trace_uuid: Some(TraceUuid {
                msb: half(0),
                lsb: half(1),
            }),
            ..TracePacket::of_sequence(HEAD_SEQUENCE)
        })?;
        Ok(Self { epoch_ns })
    }

    /// Writes what the clocks showed when each capture began but the first, so that its wall time is right even if the machine slept in between. In the
    /// order of time, and after the snapshots of all sequences, because Perfetto wants its own clock never to go back.
    pub fn tie_clocks<Sink: Write>(
        self,
        packets: &mut PacketStream<Sink>,
        captures: &Captures,
    ) -> io::Result<()> {
        let origin = captures.origin().trace.identity();
        let mut later: Vec<&Capture> = captures
            .iter()
            .filter(|capture| capture.shift_ns > 0)
            .collect();
        later.sort_by_key(|capture| capture.shift_ns);
        for capture in later {
            let identity = capture.trace.identity();
            let at_ns = self.epoch_ns + capture.shift_ns.min(SHOWN_NS_MAX);
            // On another machine this clock shows something else.
            let is_monotonic = origin.epoch_monotonic_ns.checked_add(capture.shift_ns)
                == Some(identity.epoch_monotonic_ns);
            packets.put(&TracePacket {
                clock_snapshot: Some(snapshot(identity, at_ns, is_monotonic)),
                ..TracePacket::of_sequence(HEAD_SEQUENCE)
            })?;
        }
        Ok(())
    }

    /// Writes the measurement's label, and of each capture the tracks of its process and its marks.
    pub fn describe<Sink: Write>(
        self,
        packets: &mut PacketStream<Sink>,
        captures: &Captures,
    ) -> io::Result<()> {
        self.metadata(packets, "hrx-measurement", MEASUREMENT.to_owned())?;
        captures
            .iter()
            .try_for_each(|capture| self.describe_capture(packets, capture))
    }

    fn describe_capture<Sink: Write>(
        self,
        packets: &mut PacketStream<Sink>,
        capture: &Capture,
    ) -> io::Result<()> {
        let ids = TrackIds::new(capture);
        let uuid = ids.uuid(TrackOf::Process);
        self.track(
            packets,
            TrackDescriptor {
                uuid: Some(uuid),
                process: Some(ProcessDescriptor {
                    pid: Some(shown_pid(capture.pid)),
                    process_name: Some(format!("{} (host-observed)", capture.process_name())),
                }),
                ..TrackDescriptor::default()
            },
        )?;
        self.track(
            packets,
            TrackDescriptor {
                uuid: Some(ids.uuid(TrackOf::Capture)),
                parent_uuid: Some(uuid),
                thread: Some(ThreadDescriptor::of(
                    capture.pid,
                    capture_tid(capture.pid),
                    marks::TRACK,
                )),
                ..TrackDescriptor::default()
            },
        )
    }

    /// Describes a track.
    pub fn track<Sink: Write>(
        self,
        packets: &mut PacketStream<Sink>,
        descriptor: TrackDescriptor,
    ) -> io::Result<()> {
        packets.put(&TracePacket {
            track_descriptor: Some(descriptor),
            ..TracePacket::of_sequence(HEAD_SEQUENCE)
        })
    }

    /// Writes a value that belongs to the whole trace.
    pub fn metadata<Sink: Write>(
        self,
        packets: &mut PacketStream<Sink>,
        name: &str,
        value: String,
    ) -> io::Result<()> {
        packets.put(&TracePacket {
            timestamp: Some(self.epoch_ns),
            timestamp_clock_id: Some(CLOCK_BOOTTIME),
            chrome_events: Some(ChromeEventBundle {
                metadata: vec![ChromeMetadata {
                    name: Some(name.to_owned()),
                    string_value: Some(value),
                }],
            }),
            ..TracePacket::of_sequence(HEAD_SEQUENCE)
        })
    }

    /// Writes an event at a moment of the timeline.
    pub fn event_at<Sink: Write>(
        self,
        packets: &mut PacketStream<Sink>,
        at_ns: u64,
        event: TrackEvent,
    ) -> io::Result<()> {
        self.put_at(packets, at_ns.min(SHOWN_NS_MAX), event)
    }

    /// Writes the end of what began no later than the last moment that is shown: it can be one later.
    pub fn end_at<Sink: Write>(
        self,
        packets: &mut PacketStream<Sink>,
        at_ns: u64,
        event: TrackEvent,
    ) -> io::Result<()> {
        self.put_at(packets, at_ns.min(SHOWN_NS_MAX + 1), event)
    }

    fn put_at<Sink: Write>(
        self,
        packets: &mut PacketStream<Sink>,
        at_ns: u64,
        event: TrackEvent,
    ) -> io::Result<()> {
        packets.put(&TracePacket {
            timestamp: Some(self.epoch_ns + at_ns),
            sequence_flags: Some(NEEDS_INCREMENTAL_STATE),
            track_event: Some(event),
            ..TracePacket::of_sequence(HEAD_SEQUENCE)
        })
    }
}

/// What the clocks showed when the capture began, at a moment of CLOCK_BOOTTIME.
fn snapshot(identity: &Identity, boottime_ns: u64, with_monotonic: bool) -> ClockSnapshot {
    let clock = |clock_id, timestamp: u64| Clock {
        clock_id: Some(clock_id),
        timestamp: Some(timestamp.min(EPOCH_NS_MAX + SHOWN_NS_MAX)),
        is_incremental: None,
    };
    let mut clocks = vec![
        clock(CLOCK_BOOTTIME, boottime_ns),
        clock(CLOCK_REALTIME, identity.epoch_realtime_ns.min(EPOCH_NS_MAX)),
    ];
    if with_monotonic {
        clocks.push(clock(
            CLOCK_MONOTONIC,
            identity.epoch_monotonic_ns.min(EPOCH_NS_MAX),
        ));
    }
    ClockSnapshot {
        clocks,
        primary_trace_clock: Some(CLOCK_BOOTTIME),
    }
}

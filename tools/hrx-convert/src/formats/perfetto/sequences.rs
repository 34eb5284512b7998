//! The packet sequences of the lanes' tracks: one each, with a clock of its own and the names it has interned.

use std::io::{self, Write};

use hrx_trace_reader::Label;
use prost::Message;

use crate::formats::perfetto::head::HEAD_SEQUENCE;
use crate::formats::perfetto::interned::interned_at_first;
use crate::formats::perfetto::messages::{
    CLOCK_BOOTTIME, CLOCK_OF_SEQUENCE, Clock, ClockSnapshot, INCREMENTAL_STATE_CLEARED, Interned,
    InternedData, NEEDS_INCREMENTAL_STATE, SLICE_END, TracePacket, TracePacketDefaults,
    TrackEventDefaults, field,
};
use crate::formats::perfetto::packets::PacketStream;
use crate::formats::perfetto::pen::{Short, put_bytes, put_varint};
use crate::input::captures::Capture;
use crate::text::names::shown;

/// Memory for the names that the sequences know, in words of 64 names.
const KNOWN_WORDS_MAX: usize = 1 << 20;

/// A region's name, as its begin packet states it.
pub enum SliceName {
    Interned(u64),
    Inline(String),
}

/// The sequence of one track.
pub struct Sequence {
    /// The fields of a begin packet that name the sequence and require its interned data.
    pub of_begin: Short,
    /// An end packet without its timestamp. It directly follows its begin packet, which has required all it needs.
    pub of_end: Short,
    /// What the sequence's clock shows.
    pub clock_ns: u64,
    /// The names that the sequence knows, one bit each, by their iid.
    known: Vec<u64>,
}

/// The sequences of all captures.
pub struct Sequences {
    /// The number of the latest sequence.
    latest: u32,
    /// By capture, then by the track's number in it.
    by_capture: Vec<Vec<Sequence>>,
    /// The length of all [`Sequence::known`] together.
    known_words: usize,
}

impl Sequences {
    pub fn new(captures: usize) -> Self {
        Self {
            latest: HEAD_SEQUENCE,
            by_capture: std::iter::repeat_with(Vec::new).take(captures).collect(),
            known_words: 0,
        }
    }

    #[inline]
    pub fn of_track(&mut self, capture: &Capture, track: usize) -> &mut Sequence {
        &mut self.by_capture[capture.index][track]
    }

    /// Begins the sequence of the capture's next track. `epoch_ns`: the timeline's zero on CLOCK_BOOTTIME.
    pub fn begin<Sink: Write>(
        &mut self,
        packets: &mut PacketStream<Sink>,
        epoch_ns: u64,
        capture: &Capture,
        track_uuid: u64,
    ) -> io::Result<()> {
        self.latest += 1;
        let number = self.latest;
        let of_begin = Short::new(|out| {
            put_varint(out, field::PACKET_SEQUENCE_ID, number.into());
            let flags = NEEDS_INCREMENTAL_STATE.into();
            put_varint(out, field::PACKET_SEQUENCE_FLAGS, flags);
        });
        let event = Short::new(|out| put_varint(out, field::EVENT_TYPE, SLICE_END as u64));
        let of_end = Short::new(|out| {
            put_varint(out, field::PACKET_SEQUENCE_ID, number.into());
            put_bytes(out, field::PACKET_TRACK_EVENT, event.bytes());
        });
        self.by_capture[capture.index].push(Sequence {
            of_begin,
            of_end,
            clock_ns: epoch_ns,
            known: Vec::new(),
        });
        let clock = |clock_id, is_incremental| Clock {
            clock_id: Some(clock_id),
            timestamp: Some(epoch_ns),
            is_incremental,
        };
        packets.put(&TracePacket {
            sequence_flags: Some(INCREMENTAL_STATE_CLEARED),
            trace_packet_defaults: Some(TracePacketDefaults {
                timestamp_clock_id: Some(CLOCK_OF_SEQUENCE),
                track_event_defaults: Some(TrackEventDefaults {
                    track_uuid: Some(track_uuid),
                }),
            }),
            clock_snapshot: Some(ClockSnapshot {
                clocks: vec![
                    clock(CLOCK_OF_SEQUENCE, Some(true)),
                    clock(CLOCK_BOOTTIME, None),
                ],
                primary_trace_clock: None,
            }),
            interned_data: Some(interned_at_first()),
            ..TracePacket::of_sequence(number)
        })
    }

    /// The name of a region on that track, which the track's sequence knows from here on.
    #[inline]
    pub fn name<Sink: Write>(
        &mut self,
        packets: &mut PacketStream<Sink>,
        capture: &Capture,
        track: usize,
        label_id: u32,
        failed: bool,
    ) -> io::Result<SliceName> {
        let iid = 2 * u64::from(label_id) + u64::from(failed) + 1;
        let known = &self.by_capture[capture.index][track].known;
        let word = known.get((iid / 64) as usize);
        if word.is_some_and(|word| word >> (iid % 64) & 1 != 0) {
            return Ok(SliceName::Interned(iid));
        }
        self.intern(packets, capture, track, label_id, failed, iid)
    }

    /// Writes the packet that makes the name known to the sequence.
    #[cold]
    fn intern<Sink: Write>(
        &mut self,
        packets: &mut PacketStream<Sink>,
        capture: &Capture,
        track: usize,
        label_id: u32,
        failed: bool,
        iid: u64,
    ) -> io::Result<SliceName> {
        let failed = if failed { " [failed]" } else { "" };
        let name = format!("{} (host-observed){failed}", shown(capture, label_id));
        // The id of an unreadable label may be any number, and far too large for a bit of its own.
        if capture.trace.label(label_id) == Label::Unreadable {
            return Ok(SliceName::Inline(name));
        }
        let words = (iid / 64 + 1) as usize;
        let sequence = &self.by_capture[capture.index][track];
        let more = words.saturating_sub(sequence.known.len());
        if self.known_words + more > KNOWN_WORDS_MAX {
            // A name may be interned twice.
            for sequence in self.by_capture.iter_mut().flatten() {
                sequence.known = Vec::new();
            }
            self.known_words = 0;
        }
        let sequence = &mut self.by_capture[capture.index][track];
        if sequence.known.len() < words {
            self.known_words += words - sequence.known.len();
            sequence.known.resize(words, 0);
        }
        sequence.known[words - 1] |= 1 << (iid % 64);
        let mut packet = Vec::from(sequence.of_begin.bytes());
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
        packets.put_encoded(&packet)?;
        Ok(SliceName::Interned(iid))
    }
}

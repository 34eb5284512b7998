//! The packet sequence of a lane's track, with a clock of its own and the names it has interned.

use std::io::{self, Write};

use prost::Message;

use crate::formats::perfetto::interned::interned_at_first;
use crate::formats::perfetto::messages::{
    CLOCK_BOOTTIME, CLOCK_OF_SEQUENCE, Clock, ClockSnapshot, INCREMENTAL_STATE_CLEARED, Interned,
    InternedData, NEEDS_INCREMENTAL_STATE, SLICE_END, TracePacket, TracePacketDefaults,
    TrackEventDefaults, field,
};
use crate::formats::perfetto::packets::PacketStream;
use crate::formats::perfetto::pen::{Short, put_bytes, put_varint};

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

impl Sequence {
    /// Writes the packet that begins the sequence. `epoch_ns`: the timeline's zero on CLOCK_BOOTTIME.
    pub fn begin<Sink: Write>(
        packets: &mut PacketStream<Sink>,
        number: u32,
        epoch_ns: u64,
        track_uuid: u64,
    ) -> io::Result<Self> {
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
        })?;
        let event = Short::new(|out| put_varint(out, field::EVENT_TYPE, SLICE_END as u64));
        Ok(Self {
            of_begin: Short::new(|out| {
                put_varint(out, field::PACKET_SEQUENCE_ID, number.into());
                let flags = NEEDS_INCREMENTAL_STATE.into();
                put_varint(out, field::PACKET_SEQUENCE_FLAGS, flags);
            }),
            of_end: Short::new(|out| {
                put_varint(out, field::PACKET_SEQUENCE_ID, number.into());
                put_bytes(out, field::PACKET_TRACK_EVENT, event.bytes());
            }),
            clock_ns: epoch_ns,
            known: Vec::new(),
        })
    }

    #[inline]
    pub fn knows(&self, iid: u64) -> bool {
        let word = self.known.get((iid / 64) as usize);
        word.is_some_and(|word| word >> (iid % 64) & 1 != 0)
    }

    /// By how many words [`Self::known`] grows if the sequence learns a name.
    pub fn words_to_learn(&self, iid: u64) -> usize {
        ((iid / 64 + 1) as usize).saturating_sub(self.known.len())
    }

    /// Writes the packet that interns a name.
    pub fn learn<Sink: Write>(
        &mut self,
        packets: &mut PacketStream<Sink>,
        iid: u64,
        name: String,
    ) -> io::Result<()> {
        let words = self.known.len() + self.words_to_learn(iid);
        self.known.resize(words, 0);
        self.known[(iid / 64) as usize] |= 1 << (iid % 64);
        let mut packet = Vec::from(self.of_begin.bytes());
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
        packets.put_encoded(&packet)
    }

    /// Frees the memory for names. A name may be interned twice.
    pub fn forget(&mut self) {
        self.known = Vec::new();
    }
}

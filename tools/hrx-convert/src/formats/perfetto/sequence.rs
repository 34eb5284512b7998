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
    /// What the sequence's clock shows. None: it has none, and all its times are absolute.
    pub clock_ns: Option<u64>,
    /// The names that the sequence knows.
    pub names: Known,
    /// The texts of args that it knows.
    pub texts: Known,
}

/// Numbers that a sequence knows, one bit each.
#[derive(Default)]
pub struct Known(Vec<u64>);

impl Known {
    #[inline]
    pub fn knows(&self, iid: u64) -> bool {
        let word = self.0.get((iid / 64) as usize);
        word.is_some_and(|word| word >> (iid % 64) & 1 != 0)
    }

    /// By how many words it grows if it learns a number.
    pub fn words_to_learn(&self, iid: u64) -> usize {
        ((iid / 64 + 1) as usize).saturating_sub(self.0.len())
    }

    fn learn(&mut self, iid: u64) {
        let words = self.0.len() + self.words_to_learn(iid);
        self.0.resize(words, 0);
        self.0[(iid / 64) as usize] |= 1 << (iid % 64);
    }
}

impl Sequence {
    /// Writes the packet that begins the sequence. `epoch_ns`: the timeline's zero on CLOCK_BOOTTIME, if the sequence has a clock of its own.
    pub fn begin<Sink: Write>(
        packets: &mut PacketStream<Sink>,
        number: u32,
        epoch_ns: Option<u64>,
        track_uuid: u64,
    ) -> io::Result<Self> {
        let clock = |clock_id, is_incremental| Clock {
            clock_id: Some(clock_id),
            timestamp: epoch_ns,
            is_incremental,
        };
        let own_clock = epoch_ns.map(|_| ClockSnapshot {
            clocks: vec![
                clock(CLOCK_OF_SEQUENCE, Some(true)),
                clock(CLOCK_BOOTTIME, None),
            ],
            primary_trace_clock: None,
        });
        let clock_id = match own_clock {
            Some(_) => CLOCK_OF_SEQUENCE,
            None => CLOCK_BOOTTIME,
        };
        packets.put(&TracePacket {
            sequence_flags: Some(INCREMENTAL_STATE_CLEARED),
            trace_packet_defaults: Some(TracePacketDefaults {
                timestamp_clock_id: Some(clock_id),
                track_event_defaults: Some(TrackEventDefaults {
                    track_uuid: Some(track_uuid),
                }),
            }),
            clock_snapshot: own_clock,
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
            names: Known::default(),
            texts: Known::default(),
        })
    }

    /// Writes the packet that interns a name.
    pub fn learn_name<Sink: Write>(
        &mut self,
        packets: &mut PacketStream<Sink>,
        iid: u64,
        name: String,
    ) -> io::Result<()> {
        self.names.learn(iid);
        let interned = InternedData {
            event_names: vec![Interned::new(iid, name)],
            ..InternedData::default()
        };
        self.learn(packets, interned)
    }

    /// Writes the packet that interns the text of an arg.
    pub fn learn_text<Sink: Write>(
        &mut self,
        packets: &mut PacketStream<Sink>,
        iid: u64,
        text: String,
    ) -> io::Result<()> {
        self.texts.learn(iid);
        let interned = InternedData {
            debug_annotation_string_values: vec![Interned::new(iid, text)],
            ..InternedData::default()
        };
        self.learn(packets, interned)
    }

    fn learn<Sink: Write>(
        &self,
        packets: &mut PacketStream<Sink>,
        interned: InternedData,
    ) -> io::Result<()> {
        let mut packet = Vec::from(self.of_begin.bytes());
        let names = TracePacket {
            interned_data: Some(interned),
            ..TracePacket::default()
        };
        packet.extend(names.encode_to_vec());
        packets.put_encoded(&packet)
    }

    /// Frees the memory for names and texts. Each may be interned twice.
    pub fn forget(&mut self) {
        self.names = Known::default();
        self.texts = Known::default();
    }
}

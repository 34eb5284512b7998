//! Packets on their way to the output, gathered into chunks.
//!
//! A chunk always has room for the two packets of a region, which are encoded in place. Every other packet is encoded first and then copied.

use std::io::{self, Write};

use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint};

use crate::formats::perfetto::messages::{TracePacket, field};
use crate::formats::perfetto::pen::{Pen, put_bytes};

/// A chunk is written out once it holds this many bytes.
pub const CHUNK_BYTES: usize = 256 << 10;
/// More than the two packets of a region take.
pub const REGION_BYTES_MAX: usize = 2 << 10;
/// More than a packet's key and length take.
const PACKET_HEAD_BYTES_MAX: usize = 16;

/// A stream of packets.
pub struct PacketStream<Sink> {
    sink: Sink,
    /// Filled up to `used`, which is below [`CHUNK_BYTES`] whenever a region is about to be written.
    chunk: Box<[u8]>,
    used: usize,
}

impl<Sink: Write> PacketStream<Sink> {
    pub fn new(sink: Sink) -> Self {
        Self {
            sink,
            chunk: vec![0; CHUNK_BYTES + REGION_BYTES_MAX].into(),
            used: 0,
        }
    }

    /// A pen with room for the packets of one region. What it wrote is kept by [`Self::advance_to`].
    #[inline]
    pub fn pen(&mut self) -> Pen<'_> {
        Pen::new(&mut self.chunk, self.used)
    }

    /// Keeps what a pen wrote, up to the pen's place.
    #[inline]
    pub fn advance_to(&mut self, at: usize) -> io::Result<()> {
        self.used = at;
        if self.used >= CHUNK_BYTES {
            self.write_out()?;
        }
        Ok(())
    }

    pub fn put(&mut self, packet: &TracePacket) -> io::Result<()> {
        self.put_encoded(&packet.encode_to_vec())
    }

    /// Writes whole packets, with their keys and lengths.
    pub fn put_whole(&mut self, packets: &[u8]) -> io::Result<()> {
        self.write_out()?;
        self.sink.write_all(packets)
    }

    pub fn put_encoded(&mut self, packet: &[u8]) -> io::Result<()> {
        if self.used + packet.len() + PACKET_HEAD_BYTES_MAX > CHUNK_BYTES {
            self.write_out()?;
        }
        if packet.len() + PACKET_HEAD_BYTES_MAX > CHUNK_BYTES {
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

    /// Hands everything on to the output's reader.
    pub fn flush(&mut self) -> io::Result<()> {
        self.write_out()?;
        self.sink.flush()
    }

    fn write_out(&mut self) -> io::Result<()> {
        self.sink.write_all(&self.chunk[..self.used])?;
        self.used = 0;
        Ok(())
    }
}

//! Protobuf by hand, for what is written once per region: in place, and a whole word at a time.
//!
//! Storing eight bytes costs as much as storing one, and less than finding out how many are needed. So words are stored whole, and the next one
//! starts where the meaningful bytes of the last one end. The buffer of a pen must therefore have more room than everything written takes.

use prost::bytes::BufMut;
use prost::encoding::{WireType, encode_key, encode_varint};

/// The largest value whose varint fits in eight bytes.
pub const WORD_VARINT_MAX: u64 = (1 << 56) - 1;

/// The key of a field below 16: one byte.
pub const fn key(field: u32, wire_type: WireType) -> u8 {
    assert!(field < 16);
    (field << 3) as u8 | wire_type as u8
}

/// Writes into a buffer, from a place in it onwards.
pub struct Pen<'buffer> {
    buffer: &'buffer mut [u8],
    at: usize,
}

/// Where the length of an unfinished message goes.
#[derive(Clone, Copy)]
pub struct Length(usize);

impl<'buffer> Pen<'buffer> {
    #[inline]
    pub fn new(buffer: &'buffer mut [u8], at: usize) -> Self {
        Self { buffer, at }
    }

    /// The place of the next byte.
    #[inline]
    pub fn at(&self) -> usize {
        self.at
    }

    /// Writes the first `len` of these bytes.
    #[inline]
    pub fn word(&mut self, bytes: [u8; 8], len: usize) {
        self.buffer[self.at..self.at + 8].copy_from_slice(&bytes);
        self.at += len;
    }

    #[inline]
    pub fn byte(&mut self, byte: u8) {
        self.buffer[self.at] = byte;
        self.at += 1;
    }

    /// The key of a field from 16 to 2047: two bytes.
    #[inline]
    pub fn key(&mut self, field: u32, wire_type: WireType) {
        let key = field << 3 | wire_type as u32;
        self.word([key as u8 | 0x80, (key >> 7) as u8, 0, 0, 0, 0, 0, 0], 2);
    }

    #[inline]
    pub fn short(&mut self, short: &Short) {
        self.buffer[self.at..self.at + 16].copy_from_slice(&short.padded);
        self.at += short.len;
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.buffer[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }

    #[inline]
    pub fn varint(&mut self, value: u64) {
        if value <= WORD_VARINT_MAX {
            let (bytes, len) = varint(value);
            self.word(bytes, len);
        } else {
            self.long_varint(value);
        }
    }

    #[cold]
    fn long_varint(&mut self, value: u64) {
        let (mut low, _) = varint(value & WORD_VARINT_MAX | 1 << 55);
        low[6] |= 0x80;
        low[7] = (value >> 49) as u8 | 0x80;
        self.word(low, 8);
        self.varint(value >> 56);
    }

    /// Begins a message, which starts with its length.
    #[inline]
    pub fn begin(&mut self, key: u8) -> Length {
        self.word([key, 0, 0, 0, 0, 0, 0, 0], 2);
        Length(self.at - 1)
    }

    /// Ends the message begun last.
    #[inline]
    pub fn end(&mut self, length: Length) {
        let bytes = self.at - length.0 - 1;
        if bytes < 0x80 {
            self.buffer[length.0] = bytes as u8;
        } else {
            self.end_long(length, bytes);
        }
    }

    /// Most messages are short enough for a length of one byte. This makes room for the others.
    #[cold]
    fn end_long(&mut self, Length(at): Length, bytes: usize) {
        let (length, len) = varint(bytes as u64);
        self.buffer.copy_within(at + 1..self.at, at + len);
        self.buffer[at..at + len].copy_from_slice(&length[..len]);
        self.at += len - 1;
    }
}

/// The varint of at most [`WORD_VARINT_MAX`], and how many bytes it takes.
#[inline]
pub fn varint(value: u64) -> ([u8; 8], usize) {
    if value < 1 << 14 {
        // Most values are this small. Choosing between one byte and two without a branch is faster.
        let is_long = u64::from(value >= 1 << 7);
        let bytes = value & 0x7F | is_long << 7 | value >> 7 << 8;
        return (bytes.to_le_bytes(), 1 + is_long as usize);
    }
    // Spread to seven bits a byte: first halves, then quarters, then eighths of the 56 bits move apart.
    let spread = value & 0x0FFF_FFFF | (value & 0xFF_FFFF_F000_0000) << 4;
    let spread = spread & 0x3FFF_0000_3FFF | (spread & 0x0FFF_C000_0FFF_C000) << 2;
    let spread = spread & 0x7F_007F_007F_007F | (spread & 0x3F80_3F80_3F80_3F80) << 1;
    let bits = 64 - (value | 1).leading_zeros();
    let len = bits.div_ceil(7);
    // Every byte but the last has its top bit set: another byte follows.
    let others = (1u64 << (8 * (len - 1))) - 1;
    let bytes = spread | 0x8080_8080_8080_8080 & others;
    (bytes.to_le_bytes(), len as usize)
}

/// At most 16 bytes. Copying a fixed size is faster than copying a variable one.
pub struct Short {
    padded: [u8; 16],
    len: usize,
}

impl Short {
    pub fn new(write: impl FnOnce(&mut &mut [u8])) -> Self {
        let mut padded = [0; 16];
        let mut left = padded.as_mut_slice();
        write(&mut left);
        let len = 16 - left.len();
        Self { padded, len }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.padded[..self.len]
    }
}

/// A field that is a number, where speed does not matter.
pub fn put_varint(out: &mut impl BufMut, field: u32, value: u64) {
    encode_key(field, WireType::Varint, out);
    encode_varint(value, out);
}

/// A field that is bytes, where speed does not matter.
pub fn put_bytes(out: &mut impl BufMut, field: u32, bytes: &[u8]) {
    encode_key(field, WireType::LengthDelimited, out);
    encode_varint(bytes.len() as u64, out);
    out.put_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `write` writes over old content.
    fn written(write: impl Fn(&mut Pen)) -> Vec<u8> {
        let mut buffer = vec![0xA5; 40_000];
        let mut pen = Pen::new(&mut buffer, 3);
        write(&mut pen);
        let end = pen.at();
        buffer[3..end].to_vec()
    }

    /// Compared with prost's, at every number of bits.
    #[test]
    fn varints() {
        for bits in 0..=64 {
            let border = 1u128 << bits;
            for value in border.saturating_sub(2)..=border + 1 {
                let Ok(value) = u64::try_from(value) else {
                    continue;
                };
                let mut expected = Vec::new();
                encode_varint(value, &mut expected);
                assert_eq!(written(|pen| pen.varint(value)), expected, "{value:#x}");
            }
        }
    }

    #[test]
    fn messages_of_any_length_inside_each_other() {
        for inner_bytes in [0, 1, 120, 125, 126, 127, 128, 129, 700, 20_000] {
            let content = vec![7; inner_bytes];
            let message = |content: &[u8]| {
                let mut message = vec![key(1, WireType::LengthDelimited)];
                encode_varint(content.len() as u64, &mut message);
                message.extend(content);
                message
            };
            let bytes = written(|pen| {
                let outer = pen.begin(key(1, WireType::LengthDelimited));
                let inner = pen.begin(key(1, WireType::LengthDelimited));
                pen.bytes(&content);
                pen.end(inner);
                pen.end(outer);
            });
            assert_eq!(bytes, message(&message(&content)));
        }
    }
}

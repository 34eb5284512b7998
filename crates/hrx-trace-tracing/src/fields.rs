//! The fields of one span or event, as words: what the recorder is given, once or for each region of the span.
//!
//! A field is a header, the key in its lower half, the kind above it, the size of a text on top; then the value: one word, or the text's bytes. Fixed room, so
//! that nothing is allocated.

use std::fmt::{self, Write};

use hrx_trace::{Key, Value};

/// Room for the fields of a span or an event.
pub const WORDS: usize = 192;
/// A text one byte longer than the recorder keeps, so that the recorder cuts it and says so; whole characters up to four bytes.
const TEXT_BYTES_MAX: usize = 260;
const TEXT_WORDS_MAX: usize = TEXT_BYTES_MAX.div_ceil(8);

const U64: u64 = 0;
const I64: u64 = 1;
const F64: u64 = 2;
const BOOL: u64 = 3;
const TEXT: u64 = 4;

/// The fields that are arguments.
#[derive(Debug)]
pub struct Fields {
    words: [u64; WORDS],
    used: usize,
    /// How many found no room.
    left_out: u32,
}

/// Text that is cut where its room ends.
#[derive(Debug)]
pub struct Text {
    words: [u64; TEXT_WORDS_MAX],
    used: usize,
    is_full: bool,
}

impl Text {
    /// What `value` prints.
    pub fn of(value: &dyn fmt::Debug) -> Self {
        let mut text = Self {
            words: [0; TEXT_WORDS_MAX],
            used: 0,
            is_full: false,
        };
        // A value that cannot be printed has what it printed so far.
        let _ = write!(text, "{value:?}");
        text
    }

    pub fn as_str(&self) -> &str {
        let bytes: &[u8] = bytemuck::cast_slice(&self.words);
        // Only whole characters were put in.
        str::from_utf8(&bytes[..self.used]).unwrap_or_default()
    }
}

impl Write for Text {
    /// Never fails: a program's own `Debug` may not expect that.
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if !self.is_full {
            let room = TEXT_BYTES_MAX - self.used;
            let end = text.floor_char_boundary(room.min(text.len()));
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut self.words);
            bytes[self.used..self.used + end].copy_from_slice(&text.as_bytes()[..end]);
            self.used += end;
            self.is_full = end < text.len();
        }
        Ok(())
    }
}

impl Fields {
    pub const fn none() -> Self {
        Self {
            words: [0; WORDS],
            used: 0,
            left_out: 0,
        }
    }

    pub fn words(&self) -> &[u64] {
        &self.words[..self.used]
    }

    pub fn left_out(&self) -> u32 {
        self.left_out
    }

    /// Adds `value`, or counts it if there is no room.
    pub fn push(&mut self, key: Key, value: Field<'_>) {
        let (kind, bits) = match value {
            Field::U64(number) => (U64, number),
            Field::I64(number) => (I64, number.cast_unsigned()),
            Field::F64(number) => (F64, number.to_bits()),
            Field::Bool(truth) => (BOOL, truth.into()),
            Field::Text(text) => return self.push_text(key, text),
        };
        self.push_words(header(key, kind, 0), &[bits]);
    }

    fn push_text(&mut self, key: Key, text: &str) {
        let text = &text[..text.floor_char_boundary(TEXT_BYTES_MAX.min(text.len()))];
        let mut words = [0; TEXT_WORDS_MAX];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        let used = text.len().div_ceil(8);
        self.push_words(header(key, TEXT, text.len()), &words[..used]);
    }

    fn push_words(&mut self, header: u64, value: &[u64]) {
        let end = self.used + 1 + value.len();
        if end > WORDS {
            self.left_out += 1;
            return;
        }
        self.words[self.used] = header;
        self.words[self.used + 1..end].copy_from_slice(value);
        self.used = end;
    }

    /// Puts those of `older`, of which `left_out` found no room, before these, but for those whose keys these have too.
    pub fn add_older(&mut self, older: impl Iterator<Item = u64>, left_out: u32) {
        let newer = std::mem::replace(self, Self::none());
        self.left_out = left_out + newer.left_out;
        each(older, |key, value| {
            let mut has_newer = false;
            newer.each(|newer, _| has_newer |= newer == key);
            if !has_newer {
                self.push(key, value);
            }
        });
        each(newer.words().iter().copied(), |key, value| {
            self.push(key, value);
        });
    }

    /// Gives each to `take`.
    pub fn each<'a>(&'a self, mut take: impl FnMut(Key, Value<'a>)) {
        let mut words = self.words();
        while let Some((&header, rest)) = words.split_first() {
            let (key, kind, bytes) = parts(header);
            let (value, further) = rest.split_at(words_of(kind, bytes).min(rest.len()));
            let text: &[u8] = bytemuck::cast_slice(value);
            take(
                key,
                decode(kind, value.first(), &text[..bytes.min(text.len())]).into(),
            );
            words = further;
        }
    }
}

/// The value of a field.
#[derive(Clone, Copy, Debug)]
pub enum Field<'a> {
    U64(u64),
    I64(i64),
    F64(f64),
    Bool(bool),
    Text(&'a str),
}

impl<'a> From<Field<'a>> for Value<'a> {
    #[inline]
    fn from(field: Field<'a>) -> Self {
        match field {
            Field::U64(number) => number.into(),
            Field::I64(number) => number.into(),
            Field::F64(number) => number.into(),
            Field::Bool(truth) => truth.into(),
            Field::Text(text) => text.into(),
        }
    }
}

/// Gives each field of `words` to `take`.
pub fn each(mut words: impl Iterator<Item = u64>, mut take: impl FnMut(Key, Field<'_>)) {
    while let Some(header) = words.next() {
        let (key, kind, bytes) = parts(header);
        let mut value = [0; TEXT_WORDS_MAX];
        for word in &mut value[..words_of(kind, bytes)] {
            *word = words.next().unwrap_or_default();
        }
        let text: &[u8] = bytemuck::cast_slice(&value);
        take(key, decode(kind, value.first(), &text[..bytes]));
    }
}

fn header(key: Key, kind: u64, bytes: usize) -> u64 {
    (bytes as u64) << 40 | kind << 32 | u64::from(key.to_bits())
}

/// The key, the kind, and the size of a text.
fn parts(header: u64) -> (Key, u64, usize) {
    let bytes = ((header >> 40) as usize).min(TEXT_BYTES_MAX);
    (Key::from_bits(header as u32), header >> 32 & 0xff, bytes)
}

fn words_of(kind: u64, bytes: usize) -> usize {
    if kind == TEXT { bytes.div_ceil(8) } else { 1 }
}

fn decode<'a>(kind: u64, word: Option<&u64>, text: &'a [u8]) -> Field<'a> {
    let bits = word.copied().unwrap_or_default();
    match kind {
        TEXT => Field::Text(str::from_utf8(text).unwrap_or_default()),
        I64 => Field::I64(bits.cast_signed()),
        F64 => Field::F64(f64::from_bits(bits)),
        BOOL => Field::Bool(bits != 0),
        _ => Field::U64(bits),
    }
}

//! A key and a value of an event. A text takes a record for every 26 bytes, every other value takes one.
//!
//! An argument names its event: by the open slot and its tenant, if the event runs in one; by its moment and thread, if it holds none.

use bytemuck::{Pod, Zeroable};

use crate::constants::{FLAG_SATURATED, OPEN_SLOT_NONE};
use crate::open::OpenRecord;
use crate::sealed::sealed;

pub use crate::constants::{
    ARGUMENT_BOOL, ARGUMENT_F64, ARGUMENT_I64, ARGUMENT_TEXT, ARGUMENT_TEXT_BYTES_MAX,
    ARGUMENT_U64, CONTENT_BYTES, KIND_ARGUMENT,
};

/// A key and a value of an event, or a part of it: 64 bytes, a cache line.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Argument {
    /// As in [`Record::sequence`](crate::Record::sequence); in an open slot, [`line::word`](crate::line::word) of it.
    pub sequence: u64,
    /// `start_ns` of its event.
    pub start_ns: u64,
    /// The value, or this part of the text; the bytes after it are unused.
    pub content: [u8; CONTENT_BYTES],
    /// Size of the whole text, up to [`ARGUMENT_TEXT_BYTES_MAX`]. Unused if the value is no text.
    pub text_bytes: u16,
    /// The name of the argument (see [`crate::name`]); 0: none.
    pub key: u32,
    /// [`OpenRecord::owner`] if its event runs in an open slot, and the event's `thread_id` otherwise.
    pub owner: u32,
    /// Number of this argument among those of its event, from 0.
    pub ordinal: u16,
    /// Number of this record among those of the argument, from 0.
    pub part: u8,
    /// [`ARGUMENT_U64`] to [`ARGUMENT_TEXT`]. Other types are not known to this version.
    pub r#type: u8,
    /// [`FLAG_SATURATED`]: the text was longer, and cut. The other bits are unused.
    pub flags: u8,
    /// [`KIND_ARGUMENT`].
    pub kind: u8,
    /// 1 + the index of the open slot that its event runs in; [`OPEN_SLOT_NONE`]: it holds none.
    pub open_slot: u16,
    /// CRC-32 of all 64 bytes, computed while this field holds the salt of the ring, or of the open table.
    pub crc32: u32,
}

sealed!(Argument);

/// What an argument can be.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ArgumentValue<'a> {
    /// An unsigned number.
    U64(u64),
    /// A signed number.
    I64(i64),
    /// A number with a fraction.
    F64(f64),
    /// A truth value.
    Bool(bool),
    /// A text. Read from a file, the part of it that one record holds, which may begin or end inside a character.
    Text(&'a [u8]),
}

impl Argument {
    /// Whether no field has a value that this version does not know.
    #[inline]
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.value().is_some()
    }

    /// Into how many records the argument was parted, as this one says: 1 to 10, if [`Self::is_known`].
    #[inline]
    #[must_use]
    pub fn parts(&self) -> usize {
        match self.r#type {
            ARGUMENT_TEXT => parts_of(usize::from(self.text_bytes)),
            _ => 1,
        }
    }

    /// The value, or this record's part of the text. None if a field has a value that this version does not know.
    #[must_use]
    pub fn value(&self) -> Option<ArgumentValue<'_>> {
        if usize::from(self.part) >= self.parts() {
            return None;
        }
        let number = u64::from_le_bytes(*self.content.first_chunk()?);
        match (self.r#type, self.content.first()?) {
            (ARGUMENT_U64, _) => Some(ArgumentValue::U64(number)),
            (ARGUMENT_I64, _) => Some(ArgumentValue::I64(number.cast_signed())),
            (ARGUMENT_F64, _) => Some(ArgumentValue::F64(f64::from_bits(number))),
            (ARGUMENT_BOOL, truth @ (0 | 1)) => Some(ArgumentValue::Bool(*truth == 1)),
            (ARGUMENT_TEXT, _) if usize::from(self.text_bytes) <= ARGUMENT_TEXT_BYTES_MAX => {
                let before = usize::from(self.part).saturating_mul(CONTENT_BYTES);
                let rest = usize::from(self.text_bytes).saturating_sub(before);
                let part = self.content.get(..rest.min(CONTENT_BYTES))?;
                Some(ArgumentValue::Text(part))
            }
            _ => None,
        }
    }

    /// Whether the writer cut the text.
    #[inline]
    #[must_use]
    pub fn was_cut(&self) -> bool {
        self.r#type == ARGUMENT_TEXT && self.flags & FLAG_SATURATED != 0
    }
}

/// How many records a text of `text_bytes` takes.
#[inline]
#[must_use]
pub const fn parts_of(text_bytes: usize) -> usize {
    if text_bytes == 0 {
        1
    } else {
        text_bytes.div_ceil(CONTENT_BYTES)
    }
}

/// Whose arguments are written: what all their records say about their event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgumentsOf {
    start_ns: u64,
    owner: u32,
    open_slot: u16,
}

impl ArgumentsOf {
    /// Those of a region that runs in an open slot.
    #[inline]
    #[must_use]
    pub fn region(region: &OpenRecord) -> Self {
        Self {
            start_ns: region.start_ns,
            owner: region.owner(),
            open_slot: region.open_slot,
        }
    }

    /// Those of an event that holds no slot: they are written before it, by the same thread, to the same ring.
    #[inline]
    #[must_use]
    pub fn event(start_ns: u64, thread_id: u32) -> Self {
        Self {
            start_ns,
            owner: thread_id,
            open_slot: OPEN_SLOT_NONE,
        }
    }

    /// The records of the argument number `ordinal`, in order. Their sequences are 0. A text of more than [`ARGUMENT_TEXT_BYTES_MAX`] bytes is cut at
    /// the last character that fits, and marked.
    #[inline(always)]
    pub fn records(
        self,
        ordinal: u16,
        key: u32,
        value: ArgumentValue<'_>,
    ) -> impl Iterator<Item = Argument> {
        let (r#type, number, whole) = match value {
            ArgumentValue::U64(value) => (ARGUMENT_U64, value, None),
            ArgumentValue::I64(value) => (ARGUMENT_I64, value.cast_unsigned(), None),
            ArgumentValue::F64(value) => (ARGUMENT_F64, value.to_bits(), None),
            ArgumentValue::Bool(value) => (ARGUMENT_BOOL, value.into(), None),
            ArgumentValue::Text(value) => (ARGUMENT_TEXT, 0, Some(value)),
        };
        let text = whole.map_or(&[][..], cut);
        let was_cut = whole.is_some_and(|whole| text.len() < whole.len());
        let mut content = [0; CONTENT_BYTES];
        if let Some(first) = content.first_chunk_mut() {
            *first = number.to_le_bytes();
        }
        Parts {
            rest: text,
            left: parts_of(text.len()),
            next: Argument {
                start_ns: self.start_ns,
                content,
                // No text is longer than its limit of 256 bytes.
                text_bytes: text.len() as u16,
                key,
                owner: self.owner,
                ordinal,
                r#type,
                flags: if was_cut { FLAG_SATURATED } else { 0 },
                kind: KIND_ARGUMENT,
                open_slot: self.open_slot,
                ..Argument::zeroed()
            },
        }
    }
}

/// The records of an argument that are still to come.
struct Parts<'a> {
    /// The next one. Of a text, without its content.
    next: Argument,
    /// The text that is still to come.
    rest: &'a [u8],
    left: usize,
}

impl Iterator for Parts<'_> {
    type Item = Argument;

    #[inline(always)]
    fn next(&mut self) -> Option<Argument> {
        self.left = self.left.checked_sub(1)?;
        let mut record = self.next;
        if record.r#type == ARGUMENT_TEXT {
            let bytes = self.rest.len().min(CONTENT_BYTES);
            let (part, rest) = self.rest.split_at_checked(bytes)?;
            record.content.get_mut(..bytes)?.copy_from_slice(part);
            self.rest = rest;
            self.next.part = self.next.part.wrapping_add(1);
        }
        Some(record)
    }
}

/// As much of a text as an argument holds: to the last character that fits.
fn cut(text: &[u8]) -> &[u8] {
    if text.len() <= ARGUMENT_TEXT_BYTES_MAX {
        return text;
    }
    // A character begins at each byte that is not 10xxxxxx, and takes at most four.
    let boundary = (0..=ARGUMENT_TEXT_BYTES_MAX)
        .rev()
        .take(4)
        .find(|end| text.get(*end).is_some_and(|byte| byte & 0xC0 != 0x80));
    text.get(..boundary.unwrap_or(ARGUMENT_TEXT_BYTES_MAX))
        .unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of() -> ArgumentsOf {
        ArgumentsOf::event(7, 4243)
    }

    fn joined(records: &[Argument]) -> Vec<u8> {
        records
            .iter()
            .flat_map(|record| match record.value() {
                Some(ArgumentValue::Text(part)) => part.to_vec(),
                other => panic!("{other:?}"),
            })
            .collect()
    }

    proptest! {
        #[test]
        fn texts_are_parted_and_joined(text in ".{0,300}") {
            let records: Vec<_> = of().records(3, 9, ArgumentValue::Text(text.as_bytes())).collect();
            let kept = joined(&records);
            prop_assert!(text.as_bytes().starts_with(&kept));
            let kept = core::str::from_utf8(&kept).unwrap();
            let next = text[kept.len()..].chars().next();
            let fits = next.map_or(text.len(), |next| kept.len() + next.len_utf8());
            prop_assert!(kept.len() <= ARGUMENT_TEXT_BYTES_MAX);
            prop_assert!(next.is_none() || fits > ARGUMENT_TEXT_BYTES_MAX);
            for (part, record) in (0..).zip(&records) {
                prop_assert_eq!((record.part, record.ordinal, record.key), (part, 3, 9));
                prop_assert_eq!(record.parts(), records.len());
                prop_assert_eq!(usize::from(record.text_bytes), kept.len());
                prop_assert_eq!(record.was_cut(), next.is_some());
                prop_assert_eq!((record.start_ns, record.owner, record.open_slot), (7, 4243, OPEN_SLOT_NONE));
            }
        }

        #[test]
        fn numbers_come_back(unsigned: u64, signed: i64, truth: bool) {
            let values = [
                ArgumentValue::U64(unsigned),
                ArgumentValue::I64(signed),
                ArgumentValue::F64(signed as f64 / 3.0),
                ArgumentValue::Bool(truth),
            ];
            for value in values {
                let records: Vec<_> = of().records(0, 0, value).collect();
                prop_assert_eq!(records.len(), 1);
                prop_assert_eq!(records[0].value(), Some(value));
                prop_assert!(!records[0].was_cut());
            }
        }

        #[test]
        fn any_bytes_are_survived(bytes: [u8; 64]) {
            let argument = Argument::from_bytes(bytes);
            prop_assert_eq!(argument.is_known(), argument.value().is_some());
        }
    }

    /// Parts and types that no writer writes.
    #[test]
    fn what_is_not_known() {
        let record = |value| of().records(0, 0, value).next().unwrap();
        let number = record(ArgumentValue::U64(5));
        let text = record(ArgumentValue::Text(b"hello"));
        let truth = record(ArgumentValue::Bool(true));
        assert!(number.is_known() && text.is_known() && truth.is_known());
        let unused = Argument {
            text_bytes: u16::MAX,
            ..number
        };
        assert!(unused.is_known(), "text_bytes of a number is unused");
        let mut two = truth;
        two.content[0] = 2;
        for wrong in [
            Argument {
                r#type: 0,
                ..number
            },
            Argument {
                r#type: 6,
                ..number
            },
            Argument { part: 1, ..number },
            Argument { part: 1, ..text },
            Argument {
                text_bytes: 257,
                ..text
            },
            two,
        ] {
            assert!(!wrong.is_known(), "{wrong:?}");
        }
        let empty = record(ArgumentValue::Text(b""));
        assert_eq!(empty.value(), Some(ArgumentValue::Text(b"")));
    }
}

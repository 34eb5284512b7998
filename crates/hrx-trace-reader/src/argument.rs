//! What an event's arguments are handed out as: keys and values, their parts joined.

use hrx_trace_format::argument::{ARGUMENT_TEXT, ARGUMENT_TEXT_BYTES_MAX, CONTENT_BYTES};
use hrx_trace_format::{Argument as Part, ArgumentValue as PartValue};

/// The most records that an argument takes.
const PARTS_MAX: usize = ARGUMENT_TEXT_BYTES_MAX.div_ceil(CONTENT_BYTES);

/// A key and a value of an event.
///
/// Fields will be added. To make one of your own, change the fields of `Argument::default()`, which has no key and the value 0.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Argument {
    /// The id of its name, see [`Trace::key`](crate::Trace::key); 0: none.
    pub key: u32,
    /// Its value.
    pub value: ArgumentValue,
    /// Whether the writer cut the text, because it was longer than the 256 bytes that a file holds of it.
    pub cut: bool,
    /// Whether a part of the text was lost or is damaged: the value is what comes before it.
    pub incomplete: bool,
}

/// What an argument can be.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ArgumentValue {
    /// An unsigned number.
    U64(u64),
    /// A signed number.
    I64(i64),
    /// A number with a fraction.
    F64(f64),
    /// A truth value.
    Bool(bool),
    /// A text, of up to 256 bytes. It may contain any characters: a program that prints it has to escape it.
    Text(String),
}

impl Default for ArgumentValue {
    fn default() -> Self {
        Self::U64(0)
    }
}

/// The arguments whose records are `parts`: those of one event in ascending order of ticket, each ticket once.
pub(crate) fn joined(parts: &[Part]) -> Vec<Argument> {
    let mut sorted: Vec<&Part> = parts.iter().collect();
    // Stable: parts of one argument stay in the order of their tickets.
    sorted.sort_by_key(|part| identity_of(part));
    let mut arguments: Vec<(u64, Argument)> = sorted
        .chunk_by(|one, next| identity_of(one) == identity_of(next))
        .filter_map(|parts| Some((parts.first()?.sequence, Argument::of(parts)?)))
        .collect();
    arguments.sort_by_key(|(ticket, _)| *ticket);
    arguments
        .into_iter()
        .map(|(_, argument)| argument)
        .collect()
}

/// At least how many arguments are lost of an event that has `parts`, and an argument with the ordinal `not_kept`: the ordinals of which nothing is there.
pub(crate) fn lost(parts: &[Part], not_kept: Option<u16>) -> u64 {
    let mut ordinals: Vec<u16> = parts.iter().map(|part| part.ordinal).collect();
    ordinals.sort_unstable();
    ordinals.dedup();
    let highest = ordinals.last().copied().max(not_kept);
    let expected = highest.map_or(0, |highest| u64::from(highest).saturating_add(1));
    expected.saturating_sub(ordinals.len() as u64)
}

/// What the parts of one argument have in common.
fn identity_of(part: &Part) -> (u16, u32, u8, u16) {
    let text_bytes = match part.r#type {
        ARGUMENT_TEXT => part.text_bytes,
        _ => 0,
    };
    (part.ordinal, part.key, part.r#type, text_bytes)
}

impl Argument {
    /// The argument of these parts, in the order of their tickets. None if there is none.
    fn of(parts: &[&Part]) -> Option<Self> {
        let first = parts.first()?;
        let (value, incomplete) = match first.value()? {
            PartValue::U64(value) => (ArgumentValue::U64(value), false),
            PartValue::I64(value) => (ArgumentValue::I64(value), false),
            PartValue::F64(value) => (ArgumentValue::F64(value), false),
            PartValue::Bool(value) => (ArgumentValue::Bool(value), false),
            PartValue::Text(_) => {
                let (text, incomplete) = text_of(parts);
                (ArgumentValue::Text(text), incomplete)
            }
            _ => return None,
        };
        Some(Self {
            key: first.key,
            value,
            cut: first_of_each(parts)
                .iter()
                .flatten()
                .any(|part| part.was_cut()),
            incomplete,
        })
    }
}

/// By number: the first record of each part.
fn first_of_each<'parts>(parts: &[&'parts Part]) -> [Option<&'parts Part>; PARTS_MAX] {
    let mut first = [None; PARTS_MAX];
    for part in parts {
        if let Some(place) = first.get_mut(usize::from(part.part)) {
            place.get_or_insert(*part);
        }
    }
    first
}

/// The text up to the first part that is missing, or the first byte that is not UTF-8; and whether that is not all of it.
fn text_of(parts: &[&Part]) -> (String, bool) {
    let text_bytes = parts.first().map_or(0, |part| usize::from(part.text_bytes));
    let mut text = Vec::with_capacity(text_bytes);
    for part in first_of_each(parts).iter().map_while(|part| *part) {
        if let Some(PartValue::Text(bytes)) = part.value() {
            text.extend_from_slice(bytes);
        }
    }
    let is_short = text.len() < text_bytes;
    match String::from_utf8(text) {
        Ok(text) => (text, is_short),
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let mut text = error.into_bytes();
            text.truncate(valid);
            (String::from_utf8(text).unwrap_or_default(), true)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hrx_trace_format::ArgumentsOf;
    use proptest::prelude::*;

    /// The records of arguments number 0, 1, … with these keys, tickets from 1.
    fn parts(arguments: &[(u32, PartValue<'_>)]) -> Vec<Part> {
        let of = ArgumentsOf::event(5, 42);
        let records = (0..).zip(arguments);
        let records = records.flat_map(|(ordinal, (key, value))| of.records(ordinal, *key, *value));
        let tickets = (1..).zip(records);
        tickets
            .map(|(sequence, part)| Part { sequence, ..part })
            .collect()
    }

    fn text(text: &str, incomplete: bool) -> Argument {
        Argument {
            key: 1,
            value: ArgumentValue::Text(text.to_owned()),
            cut: false,
            incomplete,
        }
    }

    #[test]
    fn values_of_every_type() {
        let parts = parts(&[
            (1, PartValue::U64(u64::MAX)),
            (2, PartValue::I64(-1)),
            (3, PartValue::F64(0.5)),
            (4, PartValue::Bool(true)),
            (0, PartValue::Text(b"")),
        ]);
        let values: Vec<(u32, ArgumentValue)> = joined(&parts)
            .into_iter()
            .map(|argument| (argument.key, argument.value))
            .collect();
        assert_eq!(
            values,
            [
                (1, ArgumentValue::U64(u64::MAX)),
                (2, ArgumentValue::I64(-1)),
                (3, ArgumentValue::F64(0.5)),
                (4, ArgumentValue::Bool(true)),
                (0, ArgumentValue::Text(String::new())),
            ]
        );
        assert_eq!((joined(&[]), lost(&[], None)), (vec![], 0));
    }

    #[test]
    fn a_text_ends_where_its_first_part_is_missing() {
        let whole = "0123456789abcdefghijklmnopqrstuvwxyz".repeat(2);
        let parts = parts(&[(1, PartValue::Text(whole.as_bytes()))]);
        assert_eq!(parts.len(), 3);
        let without = |missing: usize| {
            let mut parts = parts.clone();
            parts.remove(missing);
            joined(&parts)
        };
        assert_eq!(joined(&parts), [text(&whole, false)]);
        assert_eq!(without(0), [text("", true)]);
        assert_eq!(without(1), [text(&whole[..26], true)]);
        assert_eq!(without(2), [text(&whole[..52], true)]);
    }

    #[test]
    fn a_text_ends_at_its_first_byte_that_is_not_utf8() {
        for (bytes, kept) in [(&b"ab\xFFcd"[..], "ab"), (b"\xC3", ""), (b"ab\xC3", "ab")] {
            assert_eq!(
                joined(&parts(&[(1, PartValue::Text(bytes))])),
                [text(kept, true)]
            );
        }
        // A character may lie in two parts.
        let split = format!("{}é", "x".repeat(25));
        let parts = parts(&[(1, PartValue::Text(split.as_bytes()))]);
        assert_eq!(joined(&parts), [text(&split, false)]);
        assert_eq!(joined(&parts[..1]), [text(&split[..25], true)]);
    }

    #[test]
    fn a_text_that_the_writer_cut() {
        let long = "y".repeat(300);
        let cut = joined(&parts(&[(1, PartValue::Text(long.as_bytes()))]));
        let expected = Argument {
            cut: true,
            ..text(&long[..256], false)
        };
        assert_eq!(cut, [expected]);
    }

    /// Parts of which the format does not say that a writer writes them: the first of the same number counts, and what differs is another argument.
    #[test]
    fn parts_that_contradict_each_other() {
        let [first, second] = ["ab", "cd"].map(|text| {
            let part = parts(&[(1, PartValue::Text(text.as_bytes()))]);
            part[0]
        });
        let second = Part {
            sequence: 2,
            ..second
        };
        assert_eq!(joined(&[first, second]), [text("ab", false)]);
        let other = Part { key: 2, ..second };
        let found = joined(&[first, other]);
        assert_eq!((found.len(), lost(&[first, other], None)), (2, 0));
        // In the order of their first records, whatever their ordinals.
        let later = Part {
            ordinal: 3,
            sequence: 1,
            ..first
        };
        let both = [
            later,
            Part {
                sequence: 2,
                ..other
            },
        ];
        let keys: Vec<u32> = joined(&both).iter().map(|argument| argument.key).collect();
        assert_eq!((keys, lost(&both, None)), (vec![1, 2], 2));
    }

    #[test]
    fn ordinals_of_which_nothing_is_found_are_lost() {
        let parts = parts(&[(1, PartValue::U64(1)); 5]);
        assert_eq!(lost(&parts, None), 0);
        assert_eq!(lost(&parts[2..], None), 2);
        assert_eq!(lost(&parts[4..], None), 4);
        // Later ones may have been there too, but nothing says so.
        assert_eq!(lost(&parts[..3], None), 0);
        assert_eq!(lost(&parts[..3], Some(7)), 5);
        assert_eq!(lost(&[], Some(7)), 8);
        let last = Part {
            ordinal: u16::MAX,
            ..parts[0]
        };
        assert_eq!(lost(&[last], None), 65_535);
    }

    proptest! {
        #[test]
        fn any_parts_are_survived(parts in prop::collection::vec(prop::array::uniform2(any::<[u8; 32]>()), 0..20)) {
            let mut parts: Vec<Part> = parts.into_iter().map(|halves| Part::from_bytes(bytemuck::cast(halves))).collect();
            for part in &mut parts {
                // Otherwise a text of 20 parts never meets another.
                (part.ordinal, part.key, part.r#type, part.text_bytes) = (part.ordinal % 2, part.key % 2, part.r#type % 8, part.text_bytes % 280);
                part.part %= 12;
            }
            parts.retain(Part::is_known);
            prop_assert!(joined(&parts).len() <= parts.len());
            lost(&parts, None);
        }
    }
}

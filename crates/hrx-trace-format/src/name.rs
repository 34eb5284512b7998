//! A name: of a label, a lane, a thread, an argument's key, or a group of these. The name table lies outside the rings, so that wrapping cannot evict one.
//!
//! The table is an array of 64-byte blocks. An entry takes one or more consecutive blocks: a header of 28 bytes, the text, and zeroes to the end of its
//! last block. Its id is 1 + the index of its first block, so readers find an entry without walking the table, and a damaged entry hides no other.

use crate::checksum::Checksum;

pub use crate::constants::{
    BLOCK_BYTES, ENTRY_HEADER_BYTES, LANE_NAMED_FIRST, NAME_BYTES_DEFAULT, NAME_BYTES_MAX,
    NAME_GROUP, NAME_KEY, NAME_LABEL, NAME_LANE, NAME_THREAD, TEXT_BYTES_MAX,
};

/// What a name entry says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name<'a> {
    /// What it names: [`NAME_LABEL`] to [`NAME_GROUP`].
    pub kind: u8,
    /// The id of the group that it belongs to; 0: none. Unused in a group.
    pub group: u32,
    /// Of a thread: the name holds for what ended at this moment or later, in nanoseconds since the capture's start. Otherwise unused.
    pub since_ns: u64,
    /// The lane or the thread id that is named. Otherwise unused.
    pub subject: u32,
    /// The name. It may contain any characters: a program that prints it has to escape it.
    pub text: &'a str,
}

impl<'a> Name<'a> {
    /// A label, a key or a group: the names that are found by their ids.
    #[must_use]
    pub const fn of(kind: u8, text: &'a str) -> Self {
        Self {
            kind,
            group: 0,
            since_ns: 0,
            subject: 0,
            text,
        }
    }

    /// The name of lane `lane`.
    #[must_use]
    pub const fn lane(lane: u32, text: &'a str) -> Self {
        Self {
            subject: lane,
            ..Self::of(NAME_LANE, text)
        }
    }

    /// The name that thread `thread_id` has since `since_ns`.
    #[must_use]
    pub const fn thread(thread_id: u32, since_ns: u64, text: &'a str) -> Self {
        Self {
            since_ns,
            subject: thread_id,
            ..Self::of(NAME_THREAD, text)
        }
    }

    /// The same name in the group with id `group`; 0: in none.
    #[must_use]
    pub const fn in_group(self, group: u32) -> Self {
        Self { group, ..self }
    }
}

/// How many blocks an entry with a text of `text_bytes` bytes takes.
#[must_use]
pub const fn blocks_of(text_bytes: usize) -> usize {
    text_bytes
        .saturating_add(ENTRY_HEADER_BYTES)
        .div_ceil(BLOCK_BYTES)
}

/// Writes the entry of `name` into `blocks`, whose size must be exactly [`blocks_of`] its text's length. None if it is not, or if the text is too long.
/// Allocates nothing.
///
/// `salt` is the name table's area salt.
#[must_use]
pub fn encode(
    blocks: &mut [u8],
    name_id: u32,
    name: &Name<'_>,
    checksum: &Checksum,
    salt: u32,
) -> Option<()> {
    let text = name.text.as_bytes();
    if text.len() > TEXT_BYTES_MAX
        || Some(blocks.len()) != blocks_of(text.len()).checked_mul(BLOCK_BYTES)
    {
        return None;
    }
    let (header, body) = blocks.split_first_chunk_mut::<ENTRY_HEADER_BYTES>()?;
    let (body, padding) = body.split_at_mut_checked(text.len())?;
    body.copy_from_slice(text);
    padding.fill(0);
    *header = bytemuck::cast([
        salt,
        name_id,
        u32::try_from(text.len()).ok()? | u32::from(name.kind) << 16,
        name.group,
        name.since_ns as u32,
        (name.since_ns >> 32) as u32,
        name.subject,
    ]);
    let crc32 = checksum.of(&[blocks]);
    *blocks.first_chunk_mut()? = crc32.to_le_bytes();
    Some(())
}

/// The size in bytes of entry `name_id`, whole blocks, as its header states it; None if no such entry begins at `entry`. The checksum is not verified.
#[must_use]
pub fn entry_bytes(entry: &[u8], name_id: u32) -> Option<usize> {
    let [_, id, text_and_kind, ..]: [u32; 7] =
        bytemuck::cast(*entry.first_chunk::<ENTRY_HEADER_BYTES>()?);
    let text_bytes = usize::from(text_and_kind as u16);
    if id != name_id || text_bytes > TEXT_BYTES_MAX {
        return None;
    }
    blocks_of(text_bytes).checked_mul(BLOCK_BYTES)
}

/// The entry `name_id`, which begins at `entry`, if it can be believed. `salt` is the name table's area salt.
#[must_use]
pub fn decode<'a>(
    entry: &'a [u8],
    name_id: u32,
    checksum: &Checksum,
    salt: u32,
) -> Option<Name<'a>> {
    let entry = entry.get(..entry_bytes(entry, name_id)?)?;
    let (header, text) = entry.split_first_chunk::<ENTRY_HEADER_BYTES>()?;
    let [
        crc32,
        _,
        text_and_kind,
        group,
        since_low,
        since_high,
        subject,
    ]: [u32; 7] = bytemuck::cast(*header);
    let kind = (text_and_kind >> 16) as u8;
    let (_, after_crc) = entry.split_first_chunk::<4>()?;
    if !(NAME_LABEL..=NAME_GROUP).contains(&kind)
        || checksum.of(&[&salt.to_le_bytes(), after_crc]) != crc32
    {
        return None;
    }
    let text = core::str::from_utf8(text.get(..usize::from(text_and_kind as u16))?).ok()?;
    Some(Name {
        kind,
        group,
        since_ns: u64::from(since_low) | u64::from(since_high) << 32,
        subject,
        text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry_with(name_id: u32, name: &Name<'_>, salt: u32) -> Vec<u8> {
        let mut entry = vec![0xAA; blocks_of(name.text.len()) * BLOCK_BYTES];
        encode(&mut entry, name_id, name, &Checksum::new(), salt).unwrap();
        entry
    }

    proptest! {
        #[test]
        fn round_trip(
            text in ".{0,200}", name_id in 1u32..50, salt: u32, kind in NAME_LABEL..=NAME_GROUP, group: u32, since_ns: u64, subject: u32,
        ) {
            let name = Name { kind, group, since_ns, subject, text: &text };
            let entry = entry_with(name_id, &name, salt);
            let checksum = Checksum::new();
            prop_assert_eq!(decode(&entry, name_id, &checksum, salt), Some(name));
            prop_assert_eq!(decode(&entry, name_id, &checksum, salt ^ 1), None);
            prop_assert_eq!(decode(&entry, name_id + 1, &checksum, salt), None);
        }

        #[test]
        fn every_single_bit_flip_is_detected(text in ".{0,80}", flip: prop::sample::Index, salt: u32) {
            let mut entry = entry_with(1, &Name::of(NAME_LABEL, &text), salt);
            let bit = flip.index(entry.len() * 8);
            entry[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(decode(&entry, 1, &Checksum::new(), salt), None);
        }

        #[test]
        fn any_bytes_are_survived(entry in prop::collection::vec(0u8.., 0..300), name_id: u32, salt: u32) {
            let _ = decode(&entry, name_id, &Checksum::new(), salt);
        }
    }

    #[test]
    fn sizes() {
        assert_eq!(blocks_of(0), 1);
        assert_eq!(blocks_of(36), 1);
        assert_eq!(blocks_of(37), 2);
        let longest = "x".repeat(TEXT_BYTES_MAX);
        let name = Name::of(NAME_LABEL, &longest);
        assert_eq!(
            decode(&entry_with(3, &name, 7), 3, &Checksum::new(), 7),
            Some(name)
        );
        let too_long = "x".repeat(TEXT_BYTES_MAX + 1);
        let name = Name::of(NAME_LABEL, &too_long);
        let mut blocks = vec![0; blocks_of(too_long.len()) * BLOCK_BYTES];
        assert_eq!(encode(&mut blocks, 1, &name, &Checksum::new(), 7), None);
        let name = Name::of(NAME_LABEL, "x");
        assert_eq!(encode(&mut [0; 63], 1, &name, &Checksum::new(), 7), None);
    }

    /// A header of 28 bytes, and what lies where.
    #[test]
    fn bytes() {
        let name = Name::thread(0x0403_0201, 0x0807_0605_0403_0201, "worker").in_group(5);
        let entry = entry_with(9, &name, 7);
        assert_eq!(entry[4..8], [9, 0, 0, 0]);
        assert_eq!(entry[8..12], [6, 0, NAME_THREAD, 0]);
        assert_eq!(entry[12..16], [5, 0, 0, 0]);
        assert_eq!(entry[16..24], [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(entry[24..28], [1, 2, 3, 4]);
        assert_eq!(&entry[28..34], b"worker");
        assert_eq!(entry[34..], [0; 30]);
    }

    fn resealed(mut entry: Vec<u8>) -> Vec<u8> {
        let (_, after_crc) = entry.split_at(4);
        let crc32 = Checksum::new().of(&[&7u32.to_le_bytes(), after_crc]);
        entry[..4].copy_from_slice(&crc32.to_le_bytes());
        entry
    }

    #[test]
    fn text_that_is_not_utf8_is_refused() {
        let mut entry = entry_with(1, &Name::of(NAME_KEY, "ab"), 7);
        entry[ENTRY_HEADER_BYTES] = 0xFF;
        assert_eq!(decode(&resealed(entry), 1, &Checksum::new(), 7), None);
    }

    #[test]
    fn kinds_that_are_not_known_are_refused_and_what_is_unused_is_not() {
        let name = Name::of(NAME_KEY, "ab");
        for kind in [0, 6, u8::MAX] {
            let entry = entry_with(1, &Name { kind, ..name }, 7);
            assert_eq!(decode(&entry, 1, &Checksum::new(), 7), None);
        }
        let mut entry = entry_with(1, &name, 7);
        entry[11] = 0xFF;
        assert_eq!(decode(&resealed(entry), 1, &Checksum::new(), 7), Some(name));
    }
}

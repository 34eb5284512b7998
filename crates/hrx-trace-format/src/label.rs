//! An interned name. The label table lies outside the rings, so that wrapping cannot evict a name.
//!
//! The table is an array of 64-byte blocks. An entry takes one or more consecutive blocks: a header of 12 bytes, the text, and zeroes to the end of its
//! last block. Its id is 1 + the index of its first block, so readers find an entry without walking the table, and a damaged entry hides no other.

use crate::checksum::Checksum;

pub use crate::constants::{
    BLOCK_BYTES, ENTRY_HEADER_BYTES, TABLE_BYTES_DEFAULT, TABLE_BYTES_MAX, TEXT_BYTES_MAX,
};

/// How many blocks an entry with a text of `text_bytes` bytes takes.
#[must_use]
pub const fn blocks_of(text_bytes: usize) -> usize {
    text_bytes
        .saturating_add(ENTRY_HEADER_BYTES)
        .div_ceil(BLOCK_BYTES)
}

/// Writes the entry of `text` into `blocks`, whose size must be exactly [`blocks_of`] its length. None if it is not, or if the text is too long.
///
/// `salt` is the label table's area salt.
#[must_use]
pub fn encode(
    blocks: &mut [u8],
    label_id: u32,
    text: &str,
    checksum: &Checksum,
    salt: u32,
) -> Option<()> {
    if text.len() > TEXT_BYTES_MAX
        || Some(blocks.len()) != blocks_of(text.len()).checked_mul(BLOCK_BYTES)
    {
        return None;
    }
    let (header, body) = blocks.split_first_chunk_mut::<ENTRY_HEADER_BYTES>()?;
    let (body, padding) = body.split_at_mut_checked(text.len())?;
    body.copy_from_slice(text.as_bytes());
    padding.fill(0);
    *header = bytemuck::cast([salt, label_id, u32::try_from(text.len()).ok()?]);
    let crc32 = checksum.of(&[blocks]);
    *blocks.first_chunk_mut()? = crc32.to_le_bytes();
    Some(())
}

/// The size in bytes of entry `label_id`, whole blocks, as its header states it; None if no such entry begins at `entry`. The checksum is not verified.
#[must_use]
pub fn entry_bytes(entry: &[u8], label_id: u32) -> Option<usize> {
    let [_, id, text_bytes]: [u32; 3] = bytemuck::cast(*entry.first_chunk::<ENTRY_HEADER_BYTES>()?);
    let text_bytes = usize::try_from(text_bytes).ok()?;
    if id != label_id || text_bytes > TEXT_BYTES_MAX {
        return None;
    }
    blocks_of(text_bytes).checked_mul(BLOCK_BYTES)
}

/// The text of entry `label_id`, which begins at `entry`, if its checksum holds. `salt` is the label table's area salt.
#[must_use]
pub fn decode<'a>(
    entry: &'a [u8],
    label_id: u32,
    checksum: &Checksum,
    salt: u32,
) -> Option<&'a str> {
    let entry = entry.get(..entry_bytes(entry, label_id)?)?;
    let (header, text) = entry.split_first_chunk::<ENTRY_HEADER_BYTES>()?;
    let [crc32, _, text_bytes]: [u32; 3] = bytemuck::cast(*header);
    let (_, after_crc) = entry.split_first_chunk::<4>()?;
    if checksum.of(&[&salt.to_le_bytes(), after_crc]) != crc32 {
        return None;
    }
    core::str::from_utf8(text.get(..usize::try_from(text_bytes).ok()?)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry_with(label_id: u32, text: &str, salt: u32) -> Vec<u8> {
        let mut entry = vec![0xAA; blocks_of(text.len()) * BLOCK_BYTES];
        encode(&mut entry, label_id, text, &Checksum::new(), salt).unwrap();
        entry
    }

    proptest! {
        #[test]
        fn round_trip(text in ".{0,200}", label_id in 1u32..50, salt: u32) {
            let entry = entry_with(label_id, &text, salt);
            let checksum = Checksum::new();
            prop_assert_eq!(decode(&entry, label_id, &checksum, salt), Some(text.as_str()));
            prop_assert_eq!(decode(&entry, label_id, &checksum, salt ^ 1), None);
            prop_assert_eq!(decode(&entry, label_id + 1, &checksum, salt), None);
        }

        #[test]
        fn every_single_bit_flip_is_detected(text in ".{0,80}", flip: prop::sample::Index, salt: u32) {
            let mut entry = entry_with(1, &text, salt);
            let bit = flip.index(entry.len() * 8);
            entry[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(decode(&entry, 1, &Checksum::new(), salt), None);
        }

        #[test]
        fn any_bytes_are_survived(entry in prop::collection::vec(0u8.., 0..300), label_id: u32, salt: u32) {
            let _ = decode(&entry, label_id, &Checksum::new(), salt);
        }
    }

    #[test]
    fn sizes() {
        assert_eq!(blocks_of(0), 1);
        assert_eq!(blocks_of(52), 1);
        assert_eq!(blocks_of(53), 2);
        let longest = "x".repeat(TEXT_BYTES_MAX);
        assert_eq!(
            decode(&entry_with(3, &longest, 7), 3, &Checksum::new(), 7),
            Some(longest.as_str())
        );
        let too_long = "x".repeat(TEXT_BYTES_MAX + 1);
        let mut blocks = vec![0; blocks_of(too_long.len()) * BLOCK_BYTES];
        assert_eq!(encode(&mut blocks, 1, &too_long, &Checksum::new(), 7), None);
        assert_eq!(encode(&mut [0; 63], 1, "x", &Checksum::new(), 7), None);
    }

    #[test]
    fn text_that_is_not_utf8_is_refused() {
        let mut entry = entry_with(1, "ab", 7);
        entry[ENTRY_HEADER_BYTES] = 0xFF;
        let (_, after_crc) = entry.split_at(4);
        let crc32 = Checksum::new().of(&[&7u32.to_le_bytes(), after_crc]);
        entry[..4].copy_from_slice(&crc32.to_le_bytes());
        assert_eq!(decode(&entry, 1, &Checksum::new(), 7), None);
    }
}

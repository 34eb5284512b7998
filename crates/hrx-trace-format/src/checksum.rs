//! One rule for every self-verifying item: the CRC-32 of all its bytes, computed while its crc field holds the salt of its area.
//!
//! The salt is random for each capture, so blocks that an older capture left in the same place never verify. This is certain as long as the two salts
//! differ, not merely likely: CRC-32 is linear, and the salt is as wide as the checksum. Each area of a file (open table, name table, every ring, witness) has its
//! own salt, so a block that was moved from one area to another does not verify either.

#[cfg(target_arch = "x86_64")]
use crate::folding::{Folding, Sum};

/// The part of the file an item belongs to.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    /// The table of open regions.
    OpenTable,
    /// The name table.
    NameTable,
    /// The ring with this index.
    Ring(u32),
    /// The witness.
    Witness,
}

impl Area {
    /// The salt of this area: the capture's salt plus 1, 2, 3 + ring, or 65536, wrapping.
    #[must_use]
    pub const fn salt(self, capture_salt: u32) -> u32 {
        let tag = match self {
            Area::OpenTable => 1,
            Area::NameTable => 2,
            Area::Ring(ring) => ring.wrapping_add(3),
            Area::Witness => 1 << 16,
        };
        capture_salt.wrapping_add(tag)
    }
}

/// The CRC-32 of zlib, gzip, PNG and every standard library (IEEE 802.3, reflected), with its setup paid once.
///
/// `crc32fast::Hasher::new` looks up the processor's features each time; cloning a prepared hasher does not.
#[derive(Clone, Debug)]
// What a record needs comes first: the recorder puts it on a cache line that it loads anyway.
#[repr(C)]
pub struct Checksum {
    #[cfg(target_arch = "x86_64")]
    folding: Option<Folding>,
    general: crc32fast::Hasher,
}

impl Default for Checksum {
    fn default() -> Self {
        Self::new()
    }
}

impl Checksum {
    /// Prepares a checksum. Costs one detection of the processor's features.
    #[must_use]
    pub fn new() -> Self {
        Self {
            general: crc32fast::Hasher::new(),
            #[cfg(target_arch = "x86_64")]
            folding: Folding::detect(),
        }
    }

    /// The CRC-32 of the concatenation of `parts`.
    #[inline]
    #[must_use]
    pub fn of(&self, parts: &[&[u8]]) -> u32 {
        let mut hasher = self.general.clone();
        for part in parts {
            hasher.update(part);
        }
        hasher.finalize()
    }

    /// The eight words of a record or of a line of an open slot with their checksum in its place, the upper half of the last word, whatever `words` holds there.
    #[inline]
    #[must_use]
    pub fn seal(&self, salt: u32, words: [u64; 8]) -> [u64; 8] {
        let [a, b, c, d, e, f, g, h] = words;
        let crc32 = self.of_words([a, b, c, d, e, f, g, with_crc_field(h, salt)]);
        [a, b, c, d, e, f, g, with_crc_field(h, crc32)]
    }

    /// The first of two steps to the same: everything that does not need the first word, the sequence. [`Unsealed::seal`] does the rest, which is three
    /// multiplications where the processor multiplies without carry.
    #[inline(always)]
    #[must_use]
    pub fn unsealed(&self, salt: u32, others: [u64; 7]) -> Unsealed<'_> {
        let [b, c, d, e, f, g, h] = others;
        let salted = [b, c, d, e, f, g, with_crc_field(h, salt)];
        #[cfg(target_arch = "x86_64")]
        if let Some(folding) = &self.folding {
            let rest = Rest::Folded(folding.sum(salted));
            return Unsealed { salted, rest };
        }
        let rest = Rest::General(self);
        Unsealed { salted, rest }
    }

    /// The CRC-32 of eight words.
    #[inline]
    fn of_words(&self, words: [u64; 8]) -> u32 {
        #[cfg(target_arch = "x86_64")]
        if let Some(folding) = &self.folding {
            return folding.crc32(words);
        }
        let [a, b, c, d, e, f, g, h] = words;
        self.of_words_in_memory(a, b, c, d, e, f, g, h)
    }

    /// Out of line and by value, so that callers keep the words in registers on the way that does not call it.
    #[inline(never)]
    #[allow(clippy::too_many_arguments)]
    fn of_words_in_memory(
        &self,
        a: u64,
        b: u64,
        c: u64,
        d: u64,
        e: u64,
        f: u64,
        g: u64,
        h: u64,
    ) -> u32 {
        self.of(&[bytemuck::bytes_of(&[a, b, c, d, e, f, g, h])])
    }
}

/// A record without its sequence: the other seven words, and as much of the checksum as they give. See [`Checksum::unsealed`].
#[derive(Debug)]
pub struct Unsealed<'a> {
    /// The words after the sequence, with the salt in the crc field.
    salted: [u64; 7],
    rest: Rest<'a>,
}

/// What the checksum needs besides the sequence.
#[derive(Debug)]
enum Rest<'a> {
    /// The sum over the other words.
    #[cfg(target_arch = "x86_64")]
    Folded(Sum),
    /// Everything: the general CRC begins with the first word.
    General(&'a Checksum),
}

impl Unsealed<'_> {
    /// The eight words of the record whose sequence is `sequence`, with their checksum.
    #[inline(always)]
    #[must_use]
    pub fn seal(self, sequence: u64) -> [u64; 8] {
        let [b, c, d, e, f, g, h] = self.salted;
        let crc32 = match self.rest {
            #[cfg(target_arch = "x86_64")]
            Rest::Folded(sum) => sum.crc32(sequence),
            Rest::General(checksum) => checksum.of_words_in_memory(sequence, b, c, d, e, f, g, h),
        };
        [sequence, b, c, d, e, f, g, with_crc_field(h, crc32)]
    }
}

/// The last word of a record with `crc_field` in its upper half, where the crc field lies.
#[inline(always)]
fn with_crc_field(last_word: u64, crc_field: u32) -> u64 {
    u64::from(last_word as u32) | u64::from(crc_field) << 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constants::RECORD_BYTES;

    /// The textbook's CRC-32, bit by bit.
    fn naive(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(!0u32, |crc, byte| {
            (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
                (crc >> 1) ^ (0xEDB8_8320 * (crc & 1))
            })
        })
    }

    #[test]
    fn check_value_of_the_catalogue() {
        // "CRC-32/ISO-HDLC" in the CRC RevEng catalogue: check=0xcbf43926.
        assert_eq!(Checksum::new().of(&[b"1234", b"56789"]), 0xCBF4_3926);
        assert_eq!(naive(b"123456789"), 0xCBF4_3926);
    }

    proptest::proptest! {
        #[test]
        fn words_are_sealed_as_by_the_naive_crc(words: [u64; 8], salt: u32) {
            let [first, others @ ..] = words;
            let mut expected: [u8; RECORD_BYTES] = bytemuck::cast(words);
            expected[RECORD_BYTES - 4..].copy_from_slice(&salt.to_le_bytes());
            let crc32 = naive(&expected);
            expected[RECORD_BYTES - 4..].copy_from_slice(&crc32.to_le_bytes());
            let without_folding = Checksum {
                #[cfg(target_arch = "x86_64")]
                folding: None,
                ..Checksum::new()
            };
            for checksum in [Checksum::new(), without_folding] {
                let at_once: [u8; RECORD_BYTES] = bytemuck::cast(checksum.seal(salt, words));
                proptest::prop_assert_eq!(at_once, expected);
                let in_two_steps: [u8; RECORD_BYTES] =
                    bytemuck::cast(checksum.unsealed(salt, others).seal(first));
                proptest::prop_assert_eq!(in_two_steps, expected);
            }
        }

        #[test]
        fn equals_the_naive_crc(bytes in proptest::collection::vec(0u8.., 0..300)) {
            proptest::prop_assert_eq!(Checksum::new().of(&[&bytes]), naive(&bytes));
        }
    }

    #[test]
    fn areas_never_share_a_salt() {
        let salts: Vec<u32> = [Area::OpenTable, Area::NameTable, Area::Witness]
            .into_iter()
            .chain((0..1024).map(Area::Ring))
            .map(|area| area.salt(u32::MAX - 5))
            .collect();
        let distinct: std::collections::BTreeSet<_> = salts.iter().collect();
        assert_eq!(distinct.len(), salts.len());
    }
}

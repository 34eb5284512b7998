//! One rule for every self-verifying item: the CRC-32 of all its bytes, computed while its crc field holds the salt of its area.
//!
//! The salt is random for each capture, so blocks that an older capture left in the same place never verify; CRC-32 is linear and
//! the salt is as wide as the checksum, so this is certain as long as the two salts differ, not merely likely. Each area of a
//! file (open table, label table, every ring) has its own salt, so a block that was moved from one area to another does not verify either.

/// The part of the file an item belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    /// The table of open regions.
    OpenTable,
    /// The label table.
    LabelTable,
    /// Ring number `.0`.
    Ring(u32),
}

impl Area {
    /// The salt of this area: the capture's salt plus 1, 2, or 3 + ring, wrapping.
    #[must_use]
    pub const fn salt(self, capture_salt: u32) -> u32 {
        let tag = match self {
            Area::OpenTable => 1,
            Area::LabelTable => 2,
            Area::Ring(ring) => ring.wrapping_add(3),
        };
        capture_salt.wrapping_add(tag)
    }
}

/// A CRC-32 (IEEE 802.3, reflected: the one of zlib, gzip, PNG and every standard library) whose set-up is paid once.
///
/// `crc32fast::Hasher::new` looks up the processor's features each time; cloning a prepared one does not.
#[derive(Clone, Debug)]
// In this order: what a record needs lies first.
#[repr(C)]
pub struct Checksum {
    #[cfg(target_arch = "x86_64")]
    folding: Option<crate::folding::Folding>,
    general: crc32fast::Hasher,
}

impl Default for Checksum {
    fn default() -> Self {
        Self::new()
    }
}

impl Checksum {
    /// Prepares a checksum. Costs a feature detection.
    #[must_use]
    pub fn new() -> Self {
        Self {
            general: crc32fast::Hasher::new(),
            #[cfg(target_arch = "x86_64")]
            folding: crate::folding::Folding::detect(),
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

    /// The eight words of a record or an open record that verifies: `others` behind the sequence, with the checksum where their crc field lies, in the
    /// upper half of the last. The sequence is made when no more than three multiplications are left to do.
    #[inline]
    #[must_use]
    pub fn seal(
        &self,
        salt: u32,
        sequence: impl FnOnce() -> u64,
        [b, c, d, e, f, g, h]: [u64; 7],
    ) -> [u64; 8] {
        const CRC_FIELD: u32 = 32;
        let h = u64::from(h as u32);
        let salted = [b, c, d, e, f, g, h | u64::from(salt) << CRC_FIELD];
        let (sequence, crc32) = self.of_words(sequence, salted);
        let sealed = h | u64::from(crc32) << CRC_FIELD;
        [sequence, b, c, d, e, f, g, sealed]
    }

    /// The first of eight words, and the CRC-32 of all.
    #[inline]
    fn of_words(&self, first: impl FnOnce() -> u64, others: [u64; 7]) -> (u64, u32) {
        #[cfg(target_arch = "x86_64")]
        if let Some(folding) = &self.folding {
            return folding.of(first, others);
        }
        let first = first();
        let [b, c, d, e, f, g, h] = others;
        (first, self.of_words_in_memory(first, b, c, d, e, f, g, h))
    }

    /// Out of line and by value, so that the words stay in registers where it is not called.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::RECORD_BYTES;

    /// The textbook, bit by bit.
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
        fn words_are_sealed_by_the_naive_one(words: [u64; 8], salt: u32) {
            let [first, others @ ..] = words;
            let mut expected: [u8; RECORD_BYTES] = bytemuck::cast(words);
            expected[RECORD_BYTES - 4..].copy_from_slice(&salt.to_le_bytes());
            let crc32 = naive(&expected);
            expected[RECORD_BYTES - 4..].copy_from_slice(&crc32.to_le_bytes());
            let checksum = Checksum::new();
            let sealed: [u8; RECORD_BYTES] = bytemuck::cast(checksum.seal(salt, || first, others));
            proptest::prop_assert_eq!(sealed, expected);
            // The way of processors without the multiplication.
            let [b, c, d, e, f, g, h] = others;
            let salted = u64::from(h as u32) | u64::from(salt) << 32;
            proptest::prop_assert_eq!(
                checksum.of_words_in_memory(first, b, c, d, e, f, g, salted),
                crc32
            );
        }

        #[test]
        fn equals_the_naive_one(bytes in proptest::collection::vec(0u8.., 0..300)) {
            proptest::prop_assert_eq!(Checksum::new().of(&[&bytes]), naive(&bytes));
        }
    }

    #[test]
    fn areas_never_share_a_salt() {
        let salts: Vec<u32> = [Area::OpenTable, Area::LabelTable]
            .into_iter()
            .chain((0..1024).map(Area::Ring))
            .map(|area| area.salt(u32::MAX - 5))
            .collect();
        let distinct: std::collections::BTreeSet<_> = salts.iter().collect();
        assert_eq!(distinct.len(), salts.len());
    }
}

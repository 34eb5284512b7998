//! One rule for every self-verifying item: the CRC-32 of all its bytes, computed while its crc field holds the salt of its area.
//!
//! The salt is random for each capture, so blocks that an older capture left in the same place never verify; CRC-32 is linear and
//! the salt is as wide as the checksum, so this is certain as long as the two salts differ, not merely likely. Each area of a
//! file (open table, label table, every ring) has its own salt, so a block that was moved from one area to another does not verify either.

use crate::record::RECORD_BYTES;

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
#[derive(Clone, Debug, Default)]
pub struct Checksum(crc32fast::Hasher);

impl Checksum {
    /// Prepares a checksum. Costs a feature detection.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The CRC-32 of the concatenation of `parts`.
    #[inline]
    #[must_use]
    pub fn of(&self, parts: &[&[u8]]) -> u32 {
        let mut hasher = self.0.clone();
        for part in parts {
            hasher.update(part);
        }
        hasher.finalize()
    }

    /// The CRC-32 of a record's 64 bytes with `salt` in place of the last four, where its crc field lies.
    #[inline]
    #[must_use]
    pub fn of_record(&self, mut bytes: [u8; RECORD_BYTES], salt: u32) -> u32 {
        if let Some(crc_field) = bytes.last_chunk_mut() {
            *crc_field = salt.to_le_bytes();
        }
        #[cfg(target_arch = "x86_64")]
        {
            let words: [u64; 8] = bytemuck::cast(bytes);
            let [a, b, c, d, e, f, g, h] = words;
            let [a, b, c, d] = [[a, b], [c, d], [e, f], [g, h]].map(bytemuck::cast);
            self.of_vectors(a, b, c, d)
        }
        #[cfg(not(target_arch = "x86_64"))]
        self.of(&[&bytes])
    }

    /// The CRC-32 of 64 bytes that come in the processor's vectors, so that they are stored as the checksum loads them, 16 bytes at a time.
    ///
    /// A 16-byte load of what two 8-byte stores just wrote has to wait until both have left the store buffer: measured, a quarter of the time
    /// of `record`. Never inlined and of the C calling convention, because only its arguments are certain to be in vector registers.
    #[cfg(target_arch = "x86_64")]
    #[inline(never)]
    #[expect(improper_ctypes_definitions, reason = "called from Rust only")]
    extern "C" fn of_vectors(&self, a: Vector, b: Vector, c: Vector, d: Vector) -> u32 {
        self.of(&[bytemuck::bytes_of(&[a, b, c, d])])
    }
}

#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::__m128i as Vector;

#[cfg(test)]
mod tests {
    use super::*;

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

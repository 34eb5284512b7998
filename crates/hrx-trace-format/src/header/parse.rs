//! An identity from bytes that may be anything: its checksum first, then every rule that a reader's arithmetic on offsets rests on.

use core::mem::offset_of;

use super::error::HeaderError;
use super::identity::Identity;
use crate::checksum::Checksum;
use crate::constants::{
    BLOCK_BYTES, CAPACITY_MAX, COUNTERS_BYTES, COUNTERS_OFFSET, IDENTITY_BYTES, MAGIC,
    NAME_BYTES_MAX, OPEN_SLOTS_MAX, OPEN_STRIDE_MAX, RECORD_BYTES, RING_COUNT_MAX, VERSION_MAJOR,
    WITNESS_BYTES,
};

impl Identity {
    /// Reads and verifies the identity at the start of `page`, the file's first [`PAGE_BYTES`](super::PAGE_BYTES) or as many as there are.
    ///
    /// # Errors
    /// Names the field, its offset, what was found and what was expected; see [`HeaderError`].
    pub fn parse(page: &[u8], checksum: &Checksum) -> Result<Self, HeaderError> {
        let short = HeaderError::Short {
            found: page.len() as u64,
            expected: COUNTERS_OFFSET,
        };
        // The magic before the size: where both are wrong, "not a trace" helps more than "cut short".
        let magic = *page.first_chunk::<8>().ok_or(short)?;
        if magic != MAGIC {
            return Err(classify(magic));
        }
        let space = page.get(..COUNTERS_OFFSET as usize).ok_or(short)?;
        let known = space
            .first_chunk::<{ IDENTITY_BYTES as usize }>()
            .ok_or(short)?;
        let identity: Identity = bytemuck::cast(*known);
        if identity.version_major != VERSION_MAJOR {
            return Err(HeaderError::Version {
                found_major: identity.version_major,
                found_minor: identity.version_minor,
            });
        }
        let size_error = HeaderError::IdentityBytes {
            found: identity.identity_bytes,
        };
        if identity.identity_bytes < IDENTITY_BYTES {
            return Err(size_error);
        }
        let whole = space
            .get(..identity.identity_bytes as usize)
            .ok_or(size_error)?;
        let crc_at = offset_of!(Identity, crc32);
        let after_crc = offset_of!(Identity, salt);
        let expected = checksum.of(&[
            whole.get(..crc_at).ok_or(size_error)?,
            &[0; 4],
            whole.get(after_crc..).ok_or(size_error)?,
        ]);
        if identity.crc32 != expected {
            return Err(HeaderError::Checksum {
                found: identity.crc32,
                expected,
            });
        }
        identity.check()?;
        Ok(identity)
    }

    /// Checks that sizes and offsets make sense: inside the file, aligned, in order, not overlapping.
    ///
    /// A damaged header has already failed its checksum. These rules guard against writers that get it wrong, and against forgers: a reader's
    /// arithmetic on offsets cannot overflow, and its memory stays bounded.
    fn check(&self) -> Result<(), HeaderError> {
        macro_rules! expect {
            ($field:ident, $holds:expr, $expected:literal) => {
                if !$holds {
                    return Err(HeaderError::Field {
                        field: stringify!($field),
                        offset: offset_of!(Identity, $field) as u64,
                        found: u64::from(self.$field),
                        expected: $expected,
                    });
                }
            };
        }
        let line = RECORD_BYTES as u64;
        let aligned = |offset: u64| offset.is_multiple_of(line);
        let ends_by = |start: u64, bytes: Option<u64>, limit: u64| {
            bytes
                .and_then(|bytes| start.checked_add(bytes))
                .is_some_and(|end| end <= limit)
        };
        let rings = u64::from(self.ring_count);
        expect!(
            capacity,
            (1..=CAPACITY_MAX).contains(&self.capacity),
            "1 to 2^46"
        );
        expect!(
            ring_count,
            (1..=RING_COUNT_MAX).contains(&self.ring_count),
            "1 to 1024"
        );
        expect!(
            open_slots,
            self.open_slots <= OPEN_SLOTS_MAX,
            "at most 65534"
        );
        expect!(
            open_stride,
            aligned(self.open_stride) && (line..=OPEN_STRIDE_MAX).contains(&self.open_stride),
            "a multiple of 64 from 64 to 4096"
        );
        expect!(
            name_bytes,
            self.name_bytes <= NAME_BYTES_MAX,
            "at most 16 MiB"
        );
        expect!(
            name_bytes,
            self.name_bytes.is_multiple_of(BLOCK_BYTES as u64),
            "a multiple of 64"
        );
        expect!(
            counters_offset,
            aligned(self.counters_offset) && self.counters_offset >= u64::from(self.identity_bytes),
            "a multiple of 64 after the identity"
        );
        expect!(
            witness_offset,
            self.witness_offset.is_multiple_of(WITNESS_BYTES as u64)
                && ends_by(
                    self.counters_offset,
                    Some(COUNTERS_BYTES as u64),
                    self.witness_offset
                ),
            "a multiple of 128 after the counters"
        );
        expect!(
            control_offset,
            aligned(self.control_offset)
                && ends_by(
                    self.witness_offset,
                    Some(WITNESS_BYTES as u64),
                    self.control_offset
                ),
            "a multiple of 64 after the witness"
        );
        expect!(
            control_stride,
            aligned(self.control_stride) && self.control_stride >= line,
            "a positive multiple of 64"
        );
        expect!(
            open_offset,
            aligned(self.open_offset)
                && ends_by(
                    self.control_offset,
                    self.control_stride.checked_mul(rings),
                    self.open_offset
                ),
            "a multiple of 64 after the control lines"
        );
        expect!(
            name_offset,
            aligned(self.name_offset)
                && ends_by(
                    self.open_offset,
                    self.open_stride.checked_mul(u64::from(self.open_slots)),
                    self.name_offset
                ),
            "a multiple of 64 after the open table"
        );
        expect!(
            ring_offset,
            aligned(self.ring_offset)
                && ends_by(self.name_offset, Some(self.name_bytes), self.ring_offset),
            "a multiple of 64 after the name table"
        );
        expect!(
            ring_stride,
            aligned(self.ring_stride)
                && ends_by(0, self.capacity.checked_mul(line), self.ring_stride),
            "a multiple of 64 that holds capacity records"
        );
        expect!(
            file_bytes,
            self.file_bytes <= i64::MAX as u64
                && ends_by(
                    self.ring_offset,
                    self.ring_stride.checked_mul(rings),
                    self.file_bytes
                ),
            "room for all rings"
        );
        expect!(
            attributes_bytes,
            self.attributes_bytes as usize <= self.attributes.len(),
            "at most the size of attributes"
        );
        Ok(())
    }
}

/// What a wrong magic says about the file.
fn classify(found: [u8; 8]) -> HeaderError {
    match found {
        [0, 0, 0, 0, 0, 0, 0, 0] => HeaderError::Unpublished,
        // CR LF became LF, LF became CR LF, or the high bit was lost; the letters always survive.
        [0x89 | 0x09, b'H', b'R', b'X', ..] => HeaderError::TextMode { found },
        _ => HeaderError::NotATrace { found },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constants::PAGE_BYTES;
    use crate::header::geometry::Geometry;
    use proptest::prelude::*;

    fn page_of(identity: Identity) -> Vec<u8> {
        let mut page = bytemuck::bytes_of(&identity.sealed(&Checksum::new())).to_vec();
        page.resize(PAGE_BYTES as usize, 0);
        page
    }

    fn parse(page: &[u8]) -> Result<Identity, HeaderError> {
        Identity::parse(page, &Checksum::new())
    }

    #[test]
    fn the_smallest_file() {
        let identity = Geometry::new(1).layout().unwrap();
        assert_eq!(identity.open_offset, 4096);
        assert_eq!(identity.name_offset, 4096 + (512 << 10));
        assert_eq!(identity.ring_offset, 4096 + (512 << 10) + (1 << 20));
        assert_eq!(identity.file_bytes, 8192 + (512 << 10) + (1 << 20));
        assert_eq!(
            parse(&page_of(identity)),
            Ok(identity.sealed(&Checksum::new()))
        );
    }

    proptest! {
        #[test]
        fn every_layout_is_accepted(
            capacity in 1..=CAPACITY_MAX, ring_count in 1..=RING_COUNT_MAX, open_slots in 0..=OPEN_SLOTS_MAX,
            name_bytes in 0..=NAME_BYTES_MAX,
        ) {
            let identity = Geometry { capacity, ring_count, open_slots, name_bytes }.layout().unwrap();
            prop_assert_eq!(parse(&page_of(identity)), Ok(identity.sealed(&Checksum::new())));
            let last = identity.ring_slot(ring_count - 1, capacity - 1);
            prop_assert!(last + RECORD_BYTES as u64 <= identity.file_bytes);
        }

        #[test]
        fn every_single_bit_flip_is_detected(bit in 0..IDENTITY_BYTES as usize * 8) {
            let mut page = page_of(Geometry::new(8).layout().unwrap());
            page[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(parse(&page).is_err());
        }

        #[test]
        fn any_bytes_are_survived(mut page in prop::collection::vec(0u8.., 0..2500), with_magic: bool) {
            if with_magic && page.len() >= 10 {
                page[..8].copy_from_slice(&MAGIC);
                page[8..10].copy_from_slice(&VERSION_MAJOR.to_le_bytes());
            }
            prop_assert!(parse(&page).is_err());
        }

        /// A forger can make the checksum hold, so the rules must hold without it.
        #[test]
        fn forged_offsets_never_overlap_or_overflow(field in 0usize..15, value: u64, small in 0u64..100_000, pick: bool) {
            let mut identity = Geometry::new(8).layout().unwrap();
            let value = if pick { value } else { small };
            match field {
                0 => identity.file_bytes = value,
                1 => identity.counters_offset = value,
                2 => identity.control_offset = value,
                3 => identity.control_stride = value,
                4 => identity.open_offset = value,
                5 => identity.name_offset = value,
                6 => identity.name_bytes = value,
                7 => identity.ring_offset = value,
                8 => identity.ring_stride = value,
                9 => identity.capacity = value,
                10 => identity.ring_count = value as u32,
                11 => identity.open_slots = value as u32,
                12 => identity.open_stride = value,
                13 => identity.witness_offset = value,
                _ => identity.attributes_bytes = value as u32,
            }
            if let Ok(parsed) = parse(&page_of(identity)) {
                prop_assert!(parsed.counters_offset + 128 <= parsed.witness_offset);
                prop_assert!(parsed.witness_offset + 128 <= parsed.control_offset);
                prop_assert!(parsed.control_line(parsed.ring_count - 1) + 64 <= parsed.open_offset);
                prop_assert!(parsed.open_slot(parsed.open_slots) <= parsed.name_offset);
                prop_assert!(parsed.name_offset + parsed.name_bytes <= parsed.ring_offset);
                prop_assert!(parsed.ring_slot(parsed.ring_count - 1, parsed.capacity) <= parsed.file_bytes);
            }
        }
    }

    #[test]
    fn errors_say_what_was_found() {
        let good = Geometry::new(8).layout().unwrap();
        let message = |page: &[u8]| parse(page).unwrap_err().to_string();
        assert_eq!(
            message(b""),
            "cut short: found 0 bytes, expected a header of at least 2048"
        );
        assert_eq!(
            message(&page_of(good)[..1500]),
            "cut short: found 1500 bytes, expected a header of at least 2048"
        );
        assert_eq!(
            message(&[0; 4096]),
            "no magic at offset 0: found zeroes, so the file's creation was cut short before anything was recorded"
        );
        assert_eq!(
            message(b"{\"traceEvents\":[]}"),
            "not a trace: at offset 0 found [7b, 22, 74, 72, 61, 63, 65, 45], expected the magic [89, 48, 52, 58, 0d, 0a, 1a, 0a]"
        );
        let mut text_mode = page_of(good);
        text_mode.remove(4);
        assert_eq!(
            message(&text_mode),
            "magic at offset 0 damaged as by a text-mode transfer: found [89, 48, 52, 58, 0a, 1a, 0a, 02], expected [89, 48, 52, 58, 0d, 0a, 1a, 0a]"
        );
        assert_eq!(
            message(&page_of(Identity {
                version_major: 1,
                version_minor: 0,
                ..good
            })),
            "format version at offset 8: found 1.0, expected 2.x: convert it with the hrx-convert of the version that recorded it"
        );
        assert_eq!(
            message(&page_of(Identity {
                identity_bytes: 4096,
                ..good
            })),
            "identity size at offset 12: found 4096, expected 1024 to 2048"
        );
        assert_eq!(
            message(&page_of(Identity {
                capacity: 0,
                ..good
            })),
            "header field capacity at offset 112: found 0, expected 1 to 2^46"
        );
        let mut flipped = page_of(good);
        flipped[200] ^= 1;
        assert!(message(&flipped).starts_with("header checksum at offset 16: found 0x"));
    }

    #[test]
    fn a_newer_minor_with_a_longer_identity_is_read() {
        let identity = Identity {
            version_minor: 9,
            identity_bytes: 1100,
            crc32: 0,
            ..Geometry::new(8).layout().unwrap()
        };
        let mut page = bytemuck::bytes_of(&identity).to_vec();
        page.resize(1100, 0x5A);
        let crc32 = Checksum::new().of(&[&page]);
        page[16..20].copy_from_slice(&crc32.to_le_bytes());
        page.resize(PAGE_BYTES as usize, 0);
        assert_eq!(parse(&page), Ok(Identity { crc32, ..identity }));
    }
}

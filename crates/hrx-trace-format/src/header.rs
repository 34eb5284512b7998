//! Page 0: who recorded and where everything lies (the identity, written once), and the counters that live on lines of their own.
//!
//! Invariants:
//! - The identity never changes once its magic is there; the magic is published last, so a file whose creation was cut short is not a trace.
//! - The identity verifies itself by CRC-32. Counters cannot (they change under the reader), so no counter is needed to believe a record.
//! - Every offset is derived from the ones before it, in [`Geometry::layout`], and stated in the identity: a reader takes them from there.

use bytemuck::{Pod, Zeroable};
use core::mem::{offset_of, size_of};

use crate::checksum::Checksum;
use crate::label::{BLOCK_BYTES, TABLE_BYTES_DEFAULT, TABLE_BYTES_MAX};
use crate::open::OPEN_SLOTS;
use crate::record::RECORD_BYTES;

/// The first bytes of every file, after PNG's habit: a byte above 127 and CR LF, ^Z, LF, so that a text-mode transfer is recognised.
pub const MAGIC: [u8; 8] = [0x89, b'H', b'R', b'X', b'\r', b'\n', 0x1A, b'\n'];
/// Readers reject any other major version.
pub const VERSION_MAJOR: u16 = 1;
/// Readers accept any minor version; a newer one may use what is unused or unknown to an older reader, and nothing else.
pub const VERSION_MINOR: u16 = 0;

/// Size of an operating system page on the machines we know; areas begin on such boundaries.
pub const PAGE_BYTES: u64 = 4096;
/// Where the capture's counters lie: behind the space kept for the identity.
pub const COUNTERS_OFFSET: u64 = 2048;
/// Between two control lines: two cache lines, because processors prefetch them in pairs.
pub const CONTROL_STRIDE: u64 = 128;
/// The most rings a file can have.
pub const RING_COUNT_MAX: u32 = 1024;
/// The most records a ring can have: 2^46. Keeps every sum of offsets far from overflow.
pub const CAPACITY_MAX: u64 = 1 << 46;

/// `Counters::state` while the capture runs, and for ever if the writer dies.
pub const STATE_RECORDING: u64 = u64::from_le_bytes(*b"RECORDIN");
/// `Counters::state` after a clean finish.
pub const STATE_FINISHED: u64 = u64::from_le_bytes(*b"FINISHED");

/// Who recorded, when, and where in the file everything lies. Offsets are from the start of the file, in bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Identity {
    /// [`MAGIC`].
    pub magic: [u8; 8],
    /// [`VERSION_MAJOR`].
    pub version_major: u16,
    /// [`VERSION_MINOR`].
    pub version_minor: u16,
    /// Size of the identity; the checksum covers this many bytes. A newer minor may make it larger.
    pub identity_bytes: u32,
    /// CRC-32 of the identity, computed while this field is 0.
    pub crc32: u32,
    /// Random for each capture; see [`crate::checksum`].
    pub salt: u32,
    /// Size of the whole file.
    pub file_bytes: u64,
    /// Where [`Counters`] lie.
    pub counters_offset: u64,
    /// Where ring 0's control line lies: one u64, `claimed`, the number of tickets that the ring has given out.
    pub control_offset: u64,
    /// From one ring's control line to the next.
    pub control_stride: u64,
    /// Where the open table lies.
    pub open_offset: u64,
    /// Where the label table lies.
    pub label_offset: u64,
    /// Size of the label table.
    pub label_bytes: u64,
    /// Where ring 0 lies.
    pub ring_offset: u64,
    /// From one ring to the next.
    pub ring_stride: u64,
    /// Records in each ring.
    pub capacity: u64,
    /// Number of rings.
    pub ring_count: u32,
    /// Slots of the open table.
    pub open_slots: u32,
    /// The capture's start by CLOCK_MONOTONIC, in nanoseconds: what all times of the file are relative to.
    pub epoch_monotonic_ns: u64,
    /// The same moment by CLOCK_REALTIME, in nanoseconds since 1970 (UTC).
    pub epoch_realtime_ns: u64,
    /// The same moment by CLOCK_BOOTTIME (as CLOCK_MONOTONIC, but it runs while the machine sleeps), in nanoseconds.
    pub epoch_boottime_ns: u64,
    /// The kernel's random id of this boot, as 16 bytes; zeroes: unknown. Monotonic times compare only within one boot.
    pub boot_id: [u8; 16],
    /// Random id of this capture.
    pub capture_id: [u8; 16],
    /// When the process started, in clock ticks since boot (proc(5), /proc/pid/stat, field 22); 0: unknown. With `process_id` it names one process of a boot.
    pub process_start_ticks: u64,
    /// Inode of the process's PID namespace (/proc/self/ns/pid); 0: unknown. `process_id` means something only in it.
    pub pid_namespace: u64,
    /// The process, as it sees itself.
    pub process_id: u32,
    /// Bytes used of `attributes`.
    pub attributes_bytes: u32,
    /// Name of the host, UTF-8, filled up with zeroes.
    pub host_name: [u8; 64],
    /// Name of the program, UTF-8, filled up with zeroes.
    pub program: [u8; 64],
    /// What the program says of itself (rank, attempt, version …): `key=value` lines, each ended by LF, UTF-8.
    pub attributes: [u8; 704],
}

/// Size of the identity that this version writes.
pub const IDENTITY_BYTES: u32 = 1024;

const _: () = {
    assert!(size_of::<Identity>() == IDENTITY_BYTES as usize);
    assert!(IDENTITY_BYTES as u64 <= COUNTERS_OFFSET);
    // What a reader must know before it can verify anything else.
    assert!(offset_of!(Identity, magic) == 0);
    assert!(offset_of!(Identity, version_major) == 8);
    assert!(offset_of!(Identity, identity_bytes) == 12);
    assert!(offset_of!(Identity, crc32) == 16);
};

/// The capture's counters: they change under the reader, and no record needs them to be right.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Counters {
    /// [`STATE_RECORDING`] or [`STATE_FINISHED`]; anything else is damage.
    pub state: u64,
    /// When the capture was finished, in nanoseconds since its start; 0 before.
    pub finished_ns: u64,
    /// Events overwritten in all rings. A cache for simple tools, exact after a finish or a sync; readers derive it from `claimed`.
    pub dropped: u64,
    /// Events that began before the capture: not recorded, not dropped.
    pub rejected: u64,
    /// Regions that found the open table full: recorded when they completed, not shown while they ran.
    pub open_refused: u64,
    /// Labels that found no room: their regions go by the name of region without a label.
    pub labels_refused: u64,
    /// Unused: a writer clears it, a reader ignores it.
    pub unused: [u64; 2],
}

const _: () = assert!(size_of::<Counters>() == 64);

/// What a creator chooses; everything else of the layout follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Records in each ring, 1 to [`CAPACITY_MAX`].
    pub capacity: u64,
    /// Number of rings, 1 to [`RING_COUNT_MAX`].
    pub ring_count: u32,
    /// Size of the label table, rounded up to a page; up to [`TABLE_BYTES_MAX`].
    pub label_bytes: u64,
}

impl Geometry {
    /// One ring of `capacity` records and a label table of the usual size.
    #[must_use]
    pub const fn new(capacity: u64) -> Self {
        Self {
            capacity,
            ring_count: 1,
            label_bytes: TABLE_BYTES_DEFAULT,
        }
    }

    /// An identity with version, sizes and offsets filled in, and the rest zero. None if a value is out of its range.
    #[must_use]
    pub fn layout(self) -> Option<Identity> {
        if self.capacity == 0
            || self.capacity > CAPACITY_MAX
            || self.ring_count == 0
            || self.ring_count > RING_COUNT_MAX
            || self.label_bytes > TABLE_BYTES_MAX
        {
            return None;
        }
        let rings = u64::from(self.ring_count);
        let page_up = |bytes: u64| bytes.checked_next_multiple_of(PAGE_BYTES);
        let control_offset = COUNTERS_OFFSET.checked_add(CONTROL_STRIDE)?;
        let open_offset = page_up(control_offset.checked_add(CONTROL_STRIDE.checked_mul(rings)?)?)?;
        let open_bytes = u64::from(OPEN_SLOTS).checked_mul(RECORD_BYTES as u64)?;
        let label_offset = page_up(open_offset.checked_add(open_bytes)?)?;
        let label_bytes = page_up(self.label_bytes)?;
        let ring_offset = label_offset.checked_add(label_bytes)?;
        let ring_stride = page_up(self.capacity.checked_mul(RECORD_BYTES as u64)?)?;
        let file_bytes = ring_offset.checked_add(ring_stride.checked_mul(rings)?)?;
        Some(Identity {
            magic: MAGIC,
            version_major: VERSION_MAJOR,
            version_minor: VERSION_MINOR,
            identity_bytes: IDENTITY_BYTES,
            file_bytes,
            counters_offset: COUNTERS_OFFSET,
            control_offset,
            control_stride: CONTROL_STRIDE,
            open_offset,
            label_offset,
            label_bytes,
            ring_offset,
            ring_stride,
            capacity: self.capacity,
            ring_count: self.ring_count,
            open_slots: OPEN_SLOTS,
            ..Identity::zeroed()
        })
    }
}

/// Why the first bytes of a file are not an identity that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// Too few bytes for a header.
    #[error("cut short: found {found} bytes, expected a header of at least {expected}")]
    Short {
        /// Bytes there are.
        found: u64,
        /// Bytes needed.
        expected: u64,
    },
    /// The magic is all zeroes: the creation of the file was cut short, or its first page was never written back.
    #[error(
        "no magic at offset 0: found zeroes, so the file's creation was cut short before anything was recorded"
    )]
    Unpublished,
    /// The magic with its line ends changed.
    #[error(
        "magic at offset 0 damaged as by a text-mode transfer: found {found:02x?}, expected {MAGIC:02x?}"
    )]
    TextMode {
        /// What stands in the magic's place.
        found: [u8; 8],
    },
    /// Some other file.
    #[error("not a trace: at offset 0 found {found:02x?}, expected the magic {MAGIC:02x?}")]
    NotATrace {
        /// What stands in the magic's place.
        found: [u8; 8],
    },
    /// A major version that this reader does not know.
    #[error(
        "format version at offset 8: found {found_major}.{found_minor}, expected {VERSION_MAJOR}.x: convert it with a newer hrx-convert"
    )]
    Version {
        /// Its major version.
        found_major: u16,
        /// Its minor version.
        found_minor: u16,
    },
    /// The identity is of an impossible size.
    #[error(
        "identity size at offset 12: found {found}, expected {IDENTITY_BYTES} to {COUNTERS_OFFSET}"
    )]
    IdentityBytes {
        /// What the file says.
        found: u32,
    },
    /// The identity is damaged.
    #[error(
        "header checksum at offset 16: found {found:#010x}, expected {expected:#010x} for the bytes there"
    )]
    Checksum {
        /// What the file says.
        found: u32,
        /// What its bytes give.
        expected: u32,
    },
    /// The identity verifies and yet makes no sense: not written by a writer that follows the specification.
    #[error("header field {field} at offset {offset}: found {found}, expected {expected}")]
    Field {
        /// The field's name.
        field: &'static str,
        /// Where it lies.
        offset: u64,
        /// What the file says.
        found: u64,
        /// What would make sense.
        expected: &'static str,
    },
}

impl Identity {
    /// The identity with its checksum computed.
    #[must_use]
    pub fn sealed(mut self, checksum: &Checksum) -> Self {
        self.crc32 = 0;
        self.crc32 = checksum.of(&[bytemuck::bytes_of(&self)]);
        self
    }

    /// Reads and verifies the identity at the start of `page`, the file's first [`PAGE_BYTES`] or as many as there are.
    ///
    /// # Errors
    /// Names the field, its offset, what was found and what was expected; see [`HeaderError`].
    pub fn parse(page: &[u8], checksum: &Checksum) -> Result<Self, HeaderError> {
        let short = HeaderError::Short {
            found: page.len() as u64,
            expected: COUNTERS_OFFSET,
        };
        // The magic before the size: "not a trace" helps more than "cut short" where both are true.
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
        let behind_crc = offset_of!(Identity, salt);
        let expected = checksum.of(&[
            whole.get(..crc_at).ok_or(size_error)?,
            &[0; 4],
            whole.get(behind_crc..).ok_or(size_error)?,
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

    /// Whether sizes and offsets make sense: inside the file, aligned, in order, not overlapping.
    ///
    /// A damaged header fails its checksum before this; these rules guard against writers (and forgers) that get it wrong, so that
    /// a reader's arithmetic on offsets cannot overflow and its memory stays bounded.
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
            self.open_slots < u32::from(u8::MAX),
            "at most 254"
        );
        expect!(
            label_bytes,
            self.label_bytes <= TABLE_BYTES_MAX,
            "at most 16 MiB"
        );
        expect!(
            label_bytes,
            self.label_bytes.is_multiple_of(BLOCK_BYTES as u64),
            "a multiple of 64"
        );
        expect!(
            counters_offset,
            aligned(self.counters_offset) && self.counters_offset >= u64::from(self.identity_bytes),
            "a multiple of 64 behind the identity"
        );
        expect!(
            control_offset,
            aligned(self.control_offset)
                && ends_by(self.counters_offset, Some(line), self.control_offset),
            "a multiple of 64 behind the counters"
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
            "a multiple of 64 behind the control lines"
        );
        expect!(
            label_offset,
            aligned(self.label_offset)
                && ends_by(
                    self.open_offset,
                    u64::from(self.open_slots).checked_mul(line),
                    self.label_offset
                ),
            "a multiple of 64 behind the open table"
        );
        expect!(
            ring_offset,
            aligned(self.ring_offset)
                && ends_by(self.label_offset, Some(self.label_bytes), self.ring_offset),
            "a multiple of 64 behind the label table"
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

    /// Where ring `ring`'s control line lies.
    #[must_use]
    pub const fn control_line(&self, ring: u32) -> u64 {
        self.control_offset
            .saturating_add(self.control_stride.saturating_mul(ring as u64))
    }

    /// Where slot `slot` of the open table lies.
    #[must_use]
    pub const fn open_slot(&self, slot: u32) -> u64 {
        self.open_offset
            .saturating_add((RECORD_BYTES as u64).saturating_mul(slot as u64))
    }

    /// Where slot `slot` of ring `ring` lies.
    #[must_use]
    pub const fn ring_slot(&self, ring: u32, slot: u64) -> u64 {
        self.ring_offset
            .saturating_add(self.ring_stride.saturating_mul(ring as u64))
            .saturating_add((RECORD_BYTES as u64).saturating_mul(slot))
    }

    /// The host's name; empty if unknown. Bytes that are not UTF-8 end it.
    #[must_use]
    pub fn host_name(&self) -> &str {
        text(&self.host_name)
    }

    /// The program's name; empty if unknown. Bytes that are not UTF-8 end it.
    #[must_use]
    pub fn program(&self) -> &str {
        text(&self.program)
    }

    /// What the program says of itself, pair by pair. A line without `=` is passed over.
    pub fn attributes(&self) -> impl Iterator<Item = (&str, &str)> {
        let used = self
            .attributes
            .get(..self.attributes_bytes as usize)
            .unwrap_or_default();
        text(used)
            .split('\n')
            .filter_map(|line| line.split_once('='))
    }
}

/// The UTF-8 text before the first zero byte.
fn text(bytes: &[u8]) -> &str {
    let bytes = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    let valid = match core::str::from_utf8(bytes) {
        Ok(_) => bytes.len(),
        Err(error) => error.valid_up_to(),
    };
    core::str::from_utf8(bytes.get(..valid).unwrap_or_default()).unwrap_or_default()
}

/// What a wrong magic tells.
fn classify(found: [u8; 8]) -> HeaderError {
    match found {
        [0, 0, 0, 0, 0, 0, 0, 0] => HeaderError::Unpublished,
        // CR LF became LF, LF became CR LF, or the high bit was lost; the letters always come through.
        [0x89 | 0x09, b'H', b'R', b'X', ..] => HeaderError::TextMode { found },
        _ => HeaderError::NotATrace { found },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        assert_eq!(identity.label_offset, 8192);
        assert_eq!(identity.ring_offset, 8192 + 65536);
        assert_eq!(identity.file_bytes, 8192 + 65536 + 4096);
        assert_eq!(
            parse(&page_of(identity)),
            Ok(identity.sealed(&Checksum::new()))
        );
    }

    #[test]
    fn what_cannot_be_laid_out() {
        let fine = Geometry::new(8);
        for wrong in [
            Geometry {
                capacity: 0,
                ..fine
            },
            Geometry {
                capacity: CAPACITY_MAX + 1,
                ..fine
            },
            Geometry {
                capacity: u64::MAX,
                ..fine
            },
            Geometry {
                ring_count: 0,
                ..fine
            },
            Geometry {
                ring_count: RING_COUNT_MAX + 1,
                ..fine
            },
            Geometry {
                label_bytes: TABLE_BYTES_MAX + 1,
                ..fine
            },
        ] {
            assert_eq!(wrong.layout(), None, "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn every_layout_is_accepted(
            capacity in 1..=CAPACITY_MAX, ring_count in 1..=RING_COUNT_MAX, label_bytes in 0..=TABLE_BYTES_MAX,
        ) {
            let identity = Geometry { capacity, ring_count, label_bytes }.layout().unwrap();
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

        /// A forger can make the checksum hold: the rules behind it must hold on their own.
        #[test]
        fn forged_offsets_never_overlap_or_overflow(field in 0usize..13, value: u64, small in 0u64..100_000, pick: bool) {
            let mut identity = Geometry::new(8).layout().unwrap();
            let value = if pick { value } else { small };
            match field {
                0 => identity.file_bytes = value,
                1 => identity.counters_offset = value,
                2 => identity.control_offset = value,
                3 => identity.control_stride = value,
                4 => identity.open_offset = value,
                5 => identity.label_offset = value,
                6 => identity.label_bytes = value,
                7 => identity.ring_offset = value,
                8 => identity.ring_stride = value,
                9 => identity.capacity = value,
                10 => identity.ring_count = value as u32,
                11 => identity.open_slots = value as u32,
                _ => identity.attributes_bytes = value as u32,
            }
            if let Ok(parsed) = parse(&page_of(identity)) {
                prop_assert!(parsed.control_line(parsed.ring_count - 1) + 64 <= parsed.open_offset);
                prop_assert!(parsed.open_slot(parsed.open_slots) <= parsed.label_offset);
                prop_assert!(parsed.label_offset + parsed.label_bytes <= parsed.ring_offset);
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
            "magic at offset 0 damaged as by a text-mode transfer: found [89, 48, 52, 58, 0a, 1a, 0a, 01], expected [89, 48, 52, 58, 0d, 0a, 1a, 0a]"
        );
        assert_eq!(
            message(&page_of(Identity {
                version_major: 2,
                version_minor: 7,
                ..good
            })),
            "format version at offset 8: found 2.7, expected 1.x: convert it with a newer hrx-convert"
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
            "header field capacity at offset 96: found 0, expected 1 to 2^46"
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

    #[test]
    fn texts() {
        let mut identity = Geometry::new(8).layout().unwrap();
        identity.host_name[..5].copy_from_slice(b"node7");
        identity.program = [b'x'; 64];
        let attributes = b"rank=3\nversion=1.2=b\nnonsense\n";
        identity.attributes[..attributes.len()].copy_from_slice(attributes);
        identity.attributes_bytes = attributes.len() as u32;
        assert_eq!(identity.host_name(), "node7");
        assert_eq!(identity.program().len(), 64);
        assert_eq!(
            identity.attributes().collect::<Vec<_>>(),
            [("rank", "3"), ("version", "1.2=b")]
        );
        identity.host_name[2] = 0xFF;
        assert_eq!(identity.host_name(), "no");
    }
}

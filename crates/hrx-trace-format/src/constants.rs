//! Every constant of the format, in the order of FORMAT.md's section 4. The items below derive their layout from these and from nothing else;
//! each item re-exports its own.

/// The first bytes of every file, in PNG's manner: a byte above 127, letters, CR LF, ^Z, LF. A text-mode transfer changes them recognisably.
pub const MAGIC: [u8; 8] = [0x89, b'H', b'R', b'X', b'\r', b'\n', 0x1A, b'\n'];
/// Readers reject any other major version.
pub const VERSION_MAJOR: u16 = 1;
/// Readers accept any minor version. A newer one may use what is unused in an older one or unknown to it, and nothing else.
pub const VERSION_MINOR: u16 = 0;

/// Size of the identity that this version writes.
pub const IDENTITY_BYTES: u32 = 1024;
/// Where the capture's counters lie: after the space kept for the identity.
pub const COUNTERS_OFFSET: u64 = 2048;
/// Distance between two control lines: two cache lines, because processors prefetch them in pairs.
pub const CONTROL_STRIDE: u64 = 128;
/// Tables and rings begin at multiples of this, the smallest page of the operating systems that the recorder runs on.
pub const PAGE_BYTES: u64 = 4096;

/// Size of a record, an open record and a label block. None of them straddles a cache line, a disk sector or a page.
pub const RECORD_BYTES: usize = 64;
/// Size of a block of the label table.
pub const BLOCK_BYTES: usize = RECORD_BYTES;
/// Size of a label entry's header: crc32 u32, label_id u32, text_bytes u32.
pub const ENTRY_HEADER_BYTES: usize = 12;
/// The longest text of a label, in bytes of UTF-8.
pub const TEXT_BYTES_MAX: usize = 16 << 10;
/// The default size of the label table.
pub const TABLE_BYTES_DEFAULT: u64 = 64 << 10;
/// The largest label table.
pub const TABLE_BYTES_MAX: u64 = 16 << 20;

/// Slots of the open table. Bounded by `Record::open_slot`, a u8 in which 0 means none.
pub const OPEN_SLOTS: u32 = 64;
/// The most rings a file can have.
pub const RING_COUNT_MAX: u32 = 1024;
/// The most records a ring can have: 2^46. Keeps every sum of offsets far from overflow.
pub const CAPACITY_MAX: u64 = 1 << 46;
/// The most tickets a ring can have given out: the sum of all rings still fits a u64. Ten million events a second reach it in 57 years, so a larger
/// number is damage.
pub const SEQUENCE_MAX: u64 = u64::MAX / RING_COUNT_MAX as u64;

/// `Counters::state` while the capture runs. It stays if the writer dies.
pub const STATE_RECORDING: u64 = u64::from_le_bytes(*b"RECORDIN");
/// `Counters::state` after a clean finish.
pub const STATE_FINISHED: u64 = u64::from_le_bytes(*b"FINISHED");

/// The upper half of the sequence word of an open slot that holds a region. In a hex dump it reads `OPEN`.
pub const SEQUENCE_OPEN: u64 = u64::from_le_bytes(*b"\0\0\0\0OPEN");
/// The sequence word of an open slot that a thread has taken and not yet filled. `begin` has not returned, so there is nothing to show.
pub const SEQUENCE_TAKEN: u64 = u64::MAX;

/// A completed region.
pub const KIND_REGION: u16 = 0;
/// A region that is running.
pub const KIND_OPEN: u16 = 1;

/// The region failed.
pub const FLAG_FAILED: u8 = 1;
/// A value did not fit its field; the field holds the largest that fits.
pub const FLAG_SATURATED: u8 = 2;

/// What every output says of its times.
pub const MEASUREMENT: &str = "host-observed synchronized region latency; not device timestamps";
/// The name of an event that was recorded without a label.
pub const UNLABELLED: &str = "native region";
/// The names of lanes 0 to 4. Any other number is a lane of its own.
pub const LANE_NAMES: [&str; 5] = ["upload", "compute", "download", "NPU", "host"];

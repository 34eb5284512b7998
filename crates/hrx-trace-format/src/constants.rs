//! Every constant of the format, in the order of FORMAT.md's section 4. The items below derive their layout from these and from nothing else;
//! each item re-exports its own.

/// The first bytes of every file, in PNG's manner: a byte above 127, letters, CR LF, ^Z, LF. A text-mode transfer changes them recognisably.
pub const MAGIC: [u8; 8] = [0x89, b'H', b'R', b'X', b'\r', b'\n', 0x1A, b'\n'];
/// Readers reject any other major version.
pub const VERSION_MAJOR: u16 = 2;
/// Readers accept any minor version. A newer one may use what is unused in an older one or unknown to it, and nothing else.
pub const VERSION_MINOR: u16 = 0;

/// Size of the identity that this version writes.
pub const IDENTITY_BYTES: u32 = 1024;
/// Where the capture's counters lie: after the space kept for the identity.
pub const COUNTERS_OFFSET: u64 = 2048;
/// Size of the counters: two cache lines.
pub const COUNTERS_BYTES: usize = 128;
/// Where the witness lies: a disk sector of its own, so that no page of the dying process is written with it.
pub const WITNESS_OFFSET: u64 = 2560;
/// Size of the witness. At a multiple of itself, it never straddles a disk sector.
pub const WITNESS_BYTES: usize = 128;
/// Where the control lines lie.
pub const CONTROL_OFFSET: u64 = 3072;
/// Distance between two control lines: two cache lines, because processors prefetch them in pairs.
pub const CONTROL_STRIDE: u64 = 128;
/// Tables and rings begin at multiples of this, the smallest page of the operating systems that the recorder runs on.
pub const PAGE_BYTES: u64 = 4096;

/// Size of a record, of a line of an open slot and of a name block. None of them straddles a cache line, a disk sector or a page.
pub const RECORD_BYTES: usize = 64;
/// Size of an open slot: eight lines, a disk sector.
pub const OPEN_STRIDE: u64 = 512;
/// The largest open slot.
pub const OPEN_STRIDE_MAX: u64 = 4096;
/// The default number of open slots.
pub const OPEN_SLOTS_DEFAULT: u32 = 1024;
/// The most open slots. Bounded by `Record::open_slot`, a u16 in which 0 and [`OPEN_SLOT_NONE`] mean none.
pub const OPEN_SLOTS_MAX: u32 = 65_534;
/// Size of a block of the name table.
pub const BLOCK_BYTES: usize = RECORD_BYTES;
/// Size of a name entry's header.
pub const ENTRY_HEADER_BYTES: usize = 28;
/// The longest text of a name, in bytes of UTF-8.
pub const TEXT_BYTES_MAX: usize = 16 << 10;
/// The default size of the name table.
pub const NAME_BYTES_DEFAULT: u64 = 1 << 20;
/// The largest name table.
pub const NAME_BYTES_MAX: u64 = 16 << 20;

/// The most rings a file can have.
pub const RING_COUNT_MAX: u32 = 1024;
/// The most records a ring can have: 2^46. Keeps every sum of offsets far from overflow.
pub const CAPACITY_MAX: u64 = 1 << 46;
/// The most tickets a ring can have given out: the sum of all rings, and a ring's number with a ticket, still fit a u64. Ten million events a second
/// reach it in 57 years, so a larger number is damage.
pub const SEQUENCE_MAX: u64 = u64::MAX / RING_COUNT_MAX as u64;

/// `Counters::state` while the capture runs. It stays if the writer dies.
pub const STATE_RECORDING: u64 = u64::from_le_bytes(*b"RECORDIN");
/// `Counters::state` after a clean finish.
pub const STATE_FINISHED: u64 = u64::from_le_bytes(*b"FINISHED");
/// `Counters::state` once the process began to exit without having finished.
pub const STATE_LEFT_BY_EXIT: u64 = u64::from_le_bytes(*b"LEFTEXIT");

/// The upper half of the sequence word of an open slot that holds a region. In a hex dump it reads `OPEN`.
pub const SEQUENCE_OPEN: u64 = u64::from_le_bytes(*b"\0\0\0\0OPEN");
/// The sequence word of an open slot that a thread has taken and not yet filled. `begin` has not returned, so there is nothing to show.
pub const SEQUENCE_TAKEN: u64 = u64::MAX;
/// `open_slot` of a region that found the open table full, and of an argument whose event holds no slot.
pub const OPEN_SLOT_NONE: u16 = u16::MAX;

/// A completed region.
pub const KIND_REGION: u8 = 0;
/// A region that is running. Only in the open table.
pub const KIND_OPEN: u8 = 1;
/// Something happened at a moment.
pub const KIND_MARK: u8 = 2;
/// A sample of a number.
pub const KIND_VALUE: u8 = 3;
/// A key and a value of an event, or a part of it.
pub const KIND_ARGUMENT: u8 = 4;
/// What changed about a running region.
pub const KIND_AMENDMENT: u8 = 5;

/// The region failed.
pub const FLAG_FAILED: u8 = 1;
/// A value did not fit its field; the field holds the largest that fits. Of an argument: its text was cut.
pub const FLAG_SATURATED: u8 = 2;
/// The region was cancelled, which is no failure.
pub const FLAG_CANCELLED: u8 = 4;
/// The event has arguments, in records of their own.
pub const FLAG_ARGUMENTS: u8 = 8;
/// The region is open, and waits.
pub const FLAG_WAITING: u8 = 16;

/// An unsigned number of 8 bytes.
pub const ARGUMENT_U64: u8 = 1;
/// A signed number of 8 bytes.
pub const ARGUMENT_I64: u8 = 2;
/// A number of 8 bytes, IEEE 754 binary64.
pub const ARGUMENT_F64: u8 = 3;
/// One byte, 0 or 1.
pub const ARGUMENT_BOOL: u8 = 4;
/// Text, in as many parts as it takes.
pub const ARGUMENT_TEXT: u8 = 5;
/// Bytes of an argument's value in one record.
pub const CONTENT_BYTES: usize = 26;
/// The longest text of an argument, in bytes of UTF-8: ten parts.
pub const ARGUMENT_TEXT_BYTES_MAX: usize = 256;

/// Names events.
pub const NAME_LABEL: u8 = 1;
/// Names a lane.
pub const NAME_LANE: u8 = 2;
/// Names a thread.
pub const NAME_THREAD: u8 = 3;
/// Names arguments.
pub const NAME_KEY: u8 = 4;
/// Names a group of names: a domain, a category, a device.
pub const NAME_GROUP: u8 = 5;
/// The first lane that a writer gives out by name: 2^31. A number that a program chooses itself saturates one below.
pub const LANE_NAMED_FIRST: u32 = 1 << 31;

/// Linux's CLOCK_MONOTONIC.
pub const CLOCK_MONOTONIC: u32 = 1;

/// The first word of a witness.
pub const WITNESS_WORD: u64 = u64::from_le_bytes(*b"WITNESS2");
/// The process exited.
pub const CAUSE_EXIT: u8 = 1;
/// A signal ended the process.
pub const CAUSE_SIGNAL: u8 = 2;
/// The process replaced its program.
pub const CAUSE_EXEC: u8 = 3;

/// What every output says of its times.
pub const MEASUREMENT: &str = "host-observed synchronized region latency; not device timestamps";
/// The name of an event that was recorded without a label.
pub const UNLABELLED: &str = "native region";
/// The names of lanes 0 to 4. Any other number is a lane of its own.
pub const LANE_NAMES: [&str; 5] = ["upload", "compute", "download", "NPU", "host"];

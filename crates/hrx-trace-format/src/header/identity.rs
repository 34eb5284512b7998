//! The identity: who recorded, when, and where in the file everything lies. Written once, at the start of the file.

use bytemuck::{Pod, Zeroable};
use core::mem::offset_of;

use crate::checksum::Checksum;
use crate::constants::{BLOCK_BYTES, COUNTERS_OFFSET, IDENTITY_BYTES, RECORD_BYTES};

/// Who recorded, when, and where in the file everything lies. Offsets are from the start of the file, in bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Identity {
    /// [`MAGIC`](super::MAGIC).
    pub magic: [u8; 8],
    /// [`VERSION_MAJOR`](super::VERSION_MAJOR).
    pub version_major: u16,
    /// [`VERSION_MINOR`](super::VERSION_MINOR).
    pub version_minor: u16,
    /// Size of the identity; the checksum covers this many bytes. A newer minor may make it larger.
    pub identity_bytes: u32,
    /// CRC-32 of the identity, computed while this field is 0.
    pub crc32: u32,
    /// Random for each capture; see [`crate::checksum`].
    pub salt: u32,
    /// Size of the whole file.
    pub file_bytes: u64,
    /// Where the [`Counters`](super::Counters) lie.
    pub counters_offset: u64,
    /// Where the [`Witness`](crate::Witness) lies.
    pub witness_offset: u64,
    /// Where ring 0's control line lies: one u64, `claimed`, the number of tickets the ring has given out.
    pub control_offset: u64,
    /// Distance from one ring's control line to the next.
    pub control_stride: u64,
    /// Where the open table lies.
    pub open_offset: u64,
    /// Size of an open slot, and distance from one to the next: 64 to 4096, a multiple of 64.
    pub open_stride: u64,
    /// Where the name table lies.
    pub name_offset: u64,
    /// Size of the name table.
    pub name_bytes: u64,
    /// Where ring 0 lies.
    pub ring_offset: u64,
    /// Distance from one ring to the next.
    pub ring_stride: u64,
    /// Records in each ring.
    pub capacity: u64,
    /// Number of rings.
    pub ring_count: u32,
    /// Slots of the open table.
    pub open_slots: u32,
    /// The capture's start by CLOCK_MONOTONIC, in nanoseconds. All times in the file are relative to it.
    pub epoch_monotonic_ns: u64,
    /// The same moment by CLOCK_REALTIME, in nanoseconds since 1970 (UTC).
    pub epoch_realtime_ns: u64,
    /// The same moment by CLOCK_BOOTTIME (CLOCK_MONOTONIC that also runs while the machine sleeps), in nanoseconds.
    pub epoch_boottime_ns: u64,
    /// The three clocks were read within this many nanoseconds; 2^32 - 1: at least that.
    pub epoch_bracket_ns: u32,
    /// The clock of the file's times: [`CLOCK_MONOTONIC`](super::CLOCK_MONOTONIC). Of any other, a reader knows only that its times count from the start.
    pub clock: u32,
    /// CLOCK_MONOTONIC of the process's time namespace minus the machine's own. [`Identity::monotonic_offset`] says whether it is known.
    pub monotonic_offset_ns: i64,
    /// Inode of the process's time namespace (/proc/self/ns/time); 0: unknown, or the kernel has none.
    pub time_namespace: u64,
    /// The kernel's random id of this boot, as 16 bytes; all zero: unknown. Monotonic times compare only within one boot.
    pub boot_id: [u8; 16],
    /// Random id of this capture.
    pub capture_id: [u8; 16],
    /// When the process started, in clock ticks since boot (proc(5), /proc/pid/stat, field 22); 0: unknown. With `process_id` it names one process of a boot.
    pub process_start_ticks: u64,
    /// Inode of the process's PID namespace (/proc/self/ns/pid); 0: unknown. `process_id` means something only in it.
    pub pid_namespace: u64,
    /// The process, as it sees itself.
    pub process_id: u32,
    /// How many bytes of `attributes` are used.
    pub attributes_bytes: u32,
    /// [`IDENTITY_OFFSET_KNOWN`]. The other bits are unused.
    pub identity_flags: u32,
    /// Bits 4 to 35 of the address at which the process's stack began (proc(5), /proc/pid/stat, field 28); 0: unknown. It differs after each exec, since the
    /// kernel chooses it at random.
    pub stack_start: u32,
    /// Name of the host, UTF-8, padded with zeroes.
    pub host_name: [u8; 64],
    /// Name of the program, UTF-8, padded with zeroes.
    pub program: [u8; 64],
    /// What the program says about itself (rank, attempt, version …): `key=value` lines, each ended by LF, UTF-8.
    pub attributes: [u8; 656],
}

/// Bit 0 of `identity_flags`: `monotonic_offset_ns` is known.
pub const IDENTITY_OFFSET_KNOWN: u32 = 1;

const _: () = {
    assert!(size_of::<Identity>() == IDENTITY_BYTES as usize);
    assert!(IDENTITY_BYTES as u64 <= COUNTERS_OFFSET);
    // A reader needs these before it can verify anything else.
    assert!(offset_of!(Identity, magic) == 0);
    assert!(offset_of!(Identity, version_major) == 8);
    assert!(offset_of!(Identity, identity_bytes) == 12);
    assert!(offset_of!(Identity, crc32) == 16);
};

impl Identity {
    /// This identity with its checksum computed.
    #[must_use]
    pub fn sealed(mut self, checksum: &Checksum) -> Self {
        self.crc32 = 0;
        self.crc32 = checksum.of(&[bytemuck::bytes_of(&self)]);
        self
    }

    /// Where ring `ring`'s control line lies.
    #[must_use]
    pub const fn control_line(&self, ring: u32) -> u64 {
        self.control_offset
            .saturating_add(self.control_stride.saturating_mul(ring as u64))
    }

    /// Where slot `slot` of the open table lies: its line 0, the open record.
    #[must_use]
    pub const fn open_slot(&self, slot: u32) -> u64 {
        self.open_offset
            .saturating_add(self.open_stride.saturating_mul(slot as u64))
    }

    /// Where line `line` of slot `slot` of the open table lies.
    #[must_use]
    pub const fn open_line(&self, slot: u32, line: u32) -> u64 {
        self.open_slot(slot)
            .saturating_add((RECORD_BYTES as u64).saturating_mul(line as u64))
    }

    /// How many lines an open slot has, with its open record: 1 to 64.
    #[must_use]
    pub const fn open_lines(&self) -> u32 {
        match self.open_stride.checked_div(RECORD_BYTES as u64) {
            Some(lines) => lines as u32,
            None => 0,
        }
    }

    /// Where the entry of name `name_id` lies, if it lies in the table. Ids begin at 1.
    #[must_use]
    pub const fn name_entry(&self, name_id: u32) -> u64 {
        self.name_offset
            .saturating_add((BLOCK_BYTES as u64).saturating_mul((name_id as u64).saturating_sub(1)))
    }

    /// The offset of the process's CLOCK_MONOTONIC from the machine's own, in nanoseconds. None: unknown.
    #[must_use]
    pub const fn monotonic_offset(&self) -> Option<i64> {
        if self.identity_flags & IDENTITY_OFFSET_KNOWN != 0 {
            Some(self.monotonic_offset_ns)
        } else {
            None
        }
    }

    /// Where slot `slot` of ring `ring` lies.
    #[must_use]
    pub const fn ring_slot(&self, ring: u32, slot: u64) -> u64 {
        self.ring_offset
            .saturating_add(self.ring_stride.saturating_mul(ring as u64))
            .saturating_add((RECORD_BYTES as u64).saturating_mul(slot))
    }

    /// The host's name; empty if unknown. Ends at the first byte that is not UTF-8.
    #[must_use]
    pub fn host_name(&self) -> &str {
        text(&self.host_name)
    }

    /// The program's name; empty if unknown. Ends at the first byte that is not UTF-8.
    #[must_use]
    pub fn program(&self) -> &str {
        text(&self.program)
    }

    /// The key-value pairs of [`Identity::attributes`](Self#structfield.attributes). Lines without `=` are skipped.
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

/// The text before the first zero byte or the first byte that is not UTF-8.
fn text(bytes: &[u8]) -> &str {
    let bytes = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    let valid = match core::str::from_utf8(bytes) {
        Ok(_) => bytes.len(),
        Err(error) => error.valid_up_to(),
    };
    core::str::from_utf8(bytes.get(..valid).unwrap_or_default()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        let mut identity = Identity::zeroed();
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

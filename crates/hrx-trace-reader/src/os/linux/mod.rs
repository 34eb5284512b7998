//! Linux: holes by SEEK_DATA, CLOCK_MONOTONIC, file systems by statfs(2), and processes by proc(5).
//!
//! A process id means something only within one boot and one PID namespace, so both are asked for as well.

use std::fs::{self, File};
use std::io;
use std::os::linux::fs::MetadataExt;

use rustix::fs::{SeekFrom, fstatfs, seek};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

mod locks;
mod process;
mod search;
mod stat;

pub(crate) use locks::lock_taker;
use process::stat_of;
pub(crate) use process::{is_mapped, process};
pub(crate) use search::find;

/// The first offset from `offset` on, at most `end`, where `file` may hold anything but zeroes; `offset` itself if the file system does not know.
/// Moves the file's cursor.
pub(crate) fn next_data(file: &File, offset: u64, end: u64) -> u64 {
    match seek(file, SeekFrom::Data(offset)) {
        Ok(data) => data.min(end),
        Err(Errno::NXIO) => end,
        Err(_) => offset,
    }
}

/// CLOCK_MONOTONIC, which captures are timed by, in nanoseconds.
pub(crate) fn monotonic_ns() -> Option<u64> {
    let now = clock_gettime(ClockId::Monotonic);
    u64::try_from(now.tv_sec)
        .ok()?
        .checked_mul(1_000_000_000)?
        .checked_add(u64::try_from(now.tv_nsec).ok()?)
}

/// The kernel's random id of this boot. None if /proc does not say.
#[must_use]
pub fn boot_id() -> Option<[u8; 16]> {
    parse_boot_id(&fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?)
}

/// A UUID's 32 hexadecimal digits, as 16 bytes.
fn parse_boot_id(text: &str) -> Option<[u8; 16]> {
    let digits: String = text.trim().split('-').collect();
    if digits.len() != 32 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    Some(u128::from_str_radix(&digits, 16).ok()?.to_be_bytes())
}

/// The inode of this process's PID namespace. None if /proc does not say, or shows another namespace, where a process id means another process.
#[must_use]
pub fn pid_namespace() -> Option<u64> {
    let own_id = fs::read_link("/proc/self").ok()?;
    if own_id.to_str()? != std::process::id().to_string() {
        return None;
    }
    Some(fs::metadata("/proc/self/ns/pid").ok()?.st_ino())
}

/// The inode of this process's time namespace; 0: the kernel has none. None if /proc does not say.
#[must_use]
pub fn time_namespace() -> Option<u64> {
    match fs::metadata("/proc/self/ns/time") {
        Ok(namespace) => Some(namespace.st_ino()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::metadata("/proc/self/ns/pid").ok().map(|_| 0)
        }
        Err(_) => None,
    }
}

/// When the process started, in clock ticks since boot. With its id, this names one process of a boot. None if /proc does not say. Means nothing
/// where [`pid_namespace`] is unknown.
#[must_use]
pub fn start_ticks(process_id: u32) -> Option<u64> {
    Some(stat_of(&format!("/proc/{process_id}/stat"))?.start_ticks)
}

/// Where the stack of the program began that the process runs, as [`Identity::stack_start`](hrx_trace_format::Identity::stack_start) has it. None: not told.
#[must_use]
pub fn stack_start(process_id: u32) -> Option<u32> {
    let address = stat_of(&format!("/proc/{process_id}/stat"))?.stack_start;
    (address != 0).then_some((address >> 4) as u32)
}

/// The file systems that no other machine writes while this one reads, by their magic numbers (statfs(2)). Of a stacking one, overlayfs, the kernel
/// forbids that anything else changes what lies below.
const ONLY_HERE: [u64; 14] = [
    0xEF53,      // ext2, ext3, ext4
    0x5846_5342, // xfs
    0x9123_683E, // btrfs
    0x0102_1994, // tmpfs
    0x8584_58F6, // ramfs
    0xF2F5_2010, // f2fs
    0x2FC1_2FC1, // zfs
    0xCA45_1A4E, // bcachefs
    0x794C_7630, // overlayfs
    0x4D44,      // vfat
    0x2011_BAB0, // exfat
    0x7371_7368, // squashfs
    0xE0F5_E1E2, // erofs
    0x9660,      // iso9660
];

/// Whether the file is on a file system that only this machine writes. False: another may, or it is not known.
pub(crate) fn only_here(file: &File) -> bool {
    let number = |magic| u64::try_from(magic).unwrap_or_default() & u64::from(u32::MAX);
    fstatfs(file).is_ok_and(|found| ONLY_HERE.contains(&number(found.f_type)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boot_ids() {
        assert_eq!(
            parse_boot_id("00112233-4455-6677-8899-aabbccddeeff\n"),
            Some([
                0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD,
                0xEE, 0xFF
            ])
        );
        assert_eq!(parse_boot_id(""), None);
        assert_eq!(parse_boot_id("+0112233-4455-6677-8899-aabbccddeeff"), None);
    }
}

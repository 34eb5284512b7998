//! Linux: holes by SEEK_DATA, CLOCK_MONOTONIC, and processes by proc(5).
//!
//! A process id means something only within one boot and one PID namespace, so both are asked for as well.

use std::fs::{self, File};
use std::io;
use std::os::linux::fs::MetadataExt;

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

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

/// Whether process `process_id` runs and is the one that started at `start_ticks` (0: unknown). None if /proc cannot be read.
pub(crate) fn process_runs(process_id: u32, start_ticks: u64) -> Option<bool> {
    match fs::read_to_string(format!("/proc/{process_id}/stat")) {
        Ok(stat) => {
            let stat = Stat::parse(&stat)?;
            Some(stat.runs() && (start_ticks == 0 || start_ticks == stat.start_ticks))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some(false),
        Err(_) => None,
    }
}

/// When the process started, in clock ticks since boot. With its id, this names one process of a boot. None if /proc does not say. Means nothing
/// where [`pid_namespace`] is unknown.
#[must_use]
pub fn start_ticks(process_id: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process_id}/stat")).ok()?;
    Some(Stat::parse(&stat)?.start_ticks)
}

/// The fields of /proc/pid/stat that matter here, numbered as in proc(5).
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    /// Field 3.
    state: char,
    /// Field 20.
    threads: u64,
    /// Field 22.
    start_ticks: u64,
}

impl Stat {
    /// Field 2, the program's name, may contain anything, parentheses included, so the fields are counted from its last parenthesis.
    fn parse(stat: &str) -> Option<Self> {
        let (_, from_state) = stat.rsplit_once(')')?;
        let mut fields = from_state.split_ascii_whitespace();
        Some(Self {
            state: fields.next()?.chars().next()?,
            threads: fields.nth(16)?.parse().ok()?,
            start_ticks: fields.nth(1)?.parse().ok()?,
        })
    }

    /// A zombie with more than one thread is a process of which only the main thread has ended.
    fn runs(&self) -> bool {
        !matches!(self.state, 'Z' | 'X' | 'x') || self.threads > 1
    }
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

    #[test]
    fn stats() {
        let stat = |name, state, threads| {
            format!(
                "7 ({name}) {state} 1 7 7 0 -1 4194560 100 0 0 0 1 2 0 0 20 0 {threads} 0 98765 10 20"
            )
        };
        let parse = |stat: String| Stat::parse(&stat);
        let running = Stat {
            state: 'S',
            threads: 3,
            start_ticks: 98765,
        };
        assert_eq!(parse(stat("cat", 'S', 3)), Some(running));
        // A program may call itself anything.
        assert!(parse(stat(") Z 0 (", 'S', 3)).unwrap().runs());
        assert!(!parse(stat("cat", 'Z', 1)).unwrap().runs());
        assert!(!parse(stat("cat", 'X', 0)).unwrap().runs());
        assert!(parse(stat("cat", 'Z', 2)).unwrap().runs());
        assert_eq!(Stat::parse("7 (cat) S 1"), None);
        assert_eq!(Stat::parse(""), None);
    }
}

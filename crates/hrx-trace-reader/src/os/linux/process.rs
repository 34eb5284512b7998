//! What became of a process: by kill(2) with signal 0, and by what proc(5) says of it and of each of its threads.
//!
//! A missing folder in `/proc` proves nothing, because `hidepid` hides it. Only the kernel's ESRCH does.

use std::fs::{self, DirEntry};
use std::io;
use std::path::Path;

use rustix::fs::{major, minor};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::super::answers::{FileId, Process};
use super::stat::{Stat, is_killed};

/// How often a process that changes under the reader is looked at.
const LOOKS: u32 = 4;

/// What became of the process of that number that started at `start_ticks`. None: it is not known when it started, so that no process of that number
/// can be told from another. The number and the ticks are those of this process's own namespaces.
pub(crate) fn process(process_id: u32, start_ticks: Option<u64>) -> Process {
    for _ in 0..LOOKS {
        if is_unused(process_id) {
            return Process::Gone;
        }
        // Hidden, or gone since.
        let Some(stat) = stat_of(&format!("/proc/{process_id}/stat")) else {
            continue;
        };
        if stat.is_gone() {
            return Process::Gone;
        }
        match start_ticks {
            None => return Process::NotKnown,
            Some(ticks) if ticks != stat.start_ticks => return Process::Gone,
            Some(_) => {}
        }
        match is_ending(process_id) {
            Some(true) => return Process::Ending,
            Some(false) => return Process::Runs,
            None => {}
        }
    }
    Process::NotKnown
}

/// Whether the kernel says that there is no process of this number. A number that cannot be one is not used either.
pub(super) fn is_unused(process_id: u32) -> bool {
    let pid = i32::try_from(process_id).ok().and_then(Pid::from_raw);
    pid.is_none_or(|pid| test_kill_process(pid) == Err(Errno::SRCH))
}

pub(super) fn stat_of(path: &str) -> Option<Stat> {
    Stat::parse(&text_of(path).ok()?)
}

/// A file of `/proc`. A program may call itself anything, and so may a file that it maps: what is not UTF-8 is replaced.
pub(super) fn text_of(path: impl AsRef<Path>) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())
}

/// Whether no thread runs any more of the program. None: no thread can be seen.
fn is_ending(process_id: u32) -> Option<bool> {
    let mut ending = None;
    for thread in threads(process_id).ok()?.flatten() {
        let path = thread.path();
        let Some(stat) = stat_of(&path.join("stat").to_string_lossy()) else {
            // It is gone since.
            continue;
        };
        let killed = || text_of(path.join("status")).is_ok_and(|text| is_killed(&text));
        if !stat.is_exiting() && !killed() {
            return Some(false);
        }
        ending = Some(true);
    }
    ending
}

fn threads(process_id: u32) -> io::Result<impl Iterator<Item = io::Result<DirEntry>>> {
    fs::read_dir(format!("/proc/{process_id}/task"))
}

/// Whether the process maps the file, which should be `file_bytes` long. None: its mappings cannot be read, or may be of this file by another mount.
pub(crate) fn is_mapped(process_id: u32, file: FileId, file_bytes: u64) -> Option<bool> {
    // The memory is shared by all threads, but a thread that has ended shows none of it.
    for thread in threads(process_id).ok()?.flatten() {
        let maps = text_of(thread.path().join("maps"));
        if let Ok(maps) = maps
            && !maps.is_empty()
        {
            return is_among(&maps, file, file_bytes);
        }
    }
    None
}

/// The same, by the lines of `maps`.
fn is_among(maps: &str, file: FileId, file_bytes: u64) -> Option<bool> {
    let device = format!("{:02x}:{:02x}", major(file.device), minor(file.device));
    let mut unsure = false;
    for line in maps.lines() {
        let mut words = line.split_ascii_whitespace();
        let (Some(range), Some(access), Some(offset), Some(of_device), Some(inode)) = (
            words.next(),
            words.next(),
            words.next(),
            words.next(),
            words.next(),
        ) else {
            return None;
        };
        let is_inode = inode.parse() == Ok(file.inode);
        if is_inode && of_device == device {
            return Some(true);
        }
        // A file system that stacks on another shows the device, and perhaps the inode, of the other.
        let is_shared = access.starts_with("rw") && access.ends_with('s') && inode != "0";
        let is_whole = offset.bytes().all(|digit| digit == b'0')
            && length_of(range)
                .is_some_and(|length| Some(length) == file_bytes.checked_next_multiple_of(4096));
        unsure |= is_shared && of_device != device && (is_inode || is_whole);
    }
    (!unsure).then_some(false)
}

fn length_of(range: &str) -> Option<u64> {
    let (start, end) = range.split_once('-')?;
    let address = |digits| u64::from_str_radix(digits, 16).ok();
    address(end)?.checked_sub(address(start)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings() {
        let file = FileId {
            device: rustix::fs::makedev(0xfe, 0),
            inode: 77,
        };
        let is_among = |lines: &[&str]| super::is_among(&lines.join("\n"), file, 8000);
        let text = "55d0-55d8 r-xp 00000000 fe:00 12 /bin/cat";
        let gpu = "7f0000000000-7f0000001000 rw-s 00000000 00:06 12 /dev/nvidia0";
        let ours = "7f0000000000-7f0000002000 rw-s 00000000 fe:00 77 /run/x (deleted)";
        assert_eq!(is_among(&[]), Some(false));
        assert_eq!(is_among(&[text, gpu]), Some(false));
        assert_eq!(is_among(&[text, gpu, ours]), Some(true));
        // The same number on another device, or another number with the file's length: perhaps the same file by another mount.
        assert_eq!(is_among(&[text, &ours.replace("fe:00", "00:2a")]), None);
        assert_eq!(is_among(&[&ours.replace("fe:00 77", "00:2a 78")]), None);
        assert_eq!(
            is_among(&[&ours.replace("fe:00 77", "00:2a 78").replace("rw-s", "r--p")]),
            Some(false)
        );
        // The bug: another capture of the same program, as long as this one, was taken for it.
        assert_eq!(is_among(&[&ours.replace(" 77", " 78")]), Some(false));
        assert_eq!(is_among(&["nonsense"]), None);
    }
}

//! Which process took a file's lock, by proc(5)'s `locks`.

use std::fs;
use std::os::linux::fs::MetadataExt;

use rustix::fs::{major, minor};

use super::super::answers::FileId;
use super::process::{is_unused, text_of};
use super::stat::ids;

/// The number, in this process's PID namespace, of the process that took the exclusive lock of the file, if it is the one that has `own_id` in the PID
/// namespace `pid_namespace` (0: unknown), or if there is no process of that number any more: then a child that was forked from it holds the lock.
///
/// A process that took the lock and is another is none: the writer may have closed the descriptor that held it.
pub(crate) fn lock_taker(file: FileId, pid_namespace: u64, own_id: u32) -> Option<u32> {
    let taker = taker_in(&fs::read_to_string("/proc/locks").ok()?, file)?;
    if is_unused(taker) {
        return Some(taker);
    }
    let status = text_of(format!("/proc/{taker}/status")).ok()?;
    let confirmed = ids(&status)?.last() == Some(&own_id);
    let of_taker = fs::metadata(format!("/proc/{taker}/ns/pid")).ok()?.st_ino();
    (confirmed && (pid_namespace == 0 || pid_namespace == of_taker)).then_some(taker)
}

/// The process that took an exclusive flock of the file, by the lines of `locks`.
fn taker_in(locks: &str, file: FileId) -> Option<u32> {
    let id = format!(
        "{:02x}:{:02x}:{}",
        major(file.device),
        minor(file.device),
        file.inode
    );
    locks.lines().find_map(|line| {
        // Those that wait for the lock have an arrow before the kind.
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match words.as_slice() {
            [_, "FLOCK", _, "WRITE", taker, of_file, ..] if *of_file == id => {
                taker.parse().ok().filter(|taker| *taker > 0)
            }
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takers() {
        let file = |inode| FileId {
            device: rustix::fs::makedev(0xfe, 0),
            inode,
        };
        let locks = "1: FLOCK  ADVISORY  WRITE 29750 fe:00:10021163 0 EOF\n\
                     1: -> FLOCK  ADVISORY  WRITE 4 fe:00:10133507 0 EOF\n\
                     2: FLOCK  ADVISORY  READ 29751 fe:00:10133507 0 EOF\n\
                     3: POSIX  ADVISORY  WRITE 29752 fe:00:10133508 0 EOF\n\
                     4: FLOCK  ADVISORY  WRITE 29753 fe:01:10133507 0 EOF\n";
        assert_eq!(taker_in(locks, file(10_021_163)), Some(29750));
        for inode in [10_133_507, 10_133_508, 1] {
            assert_eq!(taker_in(locks, file(inode)), None);
        }
    }
}

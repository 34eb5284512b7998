//! The search for a process of another PID namespace among all processes of the machine.
//!
//! That it is not among them proves that it is gone only if all are seen: in the initial PID namespace, the ancestor of all others, and where `/proc`
//! hides none. There it shows process 1, which belongs to root, to one that may see all, and to no other.

use std::fs;
use std::io;
use std::os::linux::fs::MetadataExt;

use super::process::{is_unused, text_of};
use super::stat::ids;

/// The initial PID namespace: its inode is the same on every machine (PROC_PID_INIT_INO).
const INITIAL: u64 = 0xEFFF_FFFC;

/// The number, in this process's PID namespace `own`, of the process that has `own_id` in the PID namespace `namespace`. Some(None): there is no such process
/// any more. None: not all processes can be seen, or told from each other.
///
/// Costs about 10 µs for each process of the machine.
pub(crate) fn find(own: u64, namespace: u64, own_id: u32) -> Option<Option<u32>> {
    if own != INITIAL || namespace == INITIAL {
        return None;
    }
    fs::read_to_string("/proc/1/status").ok()?;
    for entry in fs::read_dir("/proc").ok()? {
        let Some(number) = number(&entry.ok()?) else {
            continue;
        };
        let Some(status) = unless_gone(number, text_of(format!("/proc/{number}/status")))? else {
            continue;
        };
        // One that has a single id is of this process's own namespace, which is not the one that is wanted.
        if !matches!(ids(&status)?.as_slice(), [_, .., last] if *last == own_id) {
            continue;
        }
        let its = unless_gone(number, fs::metadata(format!("/proc/{number}/ns/pid")))?;
        if its.is_some_and(|its| its.st_ino() == namespace) {
            return Some(Some(number));
        }
    }
    Some(None)
}

fn number(entry: &fs::DirEntry) -> Option<u32> {
    entry.file_name().to_str()?.parse().ok()
}

/// Some(None): the process ended meanwhile, which some of its files report as if they were forbidden. None: it is hidden.
fn unless_gone<T>(number: u32, read: io::Result<T>) -> Option<Option<T>> {
    match read {
        Ok(read) => Some(Some(read)),
        Err(_) if is_unused(number) => Some(None),
        Err(_) => None,
    }
}

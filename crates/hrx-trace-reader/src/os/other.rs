//! The answers of a system other than Linux: unknown. The signatures are those of `linux`.

use std::fs::File;

use super::answers::{FileId, Process};

/// Holes are not looked for: every byte may be data.
pub(crate) fn next_data(_file: &File, offset: u64, _end: u64) -> u64 {
    offset
}

/// The capture's clock is the one of the boot that recorded it, and [`boot_id`] does not know which boot this is.
pub(crate) fn monotonic_ns() -> Option<u64> {
    None
}

/// The kernel's random id of this boot. Always None on this system.
#[must_use]
pub fn boot_id() -> Option<[u8; 16]> {
    None
}

/// The PID namespace of this process. Always None on this system.
#[must_use]
pub fn pid_namespace() -> Option<u64> {
    None
}

/// The time namespace of this process. Always None on this system.
#[must_use]
pub fn time_namespace() -> Option<u64> {
    None
}

/// When a process started. Always None on this system.
#[must_use]
pub fn start_ticks(_process_id: u32) -> Option<u64> {
    None
}

/// Where a process's stack began. Always None on this system.
#[must_use]
pub fn stack_start(_process_id: u32) -> Option<u32> {
    None
}

/// Processes are not looked for.
pub(crate) fn process(_process_id: u32, _start_ticks: Option<u64>) -> Process {
    Process::NotKnown
}

/// Mappings are not looked for.
pub(crate) fn is_mapped(_process_id: u32, _file: FileId, _file_bytes: u64) -> Option<bool> {
    None
}

/// Holders of locks are not looked for.
pub(crate) fn lock_taker(_file: FileId, _pid_namespace: u64, _own_id: u32) -> Option<u32> {
    None
}

/// Processes are not looked for.
pub(crate) fn find(_own: u64, _namespace: u64, _own_id: u32) -> Option<Option<u32>> {
    None
}

/// Unknown, so no writer on another machine is called dead.
pub(crate) fn only_here(_file: &File) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_is_unknown() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(1 << 20).unwrap();
        assert_eq!(next_data(&file, 4096, 1 << 20), 4096);
        assert!(!only_here(&file));
        assert_eq!(monotonic_ns(), None);
        assert_eq!(boot_id(), None);
        assert_eq!(pid_namespace(), None);
        assert_eq!(time_namespace(), None);
        let own_id = std::process::id();
        assert_eq!(process(own_id, None), Process::NotKnown);
        assert_eq!(start_ticks(own_id), None);
        assert_eq!(stack_start(own_id), None);
        let file = FileId {
            device: 1,
            inode: 1,
        };
        assert_eq!(is_mapped(own_id, file, 4096), None);
        assert_eq!(lock_taker(file, 1, own_id), None);
        assert_eq!(find(1, 2, own_id), None);
    }
}

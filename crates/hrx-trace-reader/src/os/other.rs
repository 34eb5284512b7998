//! The answers of a system other than Linux: unknown. The signatures are those of `linux`.

use std::fs::File;

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

/// Whether a process runs. Always None on this system.
pub(crate) fn process_runs(_process_id: u32, _start_ticks: u64) -> Option<bool> {
    None
}

/// When a process started. Always None on this system.
#[must_use]
pub fn start_ticks(_process_id: u32) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_is_unknown() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(1 << 20).unwrap();
        assert_eq!(next_data(&file, 4096, 1 << 20), 4096);
        assert_eq!(monotonic_ns(), None);
        assert_eq!(boot_id(), None);
        assert_eq!(pid_namespace(), None);
        let own_id = std::process::id();
        assert_eq!(process_runs(own_id, 0), None);
        assert_eq!(start_ticks(own_id), None);
    }
}

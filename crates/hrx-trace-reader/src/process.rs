//! Which process, of which boot, in which PID namespace: what makes a process id mean something (proc(5)).

use std::fs;

/// The kernel's random id of this boot. None if /proc does not tell.
#[must_use]
pub fn boot_id() -> Option<[u8; 16]> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let digits: String = text.trim().split('-').collect();
    u128::from_str_radix(&digits, 16)
        .ok()
        .map(u128::to_be_bytes)
}

/// The inode of this process's PID namespace. None if /proc does not tell.
#[must_use]
pub fn pid_namespace() -> Option<u64> {
    let link = fs::read_link("/proc/self/ns/pid").ok()?;
    let inode = link.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?;
    inode.parse().ok()
}

/// When the process started, in clock ticks since boot; with its id, it names one process of a boot. None if there is no such process, or it is dead
/// and not yet waited for.
#[must_use]
pub fn start_ticks(process_id: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process_id}/stat")).ok()?;
    // Field 2, the name, is in parentheses and may hold anything, spaces and parentheses included.
    let (_, behind_name) = stat.rsplit_once(')')?;
    let mut fields = behind_name.split_ascii_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    // Field 3 was the state; this is field 22.
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn this_process() {
        assert_ne!(boot_id().unwrap(), [0; 16]);
        assert!(pid_namespace().unwrap() > 0);
        let ticks = start_ticks(std::process::id()).unwrap();
        let parent = start_ticks(std::os::unix::process::parent_id()).unwrap();
        assert!(ticks >= parent);
    }

    #[test]
    fn a_zombie_is_gone() {
        let mut child = Command::new("sleep")
            .arg("100")
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        assert!(start_ticks(child.id()).is_some());
        child.kill().unwrap();
        // Killed and not waited for: a zombie, whose entry in /proc is still there.
        while start_ticks(child.id()).is_some() {
            std::thread::yield_now();
        }
        assert!(fs::exists(format!("/proc/{}/stat", child.id())).unwrap());
        child.wait().unwrap();
        assert_eq!(start_ticks(child.id()), None);
    }
}

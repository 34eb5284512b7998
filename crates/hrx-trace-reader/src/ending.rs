//! How a capture ended: by its state word, by the lock that its writer holds, and by the process that its header names.
//!
//! The lock is the witness: the kernel releases it with the writer's last descriptor, however the writer died. Only a child that was
//! forked from the writer can keep it held beyond that; then the process itself is looked for. A process id means something only in the
//! boot and the PID namespace of the writer; elsewhere the lock alone decides.
//!
//! The lock is tried before the state word is read: a writer that finishes and exits between the two then counts as finished.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

use hrx_trace_format::Identity;
use rustix::time::{ClockId, clock_gettime};

use crate::source::Lock;

/// Whether the writer may still write. What the lock told comes first, the process second.
pub(crate) fn writer_runs(lock: Lock, identity: &Identity) -> bool {
    let boot = same_boot(identity);
    if lock == Lock::Free || lock == Lock::NoFile || boot == Some(false) {
        return false;
    }
    let comparable = boot == Some(true)
        && identity.pid_namespace != 0
        && identity.process_id != 0
        && pid_namespace() == Some(identity.pid_namespace);
    let process = comparable
        .then(|| process_runs(identity.process_id, identity.process_start_ticks))
        .flatten();
    process.unwrap_or(lock == Lock::Held)
}

/// Nanoseconds from the capture's start to now. None if the capture is of another boot, or its boot is not known.
pub(crate) fn now_ns(identity: &Identity) -> Option<u64> {
    if same_boot(identity) != Some(true) {
        return None;
    }
    let now = clock_gettime(ClockId::Monotonic);
    u64::try_from(now.tv_sec)
        .ok()?
        .checked_mul(1_000_000_000)?
        .checked_add(u64::try_from(now.tv_nsec).ok()?)?
        .checked_sub(identity.epoch_monotonic_ns)
}

/// None: one of the two is not known.
fn same_boot(identity: &Identity) -> Option<bool> {
    let ours = boot_id()?;
    (identity.boot_id != [0; 16]).then_some(identity.boot_id == ours)
}

fn boot_id() -> Option<[u8; 16]> {
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

fn pid_namespace() -> Option<u64> {
    Some(fs::metadata("/proc/self/ns/pid").ok()?.ino())
}

/// Whether process `process_id` is the one that started at `start_ticks` (0: unknown), and runs. None: we are not told.
fn process_runs(process_id: u32, start_ticks: u64) -> Option<bool> {
    match fs::read_to_string(format!("/proc/{process_id}/stat")) {
        Ok(stat) => {
            let stat = Stat::parse(&stat)?;
            Some(stat.runs() && (start_ticks == 0 || start_ticks == stat.start_ticks))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some(false),
        Err(_) => None,
    }
}

/// What proc(5) says of a process in /proc/pid/stat.
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
    /// The program's name in field 2 may hold anything, parentheses included, so the fields are counted from behind its last one.
    fn parse(stat: &str) -> Option<Self> {
        let (_, from_state) = stat.rsplit_once(')')?;
        let mut fields = from_state.split_ascii_whitespace();
        Some(Self {
            state: fields.next()?.chars().next()?,
            threads: fields.nth(16)?.parse().ok()?,
            start_ticks: fields.nth(1)?.parse().ok()?,
        })
    }

    /// A zombie with more than one thread is a process whose main thread alone has ended.
    fn runs(&self) -> bool {
        !matches!(self.state, 'Z' | 'X' | 'x') || self.threads > 1
    }
}

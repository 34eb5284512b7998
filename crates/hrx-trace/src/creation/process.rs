//! What the header says about the process that records. What cannot be found out stays zero, which means unknown.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Instant;

use hrx_trace_format::Identity;
use hrx_trace_format::header::CLOCK_MONOTONIC;
use rustix::time::{ClockId, clock_gettime};

/// Fills in the process, the host and the program.
pub fn describe(identity: &mut Identity) {
    identity.boot_id = boot_id().unwrap_or_default();
    identity.process_id = std::process::id();
    if let Some(pid_namespace) = pid_namespace(identity.process_id) {
        identity.pid_namespace = pid_namespace;
        identity.process_start_ticks = start_ticks().unwrap_or_default();
    }
    let host_name = rustix::system::uname();
    fill(
        &mut identity.host_name,
        &host_name.nodename().to_string_lossy(),
    );
    let program = std::env::current_exe().unwrap_or_default();
    let program = program.file_name().unwrap_or_default();
    fill(&mut identity.program, &program.to_string_lossy());
}

/// Fills in the capture's start by every clock, and returns it. The readings are some 100 ns apart.
pub fn stamp(identity: &mut Identity) -> Instant {
    identity.epoch_realtime_ns = now_ns(ClockId::Realtime);
    identity.epoch_boottime_ns = now_ns(ClockId::Boottime);
    identity.epoch_monotonic_ns = now_ns(ClockId::Monotonic);
    identity.clock = CLOCK_MONOTONIC;
    // Not measured.
    identity.epoch_bracket_ns = u32::MAX;
    // std's Instant is CLOCK_MONOTONIC too, but does not give its number away.
    Instant::now()
}

fn now_ns(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    // Neither is negative: the clocks began in 1970 or at boot.
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// The kernel's random id of this boot: a UUID's 32 hexadecimal digits, as 16 bytes.
fn boot_id() -> Option<[u8; 16]> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let digits: String = text.trim().split('-').collect();
    if digits.len() != 32 {
        return None;
    }
    Some(u128::from_str_radix(&digits, 16).ok()?.to_be_bytes())
}

/// The inode of this process's PID namespace. None where /proc is another namespace's and shows other processes under our ids.
fn pid_namespace(process_id: u32) -> Option<u64> {
    let own_id = fs::read_link("/proc/self").ok()?;
    if own_id.to_str()? != process_id.to_string() {
        return None;
    }
    Some(fs::metadata("/proc/self/ns/pid").ok()?.ino())
}

/// When this process started, in clock ticks since boot: field 22 of its stat (proc(5)).
fn start_ticks() -> Option<u64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // Field 2, the program's name, may hold anything, parentheses included: fields are counted from its last parenthesis.
    let (_, from_field_3) = stat.rsplit_once(')')?;
    from_field_3.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// Copies as much of `text` as fits `field`, in whole characters.
fn fill(field: &mut [u8], text: &str) {
    let end = text.floor_char_boundary(field.len().min(text.len()));
    field[..end].copy_from_slice(&text.as_bytes()[..end]);
}

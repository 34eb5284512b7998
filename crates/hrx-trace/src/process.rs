//! What the header says of the process that records.

use std::time::Instant;

use hrx_trace_format::Identity;
use hrx_trace_reader::process;
use rustix::time::{ClockId, clock_gettime};

/// Fills in the process, the host and the program. What cannot be found out stays zero, which means unknown.
pub fn describe(identity: &mut Identity) {
    identity.boot_id = process::boot_id().unwrap_or_default();
    let pid_namespace = process::pid_namespace();
    identity.pid_namespace = pid_namespace.unwrap_or_default();
    identity.process_id = std::process::id();
    identity.process_start_ticks = pid_namespace
        .and_then(|_| process::start_ticks(identity.process_id))
        .unwrap_or_default();
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
    // std's Instant is CLOCK_MONOTONIC too, and keeps its number to itself.
    Instant::now()
}

fn now_ns(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    // Neither is negative: the clocks began in 1970 or at boot.
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// As much of `text` as fits `field`, in whole characters.
fn fill(field: &mut [u8], text: &str) {
    let end = text.floor_char_boundary(field.len().min(text.len()));
    field[..end].copy_from_slice(&text.as_bytes()[..end]);
}

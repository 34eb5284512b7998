//! What the header says about the process that records. What cannot be found out stays zero, which means unknown.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use hrx_trace_format::Identity;
use hrx_trace_format::header::{CLOCK_MONOTONIC, IDENTITY_OFFSET_KNOWN};
use rustix::time::ClockId;

use crate::moment::{Epoch, Moment, clock_ns};

/// The size of the header's field.
const PROGRAM_BYTES_MAX: usize = 64;

/// Fills in the process, the host and the program.
pub fn describe(identity: &mut Identity) {
    identity.boot_id = boot_id().unwrap_or_default();
    identity.process_id = std::process::id();
    if let Some(pid_namespace) = pid_namespace(identity.process_id) {
        identity.pid_namespace = pid_namespace;
        let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        identity.process_start_ticks = field(&stat, 22).unwrap_or_default();
        identity.stack_start = (field(&stat, 28).unwrap_or_default() >> 4) as u32;
    }
    if let Some(time_namespace) = namespace("time") {
        identity.time_namespace = time_namespace;
    }
    if let Some(offset_ns) = monotonic_offset_ns() {
        identity.monotonic_offset_ns = offset_ns;
        identity.identity_flags |= IDENTITY_OFFSET_KNOWN;
    }
    let host_name = rustix::system::uname();
    fill(
        &mut identity.host_name,
        &host_name.nodename().to_string_lossy(),
    );
    fill(&mut identity.program, &program_name());
}

/// The name of this program, as the headers of its captures have it: the file name of its executable, or of how it was called where /proc does not say; at most
/// the first 64 bytes of it. Empty if unknown.
#[must_use]
pub fn program_name() -> String {
    let path = std::env::current_exe().ok();
    let path = path.or_else(|| std::env::args_os().next().map(PathBuf::from));
    let path = path.unwrap_or_default();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // So the kernel marks an executable that has been replaced since it was started (proc(5)): it is the same program.
    let name = name.strip_suffix(" (deleted)").unwrap_or(&name);
    name[..name.floor_char_boundary(PROGRAM_BYTES_MAX.min(name.len()))].to_owned()
}

/// The three clocks belong together if this is as far apart as the first and the last reading are. On an idle machine they are some 100 ns apart.
const BRACKET_NS: u64 = 1_000;
/// The thread can lose its processor between two readings, by which they were seen to be milliseconds apart: then they are read again, this often.
const BRACKETS_MAX: usize = 16;

/// Fills in the capture's start by every clock, as the tightest of several brackets gives it, and returns it.
pub fn stamp(identity: &mut Identity) -> Epoch {
    let mut tightest = Bracket::read();
    for _ in 1..BRACKETS_MAX {
        if tightest.width_ns() < BRACKET_NS {
            break;
        }
        let bracket = Bracket::read();
        if bracket.width_ns() < tightest.width_ns() {
            tightest = bracket;
        }
    }
    identity.clock = CLOCK_MONOTONIC;
    identity.epoch_monotonic_ns = tightest.epoch.moment.monotonic_ns();
    identity.epoch_realtime_ns = tightest.realtime_ns;
    identity.epoch_boottime_ns = tightest.boottime_ns;
    identity.epoch_bracket_ns = u32::try_from(tightest.width_ns()).unwrap_or(u32::MAX);
    tightest.epoch
}

/// The three clocks, read between two readings of the monotonic one.
struct Bracket {
    before: Moment,
    realtime_ns: u64,
    boottime_ns: u64,
    epoch: Epoch,
}

impl Bracket {
    fn read() -> Self {
        Self {
            before: Moment::now(),
            realtime_ns: clock_ns(ClockId::Realtime),
            boottime_ns: clock_ns(ClockId::Boottime),
            epoch: Epoch::now(),
        }
    }

    fn width_ns(&self) -> u64 {
        self.epoch.moment.monotonic_ns() - self.before.monotonic_ns()
    }
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
    namespace("pid")
}

/// The inode of this process's namespace of this kind.
fn namespace(kind: &str) -> Option<u64> {
    let path = format!("/proc/self/ns/{kind}");
    Some(fs::metadata(path).ok()?.ino())
}

/// CLOCK_MONOTONIC of this process's time namespace minus the machine's own, in nanoseconds. None: unknown.
///
/// The kernel tells the offset of the namespace that children are born into (time_namespaces(7)), which a process can change, but not its own.
fn monotonic_offset_ns() -> Option<i64> {
    match (namespace("time"), namespace("time_for_children")) {
        (Some(own), Some(of_children)) if own == of_children => offset_of(
            "monotonic",
            &fs::read_to_string("/proc/self/timens_offsets").ok()?,
        ),
        // A kernel without time namespaces, where /proc says which others there are.
        (None, None) => namespace("pid").map(|_| 0),
        _ => None,
    }
}

/// The offset of `clock` in nanoseconds, as the lines of /proc/self/timens_offsets give it: the clock, seconds and nanoseconds.
fn offset_of(clock: &str, lines: &str) -> Option<i64> {
    let mut lines = lines.lines().map(str::split_ascii_whitespace);
    let mut fields = lines.find_map(|mut fields| (fields.next()? == clock).then_some(fields))?;
    let seconds: i64 = fields.next()?.parse().ok()?;
    let nanoseconds: i64 = fields.next()?.parse().ok()?;
    seconds.checked_mul(1_000_000_000)?.checked_add(nanoseconds)
}

/// A field of /proc/self/stat, numbered from 4 as in proc(5).
fn field(stat: &str, number: usize) -> Option<u64> {
    // Field 2, the program's name, may hold anything, parentheses included: fields are counted from its last parenthesis.
    let (_, from_field_3) = stat.rsplit_once(')')?;
    from_field_3
        .split_ascii_whitespace()
        .nth(number.checked_sub(3)?)?
        .parse()
        .ok()
}

/// Copies as much of `text` as fits `field`, in whole characters.
fn fill(field: &mut [u8], text: &str) {
    let end = text.floor_char_boundary(field.len().min(text.len()));
    field[..end].copy_from_slice(&text.as_bytes()[..end]);
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;

    use super::*;

    #[test]
    fn the_offset_of_a_time_namespace() {
        let lines = "monotonic           0         0\nboottime     -7 999999999\n";
        assert_eq!(offset_of("monotonic", lines), Some(0));
        assert_eq!(offset_of("boottime", lines), Some(-6_000_000_001));
        assert_eq!(offset_of("realtime", lines), None);
        // The kernel allows up to 2^63 nanoseconds; what is more is not known.
        let lines = "monotonic 9223372036 854775807\nboottime 9223372037 0\n";
        assert_eq!(offset_of("monotonic", lines), Some(i64::MAX));
        assert_eq!(offset_of("boottime", lines), None);
        for cut in [
            "",
            "monotonic",
            "monotonic 1",
            "monotonic x 0",
            "monotonic 1 x",
        ] {
            assert_eq!(offset_of("monotonic", cut), None, "{cut}");
        }
    }

    /// This process's time namespace is also that of its children, or there are none: either way the offset is known.
    #[test]
    fn the_time_namespace_and_its_offset_are_known() {
        let mut identity = Identity::zeroed();
        describe(&mut identity);
        assert_eq!(identity.time_namespace, namespace("time").unwrap_or(0));
        assert!(identity.monotonic_offset().is_some());
    }

    /// The bug: the clocks were read one after the other, and where the thread lost its processor in between, they were up to 8 ms apart; alignment by wall
    /// time was off by that. Found by reading them a million times.
    #[test]
    fn the_three_clocks_belong_together_to_the_bracket_stored() {
        let mut identity = Identity::zeroed();
        for _ in 0..100 {
            stamp(&mut identity);
            let bracket_ns = u64::from(identity.epoch_bracket_ns);
            let other = Bracket::read();
            // The same distance between two clocks, seen twice: each seen as exactly as its bracket is narrow, and 1 µs for a clock that is being adjusted.
            let slack_ns = bracket_ns + other.width_ns() + 1_000;
            for (epoch_ns, other_ns) in [
                (identity.epoch_realtime_ns, other.realtime_ns),
                (identity.epoch_boottime_ns, other.boottime_ns),
            ] {
                let distance_ns = epoch_ns.wrapping_sub(identity.epoch_monotonic_ns);
                let other_distance_ns = other_ns.wrapping_sub(other.epoch.moment.monotonic_ns());
                let apart_ns = distance_ns.wrapping_sub(other_distance_ns).cast_signed();
                assert!(
                    apart_ns.unsigned_abs() <= slack_ns,
                    "{apart_ns} of {slack_ns}"
                );
            }
        }
    }
}

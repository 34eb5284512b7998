//! How a capture ended: by its state word, by the lock that its writer holds, and by the process that its header names.
//!
//! The lock is the witness: the kernel releases it with the writer's last descriptor, however the writer died. Only a child that was
//! forked from the writer can keep it held beyond that; then the process itself is looked for. A process id means something only in the
//! boot and the PID namespace of the writer; elsewhere the lock alone decides.
//!
//! The lock is tried before the state word is read: a writer that finishes and exits between the two then counts as finished.

use hrx_trace_format::Identity;
use rustix::time::{ClockId, clock_gettime};

use crate::process::{boot_id, pid_namespace, process_runs};
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::start_ticks;
    use crate::testing::{Image, compact};
    use crate::{Ending, Trace};
    use std::fs::File;
    use std::io::Write;

    /// An identity that names this very process.
    fn ours() -> Identity {
        Identity {
            boot_id: boot_id().unwrap(),
            process_id: std::process::id(),
            process_start_ticks: start_ticks(std::process::id()).unwrap(),
            pid_namespace: pid_namespace().unwrap(),
            ..compact(4, 1)
        }
    }

    #[test]
    fn what_the_lock_and_the_process_tell() {
        let ours = ours();
        let other_boot = Identity {
            boot_id: [7; 16],
            ..ours
        };
        let unknown_boot = Identity {
            boot_id: [0; 16],
            ..ours
        };
        let other_namespace = Identity {
            pid_namespace: ours.pid_namespace + 1,
            ..ours
        };
        // The process id was given to another process since.
        let reused = Identity {
            process_start_ticks: ours.process_start_ticks + 1,
            ..ours
        };
        let unknown_ticks = Identity {
            process_start_ticks: 0,
            ..ours
        };
        // Above the largest that Linux gives out, 2^22.
        let gone = Identity {
            process_id: 1 << 23,
            ..ours
        };
        for (name, identity, held, unsupported) in [
            ("ours", ours, true, true),
            ("other boot", other_boot, false, false),
            ("unknown boot", unknown_boot, true, false),
            ("other namespace", other_namespace, true, false),
            ("reused", reused, false, false),
            ("unknown ticks", unknown_ticks, true, true),
            ("gone", gone, false, false),
        ] {
            assert_eq!(writer_runs(Lock::Held, &identity), held, "{name}");
            assert_eq!(
                writer_runs(Lock::Unsupported, &identity),
                unsupported,
                "{name}"
            );
            assert!(!writer_runs(Lock::Free, &identity), "{name}");
            assert!(!writer_runs(Lock::NoFile, &identity), "{name}");
        }
    }

    #[test]
    fn endings_of_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("capture.hrxt");
        let mut image = Image::from_identity(ours());
        let write = |image: &Image| {
            let mut file = File::create(&path).unwrap();
            file.write_all(&image.bytes).unwrap();
            file
        };
        let mut writer = write(&image);
        assert_eq!(Trace::open(&path).unwrap().ending(), Ending::WriterDied);
        writer.try_lock().unwrap();
        let mut trace = Trace::open(&path).unwrap();
        assert_eq!(trace.ending(), Ending::Live);
        assert!(trace.report().last_ns > 0);
        // The reader's own try left nothing behind.
        assert_eq!(Trace::open(&path).unwrap().ending(), Ending::Live);
        writer.unlock().unwrap();
        trace.refresh();
        assert_eq!(trace.ending(), Ending::WriterDied);
        assert!(writer.try_lock().is_ok());

        image.finish(5);
        writer = write(&image);
        trace.refresh();
        assert_eq!(trace.ending(), Ending::Finished);
        writer.try_lock().unwrap();
        trace.refresh();
        assert_eq!(trace.ending(), Ending::Finished);
    }

    #[test]
    fn bytes_in_memory_have_no_writer() {
        assert_eq!(
            Image::from_identity(ours()).trace().ending(),
            Ending::WriterDied
        );
    }

    #[test]
    fn a_state_that_is_none_is_damage() {
        let mut image = Image::new(4, 1);
        image.set_state(7);
        let (_, report) = image.read();
        assert_eq!(report.ending, Ending::WriterDied);
        assert_eq!(report.damages[0].offset, image.identity.counters_offset);
        assert_eq!(
            report.damages[0].what,
            "state: found 0x0000000000000007, expected 0x4e4944524f434552 (recording) or 0x44454853494e4946 (finished)"
        );
    }

    #[test]
    fn now_is_told_only_within_the_boot() {
        let epoch = Identity {
            epoch_monotonic_ns: 0,
            ..ours()
        };
        let now = now_ns(&epoch).unwrap();
        let later = Identity {
            epoch_monotonic_ns: now,
            ..epoch
        };
        assert!(now_ns(&later).unwrap() < now);
        // A start in the future, or in another boot.
        let future = Identity {
            epoch_monotonic_ns: u64::MAX,
            ..epoch
        };
        assert_eq!(now_ns(&future), None);
        let other_boot = Identity {
            boot_id: [7; 16],
            ..epoch
        };
        assert_eq!(now_ns(&other_boot), None);
    }
}

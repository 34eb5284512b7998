//! How a capture ended: by its state word, by the lock that its writer holds, and by the process that its header names.
//!
//! The lock decides: the kernel releases it with the writer's last descriptor, however the writer died. Only a child forked from the writer can
//! hold it longer; then the process itself is looked for. A process id means something only in the writer's boot and PID namespace; elsewhere the
//! lock alone decides.

use hrx_trace_format::Identity;
use hrx_trace_format::header::STATE_FINISHED;

use crate::os::{boot_id, monotonic_ns, pid_namespace, process_runs};
use crate::source::Lock;

/// How the capture ended, as far as the file and the operating system can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Ending {
    /// The writer runs: it holds the file's lock.
    Live,
    /// The writer finished the capture.
    Finished,
    /// The writer is gone and never finished.
    WriterDied,
}

impl Ending {
    /// `state` is the state word, read after the lock was tried for `writer_runs`: a writer that finishes and exits between the two has finished,
    /// where the other order would call it dead.
    pub(crate) fn new(state: u64, writer_runs: bool) -> Self {
        match (state, writer_runs) {
            (STATE_FINISHED, _) => Self::Finished,
            (_, true) => Self::Live,
            (_, false) => Self::WriterDied,
        }
    }
}

/// Whether the writer may still write.
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

/// Nanoseconds from the capture's start to now. None if the capture is of another boot, or either boot is unknown.
pub(crate) fn now_ns(identity: &Identity) -> Option<u64> {
    if same_boot(identity) != Some(true) {
        return None;
    }
    monotonic_ns()?.checked_sub(identity.epoch_monotonic_ns)
}

/// None: one of the two boots is unknown.
fn same_boot(identity: &Identity) -> Option<bool> {
    let ours = boot_id()?;
    (identity.boot_id != [0; 16]).then_some(identity.boot_id == ours)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::start_ticks;
    use crate::testing::{Image, compact};
    use crate::trace::Trace;
    use std::fs::File;
    use std::io::Write;

    /// An identity that names this process.
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
    fn lock_and_process_together() {
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
        // The id has since been given to another process.
        let reused = Identity {
            process_start_ticks: ours.process_start_ticks + 1,
            ..ours
        };
        let unknown_ticks = Identity {
            process_start_ticks: 0,
            ..ours
        };
        // Above 2^22, the largest that Linux gives out.
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
        // The reader has released the lock that it tried.
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
    fn an_unknown_state_is_damage() {
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
    fn now_is_known_only_within_the_boot() {
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

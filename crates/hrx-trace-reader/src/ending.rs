//! How a capture ended: by its state word, by its witness, and by what the operating system tells of the writer's boot, lock and process.

use hrx_trace_format::header::{STATE_FINISHED, STATE_LEFT_BY_EXIT};

use crate::os::Process;
use crate::source::Lock;
use crate::witness::Cause;
use crate::writer::{Boot, Writer};

/// How the capture ended, as far as the file and the operating system can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Ending {
    /// The writer runs.
    Live,
    /// The writer's process is there, but runs no more of its program: the kernel is taking it down.
    Ending,
    /// The writer finished the capture.
    Finished,
    /// The process began to exit without having finished the capture. What its exit handlers did after that, only a witness could tell.
    LeftByExit,
    /// The process exited without having finished the capture, and without having said so: a witness saw it.
    EndedWithoutFinish,
    /// The writer is gone and never finished: a signal, or the end of the machine.
    WriterDied,
    /// The process replaced its program by another, which does not record.
    ReplacedByExec,
    /// It cannot be told whether the writer runs: the system does not say, or hides it.
    CannotTell,
    /// The capture was not finished, and nothing but its bytes is there to tell how it ended.
    NotFinished,
}

impl Ending {
    /// `state` is the state word, read after the operating system was asked for the `writer`: a writer that finishes and exits between the two has
    /// finished, where the other order would call it dead.
    pub(crate) fn new(state: u64, witnessed: Option<Cause>, writer: &Writer) -> Self {
        match (state, witnessed, writer.boot, writer.lock) {
            (STATE_FINISHED, ..) => Self::Finished,
            // Whoever holds the lock.
            (_, Some(Cause::Signal), ..) => Self::WriterDied,
            (_, Some(Cause::Exec), ..) => Self::ReplacedByExec,
            (STATE_LEFT_BY_EXIT, ..) => Self::LeftByExit,
            (_, Some(Cause::Exit), ..) => Self::EndedWithoutFinish,
            (_, None, _, Lock::NoFile) => Self::NotFinished,
            (_, None, Boot::Ended, _) => Self::WriterDied,
            (_, None, Boot::MayGoOn, _) => Self::CannotTell,
            (_, None, Boot::MayBeOurs, _) => Self::of_running_boot(writer),
        }
    }

    /// Where the boot goes on, or is not known.
    fn of_running_boot(writer: &Writer) -> Self {
        match (writer.process, writer.lock) {
            (Process::Gone, _) => Self::WriterDied,
            (Process::Ending, _) => Self::Ending,
            (Process::Runs, Lock::Free) => match writer.is_mapped {
                Some(true) => Self::Live,
                Some(false) if writer.is_replaced => Self::ReplacedByExec,
                // It dropped the recorder, or this is a copy of a file that it still writes.
                Some(false) | None => Self::CannotTell,
            },
            (Process::Runs, _) | (Process::NotKnown, Lock::Held) => Self::Live,
            // If no process had the file open for writing, the writer would have died. Only a read lease would tell (F_SETLEASE), which is not to be had
            // by a safe call, and which makes the kernel send the reader a fatal signal when a process opens the file for writing meanwhile.
            (Process::NotKnown, _) => Self::CannotTell,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;
    use crate::testing::{Image, compact, ours};
    use crate::trace::Trace;
    use hrx_trace_format::Identity;
    use hrx_trace_format::header::STATE_RECORDING;
    use std::fs::{self, File};

    const SEEN: Writer = Writer {
        boot: Boot::MayBeOurs,
        lock: Lock::Free,
        process: Process::NotKnown,
        is_mapped: None,
        is_replaced: false,
    };

    #[test]
    fn process_and_lock_together() {
        for (process, [held, free, not_known]) in [
            (
                Process::Runs,
                [Ending::Live, Ending::CannotTell, Ending::Live],
            ),
            (Process::Ending, [Ending::Ending; 3]),
            (Process::Gone, [Ending::WriterDied; 3]),
            (
                Process::NotKnown,
                [Ending::Live, Ending::CannotTell, Ending::CannotTell],
            ),
        ] {
            for (lock, expected) in [
                (Lock::Held, held),
                (Lock::Free, free),
                (Lock::Unsupported, not_known),
            ] {
                let writer = Writer {
                    lock,
                    process,
                    ..SEEN
                };
                let ending = Ending::new(STATE_RECORDING, None, &writer);
                assert_eq!(ending, expected, "{writer:?}");
                // A damaged state is treated as recording.
                assert_eq!(Ending::new(7, None, &writer), expected, "{writer:?}");
            }
        }
        for (is_mapped, is_replaced, expected) in [
            (Some(true), false, Ending::Live),
            (Some(false), true, Ending::ReplacedByExec),
            (Some(false), false, Ending::CannotTell),
        ] {
            let writer = Writer {
                process: Process::Runs,
                is_mapped,
                is_replaced,
                ..SEEN
            };
            assert_eq!(Ending::new(STATE_RECORDING, None, &writer), expected);
        }
    }

    /// What comes first: a finish, a witness, an exit, the boot, bytes alone; then the process and the lock.
    #[test]
    fn what_comes_first() {
        let causes = [Cause::Exit, Cause::Signal, Cause::Exec];
        let all = [None].into_iter().chain(causes.map(Some));
        let all: Vec<_> = all.collect();
        let live = Writer {
            lock: Lock::Held,
            process: Process::Runs,
            ..SEEN
        };
        for writer in [
            live,
            Writer {
                boot: Boot::Ended,
                ..live
            },
            Writer {
                boot: Boot::MayGoOn,
                ..live
            },
            Writer {
                lock: Lock::NoFile,
                ..SEEN
            },
        ] {
            let endings = |state| {
                all.iter()
                    .map(move |seen| Ending::new(state, *seen, &writer))
            };
            assert!(endings(STATE_FINISHED).eq([Ending::Finished; 4]));
            assert!(endings(STATE_LEFT_BY_EXIT).eq([
                Ending::LeftByExit,
                Ending::LeftByExit,
                Ending::WriterDied,
                Ending::ReplacedByExec
            ]));
            assert!(endings(STATE_RECORDING).skip(1).eq([
                Ending::EndedWithoutFinish,
                Ending::WriterDied,
                Ending::ReplacedByExec
            ]));
            let expected = match (writer.lock, writer.boot) {
                (Lock::NoFile, _) => Ending::NotFinished,
                (_, Boot::MayBeOurs) => Ending::Live,
                (_, Boot::Ended) => Ending::WriterDied,
                (_, Boot::MayGoOn) => Ending::CannotTell,
            };
            assert_eq!(Ending::new(STATE_RECORDING, None, &writer), expected);
        }
    }

    /// A real file with a real lock. The process is this one, which does not map the file.
    ///
    /// The bug: a copy of a live capture, and one whose recorder was dropped by a panic, read as "replaced by exec".
    #[test]
    fn endings_of_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("capture.hrxt");
        let mut image = Image::from_identity(ours());
        let write = |image: &Image| fs::write(&path, &image.bytes).unwrap();
        write(&image);
        let writer = File::open(&path).unwrap();
        assert_eq!(Trace::open(&path).unwrap().ending(), Ending::CannotTell);
        writer.try_lock().unwrap();
        let mut trace = Trace::open(&path).unwrap();
        assert_eq!(trace.ending(), Ending::Live);
        assert!(trace.report().last_ns > 0);
        // The reader has released the lock that it tried.
        assert_eq!(Trace::open(&path).unwrap().ending(), Ending::Live);
        writer.unlock().unwrap();
        trace.refresh();
        assert_eq!(trace.ending(), Ending::CannotTell);
        assert!(writer.try_lock().is_ok());

        image.finish(5);
        write(&image);
        trace.refresh();
        assert_eq!(trace.ending(), Ending::Finished);
        writer.unlock().unwrap();
        trace.refresh();
        assert_eq!(trace.ending(), Ending::Finished);
        image.set_state(STATE_LEFT_BY_EXIT);
        write(&image);
        trace.refresh();
        assert_eq!(trace.ending(), Ending::LeftByExit);
        image.killed();
        write(&image);
        trace.refresh();
        assert_eq!(trace.ending(), Ending::WriterDied);
    }

    /// The bug: a capture of another boot was called dead wherever it lay, though its machine may go on; and one of which nothing is known as well.
    #[test]
    fn a_capture_of_another_boot_or_of_an_unknown_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("capture.hrxt");
        let ending = |identity| {
            fs::write(&path, Image::from_identity(identity).bytes).unwrap();
            Trace::open(&path).unwrap().ending()
        };
        let other_boot = Identity {
            boot_id: [7; 16],
            ..ours()
        };
        let source = |_| Source::open(&path).unwrap().place().unwrap().only_here;
        let expected = match source(ending(other_boot)) {
            true => Ending::WriterDied,
            false => Ending::CannotTell,
        };
        assert_eq!(ending(other_boot), expected);
        assert_eq!(ending(compact(4, 1)), Ending::CannotTell);
        let lock = File::open(&path).unwrap();
        lock.try_lock().unwrap();
        assert_eq!(ending(compact(4, 1)), Ending::Live);
        assert_eq!(ending(other_boot), expected);
        // A file system that every machine sees as its own.
        assert!(!crate::os::only_here(&File::open("/proc/version").unwrap()));
    }

    #[test]
    fn bytes_in_memory_have_no_writer() {
        let image = Image::from_identity(ours());
        assert_eq!(image.trace().ending(), Ending::NotFinished);
    }

    #[test]
    fn an_unknown_state_is_damage() {
        let mut image = Image::new(4, 1);
        image.set_state(7);
        let (_, report) = image.read();
        assert_eq!(report.ending, Ending::NotFinished);
        assert_eq!(report.damages[0].offset, image.identity.counters_offset);
        assert_eq!(
            report.damages[0].what,
            "state: found 0x0000000000000007, expected 0x4e4944524f434552 (recording), 0x44454853494e4946 (finished) or 0x544958455446454c (left by exit)"
        );
    }

    #[test]
    fn names_in_documents() {
        let name = |ending: Ending| serde_json::to_value(ending).unwrap();
        for (ending, expected) in [
            (Ending::Live, "live"),
            (Ending::Ending, "ending"),
            (Ending::Finished, "finished"),
            (Ending::LeftByExit, "left-by-exit"),
            (Ending::EndedWithoutFinish, "ended-without-finish"),
            (Ending::WriterDied, "writer-died"),
            (Ending::ReplacedByExec, "replaced-by-exec"),
            (Ending::CannotTell, "cannot-tell"),
            (Ending::NotFinished, "not-finished"),
        ] {
            assert_eq!(name(ending), expected);
        }
    }
}

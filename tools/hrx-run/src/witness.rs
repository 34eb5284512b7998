//! The witness: what the kernel told hrx-run of the program's end, written into the captures that the program left, so that whoever reads them later knows it too.
//! The rules are in section 8.9 of the project's spec/FORMAT.md.
//!
//! It is written after the end and before the status is taken: so long the process id belongs to no other process. Invariants:
//! - Nothing but the 128 bytes of the witness is written, and they only where all of them are zeroes and inside the file.
//! - Only a capture of this very process is written to: of this boot and PID namespace, with its process id and the moment that it started.
//! - The file's lock is not asked for. A child that the program forked may hold it.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use bytemuck::Zeroable;
use hrx_trace_format::header::PAGE_BYTES;
use hrx_trace_format::witness::{CAUSE_EXIT, CAUSE_SIGNAL, WITNESS_BYTES, WITNESS_WORD};
use hrx_trace_format::{Checksum, Identity, Witness};
use hrx_trace_reader::process::{boot_id, pid_namespace, time_namespace};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, pwrite};

use crate::ending::{Ending, How};
use crate::launch::Program;

/// Writes what was seen of the program's end into those of the captures that are its own. Returns what could not be done, a line for each file.
pub fn write(
    captures: &[PathBuf],
    program: &Program,
    ending: &Ending,
    out_of_memory: Option<bool>,
) -> Vec<String> {
    let Some(process) = Process::of(program) else {
        return Vec::new();
    };
    let witness = witness(ending, out_of_memory, process.time_namespace);
    let write = |path: &PathBuf| {
        let error = process.write(path, witness).err()?;
        Some(format!(
            "{}: cannot write down how its program ended: {error}",
            path.display()
        ))
    };
    captures.iter().filter_map(write).collect()
}

fn witness(ending: &Ending, out_of_memory: Option<bool>, time_namespace: u64) -> Witness {
    let (cause, status) = match ending.how {
        How::Exited(code) => (CAUSE_EXIT, code),
        How::Killed(signal) => (CAUSE_SIGNAL, signal),
    };
    Witness {
        word: WITNESS_WORD,
        seen_monotonic_ns: ending.seen.monotonic_ns,
        seen_boottime_ns: ending.seen.boottime_ns,
        seen_realtime_ns: ending.seen.realtime_ns,
        time_namespace,
        peak_resident_bytes: ending.peak_bytes,
        user_ns: ending.user_ns,
        system_ns: ending.system_ns,
        status: status.cast_unsigned(),
        cause,
        core_dumped: Witness::answer(Some(ending.core_dumped)),
        out_of_memory: Witness::answer(out_of_memory),
        witness_process_id: std::process::id(),
        ..Witness::zeroed()
    }
}

/// What a capture says of its process if it is that of the program.
struct Process {
    boot_id: [u8; 16],
    pid_namespace: u64,
    process_id: u32,
    start_ticks: u64,
    /// hrx-run's own, in which `start_ticks` was read. 0: unknown, or the kernel has none.
    time_namespace: u64,
}

impl Process {
    /// None: /proc does not tell enough.
    fn of(program: &Program) -> Option<Self> {
        Some(Self {
            boot_id: boot_id()?,
            pid_namespace: pid_namespace()?,
            process_id: program.child.id(),
            start_ticks: program.start_ticks?,
            time_namespace: time_namespace().unwrap_or(0),
        })
    }

    /// Writes the witness into the file at `path`, if it is a capture of this process that has none.
    fn write(&self, path: &Path, witness: Witness) -> io::Result<()> {
        // A pipe or a device must not keep hrx-run waiting.
        let flags =
            OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = match open(path, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            // A link. Or it has gone meanwhile.
            Err(Errno::LOOP | Errno::NOENT) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Ok(());
        }
        let mut page = Vec::new();
        (&file).take(PAGE_BYTES).read_to_end(&mut page)?;
        let checksum = Checksum::new();
        let Ok(identity) = Identity::parse(&page, &checksum) else {
            return Ok(());
        };
        if !self.is_that_of(&identity) || !has_room(&file, metadata.len(), &identity)? {
            return Ok(());
        }
        let witness = Witness {
            capture_id: identity.capture_id,
            ..witness
        };
        let witness = witness.sealed(&checksum, identity.salt);
        let written = pwrite(&file, bytemuck::bytes_of(&witness), identity.witness_offset)?;
        match written {
            WITNESS_BYTES => Ok(()),
            _ => Err(io::ErrorKind::WriteZero.into()),
        }
    }

    fn is_that_of(&self, identity: &Identity) -> bool {
        // Start ticks are shifted by the offset of the time namespace that they are read in.
        let same_time = [identity.time_namespace, self.time_namespace].contains(&0)
            || identity.time_namespace == self.time_namespace;
        identity.boot_id != [0; 16]
            && identity.boot_id == self.boot_id
            && identity.pid_namespace != 0
            && identity.pid_namespace == self.pid_namespace
            && identity.process_id == self.process_id
            && identity.process_start_ticks != 0
            && identity.process_start_ticks == self.start_ticks
            && same_time
    }
}

/// Whether the place of the witness is inside the file, and empty.
fn has_room(file: &File, file_bytes: u64, identity: &Identity) -> io::Result<bool> {
    let end = identity.witness_offset.checked_add(WITNESS_BYTES as u64);
    if end.is_none_or(|end| end > file_bytes) {
        return Ok(false);
    }
    let mut place = [1; WITNESS_BYTES];
    file.read_exact_at(&mut place, identity.witness_offset)?;
    Ok(place == [0; WITNESS_BYTES])
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::process::{Child, Command};

    use hrx_trace::Recorder;
    use tempfile::TempDir;

    use super::*;
    use crate::ending::see;

    /// A capture of this very process, which is taken for one of `program`: nothing else tells them apart.
    struct Case {
        folder: TempDir,
        path: PathBuf,
        process: Process,
        ending: Ending,
    }

    fn child() -> Child {
        Command::new("true").spawn().unwrap()
    }

    fn case() -> Case {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.hrxt");
        drop(Recorder::create(&path, 4).unwrap());
        let mut program = Program::of(child());
        let ending = see(&program).unwrap();
        program.child.wait().unwrap();
        let own = identity(&path);
        let process = Process {
            process_id: own.process_id,
            start_ticks: own.process_start_ticks,
            ..Process::of(&program).unwrap()
        };
        Case {
            folder,
            path,
            process,
            ending,
        }
    }

    fn identity(path: &Path) -> Identity {
        Identity::parse(&fs::read(path).unwrap(), &Checksum::new()).unwrap()
    }

    impl Case {
        fn write(&self) -> io::Result<()> {
            let witness = witness(&self.ending, None, self.process.time_namespace);
            self.process.write(&self.path, witness)
        }

        /// Writes, and asserts that this changes nothing.
        #[track_caller]
        fn leaves_alone(&self) {
            let before = fs::read(&self.path).unwrap();
            self.write().unwrap();
            assert!(fs::read(&self.path).unwrap() == before);
        }
    }

    #[test]
    fn only_the_place_of_the_witness_changes() {
        let case = case();
        let before = fs::read(&case.path).unwrap();
        case.write().unwrap();
        let after = fs::read(&case.path).unwrap();
        let identity = identity(&case.path);
        let place = identity.witness_offset as usize;
        let (end, bytes) = (place + WITNESS_BYTES, &after[place..][..WITNESS_BYTES]);
        assert_eq!(
            (&before[..place], &before[end..]),
            (&after[..place], &after[end..])
        );
        let (id, salt) = (identity.capture_id, identity.salt);
        let found = Witness::believed(bytes.try_into().unwrap(), id, salt, &Checksum::new());
        let found = found.expect("a witness that is believed");
        assert_eq!((found.cause, found.status), (CAUSE_EXIT, 0));
        assert!(found.peak_resident_bytes > 0);
        // It is written once.
        case.leaves_alone();
    }

    #[test]
    fn a_place_that_is_not_empty_is_left_alone() {
        for byte in [0, WITNESS_BYTES - 1] {
            let case = case();
            let file = File::options().write(true).open(&case.path).unwrap();
            let place = identity(&case.path).witness_offset + byte as u64;
            file.write_all_at(&[1], place).unwrap();
            case.leaves_alone();
        }
    }

    #[test]
    fn a_file_that_is_cut_short_is_left_alone() {
        for bytes in [0, 100, 1024, 2560, 2687] {
            let case = case();
            let file = File::options().write(true).open(&case.path).unwrap();
            file.set_len(bytes).unwrap();
            case.leaves_alone();
            assert_eq!(fs::metadata(&case.path).unwrap().len(), bytes);
        }
    }

    #[test]
    fn a_damaged_identity_is_left_alone() {
        let case = case();
        let file = File::options().write(true).open(&case.path).unwrap();
        file.write_all_at(b"x", 300).unwrap();
        case.leaves_alone();
    }

    #[test]
    fn a_link_is_not_followed() {
        let mut case = case();
        let link = case.folder.path().join("link.hrxt");
        symlink(&case.path, &link).unwrap();
        case.path = link;
        case.leaves_alone();
    }

    #[test]
    fn what_is_no_file_is_left_alone() {
        let mut case = case();
        case.path = case.folder.path().join("pipe.hrxt");
        let made = Command::new("mkfifo").arg(&case.path).status().unwrap();
        assert!(made.success());
        case.write().unwrap();
        fs::remove_file(&case.path).unwrap();
        // It has gone.
        case.write().unwrap();
    }

    #[test]
    fn the_capture_of_another_process_is_left_alone() {
        let mut case = case();
        case.process.process_id += 1;
        case.leaves_alone();
        case.process.process_id -= 1;
        case.process.start_ticks += 1;
        case.leaves_alone();
        case.process.start_ticks -= 1;
        case.process.pid_namespace += 1;
        case.leaves_alone();
        case.process.pid_namespace -= 1;
        case.process.boot_id[0] ^= 1;
        case.leaves_alone();
    }

    #[test]
    fn a_file_that_may_not_be_written_is_told_of() {
        let case = case();
        let other = case.folder.path().join("folder.hrxt");
        fs::create_dir(&other).unwrap();
        let witness = witness(&case.ending, None, 0);
        assert!(case.process.write(&other, witness).is_err());
    }
}

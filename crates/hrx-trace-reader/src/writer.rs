//! What the operating system tells of the writer: whether its boot goes on, its file's lock, its process.
//!
//! Each of the three can fail to tell. A forked child can hold the lock after its parent's death. A lock is seen free although it is held if the reader
//! came by another mount of the file, or if the program closed the descriptor that held it. A process can be hidden (`hidepid`), of another PID
//! namespace, where its number means another process, or of another time namespace, where its start shows other ticks.

use hrx_trace_format::Identity;
use hrx_trace_format::header::STATE_FINISHED;

use crate::clock::{same_boot, same_time_namespace};
use crate::os::{self, Process, pid_namespace};
use crate::source::{Lock, Source};

/// What the operating system tells of the writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Writer {
    pub(crate) boot: Boot,
    pub(crate) lock: Lock,
    pub(crate) process: Process,
    /// Whether the process still maps the file. Asked only where it decides: it runs, and the lock is free.
    pub(crate) is_mapped: Option<bool>,
    /// Whether the process runs another program than the one that recorded. Asked only of one that does not map the file.
    pub(crate) is_replaced: bool,
}

/// The boot that the capture is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Boot {
    /// The reader's, or it is not known.
    MayBeOurs,
    /// Another, and only this machine writes the file's file system: so it has ended.
    Ended,
    /// Another, which may go on: on another machine, or in a virtual one.
    MayGoOn,
}

impl Writer {
    /// Looks at the lock before the process: a writer that dies in between is seen to be gone, whatever the lock was.
    pub(crate) fn look(source: &Source, identity: &Identity) -> Self {
        let mut writer = Self {
            boot: Boot::MayBeOurs,
            lock: source.lock(),
            process: Process::NotKnown,
            is_mapped: None,
            is_replaced: false,
        };
        // Bytes in memory have no writer.
        if writer.lock == Lock::NoFile {
            return writer;
        }
        match same_boot(identity) {
            None => {}
            Some(false) if source.place().is_some_and(|place| place.only_here) => {
                writer.boot = Boot::Ended;
            }
            Some(false) => writer.boot = Boot::MayGoOn,
            Some(true) => writer.look_for_process(source, identity),
        }
        writer
    }

    fn look_for_process(&mut self, source: &Source, identity: &Identity) {
        let process_id = match self.number(source, identity) {
            None => return,
            Some(None) => {
                self.process = Process::Gone;
                return;
            }
            Some(Some(process_id)) => process_id,
        };
        let start_ticks = (identity.process_start_ticks != 0 && same_time_namespace(identity))
            .then_some(identity.process_start_ticks);
        self.process = os::process(process_id, start_ticks);
        if (self.process, self.lock) != (Process::Runs, Lock::Free) {
            return;
        }
        let place = source.place();
        self.is_mapped =
            place.and_then(|place| os::is_mapped(process_id, place.file, identity.file_bytes));
        self.is_replaced = self.is_mapped == Some(false)
            && identity.stack_start != 0
            && os::stack_start(process_id).is_some_and(|start| start != identity.stack_start);
        // One that has ended meanwhile maps nothing.
        self.process = os::process(process_id, start_ticks);
    }

    /// The process's number in the reader's PID namespace. Some(None): there is no such process any more. None: it is not known.
    fn number(&self, source: &Source, identity: &Identity) -> Option<Option<u32>> {
        let (own, namespace) = (pid_namespace()?, identity.pid_namespace);
        let process_id = identity.process_id;
        if process_id == 0 {
            return None;
        }
        if namespace == own {
            return Some(Some(process_id));
        }
        if self.lock == Lock::Held
            && let Some(taker) = os::lock_taker(source.place()?.file, namespace, process_id)
        {
            return Some(Some(taker));
        }
        // What is finished stays so, whatever became of the process.
        if namespace == 0 || is_finished(source, identity) {
            return None;
        }
        os::find(own, namespace, process_id)
    }

    /// Whether it may still write, though the file says that it has finished or that its process exits.
    pub(crate) fn may_write(&self) -> bool {
        self.boot == Boot::MayBeOurs
            && self.process != Process::Gone
            && (self.lock == Lock::Held || self.process == Process::Runs)
    }
}

fn is_finished(source: &Source, identity: &Identity) -> bool {
    let mut state = 0u64;
    source.read(identity.counters_offset, bytemuck::bytes_of_mut(&mut state));
    state == STATE_FINISHED
}

#[cfg(test)]
#[allow(clippy::mixed_attributes_style)]
mod tests {
    //! Real processes in each state, and in namespaces of their own where the kernel allows it.
    #![cfg(target_os = "linux")]

    use super::*;
    use crate::ending::Ending;
    use crate::testing::{Image, ours};
    use crate::trace::Trace;
    use rustix::process::{Pid, Signal, kill_process};
    use std::fs::{self, File, Permissions};
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::fs::{FileExt, PermissionsExt};
    use std::path::Path;
    use std::process::{Child, Command, Stdio};
    use std::time::Duration;

    /// Says who the process is, then does what follows it.
    const WHO: &str = "
import ctypes, fcntl, mmap, os, sys, threading, time
file = open(sys.argv[1], 'r+b')
def locked(): fcntl.flock(file, fcntl.LOCK_EX)
def mapped():
    global memory
    memory = mmap.mmap(file.fileno(), 0)
def said():
    inode = lambda name: os.stat('/proc/self/ns/' + name).st_ino
    stat = open('/proc/self/stat', errors='replace').read().rsplit(')', 1)[1].split()
    ticks, stack = stat[19], int(stat[25]) >> 4 & 0xffffffff
    print(os.getpid(), os.readlink('/proc/self'), inode('pid'), inode('time'), ticks, stack, flush=True)
def asleep(): time.sleep(1000)
";

    /// A writer's process, and its file, whose identity names it.
    struct Subject {
        folder: tempfile::TempDir,
        child: Child,
        /// Its number here. The child may be only what started it.
        process_id: u32,
        /// Itself and what it forked, each with its start, so that no other process is killed that has the number by then.
        killed: Vec<(u32, u64)>,
        identity: Identity,
    }

    impl Subject {
        /// `code` has to call `said`. `prefix` is the command that runs it.
        fn new(prefix: &[&str], code: &str) -> Self {
            let folder = tempfile::tempdir().unwrap();
            // Any user may read it.
            fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
            let path = folder.path().join("run.hrxt");
            fs::write(&path, Image::from_identity(ours()).bytes).unwrap();
            let program = format!("{WHO}{code}");
            let python = ["python3", "-c", &program, path.to_str().unwrap()];
            let words: Vec<&str> = prefix.iter().copied().chain(python).collect();
            let mut child = Command::new(words[0])
                .args(&words[1..])
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut line = String::new();
            let mut output = BufReader::new(child.stdout.take().unwrap());
            output.read_line(&mut line).unwrap();
            let numbers: Vec<u64> = line
                .split_whitespace()
                .map(|word| word.parse().unwrap())
                .collect();
            let [own, here, pid_namespace, time_namespace, ticks, stack_start] = numbers[..] else {
                panic!("{prefix:?}: {line}");
            };
            let identity = Identity {
                process_id: own as u32,
                process_start_ticks: ticks,
                pid_namespace,
                time_namespace,
                stack_start: stack_start as u32,
                ..ours()
            };
            let subject = Self {
                folder,
                child,
                process_id: here as u32,
                killed: vec![started(here as u32)],
                identity,
            };
            subject.write(subject.identity);
            subject
        }

        fn path(&self) -> std::path::PathBuf {
            self.folder.path().join("run.hrxt")
        }

        /// In place: the file may be mapped.
        fn write(&self, identity: Identity) {
            let file = File::options().write(true).open(self.path()).unwrap();
            let image = Image::from_identity(identity);
            file.write_all_at(&image.bytes, 0).unwrap();
        }

        fn look(&self) -> Writer {
            look(&self.path(), &self.identity)
        }

        fn ending(&self) -> Ending {
            Trace::open(self.path()).unwrap().ending()
        }

        /// Waits until the process is seen so.
        #[track_caller]
        fn becomes(&self, process: Process) {
            for _ in 0..1000 {
                if self.look().process == process {
                    return;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            panic!("{:?}, expected {process:?}", self.look());
        }

        fn kill(&self) {
            signal(self.process_id, Signal::KILL);
        }

        fn kill_all(&self) {
            for &(id, ticks) in &self.killed {
                if crate::os::start_ticks(id) == Some(ticks) {
                    signal(id, Signal::KILL);
                }
            }
        }
    }

    impl Drop for Subject {
        fn drop(&mut self) {
            self.kill_all();
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }

    fn started(process_id: u32) -> (u32, u64) {
        (process_id, crate::os::start_ticks(process_id).unwrap())
    }

    fn signal(process_id: u32, signal: Signal) {
        let pid = Pid::from_raw(process_id as i32).unwrap();
        // It may be gone.
        let _ = kill_process(pid, signal);
    }

    fn wait_for_state(process_id: u32, state: char) {
        let stat = format!("/proc/{process_id}/stat");
        while !fs::read_to_string(&stat)
            .unwrap()
            .contains(&format!(") {state} "))
        {
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn look(path: &Path, identity: &Identity) -> Writer {
        Writer::look(&Source::open(path).unwrap(), identity)
    }

    /// Says why a test is skipped, on the standard error itself: the test runner hides what a passing test prints. Fails where CI is set.
    fn skip(reason: &str) {
        assert!(
            std::env::var_os("CI").is_none(),
            "skipped where CI is set: {reason}"
        );
        let name = std::thread::current().name().unwrap_or("?").to_owned();
        let _ = writeln!(std::io::stderr(), "skipped {name}: {reason}");
    }

    /// Whether the command succeeds; says so if not.
    fn allowed(words: &[&str]) -> bool {
        let output = Command::new(words[0]).args(&words[1..]).output();
        match output {
            Ok(output) if output.status.success() => true,
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                skip(&format!("{words:?}: {}", said.trim()));
                false
            }
            Err(error) => {
                skip(&format!("{words:?}: {error}"));
                false
            }
        }
    }

    #[test]
    fn what_an_identity_says_of_this_process() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.hrxt");
        fs::write(&path, Image::from_identity(ours()).bytes).unwrap();
        let lock = File::open(&path).unwrap();
        let ours = ours();
        // Where all processes are seen, it is seen that none is of that namespace.
        let elsewhere = match find(ours.pid_namespace + 1_000_000, ours.process_id) {
            Some(None) => Process::Gone,
            _ => Process::NotKnown,
        };
        for (name, identity, expected) in [
            ("ours", ours, Process::Runs),
            (
                "the number has since been given to another process",
                Identity {
                    process_start_ticks: ours.process_start_ticks + 1,
                    ..ours
                },
                Process::Gone,
            ),
            (
                "unknown ticks",
                Identity {
                    process_start_ticks: 0,
                    ..ours
                },
                Process::NotKnown,
            ),
            (
                "another time namespace, which shows other ticks",
                Identity {
                    time_namespace: ours.time_namespace + 1,
                    process_start_ticks: 5,
                    ..ours
                },
                Process::NotKnown,
            ),
            (
                // This process takes the lock below, and has the number, but not the namespace.
                "another PID namespace",
                Identity {
                    pid_namespace: ours.pid_namespace + 1_000_000,
                    ..ours
                },
                elsewhere,
            ),
            (
                "another boot",
                Identity {
                    boot_id: [7; 16],
                    ..ours
                },
                Process::NotKnown,
            ),
            (
                "unknown boot",
                Identity {
                    boot_id: [0; 16],
                    ..ours
                },
                Process::NotKnown,
            ),
            (
                // Above 2^22, the largest that Linux gives out.
                "gone",
                Identity {
                    process_id: 1 << 23,
                    ..ours
                },
                Process::Gone,
            ),
            (
                "unknown number",
                Identity {
                    process_id: 0,
                    ..ours
                },
                Process::NotKnown,
            ),
        ] {
            lock.try_lock().unwrap();
            let held = look(&path, &identity);
            lock.unlock().unwrap();
            let free = look(&path, &identity);
            assert_eq!((held.lock, held.process), (Lock::Held, expected), "{name}");
            assert_eq!((free.lock, free.process), (Lock::Free, expected), "{name}");
        }
    }

    #[test]
    fn a_killed_process_is_gone_as_a_zombie_and_when_it_is_reaped() {
        let mut subject = Subject::new(&[], "locked(); mapped(); said(); asleep()");
        assert_eq!(subject.ending(), Ending::Live);
        subject.kill();
        subject.becomes(Process::Gone);
        // A zombie is gone whenever it started.
        let unknown_ticks = Identity {
            process_start_ticks: 0,
            ..subject.identity
        };
        assert_eq!(look(&subject.path(), &unknown_ticks).process, Process::Gone);
        assert_eq!(subject.ending(), Ending::WriterDied);
        subject.child.wait().unwrap();
        assert_eq!(subject.ending(), Ending::WriterDied);
    }

    /// The bug: the state of a program that calls itself by bytes that are no text was not known.
    #[test]
    fn a_program_with_a_name_that_is_no_text() {
        let name = "ctypes.CDLL(None).prctl(15, b'\\xff) Z 1 (', 0, 0, 0)";
        let subject = Subject::new(&[], &format!("mapped(); {name}; said(); asleep()"));
        assert_eq!(subject.look().process, Process::Runs);
        assert_eq!(subject.ending(), Ending::Live);
    }

    /// Its leader has ended, and shows neither threads' states nor mappings.
    #[test]
    fn a_zombie_leader_with_threads_runs() {
        let leave =
            "threading.Thread(target=asleep).start(); said(); ctypes.CDLL(None).pthread_exit(None)";
        let subject = Subject::new(&[], &format!("mapped(); {leave}"));
        wait_for_state(subject.process_id, 'Z');
        let seen = subject.look();
        assert_eq!((seen.process, seen.lock), (Process::Runs, Lock::Free));
        // The descriptor that held the lock was closed, and the file is still mapped.
        assert_eq!(seen.is_mapped, Some(true));
        assert_eq!(subject.ending(), Ending::Live);
        subject.kill();
        subject.becomes(Process::Gone);
    }

    /// The bug: a program that replaced itself was called dead, though its process runs on.
    #[test]
    fn exec() {
        let code =
            "locked(); mapped(); said(); time.sleep(0.2); os.execvp('sleep', ['sleep', '1000'])";
        let subject = Subject::new(&[], code);
        for _ in 0..1000 {
            match subject.ending() {
                Ending::ReplacedByExec => break,
                ending => assert_eq!(ending, Ending::Live),
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(subject.ending(), Ending::ReplacedByExec);
        assert_eq!(subject.look().is_mapped, Some(false));
        subject.kill();
        subject.becomes(Process::Gone);
        assert_eq!(subject.ending(), Ending::WriterDied);
    }

    #[test]
    fn a_forked_child_holds_the_lock() {
        let code = "
locked()
if os.fork() == 0: asleep()
said()
asleep()";
        let mut subject = Subject::new(&[], code);
        assert_eq!(subject.ending(), Ending::Live);
        subject.kill();
        subject.becomes(Process::Gone);
        assert_eq!(subject.look().lock, Lock::Held);
        assert_eq!(subject.ending(), Ending::WriterDied);
        let children = that_hold(&subject.path());
        assert_eq!(children.len(), 1);
        subject.killed.extend(children);
    }

    /// The processes that have the file open.
    fn that_hold(path: &Path) -> Vec<(u32, u64)> {
        let own = std::process::id();
        let ids = fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .filter_map(|entry| {
                let id: u32 = entry.file_name().to_str()?.parse().ok()?;
                let mut open = fs::read_dir(entry.path().join("fd")).ok()?.flatten();
                let holds = open.any(|fd| fs::read_link(fd.path()).is_ok_and(|to| to == path));
                (holds && id != own).then(|| started(id))
            });
        ids.collect()
    }

    /// The init of a PID namespace waits, as it exits, for all that is in it. What came in from outside and is not reaped there holds it up.
    #[test]
    fn a_process_that_the_kernel_takes_down() {
        if !allowed(&["unshare", "--pid", "--fork", "--kill-child", "true"]) {
            return;
        }
        let mut subject = Subject::new(
            &["unshare", "--pid", "--fork", "--kill-child"],
            "locked(); mapped(); said(); asleep()",
        );
        // The number is that of the outer namespace.
        let identity = Identity {
            process_id: subject.process_id,
            pid_namespace: ours().pid_namespace,
            ..subject.identity
        };
        subject.identity = identity;
        subject.write(identity);
        assert_eq!(subject.ending(), Ending::Live);
        let target = subject.process_id.to_string();
        let mut guest = Command::new("nsenter")
            .args(["--pid", "--target", &target, "sleep", "1000"])
            .spawn()
            .unwrap();
        let children = format!("/proc/{0}/task/{0}/children", guest.id());
        while fs::read_to_string(&children).is_ok_and(|ids| ids.is_empty()) {
            std::thread::sleep(Duration::from_millis(10));
        }
        signal(guest.id(), Signal::STOP);
        wait_for_state(guest.id(), 'T');
        subject.kill();
        subject.becomes(Process::Ending);
        assert_eq!(subject.ending(), Ending::Ending);
        signal(guest.id(), Signal::CONT);
        guest.wait().unwrap();
        subject.becomes(Process::Gone);
        assert_eq!(subject.ending(), Ending::WriterDied);
    }

    /// The bug: outside its PID namespace, a writer that was killed was still recording for ever, as long as a forked child held the lock.
    #[test]
    fn a_writer_in_a_pid_namespace() {
        if !allowed(&["unshare", "--pid", "--fork", "--kill-child", "true"]) {
            return;
        }
        let code = "
locked()
if os.fork() == 0: asleep()
said()
asleep()";
        let init = ["sh", "-c", "\"$@\"; sleep 1000", "sh"];
        let words: Vec<&str> = ["unshare", "--pid", "--fork", "--kill-child"]
            .into_iter()
            .chain(init)
            .collect();
        let mut subject = Subject::new(&words, code);
        assert_ne!(subject.identity.pid_namespace, ours().pid_namespace);
        assert_ne!(subject.identity.process_id, subject.process_id);
        let seen = subject.look();
        assert_eq!((seen.process, seen.lock), (Process::Runs, Lock::Held));
        assert_eq!(subject.ending(), Ending::Live);
        subject.killed.extend(that_hold(&subject.path()));
        subject.kill();
        subject.becomes(Process::Gone);
        assert_eq!(subject.look().lock, Lock::Held);
        assert_eq!(subject.ending(), Ending::WriterDied);
        subject.kill_all();
        while subject.look().lock == Lock::Held {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(subject.ending(), seen_from_here(Ending::WriterDied));
    }

    fn find(namespace: u64, own_id: u32) -> Option<Option<u32>> {
        crate::os::find(pid_namespace()?, namespace, own_id)
    }

    /// Where not all processes can be seen, only the lock tells.
    fn seen_from_here(ending: Ending) -> Ending {
        match find(1, 1) {
            Some(_) => ending,
            None => Ending::CannotTell,
        }
    }

    /// Its file is seen by another mount, or its descriptor was closed: the process alone tells.
    #[test]
    fn a_writer_in_a_pid_namespace_without_a_lock() {
        if !allowed(&["unshare", "--pid", "--fork", "--kill-child", "true"]) {
            return;
        }
        let subject = Subject::new(
            &["unshare", "--pid", "--fork", "--kill-child"],
            "mapped(); said(); asleep()",
        );
        assert_eq!(subject.identity.process_id, 1);
        assert_eq!(subject.ending(), seen_from_here(Ending::Live));
        // Another of the same number, of another namespace, is not taken for it.
        let other = Subject::new(
            &["unshare", "--pid", "--fork", "--kill-child"],
            "mapped(); said(); asleep()",
        );
        subject.kill();
        while subject.ending() != seen_from_here(Ending::WriterDied) {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(other.ending(), seen_from_here(Ending::Live));
        // From inside, the outside is not seen.
        let identity = Identity {
            pid_namespace: ours().pid_namespace + 1_000_000,
            ..ours()
        };
        other.write(identity);
        let program = std::env::current_exe().unwrap();
        let inside = ["--pid", "--fork", "--kill-child", "--mount-proc"];
        let output = Command::new("unshare")
            .args(inside)
            .arg(program)
            .args(["--exact", "writer::tests::prints_an_ending", "--nocapture"])
            .env(PRINTED, other.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains("ending CannotTell"), "{said}");
    }

    /// The bug: in another time namespace, whose ticks are shifted, a writer that lives was called dead.
    #[test]
    fn a_writer_in_a_time_namespace() {
        let shifted = [
            "unshare",
            "--time",
            "--boottime",
            "100000",
            "--fork",
            "--kill-child",
        ];
        let words: Vec<&str> = shifted.iter().copied().chain(["true"]).collect();
        if !allowed(&words) {
            return;
        }
        for (code, expected) in [
            ("locked(); mapped(); said(); asleep()", Ending::Live),
            ("mapped(); said(); asleep()", Ending::CannotTell),
        ] {
            let subject = Subject::new(&shifted, code);
            assert_ne!(subject.identity.time_namespace, ours().time_namespace);
            let ticks = crate::os::start_ticks(subject.process_id).unwrap();
            assert_ne!(subject.identity.process_start_ticks, ticks);
            assert_eq!(subject.look().process, Process::NotKnown);
            assert_eq!(subject.ending(), expected);
            assert_eq!(crate::clock::now_ns(&subject.identity), None);
            // A number that no process has is told in any namespace.
            subject.kill();
            subject.becomes(Process::Gone);
            assert_eq!(subject.ending(), Ending::WriterDied);
        }
    }

    /// Names the file whose ending this test program prints, when it runs itself as another user.
    const PRINTED: &str = "HRX_TEST_PRINTED";

    #[test]
    fn prints_an_ending() {
        if let Some(path) = std::env::var_os(PRINTED) {
            println!("ending {:?}", Trace::open(path).unwrap().ending());
        }
    }

    /// The bug: where `/proc` hides other users' processes, a writer that lives was called dead.
    #[test]
    fn a_writer_that_proc_hides() {
        let hide = "mount -t proc -o hidepid=2 proc /proc";
        let as_another = "exec setpriv --reuid 65534 --regid 65534 --clear-groups \"$@\"";
        let hidden = format!("{hide} && {as_another}");
        let words = ["unshare", "--mount", "sh", "-c", &hidden, "sh"];
        let program = std::env::current_exe().unwrap();
        let program = program.to_str().unwrap();
        let trial: Vec<&str> = words.iter().copied().chain([program, "--list"]).collect();
        if !allowed(&trial) {
            return;
        }
        let seen_by_another = |subject: &Subject| {
            let output = Command::new(words[0])
                .args(&words[1..])
                .args([
                    program,
                    "--exact",
                    "writer::tests::prints_an_ending",
                    "--nocapture",
                ])
                .env(PRINTED, subject.path())
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            let ending = said.split("ending ").nth(1).map(|rest| rest.lines().next());
            ending.flatten().unwrap_or(&said).to_owned()
        };
        for (code, expected) in [
            ("locked(); mapped(); said(); asleep()", "Live"),
            ("mapped(); said(); asleep()", "CannotTell"),
        ] {
            let mut subject = Subject::new(&[], code);
            assert_eq!(seen_by_another(&subject), expected);
            // The number is still used until it is reaped.
            subject.kill();
            subject.child.wait().unwrap();
            assert_eq!(seen_by_another(&subject), "WriterDied");
        }
    }
}

//! Proves: the traced program comes first. Whatever becomes of its trace (no space, no permission, a name already taken, a fork), the program
//! continues and exits with 0, and the error or the count is clear.
//!
//! How: the program `host` (src/bin/host.rs) does what its command line says. It runs where the disk is full, read-only or owned by another user, forks,
//! gets signals, ends threads, and loses its file. The name of each test states what must hold. Mounts and process ids are made in namespaces that vanish
//! with the program.
//!
//! One case is not covered by the promise, and a test shows it: a writer whose file is *truncated* under its mapping dies by SIGBUS at its next store
//! past the new end. A library could prevent that only with a signal handler, and those belong to the host. Mode 0600 restricts it to the same user and
//! root. Readers never map the file, so they continue.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use hrx_trace_reader::{Ending, Report, Trace, process};
use hrx_trace_tests::host::{Host, in_namespaces, lock_is_free};
use hrx_trace_tests::skip::skip;
use nix::libc;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

const HOST: &str = env!("CARGO_BIN_EXE_host");

/// A new folder, and the path of a trace in it.
fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.hrxt");
    (folder, path)
}

/// The program with the steps `steps`, in which `T` stands for `path`. No variable says where its captures belong.
fn host(path: &Path, steps: &str) -> Command {
    let mut command = Command::new(HOST);
    command.args(words(path, steps));
    for variable in [
        "HRX_TRACE_FILE",
        "HRX_TRACE_DIR",
        "HRX_TRACE_KEEP",
        "XDG_RUNTIME_DIR",
    ] {
        command.env_remove(variable);
    }
    command
}

fn words<'a>(path: &'a Path, steps: &'a str) -> Vec<&'a OsStr> {
    let word = |word: &'a str| {
        if word == "T" {
            path.as_os_str()
        } else {
            OsStr::new(word)
        }
    };
    steps.split_whitespace().map(word).collect()
}

#[track_caller]
fn run(path: &Path, steps: &str) -> Vec<String> {
    Host::start(&mut host(path, steps)).ends_well()
}

#[track_caller]
fn report(path: &Path) -> Report {
    let report = Trace::open(path).expect("a trace").report();
    assert!(report.account.balances(), "{report:?}");
    assert_eq!(
        (report.account.torn, report.open_torn, report.damages.len()),
        (0, 0, 0),
        "{report:?}"
    );
    report
}

/// The value that the capture's header gives to `key`.
fn attribute(path: &Path, key: &str) -> Option<String> {
    let trace = Trace::open(path).expect("a trace");
    let mut attributes = trace.identity().attributes();
    attributes.find_map(|(found, value)| (found == key).then(|| value.to_owned()))
}

/// The names in `folder`, sorted.
fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Asserts that the program's first line says that it has no trace, and why.
#[track_caller]
fn assert_no_trace(lines: &[String], path: &str, why: &str) {
    let expected = format!("no trace: {path}: {why}");
    assert!(
        lines
            .first()
            .is_some_and(|line| line.starts_with(&expected)),
        "{lines:?}, expected {expected:?}"
    );
}

// --- Space, permission, names ------------------------------------------------------------------------------------------------

/// Copies the program to `path`.
///
/// The bug: a test that started its own program at that moment inherited the copy, open for writing, and the kernel refused to run it (ETXTBSY, status 126). Found
/// on a busy machine. So another process, which starts none, does the copying.
fn copy_program(path: &Path) {
    let copied = Command::new("cp").arg(HOST).arg(path).status().unwrap();
    assert!(copied.success());
}

/// The lines printed by the program, which is the last command of `script`. The script starts in `$1`, an empty folder; `$HOST` is the program.
#[track_caller]
fn scripted(flags: &[&str], script: &str) -> Option<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    // Users other than root need access to the folder and to the program.
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let program = folder.path().join("program");
    copy_program(&program);
    let place = folder.path().join("place");
    fs::create_dir(&place).unwrap();
    let script = format!(r#"cd "$1"; {script}"#);
    let mut command = in_namespaces(&program, flags, &script, &[place.as_os_str()])?;
    Some(Host::start(&mut command).ends_well())
}

const SMALL_DISK: &str = r#"mount -t tmpfs -o size=2m none "$1"; cd "$1";"#;

#[test]
fn a_full_disk_is_an_error_at_creation() {
    // 2 MiB of records do not fit. The smaller capture does, because nothing is left of the first.
    let steps = "create t.hrxt 32768 record 10 create t.hrxt 1000 record 1500 finish report t.hrxt";
    let Some(lines) = scripted(&[], &format!(r#"{SMALL_DISK} exec "$HOST" {steps}"#)) else {
        return;
    };
    assert_no_trace(
        &lines,
        "t.hrxt",
        "no room for its 3674112 bytes: No space left on device",
    );
    assert_eq!(
        lines[1..],
        [
            "created",
            "Finished: 1500 claimed, 1000 recovered, 0 torn, 0 open"
        ]
    );
}

#[test]
fn a_disk_that_fills_up_later_loses_no_event() {
    let steps = "create t.hrxt 1000 record 10 sh 'cat /dev/zero >junk' create u.hrxt 1000 record 5000 begin end label sync finish report t.hrxt";
    let Some(lines) = scripted(
        &[],
        &format!(r#"{SMALL_DISK} exec "$HOST" {steps} 2>/dev/null"#),
    ) else {
        return;
    };
    assert_eq!(lines[..2], ["created", "sh exit status: 1"]);
    assert_no_trace(
        &lines[2..],
        "u.hrxt",
        "no room for its 1642496 bytes: No space left on device",
    );
    let said = "Finished: 5011 claimed, 1000 recovered, 0 torn, 0 open";
    // The first name is the thread's.
    assert_eq!(
        lines[3..],
        ["label Some(Label(2))", "sync Some(Ok(()))", said]
    );
}

/// The kernel that runs the tests may have no quotas: seccomp gives the answer of one that does to `fallocate`, the only call that meets them.
#[test]
fn a_full_quota_is_an_error() {
    let (_folder, path) = folder();
    let lines = run(
        &path,
        &format!(
            "refuse fallocate {} create T 1000 record 10 finish",
            libc::EDQUOT
        ),
    );
    assert_no_trace(
        &lines,
        &path.to_string_lossy(),
        "no room for its 1642496 bytes: Disk quota exceeded",
    );
    assert!(!path.exists());
}

/// On NFS and some FUSE file systems, space is reserved by writing zeroes, and whether a capture is live follows from the process id.
#[test]
fn a_file_system_without_fallocate_and_flock_still_works() {
    let (_folder, path) = folder();
    let steps = format!(
        "refuse fallocate {0} refuse flock {0} create T 1000 record 10 report T pause",
        libc::EOPNOTSUPP
    );
    let mut program = Host::start(&mut host(&path, &steps));
    program.wait_for("paused");
    assert_eq!(
        program.lines,
        [
            "created",
            "Live: 10 claimed, 10 recovered, 0 torn, 0 open",
            "paused"
        ]
    );
    let metadata = fs::metadata(&path).unwrap();
    assert!(metadata.blocks() * 512 >= metadata.len());
    program.go_on();
    let _ = program.ends_well();

    let steps = format!(
        r#""$HOST" refuse fallocate {} create t.hrxt 32768 record 10"#,
        libc::EOPNOTSUPP
    );
    let Some(lines) = scripted(&[], &format!("{SMALL_DISK} exec {steps}")) else {
        return;
    };
    assert_no_trace(
        &lines,
        "t.hrxt",
        "no room for its 3674112 bytes: No space left on device",
    );
}

#[test]
fn a_kernel_that_cannot_detect_forks_is_an_error() {
    let (_folder, path) = folder();
    let lines = run(
        &path,
        &format!(
            "refuse madvise {} create T 1000 record 10 finish",
            libc::EINVAL
        ),
    );
    assert_no_trace(
        &lines,
        &path.to_string_lossy(),
        "this system does not support MADV_WIPEONFORK (Linux 4.14): Invalid argument",
    );
    assert!(!path.exists());
}

/// SIGXFSZ would kill the program if the limit were not checked first (setrlimit(2)).
#[test]
fn a_file_size_limit_is_an_error() {
    let (_folder, path) = folder();
    let lines = run(
        &path,
        "limit-file-size 1000000 create T 32768 record 10 finish",
    );
    assert_no_trace(
        &lines,
        &path.to_string_lossy(),
        "no room for its 3674112 bytes: File too large",
    );
    assert!(!path.exists());
    // A limit that is set later does not affect an existing file.
    run(
        &path,
        "create T 1000 limit-file-size 0 record 5000 begin end label sync finish",
    );
    let report = report(&path);
    assert_eq!(
        (report.account.claimed, report.account.recovered),
        (5001, 1000)
    );
}

#[test]
fn a_read_only_file_system_is_an_error() {
    let script = r#"mount -t tmpfs -o ro none "$1"; cd "$1"; exec "$HOST" create t.hrxt 10 record 10 finish"#;
    let Some(lines) = scripted(&[], script) else {
        return;
    };
    assert_no_trace(
        &lines,
        "t.hrxt",
        "no permission to create it: Read-only file system",
    );
}

#[test]
fn a_folder_without_permission_is_an_error() {
    if !nix::unistd::geteuid().is_root() {
        let lines = run(Path::new("/t.hrxt"), "create T 10 record 10 finish");
        return assert_no_trace(
            &lines,
            "/t.hrxt",
            "no permission to create it: Permission denied",
        );
    }
    let script = r#"exec setpriv --reuid 65534 --regid 65534 --clear-groups "$HOST" create t.hrxt 10 record 10 finish"#;
    let Some(lines) = scripted(&[], script) else {
        return;
    };
    assert_no_trace(
        &lines,
        "t.hrxt",
        "no permission to create it: Permission denied",
    );
}

#[test]
fn an_existing_file_is_an_error_and_is_not_changed() {
    let (folder, path) = folder();
    let is_there =
        "exists already, and a trace is never overwritten: move it away or choose another name";
    let refused = |path: &Path| {
        let lines = run(
            path,
            "create T 10 record 10 begin end label sync finish trace T 10 record 10 untrace",
        );
        assert_no_trace(&lines, &path.to_string_lossy(), is_there);
        assert_eq!(
            lines[1..],
            ["label None", "sync None", &lines[0], "traced nothing"]
        );
    };

    fs::write(&path, "the last crash").unwrap();
    refused(&path);
    for (name, target) in [
        ("to a file", path.clone()),
        ("to nothing", folder.path().join("nothing")),
    ] {
        let link = folder.path().join(name);
        symlink(&target, &link).unwrap();
        refused(&link);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }
    assert_eq!(fs::read(&path).unwrap(), b"the last crash");
    assert!(!folder.path().join("nothing").exists());
    refused(folder.path());
}

#[test]
fn the_live_file_of_another_process_is_not_changed() {
    let (_folder, path) = folder();
    let mut writer = Host::start(&mut host(
        &path,
        "create T 10 record 3 pause record 3 finish",
    ));
    writer.wait_for("paused");
    let lines = run(&path, "create T 10 record 10 finish");
    assert_no_trace(&lines, &path.to_string_lossy(), "exists already");
    assert_eq!(report(&path).ending, Ending::Live);
    writer.go_on();
    let _ = writer.ends_well();
    let report = report(&path);
    assert_eq!(
        (report.ending, report.account.recovered),
        (Ending::Finished, 6)
    );
}

#[test]
fn a_second_recorder_on_the_same_path_is_refused_and_the_first_continues() {
    let (_folder, path) = folder();
    let lines = run(
        &path,
        "create T 10 record 3 create T 10 record 3 trace T 10 record 1 finish",
    );
    assert_no_trace(&lines[1..], &path.to_string_lossy(), "exists already");
    assert_no_trace(&lines[2..], &path.to_string_lossy(), "exists already");
    assert_eq!(report(&path).account.recovered, 7);
}

// --- Signals and limits at creation -------------------------------------------------------------------------------------------

/// The bug: a signal during creation (a timer, a profiler, a resized terminal) ended it with "Interrupted system call". Found by answering each call with
/// EINTR.
#[test]
fn a_signal_during_creation_is_no_reason_to_have_no_trace() {
    let (_folder, path) = folder();
    let steps = "interrupt fallocate,flock,getrandom,madvise 3 create T 1000 interruptions record 10 finish";
    // madvise is called twice, and three of its calls are interrupted.
    assert_eq!(run(&path, steps), ["created", "interrupted 12"]);
    let report = report(&path);
    assert_eq!(
        (report.ending, report.account.recovered),
        (Ending::Finished, 10)
    );
}

/// The bug: fallocate on tmpfs gave everything back when a signal came, so a profiler's timer kept it from ever reserving a large file. Newer kernels go on, so
/// this one is made to answer as the older ones do. Found by reading what tmpfs does.
#[test]
fn signals_do_not_starve_the_reservation_of_a_large_file() {
    let (_folder, path) = folder();
    let steps = "interrupt-reservations-above 65536 create T 100000 record 10 finish";
    assert_eq!(run(&path, steps), ["created"]);
    let metadata = fs::metadata(&path).unwrap();
    assert!(metadata.blocks() * 512 >= metadata.len());
    assert_eq!(report(&path).account.recovered, 10);
}

/// The bug: an NFS server whose lock daemon is down answers ENOLCK, and creation failed. Found by answering it.
#[test]
fn a_file_system_that_has_run_out_of_locks_still_works() {
    let (_folder, path) = folder();
    let steps = format!(
        "refuse flock {} create T 1000 record 10 report T",
        libc::ENOLCK
    );
    let said = "Live: 10 claimed, 10 recovered, 0 torn, 0 open";
    assert_eq!(run(&path, &steps), ["created", said]);
}

/// The bug: the error of `ulimit -v` was "this system does not support mapping files of this file system". Found by setting it.
#[test]
fn an_address_space_limit_is_an_error_that_says_so() {
    let (_folder, path) = folder();
    let lines = run(
        &path,
        "limit-memory 300000000 create T 10000000 create T 1000 record 10 finish",
    );
    assert_no_trace(
        &lines,
        &path.to_string_lossy(),
        "this process has no address space for its 641576960 bytes, which `ulimit -v` limits to 300000000: Cannot allocate memory",
    );
    assert_eq!(lines[1..], ["created"]);
}

/// The bug: the error of a file system without inodes spoke of the room for the file's bytes. Found by a tmpfs that has one.
#[test]
fn a_file_system_without_inodes_is_an_error_that_says_so() {
    let script = r#"mount -t tmpfs -o nr_inodes=1 none "$1"; cd "$1"; exec "$HOST" create t.hrxt 10 record 10 finish"#;
    let Some(lines) = scripted(&[], script) else {
        return;
    };
    assert_no_trace(
        &lines,
        "t.hrxt",
        "no room for another file in its folder (`df -i` shows the inodes that are left): No space left on device",
    );
}

// --- The environment chooses the place ----------------------------------------------------------------------------------------

/// The bug: `HRX_TRACE_FILE=/etc/x.hrxt` made a set-user-ID program create that file as root. Found with a real one.
#[test]
fn a_set_user_id_program_ignores_the_environment() {
    if !nix::unistd::geteuid().is_root() {
        return skip("only root can make a program of root's that others run as root");
    }
    for variable in [
        "HRX_TRACE_FILE=$1/asked/t.hrxt",
        "HRX_TRACE_DIR=$1/asked",
        "XDG_RUNTIME_DIR=$1/asked",
    ] {
        let script = format!(
            r#"mkdir asked mine
            cp "$HOST" mine/host; chmod 4755 mine/host; chmod 1777 asked mine
            if findmnt -no OPTIONS -T . | grep -q nosuid; then exec "$HOST" sh true; fi
            mount --bind mine /tmp
            env="{variable} TMPDIR=$1/asked HRX_TRACE_KEEP=none"
            exec setpriv --reuid 65534 --regid 65534 --clear-groups \
                env ${{env//'$1'/$1}} /tmp/host trace-anywhere 10 record 2 untrace"#
        );
        let Some(lines) = scripted(&[], &script) else {
            return;
        };
        if lines[0].starts_with("sh ") {
            return skip("programs here cannot be set-user-ID");
        }
        assert!(lines[0].starts_with("tracing /tmp/host."), "{lines:?}");
        assert_eq!(lines[1..], ["traced 2 events, 0 dropped"], "{variable}");
    }
}

/// The bug: a `$XDG_RUNTIME_DIR` of an ended session, of another user (`su`) or without a meaning (containers) made `Tracer::start` fail. Found by setting it so.
#[test]
fn a_session_folder_that_cannot_be_used_is_passed_over() {
    let (folder, path) = folder();
    let others = folder.path().join("others");
    fs::create_dir(&others).unwrap();
    let mut ways = vec![
        (
            PathBuf::from("/no/such"),
            "/no/such/host.PID.0.hrxt: its folder does not exist",
        ),
        (
            PathBuf::from("."),
            r#"$XDG_RUNTIME_DIR: found ".", expected an absolute path"#,
        ),
        (PathBuf::from("/proc"), "/proc/host.PID.0.hrxt: "),
    ];
    if nix::unistd::geteuid().is_root() {
        std::os::unix::fs::chown(&others, Some(65534), None).unwrap();
        ways.push((others, "$XDG_RUNTIME_DIR: found "));
    }
    for (session, why) in ways {
        let mut command = host(&path, "trace-anywhere 10 record 3 fallback untrace");
        command.env("XDG_RUNTIME_DIR", &session);
        command.env("TMPDIR", folder.path());
        let mut program = Host::start(&mut command);
        let place = folder.path().to_str().unwrap();
        let id = program.id().to_string();
        let lines = {
            program.wait_for("tracing ");
            program.ends_well()
        };
        let file = format!("{place}/host.{id}.0.hrxt");
        assert_eq!(lines[0], format!("tracing {file}"), "{session:?}");
        assert_eq!(lines[2], "traced 3 events, 0 dropped");
        let fallback = attribute(Path::new(&file), "fallback").expect("the file says why");
        assert!(fallback.starts_with(&why.replace("PID", &id)), "{fallback}");
        assert_eq!(lines[1], format!("fallback Some({fallback:?})"));
    }
}

/// The bug: in a container /dev/shm has 64 MiB, and a capture that did not fit there was none. Found with a small tmpfs. A wrong folder, however, is a mistake that
/// the user wants to hear of.
#[test]
fn a_full_folder_is_passed_over_and_a_wrong_one_is_an_error() {
    for (options, why) in [
        (
            "size=1m",
            "no room for its 3674112 bytes: No space left on device",
        ),
        (
            "nr_inodes=1",
            "no room for another file in its folder (`df -i` shows the inodes that are left): No space left on device",
        ),
    ] {
        let script = format!(
            r#"mkdir small large; mount -t tmpfs -o {options} none small
            export HRX_TRACE_DIR="$1/small" TMPDIR="$1/large"; unset HRX_TRACE_FILE XDG_RUNTIME_DIR
            exec "$HOST" trace-anywhere 32768 record 3 fallback untrace sh 'ls small; ls large'"#
        );
        let Some(lines) = scripted(&[], &script) else {
            return;
        };
        let name = lines[0].rsplit_once("/large/").expect("the other folder").1;
        assert!(lines[1].starts_with("fallback Some(\""), "{lines:?}");
        assert!(
            lines[1].contains(&format!("/small/{name}: {why}")),
            "{lines:?}"
        );
        assert_eq!(
            lines[2..],
            ["traced 3 events, 0 dropped", name, "sh exit status: 0"]
        );
    }
    let (folder, path) = folder();
    let mut command = host(&path, "trace-anywhere 10 record 3 untrace");
    command.env("HRX_TRACE_DIR", folder.path().join("mistyped"));
    command.env("TMPDIR", folder.path());
    let mut program = Host::start(&mut command);
    let id = program.id();
    let said = program.wait_for("no trace: ");
    assert!(
        said.ends_with(&format!(
            "/mistyped/host.{id}.0.hrxt: its folder does not exist"
        )),
        "{said}"
    );
    let _ = program.ends_well();
}

/// The bug: the same `$HRX_TRACE_FILE` for all ranks, or for a restart, made the second start fail, and with it a program that ends at `?`. Found by starting twice.
#[test]
fn placeholders_keep_the_files_of_ranks_and_restarts_apart() {
    let (folder, path) = folder();
    let host_name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let host_name = host_name.trim_end();
    let mut command = host(&path, "");
    let mut expand = |template: &str| {
        command.args(["expand", template]);
    };
    let fine = [
        ("a/%p.hrxt", "a/PID.hrxt"),
        ("%h-%%-%r", &format!("{host_name}-%-3")),
        ("/x/%{JOB}.%{SLASHES}", "/x/job 7..._.._etc_x"),
        ("%{DOT}%{DOT}x/%%%%p", "..x/%%p"),
        ("../plain", "../plain"),
    ];
    fine.iter().for_each(|(template, _)| expand(template));
    let wrong = [
        "%q",
        "%",
        "a%",
        "%P",
        "%{JOB",
        "%{JO/B}",
        "%{}",
        "%{UNSET}",
        "%{EMPTY}",
        "%{A=B}",
        "x/%{DOT}/y",
        "%{DOT}%{DOT}/y",
    ];
    wrong.iter().for_each(|template| expand(template));
    expand("%t");
    command
        .env("JOB", "job 7.")
        .env("SLASHES", "./../etc/x")
        .env("DOT", ".")
        .env("EMPTY", "")
        .env_remove("UNSET")
        .env_remove("RANK")
        .env_remove("OMPI_COMM_WORLD_RANK")
        .env("PMI_RANK", "3")
        .env("SLURM_PROCID", "4");
    let program = Host::start(&mut command);
    let id = program.id().to_string();
    let lines = program.ends_well();
    for (line, (template, expected)) in lines.iter().zip(fine) {
        assert_eq!(
            *line,
            format!("path {}", expected.replace("PID", &id)),
            "{template}"
        );
    }
    let (said, time) = lines[fine.len()..].split_at(wrong.len());
    for (line, template) in said.iter().zip(wrong) {
        let expected = format!("no path: name of the trace: found {template:?}, expected ");
        assert!(line.starts_with(&expected), "{line}");
    }
    let time: u64 = time[0].strip_prefix("path ").unwrap().parse().unwrap();
    let now = std::time::SystemTime::UNIX_EPOCH
        .elapsed()
        .unwrap()
        .as_secs();
    assert!(now - 100 < time && time <= now);

    let template = folder.path().join("%r-%p.hrxt");
    let start = |rank: &str| {
        let mut command = host(&path, "trace-anywhere 10 record 3 untrace");
        command.env("HRX_TRACE_FILE", &template).env("RANK", rank);
        let lines = Host::start(&mut command).ends_well();
        PathBuf::from(lines[0].strip_prefix("tracing ").expect("it traces"))
    };
    let ranks = ["0", "1", "0"].map(start);
    assert_eq!(names(folder.path()).len(), 3, "{ranks:?}");
    // Without a rank, the name cannot be made.
    let mut command = host(&path, "trace-anywhere 10 record 3 untrace");
    command.env("HRX_TRACE_FILE", &template);
    for variable in ["RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"] {
        command.env_remove(variable);
    }
    let lines = Host::start(&mut command).ends_well();
    assert!(lines[0].ends_with(r#"expected one of ["RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"] to be set for %r"#));
}

/// The bug: a name that is unique by the process id alone comes twice: a program starts many captures, `exec` keeps the id, and each container has its process 1.
/// Found in review.
#[test]
fn names_chosen_by_the_recorder_count_up() {
    let (folder, path) = folder();
    let steps = "trace-anywhere 10 record 1 untrace trace-anywhere 10 record 2 untrace exec trace-anywhere 10 record 3 untrace";
    let mut command = host(&path, steps);
    command.env("HRX_TRACE_DIR", folder.path());
    let program = Host::start(&mut command);
    let names_of =
        |numbers: [u32; 3]| numbers.map(|number| format!("host.{}.{number}.hrxt", program.id()));
    let expected = names_of([0, 1, 2]);
    let _ = program.ends_well();
    assert_eq!(names(folder.path()), expected);
    for (name, events) in expected.iter().zip(1..) {
        assert_eq!(report(&folder.path().join(name)).account.recovered, events);
    }
}

/// The bug: a service that starts a capture for each job leaves a file for each, for good. Found by doing so.
#[test]
fn the_oldest_finished_captures_are_removed_if_asked() {
    let (folder, path) = folder();
    let round = "trace-anywhere 10 record 1 untrace ";
    let mut command = host(&path, &round.repeat(5));
    command
        .env("HRX_TRACE_DIR", folder.path())
        .env("HRX_TRACE_KEEP", "2");
    let program = Host::start(&mut command);
    let id = program.id();
    let _ = program.ends_well();
    let left = [2, 3, 4].map(|number| format!("host.{id}.{number}.hrxt"));
    assert_eq!(names(folder.path()), left);

    // What is never removed: what runs, what a crash left, what is another program's, and what is no capture.
    let file = |name: &str| folder.path().join(name);
    let started = |name: &str| {
        let path = file(name);
        let mut program = Host::start(&mut host(&path, "create T 10 record 1 pause"));
        program.wait_for("paused");
        program
    };
    let mut live = started("live.hrxt");
    let mut dead = started("dead.hrxt");
    dead.kill();
    let _ = dead.wait();
    let finished_and_open = file("open.hrxt");
    let mut open = Host::start(&mut host(
        &finished_and_open,
        "create T 10 record 1 finish pause",
    ));
    open.wait_for("paused");
    let other_program = folder.path().join("other");
    copy_program(&other_program);
    let theirs = file("theirs.hrxt");
    let mut command = Command::new(&other_program);
    command.args(words(&theirs, "create T 10 record 1 finish"));
    let _ = Host::start(&mut command).ends_well();
    fs::write(file("junk.hrxt"), "junk").unwrap();
    symlink(file("theirs.hrxt"), file("link.hrxt")).unwrap();
    fs::create_dir(file("folder.hrxt")).unwrap();
    fs::copy(file(&left[0]), file("finished.copy")).unwrap();
    let stays = [
        "dead.hrxt",
        "finished.copy",
        "folder.hrxt",
        "junk.hrxt",
        "link.hrxt",
        "live.hrxt",
        "open.hrxt",
        "other",
        "theirs.hrxt",
    ];

    // By the option: three finished ones of the loop and the open one count.
    let new = file("new.hrxt");
    assert_eq!(run(&new, "create-keeping T 10 2 finish"), ["created"]);
    let mut expected = Vec::from(stays.map(str::to_owned));
    expected.extend([left[2].clone(), "new.hrxt".to_owned()]);
    expected.sort();
    assert_eq!(names(folder.path()), expected);

    let mut command = host(folder.path(), "remove-oldest T host 0");
    let removed = Host::start(&mut command).ends_well();
    assert_eq!(removed, [format!("removed {:?}", [file(&left[2]), new])]);
    assert_eq!(names(folder.path()), stays);
    live.go_on();
    let _ = live.ends_well();

    let mut command = host(&path, "trace-anywhere 10 untrace");
    command.env("HRX_TRACE_KEEP", "two");
    command.env("TMPDIR", folder.path());
    assert_no_trace(
        &Host::start(&mut command).ends_well(),
        "$HRX_TRACE_KEEP",
        r#"found "two", expected how many finished captures to keep, as a number"#,
    );
}

// --- The program becomes another ----------------------------------------------------------------------------------------------

/// The bug: a server that gave up root, entered a chroot, or used up its descriptors got back 0 events, although its file had them all: they were read through
/// `/proc/self/fd`. Found by doing each.
#[test]
fn what_was_recorded_is_read_back_whatever_the_program_has_become() {
    let (folder, path) = folder();
    let mut ways = vec![String::from("no-descriptors")];
    if nix::unistd::geteuid().is_root() {
        let elsewhere = folder.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        ways.push(format!("chroot {}", elsewhere.display()));
        ways.push("setuid 65534".to_owned());
        ways.push(format!(
            "chroot {} setuid 65534 no-descriptors",
            elsewhere.display()
        ));
    } else {
        skip("only root can become another user");
    }
    for way in ways {
        let lines = run(&path, &format!("trace T 10 record 5 {way} untrace"));
        assert_eq!(lines[1..], ["traced 5 events, 0 dropped"], "{way}");
        fs::remove_file(&path).unwrap();
    }
    let script = r#"mount -t tmpfs none /proc; unset HRX_TRACE_FILE
        HRX_TRACE_DIR=. exec "$HOST" trace-anywhere 10 record 5 untrace"#;
    if let Some(lines) = scripted(&[], script) {
        assert!(lines[0].starts_with("tracing ./program."), "{lines:?}");
        assert_eq!(lines[1..], ["traced 5 events, 0 dropped"]);
    }
}

/// The bug: after `chdir`, `sync` forced the wrong folder to the disk, or none; and one that the program may use but not list was EACCES. Found by doing both.
#[test]
fn sync_forces_the_folder_of_the_creation() {
    let (folder, path) = folder();
    let mut command = host(&path, "create t.hrxt 10 record 3 chdir / sync finish");
    command.current_dir(folder.path());
    let lines = Host::start(&mut command).ends_well();
    assert_eq!(lines, ["created", "sync Some(Ok(()))"]);

    let unlistable = r#"mkdir d; chmod 0733 d"#;
    let steps = r#"create d/t.hrxt 10 record 3 sync finish"#;
    let program = if nix::unistd::geteuid().is_root() {
        r#"setpriv --reuid 65534 --regid 65534 --clear-groups "$HOST""#
    } else {
        r#""$HOST""#
    };
    if let Some(lines) = scripted(&[], &format!("{unlistable}; exec {program} {steps}")) {
        assert_eq!(lines, ["created", "sync Some(Ok(()))"]);
    }
}

/// The bug: `sync` of a deleted file said that it will be there after a crash of the kernel. Found by holding the folder open, whose own sync then no longer fails.
#[test]
fn sync_of_a_deleted_file_is_an_error() {
    let (_folder, path) = folder();
    let mut program = Host::start(&mut host(&path, "create T 10 record 3 pause sync finish"));
    program.wait_for("paused");
    fs::remove_file(&path).unwrap();
    program.go_on();
    let lines = program.ends_well();
    assert!(lines[2].contains("No such file or directory"), "{lines:?}");
}

// --- Forks, signals, threads, program exit -----------------------------------------------------------------------------------

#[test]
fn a_forked_child_does_not_write_and_the_parent_continues() {
    let (_folder, path) = folder();
    let steps = "create T 100 record 3 begin fork record 5 end begin end label name sync finish report T parent wait pause record 4 end finish";
    let mut parent = Host::start(&mut host(&path, steps));
    parent.wait_for("paused");
    assert!(
        parent.lines.contains(&"label Some(Label(0))".to_owned()),
        "{:?}",
        parent.lines
    );
    let named = "names Some((Label(0), 2147483648, Key(0)))".to_owned();
    assert!(parent.lines.contains(&named), "{:?}", parent.lines);
    let said = "Live: 3 claimed, 3 recovered, 0 torn, 1 open".to_owned();
    assert!(
        parent.lines.contains(&said),
        "what the child sees: {:?}",
        parent.lines
    );
    let names = Trace::open(&path).unwrap().names();
    assert_eq!((names.threads().count(), names.lanes().count()), (1, 0));
    let before = report(&path);
    assert_eq!(
        (
            before.ending,
            before.account.claimed,
            before.open_regions.len()
        ),
        (Ending::Live, 3, 1)
    );
    parent.go_on();
    let _ = parent.ends_well();
    let after = report(&path);
    assert_eq!(
        (
            after.ending,
            after.account.recovered,
            after.open_regions.len()
        ),
        (Ending::Finished, 8, 0)
    );
}

/// The child has a copy of the writer and of the list of which ring is whose.
#[test]
fn a_forked_child_neither_writes_through_the_parents_writer_nor_gives_its_ring_away() {
    let (_folder, path) = folder();
    let steps = "create-for-writer T 100 write 3 fork write 5 give-back write 5 report T parent wait write 4 give-back write 2 finish";
    let lines = Host::start(&mut host(&path, steps)).ends_well();
    let said = "Live: 6 claimed, 6 recovered, 0 torn, 0 open".to_owned();
    assert!(lines.contains(&said), "what the child sees: {lines:?}");
    let after = report(&path);
    assert_eq!(after.ending, Ending::Finished);
    let recovered: Vec<u64> = after.rings.iter().map(|ring| ring.recovered).collect();
    assert_eq!(recovered, [0, 18], "all events belong to the writer's ring");
}

#[test]
fn a_forked_child_with_its_own_recorder_has_its_own_ids() {
    let (folder, path) = folder();
    let path_of_child = folder.path().join("child.hrxt");
    let mut command = host(&path, "create T 100 record 3 fork trace");
    command.arg(&path_of_child).args(words(
        &path,
        "100 record 5 untrace parent wait record 4 finish",
    ));
    let lines = Host::start(&mut command).ends_well();
    assert!(
        lines.contains(&"traced 5 events, 0 dropped".to_owned()),
        "{lines:?}"
    );
    let threads = |path: &Path| {
        let trace = Trace::open(path).unwrap();
        let mut threads: Vec<u32> = trace.events().map(|event| event.thread_id).collect();
        threads.dedup();
        (
            trace.identity().process_id,
            threads,
            report(path).account.recovered,
        )
    };
    let (parent, parents, parents_events) = threads(&path);
    let (child, child_threads, child_events) = threads(&path_of_child);
    assert_eq!((parents, parents_events), (vec![parent], 7));
    assert_eq!((child_threads, child_events), (vec![child], 5));
    assert_ne!(parent, child);
}

/// A forked child inherits the lock, so the process named in the header decides. Where that process id means nothing, only the lock can decide.
#[test]
fn a_child_that_outlives_the_writer_does_not_make_it_live() {
    let (_folder, path) = folder();
    let mut parent = Host::start(&mut host(
        &path,
        "create T 100 record 3 fork linger parent pause",
    ));
    let child = Pid::from_raw(parent.wait_for("forked ").parse().unwrap());
    parent.wait_for("paused");
    assert_eq!(report(&path).ending, Ending::Live);
    parent.kill();
    while Trace::open(&path).unwrap().ending() == Ending::Live {
        thread::sleep(Duration::from_millis(1));
    }
    // First a zombie, then reaped.
    assert!(!lock_is_free(&path));
    let _ = parent.wait();
    assert_eq!(report(&path).ending, Ending::WriterDied);

    let ask = || {
        let script = r#"cd "$2"; exec "$HOST" report t.hrxt"#;
        let folder = path.parent().unwrap().as_os_str();
        let mut command = in_namespaces(
            Path::new(HOST),
            &["--pid", "--fork", "--mount-proc"],
            script,
            &[OsStr::new(""), folder],
        )?;
        Some(Host::start(&mut command).ends_well().remove(0))
    };
    if let Some(said) = ask() {
        assert_eq!(said, "Live: 3 claimed, 3 recovered, 0 torn, 0 open");
    }
    kill(child, Signal::SIGKILL).unwrap();
    while !lock_is_free(&path) {
        thread::sleep(Duration::from_millis(1));
    }
    // It does not see the processes outside.
    if let Some(said) = ask() {
        assert_eq!(said, "CannotTell: 3 claimed, 3 recovered, 0 torn, 0 open");
    }
}

/// A started program does not inherit the file, neither through fork and exec nor through exec alone.
#[test]
fn a_program_that_outlives_the_writer_does_not_hold_the_lock() {
    let (_folder, path) = folder();
    let mut parent = Host::start(&mut host(&path, "create T 100 record 3 spawn-sleep pause"));
    let child = Pid::from_raw(parent.wait_for("child ").parse().unwrap());
    parent.wait_for("paused");
    // The kernel lets the parent go on before it has closed the child's descriptors, and gives the child its name after that (execve(2)).
    let name = format!("/proc/{child}/comm");
    while fs::read_to_string(&name).unwrap() != "sleep\n" {
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(report(&path).ending, Ending::Live);
    parent.kill();
    let _ = parent.wait();
    assert!(lock_is_free(&path), "the child holds it");
    assert_eq!(report(&path).ending, Ending::WriterDied);
    kill(child, Signal::SIGKILL).unwrap();
}

#[test]
fn exec_in_the_writer_ends_the_capture() {
    let (_folder, path) = folder();
    let mut program = Host::start(&mut host(
        &path,
        "create T 100 record 3 begin pause exec-sleep",
    ));
    program.wait_for("paused");
    program.go_on();
    // The same process still runs, so only the lock tells.
    while Trace::open(&path).unwrap().ending() == Ending::Live {
        thread::sleep(Duration::from_millis(1));
    }
    let report = report(&path);
    assert_eq!(
        (report.account.recovered, report.open_regions.len()),
        (3, 1)
    );
}

#[test]
fn a_signal_handler_may_record_while_it_interrupts_record() {
    let (_folder, path) = folder();
    let traced = path.with_extension("traced");
    let mut command = host(&path, "create T 1000 trace");
    command
        .arg(&traced)
        .args(words(&path, "1000 signals 20000 untrace finish"));
    let lines = Host::start(&mut command).ends_well();
    let said = lines
        .iter()
        .find_map(|line| line.strip_prefix("recorded "))
        .expect("the counts");
    let (recorded, handled) = said.split_once(" handled ").unwrap();
    let [recorded, handled]: [u64; 2] = [recorded, handled].map(|number| number.parse().unwrap());
    assert!(handled >= 20_000);
    println!("{handled} signals interrupted {recorded} rounds");
    // Each round and each handler records an event and completes a region.
    assert_eq!(report(&path).account.claimed, 2 * (recorded + handled));
    assert_eq!(report(&traced).account.claimed, recorded + handled);
    assert_eq!(report(&path).open_regions, []);
}

#[test]
fn a_thousand_short_lived_threads_lose_no_event() {
    let (_folder, path) = folder();
    let lines = run(&path, "create T 10000 threads 1000 finish");
    assert_eq!(lines, ["created"]);
    let report = report(&path);
    // One to three at a time, each with an event and a region.
    assert_eq!(
        (report.account.recovered, report.open_refused),
        (2 * 1999, 0)
    );
    let trace = Trace::open(&path).unwrap();
    let threads: std::collections::BTreeSet<u32> =
        trace.events().map(|event| event.thread_id).collect();
    assert!(threads.len() > 1000, "{}", threads.len());
}

#[test]
fn a_thread_may_record_while_its_thread_locals_are_destroyed() {
    let (_folder, path) = folder();
    let traced = path.with_extension("traced");
    let mut command = host(&path, "create T 1000 trace");
    command
        .arg(&traced)
        .args(words(&path, "1000 thread-exits 100 untrace finish"));
    let _ = Host::start(&mut command).ends_well();
    let trace = Trace::open(&path).unwrap();
    let failed = trace.events().filter(|event| event.failed).count();
    assert_eq!((report(&path).account.recovered, failed), (200, 100));
    assert_eq!(report(&traced).account.recovered, 100);
}

#[test]
fn a_program_may_record_while_it_exits() {
    let (_folder, path) = folder();
    // After `finish`, recording does nothing.
    let traced = path.with_extension("traced");
    let mut command = host(&path, "create T 100 record 2 at-exit begin trace");
    command
        .arg(&traced)
        .args(words(&path, "100 record 1 untrace finish"));
    let _ = Host::start(&mut command).ends_well();
    let after = report(&path);
    assert_eq!(
        (
            after.ending,
            after.account.claimed,
            after.open_regions.len()
        ),
        (Ending::Finished, 3, 1)
    );
    assert_eq!(report(&traced).account.claimed, 1);
    // Without `finish`, the event is in the file.
    fs::remove_file(&path).unwrap();
    run(&path, "create T 100 record 2 at-exit begin");
    let after = report(&path);
    assert_eq!(
        (
            after.ending,
            after.account.recovered,
            after.open_regions.len()
        ),
        (Ending::WriterDied, 4, 0)
    );
}

#[test]
fn values_that_do_not_fit_saturate() {
    let (_folder, path) = folder();
    run(&path, "create T 100 extremes finish");
    let report = report(&path);
    assert_eq!((report.rejected, report.account.recovered), (2, 3));
    let events: Vec<_> = Trace::open(&path).unwrap().events().collect();
    assert!(events.iter().all(|event| event.saturated));
    let said = |index: usize| {
        (
            events[index].lane,
            events[index].duration_ns,
            events[index].status,
        )
    };
    // The largest number that a program chooses itself: those above belong to lanes with names.
    assert_eq!(said(0), ((1 << 31) - 1, u64::MAX, u32::MAX));
    assert_eq!(
        (events[1].start_ns, events[1].end_ns()),
        (u64::MAX, u64::MAX)
    );
    assert_eq!(
        (events[2].lane, events[2].status, events[2].failed),
        ((1 << 31) - 1, u32::MAX, true)
    );
}

// --- Containers --------------------------------------------------------------------------------------------------------------

/// How a writer reads that died in a container, seen from outside: dead, where all processes can be seen, and the container's namespace is known.
fn dead_outside(namespace_is_known: bool) -> Ending {
    // The initial PID namespace, which has the same number on every machine.
    let sees_all = process::pid_namespace() == Some(0xEFFF_FFFC);
    match namespace_is_known && sees_all {
        true => Ending::WriterDied,
        false => Ending::CannotTell,
    }
}

/// With its own /proc, as every container has, and without.
#[test]
fn process_1_of_a_container_is_seen_live_from_inside_and_outside() {
    for flags in [
        &["--pid", "--fork", "--kill-child", "--mount-proc"][..],
        &["--pid", "--fork", "--kill-child"],
    ] {
        let (_folder, path) = folder();
        let script = r#"cd "$1"; exec "$HOST" create t.hrxt 100 record 3 begin report t.hrxt ask t.hrxt pause"#;
        let place = path.parent().unwrap().as_os_str();
        let Some(mut command) = in_namespaces(Path::new(HOST), flags, script, &[place]) else {
            return;
        };
        let mut container = Host::start(&mut command);
        container.wait_for("paused");
        let said = "Live: 3 claimed, 3 recovered, 0 torn, 1 open";
        assert_eq!(
            container.lines[1..4],
            [said, said, "done"],
            "as the writer sees itself, and as another process of the container sees it: {flags:?}"
        );
        // The bug: without its own /proc, the writer took the start time of the outer process 1 for its own. If a child then held the lock after
        // the writer's death, an unrelated process would have decided whether the capture is live. Found by asking whose /proc it is.
        let trace = Trace::open(&path).unwrap();
        let identity = trace.identity();
        let own_proc = flags.contains(&"--mount-proc");
        assert_eq!(identity.process_id, 1);
        assert_eq!(identity.pid_namespace != 0, own_proc, "{flags:?}");
        assert_eq!(identity.process_start_ticks != 0, own_proc, "{flags:?}");
        assert_eq!(report(&path).ending, Ending::Live, "{flags:?}");
        container.kill();
        while !lock_is_free(&path) {
            thread::sleep(Duration::from_millis(1));
        }
        let report = report(&path);
        assert_eq!(
            (report.ending, report.open_regions.len()),
            (dead_outside(own_proc), 1)
        );
    }
}

#[test]
fn two_containers_with_the_same_process_id_share_a_folder() {
    let (folder, _) = folder();
    let start = || {
        let script =
            r#"HRX_TRACE_DIR="$1" exec "$HOST" trace-anywhere 100 record 3 pause record 4 untrace"#;
        let flags = ["--pid", "--fork", "--kill-child", "--mount-proc"];
        let mut command = in_namespaces(
            Path::new(HOST),
            &flags,
            script,
            &[folder.path().as_os_str()],
        )?;
        let mut container = Host::start(&mut command);
        let path = PathBuf::from(container.wait_for("tracing "));
        container.wait_for("paused");
        Some((container, path))
    };
    let (Some(mut one), Some(mut other)) = (start(), start()) else {
        return;
    };
    assert_ne!(one.1, other.1);
    let ids = [&one.1, &other.1].map(|path| Trace::open(path).unwrap().identity().process_id);
    assert_eq!(ids, [1, 1]);
    assert_eq!(report(&one.1).ending, Ending::Live);
    // One dies. The other is unaffected, and neither is mistaken for the other.
    one.0.kill();
    while !lock_is_free(&one.1) {
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(
        (report(&one.1).ending, report(&one.1).account.recovered),
        (dead_outside(true), 3)
    );
    assert_eq!(report(&other.1).ending, Ending::Live);
    other.0.go_on();
    let lines = other.0.ends_well();
    assert_eq!(lines.last().unwrap(), "traced 7 events, 0 dropped");
    assert_eq!(report(&other.1).account.recovered, 7);
}

// --- The file disappears -----------------------------------------------------------------------------------------------------

#[test]
fn a_file_deleted_renamed_or_replaced_while_recording_is_still_read_back() {
    let (folder, path) = folder();
    let steps = "trace T 100 record 3 pause record 4 untrace";
    let take_away: [&dyn Fn(); 3] = [
        &|| fs::remove_file(&path).unwrap(),
        &|| fs::rename(&path, folder.path().join("renamed")).unwrap(),
        &|| {
            fs::remove_file(&path).unwrap();
            fs::write(&path, "something else").unwrap();
        },
    ];
    for (index, take_away) in take_away.iter().enumerate() {
        let mut program = Host::start(&mut host(&path, steps));
        program.wait_for("paused");
        take_away();
        program.go_on();
        let lines = program.ends_well();
        assert_eq!(lines.last().unwrap(), "traced 7 events, 0 dropped");
        match index {
            0 => assert!(!path.exists()),
            1 => assert_eq!(report(&folder.path().join("renamed")).account.recovered, 7),
            _ => assert_eq!(fs::read(&path).unwrap(), b"something else"),
        }
    }
}

#[test]
fn a_folder_deleted_while_recording_is_an_error_of_sync_alone() {
    let (folder, path) = folder();
    let mut program = Host::start(&mut host(
        &path,
        "create T 100 record 3 pause record 4 sync finish",
    ));
    program.wait_for("paused");
    folder.close().unwrap();
    program.go_on();
    let lines = program.ends_well();
    assert!(
        lines.last().unwrap().starts_with("sync Some(Err("),
        "{lines:?}"
    );
}

/// The case that the promise does not cover: see the top of this file.
#[test]
fn truncating_the_file_kills_its_writer_and_no_reader() {
    let (_folder, path) = folder();
    // After 10 of 1000 records. The header stays.
    let mut program = Host::start(&mut host(&path, "create T 1000 record 300 pause record 1"));
    program.wait_for("paused");
    let mut live = Trace::open(&path).unwrap();
    let mut events = live.events();
    assert!(events.by_ref().take(5).count() == 5);
    let end = live.identity().ring_slot(0, 10);
    OpenOptions::new()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(end)
        .unwrap();

    // A reader that was reading continues, and so does one that opens the file now.
    let report = events.finish();
    assert!(report.account.balances());
    assert_eq!(report.account.claimed, 300);
    assert_eq!(report.ending, Ending::Live);
    live.refresh();
    let report = live.report();
    assert_eq!((report.account.recovered, report.account.torn), (10, 290));
    assert_eq!(report.damages[0].offset, end);

    program.go_on();
    let status = program.wait();
    assert_eq!(status.signal(), Some(Signal::SIGBUS as i32), "{status}");
    let report = Trace::open(&path).unwrap().report();
    assert_eq!(
        (report.ending, report.account.recovered),
        (Ending::WriterDied, 10)
    );
}

/// Nothing is stored past the end, so no process dies; but the header is gone, and the trace with it.
#[test]
fn an_emptied_file_is_no_trace() {
    let (_folder, path) = folder();
    let mut program = Host::start(&mut host(&path, "create T 1000 record 300 pause"));
    program.wait_for("paused");
    let live = Trace::open(&path).unwrap();
    File::create(&path).unwrap();
    let report = live.report();
    assert!(
        report.account.balances() && report.account.recovered == 0,
        "{report:?}"
    );
    let error = Trace::open(&path).unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(
        source,
        "cut short: found 0 bytes, expected a header of at least 2048"
    );
    program.go_on();
    let _ = program.ends_well();
}

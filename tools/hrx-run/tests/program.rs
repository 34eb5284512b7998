//! What a program and its caller see is as without hrx-run: its streams, signals, limits and place; its exit code or death.

mod support;

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use support::ways::{HRX_RUN, Way, both_ways, hrx_run, stderr, stdout, until};

fn shell(way: Way, script: &str) -> Command {
    let mut command = way.command("sh");
    command.args(["-c", script]);
    command
}

#[test]
fn exit_codes() {
    for code in [0, 1, 2, 6, 124, 125, 126, 127, 128, 137, 255] {
        let found = both_ways(|way| {
            let status = shell(way, &format!("exit {code}")).status();
            status.expect("sh").into_raw()
        });
        assert_eq!(found, code << 8);
    }
}

/// But for the core file, which hrx-run does not write a second time.
#[test]
fn deaths() {
    let signals = [
        1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 24, 25, 26, 27, 29, 31, 34, 64,
    ];
    for signal in signals {
        let found = both_ways(|way| {
            let status = shell(way, &format!("ulimit -c 0; kill -{signal} $$")).status();
            let status = status.expect("sh");
            (status.signal(), status.code())
        });
        assert_eq!(found, (Some(signal), None));
    }
}

#[test]
fn what_cannot_be_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let plain_file = folder.path().join("plain");
    fs::write(&plain_file, "no program").expect("a file");
    let plain_file = plain_file.to_str().expect("UTF-8");
    for (program, code, complaint) in [
        ("hrx-no-such-program", 127, "No such file or directory"),
        ("/no/such/program", 127, "No such file or directory"),
        (plain_file, 126, "Permission denied"),
        ("/", 126, "Permission denied"),
    ] {
        let output = hrx_run().arg(program).output().expect("hrx-run");
        assert_eq!(output.status.code(), Some(code), "{program}");
        let said = stderr(&output);
        assert!(
            said.starts_with(&format!("hrx-run: cannot run {program}: {complaint}")),
            "{said}"
        );
        let env = Command::new("env").arg(program).status().expect("env");
        assert_eq!(env.code(), Some(code), "env {program}");
    }
    for wrong in [
        &["--no-such-option"][..],
        &[],
        &["--keep-last", "3", "true"],
    ] {
        let output = hrx_run().args(wrong).output().expect("hrx-run");
        assert_eq!(output.status.code(), Some(125), "{wrong:?}");
    }
}

/// A script without a first line of its own is the shell's, as for env(1).
#[test]
fn a_script_without_an_interpreter() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("script");
    fs::write(&script, "exit 9\n").expect("a file");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("its mode");
    let status = hrx_run()
        .args(["--summary", "never", "--"])
        .arg(&script)
        .status();
    assert_eq!(status.expect("hrx-run").code(), Some(9));
}

#[test]
fn streams_pass_through() {
    let text: String = (0..100_000).map(|line| format!("{line}\n")).collect();
    let output = both_ways(|way| {
        let mut child = shell(way, "cat; echo complaint >&2")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("sh");
        let mut stdin = child.stdin.take().expect("a pipe");
        let bytes = text.clone();
        let writer = std::thread::spawn(move || stdin.write_all(bytes.as_bytes()));
        let output = child.wait_with_output().expect("its output");
        writer.join().expect("a thread").expect("a pipe");
        (stdout(&output), stderr(&output), output.status.code())
    });
    assert_eq!(output, (text, "complaint\n".to_owned(), Some(0)));
}

/// What a program is started with, said by itself. The caller ignores signals, closes its standard input, blocks nothing, limits itself.
#[test]
fn the_place_of_a_program() {
    const PLACE: &str = "grep -E '(Sig|Shd)(Pnd|Blk|Ign|Cgt)|Groups|Seccomp|NoNewPrivs|Cpus_allowed:' /proc/self/status
        ls /proc/self/fd; ulimit -a; umask; nice; pwd; ps -o sid=,tpgid=,tty= $$; cat /proc/$$/cgroup
        env | grep -v -e ^HRX_TRACE_DIR= -e ^NVTX_INJECTION64_PATH= -e ^INTEL_LIBITTNOTIFY64= -e ^LD_LIBRARY_PATH= -e ^RUN= -e ^_= | sort";
    for caller in [
        "true",
        "trap '' PIPE",
        "trap '' HUP INT QUIT TERM USR1 CHLD PIPE TSTP TTIN TTOU",
        "exec <&-",
        "exec 5</dev/null",
        "umask 077; ulimit -n 100; cd /tmp",
    ] {
        let place = both_ways(|way| {
            let run = match way {
                Way::Plain => "env".to_owned(),
                Way::Run => format!("{HRX_RUN} --"),
            };
            let output = Command::new("sh")
                .args(["-c", &format!("{caller}; $RUN sh -c \"$PLACE\"")])
                .env("PLACE", PLACE)
                .env("RUN", &run)
                .env_remove("HRX_TRACE_DIR")
                .output()
                .expect("sh");
            assert!(output.status.success(), "{}", stderr(&output));
            (stdout(&output), stderr(&output))
        });
        assert!(place.0.contains("SigIgn:"), "{place:?}");
    }
}

#[test]
fn the_same_process_group_and_session() {
    let output = hrx_run()
        .args([
            "sh",
            "-c",
            "ps -o pgid= $$; ps -o pgid= $PPID; ps -o comm= $PPID",
        ])
        .output()
        .expect("hrx-run");
    let shown = stdout(&output);
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines[0], lines[1]);
    assert_eq!(lines[2], "hrx-run");
}

/// Says which signals it gets, and ends by SIGTERM the second time.
const LISTENER: &str = r#"
import os, signal
def said(number, frame):
    os.write(1, f"{signal.Signals(number).name}\n".encode())
for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD, 32, 33}:
    if number < 32:
        signal.signal(number, said)
os.write(1, b"ready\n")
while True:
    signal.pause()
"#;

/// A program that says which signals it gets, in a process group of its own.
struct Listener {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Listener {
    fn start(way: Way) -> Self {
        use std::os::unix::process::CommandExt;
        let mut child = way
            .command("python3")
            .args(["-c", LISTENER])
            .process_group(0)
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3");
        let lines = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut listener = Self { child, lines };
        assert_eq!(listener.line(), "ready");
        listener
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("a line");
        line.trim_end().to_owned()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = kill_process_group(self.pid(), Signal::KILL);
        let _ = self.child.wait();
    }
}

const PASSED_ON: [(Signal, &str); 11] = [
    (Signal::TERM, "SIGTERM"),
    (Signal::HUP, "SIGHUP"),
    (Signal::USR1, "SIGUSR1"),
    (Signal::USR2, "SIGUSR2"),
    (Signal::INT, "SIGINT"),
    (Signal::QUIT, "SIGQUIT"),
    (Signal::ALARM, "SIGALRM"),
    (Signal::WINCH, "SIGWINCH"),
    (Signal::CONT, "SIGCONT"),
    (Signal::TSTP, "SIGTSTP"),
    (Signal::ABORT, "SIGABRT"),
];

/// Signals each time, and gives what the program got.
fn got(way: Way, send: impl Fn(Pid, Signal)) -> Vec<String> {
    let mut listener = Listener::start(way);
    let mut got = Vec::new();
    for (signal, _) in PASSED_ON {
        send(listener.pid(), signal);
        got.push(listener.line());
    }
    // A second copy of any would come before the last.
    sleep(Duration::from_millis(200));
    send(listener.pid(), Signal::IO);
    got.push(listener.line());
    got
}

fn each_once() -> Vec<String> {
    let names = PASSED_ON.map(|(_, name)| name.to_owned());
    names.into_iter().chain(["SIGIO".to_owned()]).collect()
}

/// `kill PID`, where PID is all that the caller knows.
#[test]
fn signals_to_the_process() {
    let got = both_ways(|way| got(way, |pid, signal| kill_process(pid, signal).expect("kill")));
    assert_eq!(got, each_once());
}

/// The bug: the program got SIGTERM twice, its own and the one that hrx-run passed on.
#[test]
fn signals_to_the_process_group() {
    let got = both_ways(|way| {
        got(way, |pid, signal| {
            kill_process_group(pid, signal).expect("kill")
        })
    });
    assert_eq!(got, each_once());
}

/// As systemd and Slurm do: every process of a cgroup, one after the other.
#[test]
fn signals_to_every_process() {
    let got = both_ways(|way| {
        got(way, |pid, signal| {
            let output = Command::new("pgrep")
                .args(["-g", &pid.to_string()])
                .output();
            for process in stdout(&output.expect("pgrep")).lines() {
                let process = process.parse().ok().and_then(Pid::from_raw);
                kill_process(process.expect("a process id"), signal).expect("kill");
            }
        })
    });
    assert_eq!(got, each_once());
}

/// A pattern finds the sentinel if it finds the program, and not because it finds hrx-run.
#[test]
fn signals_by_pattern() {
    let patterns: [(&str, &[&str]); 3] = [
        ("of hrx-run alone", &["-x", "hrx-run"]),
        ("of its command line", &["-f", "^[^ ]*hrx-run"]),
        ("of the program's", &["-f", "signal.valid_signals"]),
    ];
    for (what, pattern) in patterns {
        let got = got(Way::Run, |pid, signal| {
            let number = format!("-{}", signal.as_raw());
            let group = pid.to_string();
            let status = Command::new("pkill")
                .args([&number, "-g", &group])
                .args(pattern)
                .status();
            assert!(status.expect("pkill").success(), "{what}");
        });
        assert_eq!(got, each_once(), "by a pattern {what}");
    }
}

#[test]
fn real_time_signals_too() {
    let code = both_ways(|way| {
        let mut child = shell(
            way,
            "trap 'exit 5' 40; echo ready; while :; do sleep 0.01; done",
        )
        .stdout(Stdio::piped())
        .spawn()
        .expect("sh");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe"))
            .read_line(&mut line)
            .expect("a line");
        let status = Command::new("kill")
            .args(["-40", &child.id().to_string()])
            .status();
        assert!(status.expect("kill").success());
        child.wait().expect("its status").code()
    });
    assert_eq!(code, Some(5));
}

fn state_of(pid: &str) -> char {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit_once(") ")
        .and_then(|(_, rest)| rest.chars().next());
    state.unwrap_or('-')
}

/// The program's process id, which it wrote.
fn program_of(file: &std::path::Path) -> String {
    let read = || fs::read_to_string(file).unwrap_or_default();
    until("its process id", || read().ends_with('\n'));
    read().trim().to_owned()
}

/// SIGKILL cannot be passed on, and yet the program must not outlive who was killed in its place.
#[test]
fn a_sigkill_ends_both() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("pid");
    let script = format!("echo $$ > {}; exec sleep 100", file.display());
    let mut run = shell(Way::Run, &script).spawn().expect("hrx-run");
    let program = program_of(&file);
    run.kill().expect("kill");
    assert_eq!(run.wait().expect("its status").signal(), Some(9));
    until("its end", || state_of(&program) == '-');
}

#[test]
fn it_stops_and_continues_with_the_program() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("pid");
    let script = format!("echo $$ > {}; exec sleep 100", file.display());
    // In a group of its own, whose parent is in another: in an orphaned group, such as that of a session's leader, SIGTSTP stops nothing.
    let mut run = shell(Way::Run, &script)
        .process_group(0)
        .spawn()
        .expect("hrx-run");
    let program = program_of(&file);
    let pid = Pid::from_child(&run);
    let states = |state: char| {
        let run = pid.to_string();
        until("both", || {
            state_of(&program) == state && state_of(&run) == state
        });
    };
    for stop in [Signal::TSTP, Signal::TTIN] {
        kill_process(pid, stop).expect("kill");
        states('T');
        kill_process(pid, Signal::CONT).expect("kill");
        states('S');
    }
    kill_process(pid, Signal::TERM).expect("kill");
    assert_eq!(run.wait().expect("its status").signal(), Some(15));
}

/// No process of hrx-run's own is left, and none holds a stream.
#[test]
fn nothing_is_left_behind() {
    let began = std::time::Instant::now();
    let output = shell(Way::Run, "sleep 0.2 >/dev/null 2>&1 & echo $PPID").output();
    let output = output.expect("hrx-run");
    assert!(began.elapsed() < Duration::from_secs(30));
    let run = stdout(&output).trim().to_owned();
    let children = fs::read_dir("/proc")
        .expect("/proc")
        .flatten()
        .filter(|process| {
            let stat = fs::read_to_string(process.path().join("stat")).unwrap_or_default();
            let parent = stat
                .rsplit_once(") ")
                .and_then(|(_, rest)| rest.split(' ').nth(1));
            parent == Some(run.as_str())
        });
    assert_eq!(children.count(), 0);
}

/// It writes to a standard error that is closed, and to one that is full.
#[test]
fn a_standard_error_that_cannot_be_written() {
    for script in ["exec 2>&-", "exec 2>/dev/full"] {
        let status = Command::new("sh")
            .args(["-c", &format!("{script}; exec {HRX_RUN} -- sh -c 'exit 3'")])
            .env_remove("HRX_TRACE_DIR")
            .stdout(File::open("/dev/null").expect("/dev/null"))
            .status();
        assert_eq!(status.expect("sh").code(), Some(3), "{script}");
    }
}

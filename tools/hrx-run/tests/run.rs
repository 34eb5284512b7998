//! What hrx-run does besides: keeps captures, says what was running, notices hangs, holds runs against expectations, collects them.

mod support;

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use hrx_trace_tests::programs::PROGRAMS;
use rustix::process::{Pid, Signal, kill_process};
use support::ways::{hrx_run, stderr, stdout, until};
use tempfile::TempDir;

/// hrx-run with these options, and a recorder that does these steps.
fn run(options: &[&str], steps: &[&str]) -> Output {
    command(options, steps).output().expect("hrx-run")
}

fn command(options: &[&str], steps: &[&str]) -> Command {
    let mut command = hrx_run();
    command
        .args(options)
        .arg("--")
        .arg(&PROGRAMS.recorder)
        .args(steps);
    command
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn captures(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    let paths = entries.map(|entry| entry.path());
    paths
        .filter(|path| path.extension().is_some_and(|end| end == "hrxt"))
        .collect()
}

/// The folder that the last line names.
fn folder_said(said: &str) -> PathBuf {
    let last = said.lines().last().expect("a line");
    let folder = last.strip_prefix("  next: hrx-convert --summary ");
    folder.unwrap_or_else(|| panic!("{said}")).into()
}

#[test]
fn nothing_is_said_and_nothing_left_of_a_run_that_ends_well() {
    let script =
        r#"echo "$HRX_TRACE_DIR"; stat -c %a "$HRX_TRACE_DIR"; "$0" event=3; ls "$HRX_TRACE_DIR""#;
    let output = hrx_run()
        .args(["sh", "-c", script])
        .arg(&PROGRAMS.recorder)
        .output()
        .expect("hrx-run");
    assert_eq!(
        (output.status.code(), stderr(&output)),
        (Some(0), String::new())
    );
    let shown = stdout(&output);
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!((lines[1], lines[2]), ("700", "recording"));
    assert!(lines[3].ends_with(".hrxt"), "{shown}");
    assert!(!Path::new(lines[0]).exists());
}

#[test]
fn a_death_is_explained() {
    let output = run(
        &[],
        &["event=3", "begin=gemm", "begin=the one that hung", "kill=9"],
    );
    assert_eq!(output.status.signal(), Some(9));
    assert_eq!(stdout(&output), "recording\n");
    let said = stderr(&output);
    let first = format!(
        "hrx-run: {} was killed by SIGKILL after ",
        PROGRAMS.recorder.display()
    );
    assert!(said.starts_with(&first), "{said}");
    assert!(
        said.lines()
            .next()
            .is_some_and(|line| line.contains("; peak memory ")),
        "{said}"
    );
    for part in [
        "the writer died",
        "3 regions",
        "2 unfinished",
        "host-observed",
        "gemm",
        "the one that hung",
    ] {
        assert!(said.contains(part), "{said}");
    }
    assert!(said.lines().count() <= 14, "{said}");
    assert!(!said.contains("descendants"), "{said}");
    // What it says to type next works.
    let folder = folder_said(&said);
    let summary = Command::new(&PROGRAMS.convert)
        .arg("--summary")
        .arg(&folder)
        .output();
    assert!(stdout(&summary.expect("hrx-convert")).contains("the one that hung"));
    fs::remove_dir_all(folder).expect("its folder");
}

#[test]
fn a_program_without_a_recorder() {
    let output = hrx_run()
        .args(["sh", "-c", "exit 3"])
        .output()
        .expect("hrx-run");
    let said = stderr(&output);
    let lines: Vec<&str> = said.lines().collect();
    assert!(
        lines[0].starts_with("hrx-run: sh exited with 3 after "),
        "{said}"
    );
    assert_eq!(
        lines[1..],
        ["  it left no capture: it has no recorder, or one that does not go by $HRX_TRACE_DIR"]
    );
    let output = hrx_run()
        .args(["sh", "-c", "sh -c 'kill -11 $$'"])
        .output()
        .expect("hrx-run");
    assert!(
        stderr(&output)
            .contains("exited with 139, as a shell does for a command that SIGSEGV killed")
    );
}

#[test]
fn when_something_is_said() {
    for (when, code, is_said) in [
        ("never", 0, false),
        ("never", 4, false),
        ("on-death", 0, false),
        ("on-death", 4, true),
        ("always", 0, true),
        ("always", 4, true),
    ] {
        let exit = format!("exit {code}");
        let output = hrx_run()
            .args(["--summary", when, "--", "sh", "-c", &exit])
            .output();
        let output = output.expect("hrx-run");
        assert_eq!(output.status.code(), Some(code));
        let first = format!("hrx-run: sh exited with {code} ");
        assert_eq!(
            stderr(&output).starts_with(&first),
            is_said,
            "{when} {code}"
        );
        assert_eq!(stderr(&output).is_empty(), !is_said, "{when} {code}");
    }
}

#[test]
fn a_named_folder_stays() {
    let folder = folder();
    let named = folder.path().join("runs/one");
    assert!(run(&["-o", text(&named)], &["event=1"]).status.success());
    assert_eq!(captures(&named).len(), 1);
    // An older run's capture is none of this one's.
    let said = stderr(&run(&["-o", text(&named)], &["begin=new", "kill=15"]));
    assert!(
        said.contains("new") && !said.contains(": finished"),
        "{said}"
    );
    assert_eq!(captures(&named).len(), 2);
    // The user's own choice holds without the option.
    let other = folder.path().join("other");
    let status = command(&[], &["event=1"])
        .env("HRX_TRACE_DIR", &other)
        .output();
    assert!(status.expect("hrx-run").status.success());
    assert_eq!(captures(&other).len(), 1);
    let file = folder.path().join("file");
    fs::write(&file, "").expect("a file");
    let output = run(&["-o", text(&file)], &["event=1"]);
    assert_eq!(
        (output.status.code(), stdout(&output)),
        (Some(125), String::new())
    );
    assert!(stderr(&output).starts_with("hrx-run: error: cannot create the folder "));
}

#[test]
fn descendants() {
    let folder = folder();
    let steps = [
        "fork=begin=in the child,kill=9",
        "spawn=begin=outlives,sleep=60000",
        "sleep=300",
        "exit=1",
    ];
    let said = stderr(&run(&["-o", text(folder.path())], &steps));
    assert!(
        said.contains("in the child") && said.contains("outlives"),
        "{said}"
    );
    let line = said
        .lines()
        .find_map(|line| line.strip_prefix("  descendants: "));
    let line = line.unwrap_or_else(|| panic!("{said}"));
    assert!(
        line.contains(" end not seen") && line.contains(" still running"),
        "{said}"
    );
    // The dead first.
    assert!(
        said.find("the writer died") < said.find("still recording"),
        "{said}"
    );
    let alive = line
        .split(", ")
        .find_map(|part| part.strip_suffix(" still running"));
    let alive = alive
        .and_then(|part| part.strip_prefix("process "))
        .expect("a process");
    kill_process(
        Pid::from_raw(alive.parse().expect("an id")).expect("an id"),
        Signal::KILL,
    )
    .expect("kill");
}

/// A private folder is not taken away from a descendant.
#[test]
fn a_descendant_that_outlives_a_run() {
    let script = r#""$0" sleep=1000 > /dev/null 2>&1 & echo "$HRX_TRACE_DIR"; while ! ls "$HRX_TRACE_DIR" | grep -q hrxt; do sleep 0.01; done"#;
    let output = hrx_run()
        .args(["sh", "-c", script])
        .arg(&PROGRAMS.recorder)
        .output();
    let output = output.expect("hrx-run");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let folder = PathBuf::from(stdout(&output).trim());
    assert_eq!(captures(&folder).len(), 1);
    fs::remove_dir_all(folder).expect("its folder");
}

#[test]
fn expectations() {
    let met = ["--expect", "count=3", "--expect", "lane=upload"];
    let unmet = ["--expect", "count=3", "--expect", "failed=1"];
    let output = run(&met, &["event=3"]);
    assert_eq!(
        (output.status.code(), stderr(&output)),
        (Some(0), String::new())
    );
    let output = run(&unmet, &["event=3"]);
    assert_eq!(output.status.code(), Some(6));
    let said = stderr(&output);
    assert!(
        said.ends_with(": expected failed=1, found: failed is 0 (host-observed)\n"),
        "{said}"
    );
    let capture = said
        .strip_prefix("hrx-run: ")
        .and_then(|said| said.split_once(": "));
    let capture = Path::new(capture.expect("a capture").0);
    fs::remove_dir_all(capture.parent().expect("a folder")).expect("its folder");
    // No other code.
    let folder = folder();
    let named = ["--summary", "never", "-o", text(folder.path())];
    let options = [&unmet[..], &named].concat();
    let output = run(&options, &["event=3", "exit=4"]);
    assert_eq!(
        (output.status.code(), stderr(&output)),
        (Some(4), String::new())
    );
    // What records nothing meets nothing.
    let output = hrx_run()
        .args(["--expect", "failed=0", "true"])
        .output()
        .expect("hrx-run");
    assert_eq!(output.status.code(), Some(6));
    assert_eq!(
        stderr(&output),
        "hrx-run: no capture, which meets no expectation\n"
    );
}

#[test]
fn a_hang_is_noticed_once() {
    let folder = folder();
    let told = folder.path().join("told");
    let on_stuck = format!("echo $HRX_RUN_PID >> {}; echo", told.display());
    let options = [
        "-o",
        text(folder.path()),
        "--summary",
        "never",
        "--stuck",
        "400ms",
        "--on-stuck",
        &on_stuck,
    ];
    // The first hang ends with an event; in the second, the program is killed.
    let steps = [
        "event=1",
        "begin=hangs",
        "sleep=1500",
        "event=1",
        "sleep=60000",
    ];
    let mut child = command(&options, &steps)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("hrx-run");
    let tells = || fs::read_to_string(&told).unwrap_or_default();
    until("the second hang", || tells().lines().count() == 2);
    // A third would have come.
    std::thread::sleep(std::time::Duration::from_millis(1200));
    kill_process(Pid::from_child(&child), Signal::TERM).expect("kill");
    assert_eq!(child.wait().expect("its status").signal(), Some(15));
    let lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let said: Vec<String> = lines.map(|line| line.expect("UTF-8")).collect();
    let headlines = said
        .iter()
        .filter(|line| line.starts_with("hrx-run: no event for 400.00ms: "));
    assert_eq!(headlines.count(), 2, "{said:?}");
    assert_eq!(
        said.iter().filter(|line| line.contains("hangs")).count(),
        2,
        "{said:?}"
    );
    // The command's own output, which is the folder.
    assert_eq!(
        said.iter()
            .filter(|line| *line == text(folder.path()))
            .count(),
        2,
        "{said:?}"
    );
    let pids: Vec<String> = tells().lines().map(str::to_owned).collect();
    assert_eq!(pids[0], pids[1]);
    assert!(
        said[0].contains(&format!("process {}", pids[0])),
        "{said:?}"
    );
}

#[test]
fn a_program_that_records_is_not_stuck() {
    let folder = folder();
    let options = [
        "-o",
        text(folder.path()),
        "--summary",
        "never",
        "--stuck",
        "2s",
    ];
    let child = command(&options, &["every=20"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("hrx-run");
    std::thread::sleep(std::time::Duration::from_secs(5));
    kill_process(Pid::from_child(&child), Signal::TERM).expect("kill");
    let output = child.wait_with_output().expect("its output");
    assert_eq!(stderr(&output), "");
}

#[test]
fn a_command_for_deaths() {
    let folder = folder();
    let on_death = format!("sh -c 'echo $1: $2; ls $2 | wc -l' - {}", "'a word'");
    let options = [
        "-o",
        text(folder.path()),
        "--summary",
        "never",
        "--on-death",
        &on_death,
    ];
    let output = run(&options, &["event=1", "exit=3"]);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(stdout(&output), "recording\n");
    assert_eq!(
        stderr(&output),
        format!("a word: {}\n1\n", folder.path().display())
    );
    // Its own end changes nothing, and a run that ends well is no death.
    let options = [
        "-o",
        text(folder.path()),
        "--summary",
        "never",
        "--on-death",
        "exit 9;",
    ];
    assert_eq!(run(&options, &["kill=6"]).status.signal(), Some(6));
    let options = ["-o", text(folder.path()), "--on-death", "echo died"];
    assert_eq!(stderr(&run(&options, &["event=1"])), "");
    // Signals are passed on to it, and hrx-run ends as the program did.
    let options = [
        "-o",
        text(folder.path()),
        "--summary",
        "never",
        "--on-death",
        "echo begun; sleep 100; echo",
    ];
    let mut child = command(&options, &["exit=3"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("hrx-run");
    let mut line = String::new();
    BufReader::new(child.stderr.take().expect("a pipe"))
        .read_line(&mut line)
        .expect("a line");
    assert_eq!(line, "begun\n");
    kill_process(Pid::from_child(&child), Signal::TERM).expect("kill");
    assert_eq!(child.wait().expect("its status").code(), Some(3));
}

#[test]
fn a_collection() {
    let folder = folder();
    let collection = folder.path().join("runs");
    let runs = || {
        let mut runs: Vec<PathBuf> = fs::read_dir(&collection)
            .expect("a folder")
            .flatten()
            .map(|entry| entry.path())
            .collect();
        runs.sort();
        runs
    };
    let options = [
        "--collect",
        text(&collection),
        "--keep-last",
        "3",
        "--summary",
        "never",
    ];
    let mut live = command(&options, &["begin=live", "sleep=60000"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("hrx-run");
    let mut line = String::new();
    BufReader::new(live.stdout.take().expect("a pipe"))
        .read_line(&mut line)
        .expect("a line");
    let first = runs()[0].clone();
    for code in 0..5 {
        let exit = format!("exit={code}");
        assert_eq!(run(&options, &["event=1", &exit]).status.code(), Some(code));
    }
    let left = runs();
    // The last three, and the one that still runs.
    assert_eq!(left.len(), 4);
    assert_eq!(left[0], first);
    assert!(left.iter().all(|run| captures(run).len() == 1));
    kill_process(Pid::from_child(&live), Signal::TERM).expect("kill");
    live.wait().expect("its status");
    let bytes = [
        "--collect",
        text(&collection),
        "--max-bytes",
        "1B",
        "--summary",
        "never",
    ];
    assert!(run(&bytes, &["event=1"]).status.success());
    assert_eq!(runs().len(), 1);
}

/// Where cgroup v1 has its memory controller, and may be written: a real death by the kernel's out-of-memory killer.
#[test]
fn a_death_by_the_out_of_memory_killer() {
    let groups = fs::read_to_string("/proc/self/cgroup").expect("/proc");
    let own = groups
        .lines()
        .find_map(|line| line.split_once(":memory:"))
        .map(|(_, group)| group);
    let Some(own) = own else {
        return eprintln!("not tried: no memory controller of cgroup v1");
    };
    let group = Path::new("/sys/fs/cgroup/memory").join(own.trim_start_matches('/'));
    let group = group.join(format!("hrx-run-test-{}", std::process::id()));
    if let Err(error) = fs::create_dir(&group) {
        return eprintln!("not tried: {}: {error}", group.display());
    }
    let limited = fs::write(group.join("memory.limit_in_bytes"), "67108864");
    let script = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", group.display());
    let output = Command::new("sh")
        .args(["-c", &script, "sh", support::ways::HRX_RUN, "--"])
        .args(["python3", "-c", "bytes = bytearray(1 << 30)"])
        .env_remove("HRX_TRACE_DIR")
        .output();
    until("an empty group", || fs::remove_dir(&group).is_ok());
    limited.expect("a limit");
    let output = output.expect("hrx-run");
    let said = stderr(&output);
    assert_eq!(output.status.signal(), Some(9), "{said}");
    let why = format!(
        "  by the kernel's out-of-memory killer, which killed 1 process of its cgroup ({}/memory.oom_control)",
        group.display()
    );
    assert!(said.lines().any(|line| line == why), "{said}");
}

#[test]
fn what_is_generated() {
    for (what, part) in [
        ("man", ".TH hrx-run"),
        ("bash", "hrx__run() {"),
        ("zsh", "#compdef hrx-run"),
        ("fish", "complete -c hrx-run"),
    ] {
        let output = hrx_run()
            .args(["--generate", what])
            .output()
            .expect("hrx-run");
        assert!(output.status.success());
        assert!(stdout(&output).contains(part), "{what}");
    }
    let help = hrx_run().arg("--help").output().expect("hrx-run");
    assert_eq!(help.status.code(), Some(0));
    assert!(stdout(&help).contains("hrx-run -- python train.py"));
}

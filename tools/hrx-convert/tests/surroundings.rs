//! The command in what surrounds it: pipes, redirections, limits, terminals, full disks, and names and labels that others chose.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use hrx_trace_tests::capture::{Capture, region, running};
use tempfile::TempDir;

/// What a format writes of the large capture is more than a pipe holds.
const FORMATS: [&str; 6] = ["chrome", "perfetto", "jsonl", "csv", "html", "seed"];
/// What the command prints instead of converting, and its exit code for a capture whose writer died.
const ANSWERS: [(&[&str], i32); 9] = [
    (&["--info"], 0),
    (&["--info", "--json"], 0),
    (&["--summary"], 0),
    (&["--summary", "--json"], 0),
    (&["--diff", "other.hrxt"], 0),
    (&["--diff", "--json", "other.hrxt"], 0),
    (&["--check"], 3),
    (&["--check", "--expect", "count>1000000"], 6),
    (&["--generate", "man"], 0),
];

fn command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hrx-convert"));
    command.current_dir(folder).env_remove("COLUMNS");
    command
}

fn run(arguments: &[&str], folder: &Path) -> Output {
    command(folder)
        .args(arguments)
        .output()
        .expect("the command")
}

/// Runs a script in which `$0` is the command.
fn shell(script: &str, folder: &Path) -> Output {
    Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_hrx-convert")])
        .current_dir(folder)
        .env_remove("COLUMNS")
        .output()
        .expect("a shell")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

fn code(output: &Output) -> i32 {
    output.status.code().expect("an exit, not a signal")
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// Regions of 900 ns, one every microsecond.
fn regions(count: u64) -> Capture {
    let mut capture = Capture::new(count);
    for i in 0..count {
        capture.record(region(1, 1_000 * i, 900));
    }
    capture
}

/// The arguments of an answer about `run.hrxt`.
fn about<'text>(answer: &[&'text str]) -> Vec<&'text str> {
    match answer.first() {
        Some(&"--generate") => answer.to_vec(),
        // A is run.hrxt.
        Some(&"--diff") => [&["run.hrxt"], answer].concat(),
        _ => [answer, &["run.hrxt"]].concat(),
    }
}

/// The bug: `--format csv run.hrxt | head -1` ended with exit code 1 and "Broken pipe", because the CSV library hid the error of the pipe in its own.
/// Found by piping every format into `head`.
#[test]
fn a_closed_pipe_is_success_for_every_format_and_answer() {
    let folder = folder();
    regions(5_000).write(folder.path(), "run.hrxt");
    regions(10).write(folder.path(), "other.hrxt");
    for format in FORMATS {
        let script = format!("{{ \"$0\" --format {format} run.hrxt; echo $? >code; }} | head -c 1");
        let output = shell(&script, folder.path());
        let code = fs::read_to_string(folder.path().join("code")).expect("a code");
        assert_eq!((code.trim(), output.stdout.len()), ("0", 1), "{format}");
        assert_eq!(stderr(&output), "", "{format}");
    }
    for (answer, expected) in ANSWERS {
        let mut child = command(folder.path())
            .args(about(answer))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("the end");
        assert_eq!(
            (code(&output), stderr(&output).as_str()),
            (expected, ""),
            "{answer:?}"
        );
    }
}

/// The bug: `--help >/dev/full` exited with 0. Found by writing every output to /dev/full.
#[test]
fn a_full_disk_is_a_failure_for_everything_that_is_printed() {
    let folder = folder();
    regions(5_000).write(folder.path(), "run.hrxt");
    regions(10).write(folder.path(), "other.hrxt");
    let formats = FORMATS.map(|format| vec!["--format", format, "run.hrxt"]);
    let answers = ANSWERS.iter().map(|(answer, _)| about(answer));
    let help = ["--help", "-h", "--version"].map(|option| vec![option]);
    for arguments in formats.into_iter().chain(answers).chain(help) {
        let full = File::options()
            .write(true)
            .open("/dev/full")
            .expect("/dev/full");
        let output = command(folder.path())
            .args(&arguments)
            .stdout(full)
            .output();
        let output = output.expect("the command");
        let said = stderr(&output);
        assert_eq!(code(&output), 1, "{arguments:?}: {said}");
        assert!(
            said.contains("cannot write the standard output"),
            "{arguments:?}: {said}"
        );
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

/// The bug: `--from 5s --to 4s` wrote an empty trace and exited with 0. Found by swapping the two.
#[test]
fn a_window_that_ends_before_it_begins_is_refused() {
    let folder = folder();
    regions(1_000).write(folder.path(), "run.hrxt");
    for (window, code_expected) in [
        (&["--from", "5s", "--to", "4s"][..], 2),
        (&["--from", "end-1us", "--to", "end-2us"], 2),
        (&["--last", "1us", "--to", "end-2us"], 2),
        // The capture lasts a millisecond.
        (&["--from", "end-1us", "--to", "500us"], 2),
        (&["--from", "5s", "--to", "end"], 2),
        (&["--last", "1us", "--to", "500us"], 2),
        (&["--from", "4s", "--to", "4s"], 0),
        (&["--from", "end-1us", "--to", "999us"], 0),
        (&["--from", "100us", "--to", "end-100us"], 0),
        // All of it, and none of it.
        (&["--from", "end-5s", "--to", "end-2s"], 0),
    ] {
        for answer in [
            &["-o", "x.json"][..],
            &["--summary"],
            &["--check", "--expect", "failed=0"],
        ] {
            let output = run(&[window, answer, &["run.hrxt"]].concat(), folder.path());
            let expected = match answer[0] {
                "--check" if code_expected == 0 => 3,
                _ => code_expected,
            };
            assert_eq!(
                code(&output),
                expected,
                "{window:?} {answer:?}: {}",
                stderr(&output)
            );
            assert_eq!(
                stderr(&output).contains("the window ends before it begins"),
                code_expected == 2,
                "{window:?} {answer:?}"
            );
            assert!(code_expected == 0 || output.stdout.is_empty());
        }
    }
    // It does not wait for a file to find out.
    let output = run(
        &["--follow", "missing.hrxt", "--from", "5s", "--to", "4s"],
        folder.path(),
    );
    assert_eq!(code(&output), 2);
}

/// The bug: `-` as FILE was "cannot read -: No such file", and `--follow -` waited for ever. Found by piping a capture in.
#[test]
fn the_standard_input_is_no_file() {
    let folder = folder();
    let bytes = regions(10).write(folder.path(), "run.hrxt");
    for arguments in [
        &["-"][..],
        &["--follow", "-"],
        &["--check", "run.hrxt", "-"],
        &["--info", "-"],
    ] {
        let output = run(arguments, folder.path());
        assert_eq!(
            (code(&output), output.stdout.len()),
            (2, 0),
            "{arguments:?}"
        );
        assert!(
            stderr(&output).contains("standard input"),
            "{}",
            stderr(&output)
        );
    }
    fs::copy(bytes, folder.path().join("-")).expect("a copy");
    assert_eq!(code(&run(&["./-"], folder.path())), 0);
    // A file can be read at any place, whatever its path.
    let output = shell("\"$0\" /dev/stdin <run.hrxt", folder.path());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
}

/// The bug: `hrx-convert a.hrxt 1<>a.hrxt` wrote JSON over the capture that it read. Found by redirecting the output to the input.
#[test]
fn no_stream_is_the_input() {
    let folder = folder();
    let file = regions(10).write(folder.path(), "run.hrxt");
    let bytes = fs::read(&file).expect("the input");
    for (redirection, said) in [
        ("1<>run.hrxt", true),
        (">>run.hrxt", true),
        ("-o /dev/stdout >>run.hrxt", true),
        ("--follow >>run.hrxt", true),
        ("--check >>run.hrxt", true),
        ("--summary --json 1<>run.hrxt", true),
        // There is no place left to say it.
        ("2>>run.hrxt", false),
        ("missing.hrxt 2<>run.hrxt", false),
        (">>run.hrxt 2>&1", false),
    ] {
        let output = shell(&format!("\"$0\" run.hrxt {redirection}"), folder.path());
        assert_eq!(code(&output), 2, "{redirection}: {}", stderr(&output));
        assert_eq!(
            stderr(&output).contains("which is never changed"),
            said,
            "{redirection}: {}",
            stderr(&output)
        );
        assert_eq!(fs::read(&file).expect("the input"), bytes, "{redirection}");
    }
    // Nothing is written to it then.
    let output = shell("\"$0\" run.hrxt -o x.json 1<>run.hrxt", folder.path());
    assert_eq!((code(&output), fs::read(&file).ok()), (0, Some(bytes)));
}

/// Text that drives a terminal, forges a line, or reorders what is read. Each is escaped in its own way by JSON.
const HOSTILE: &str = "=a\u{1b}]0;x\u{7}\u{9b}31m\u{202e}\u{2066}\u{2028}\u{61c}\u{7f}\u{85}\rb";

/// The bug: a file named "a: 1⏎fake.hrxt: intact, finished: 999 events" forged a verdict of `--check DIRECTORY`, and names of files with ESC or U+202E
/// reached the terminal from errors, closing notes, `--check` and `--expect`; U+009B also through `--json`. Found by such names.
#[test]
fn nothing_that_is_printed_drives_a_terminal() {
    let folder = folder();
    let name = format!("{HOSTILE}\nfake.hrxt: intact, finished: 999 events");
    let hostile = format!("{name}.hrxt");
    let other = format!("{name}2.hrxt");
    for file in [&hostile, &other] {
        let mut capture = Capture::new(8).attributes(&format!("k{HOSTILE}=v{HOSTILE}\n"));
        let label_id = capture.label(&name);
        capture.identity.host_name[..7].copy_from_slice("h\u{1b}\u{9b}\u{202e}".as_bytes());
        capture.identity.program[..7].copy_from_slice("p\u{1b}\u{9b}\u{202e}".as_bytes());
        for i in 0..8 {
            capture.record(hrx_trace_format::Record {
                label_id,
                flags: 1,
                ..region(1, 1_000 * i, 900)
            });
        }
        let open = hrx_trace_format::OpenRecord {
            label_id,
            ..running(1, 9_000)
        };
        capture.open(0, open);
        capture.write(folder.path(), file);
    }
    fs::write(folder.path().join(format!("{name}3.hrxt")), "no capture").expect("a file");
    let expected = format!("label!={name}");
    let is_safe = |output: &Output, what: &str| {
        for text in [stdout(output), stderr(output)] {
            let found = text.chars().find(|char| {
                char.is_control() && *char != '\n'
                    || "\u{202e}\u{2066}\u{2028}\u{61c}".contains(*char)
            });
            assert_eq!(found, None, "{what}: {text}");
            assert!(
                !text.lines().any(|line| line.starts_with("fake.hrxt")),
                "{what}: {text}"
            );
        }
    };
    let bad = format!("--{HOSTILE}");
    for arguments in [
        &["."][..],
        &[&hostile],
        &[&hostile, "-o", &hostile],
        &[&hostile, "-o", &format!("{name}4.hrxt")],
        &[&hostile, "-o", &format!("no/{name}.json")],
        &[&hostile, "-o", "x.json"],
        &[".", "-o", "x.json"],
        &["--format", "jsonl", "."],
        &["--format", "html", &hostile, "-o", "/dev/null"],
        &["--check", "."],
        &["--check", &hostile],
        &[
            "--check", "--expect", "failed=0", "--expect", &expected, ".",
        ],
        &["--check", "--expect", &name, "."],
        &["--info", "."],
        &["--info", "--json", "."],
        &["--info", &format!("missing {name}")],
        &["--summary", "."],
        &["--summary", "--json", "."],
        &["--summary", &format!("{name}3.hrxt")],
        &["--diff", &hostile, &other],
        &["--diff", "--json", &hostile, &other],
        &["--label", &format!("[{name}"), &hostile],
        &[&bad, &hostile],
        &["--format", &name, &hostile],
        &["--lane", &name, &hostile],
        &["--follow", &hostile, "-o", "/dev/null"],
        &["--diff", &hostile],
        &[&hostile, "--info", "--check"],
    ] {
        is_safe(&run(arguments, folder.path()), &format!("{arguments:?}"));
    }
    // What waits announces it.
    let missing = format!("missing {name}");
    let output = shell(
        &format!("timeout -s INT 0.3 \"$0\" --follow '{missing}'"),
        folder.path(),
    );
    assert!(
        stderr(&output).contains("waiting for missing"),
        "{}",
        stderr(&output)
    );
    is_safe(&output, "--follow");
    // On a terminal too.
    for arguments in [
        "--check .",
        "--summary .",
        "--info .",
        "--nonsense .",
        "--diff *2.hrxt *s.hrxt",
        "-o x.json .",
    ] {
        let script = format!("script -qec '\"'$0'\" {arguments}' /dev/null");
        let output = shell(&script, folder.path());
        let text = stdout(&output);
        assert!(!text.is_empty());
        let driven = ["\u{9b}", "\u{202e}", "\u{1b}]", "\u{2028}", "\u{7}"]
            .map(|control| text.contains(control));
        assert_eq!(driven, [false; 5], "{arguments}: {text}");
    }
}

//! The command in what surrounds it: pipes, redirections, limits, terminals, full disks, and names and labels that others chose.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use hrx_trace_tests::capture::{Capture, region, running};
use hrx_trace_tests::skip::skip;
use rustix::process::geteuid;
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
    // JSON for viewers is data, and holds names as they are, but for what JSON itself escapes: Perfetto's trace processor shows any other escape as it stands.
    let label = format!("[{name}");
    for arguments in [&["."][..], &[&hostile], &["--label", &label, &hostile]] {
        let mut output = run(arguments, folder.path());
        let json = stdout(&output);
        assert!(
            !json.contains(['\u{1b}', '\u{7}', '\r']),
            "{arguments:?}: {json}"
        );
        output.stdout.clear();
        is_safe(&output, &format!("{arguments:?}"));
    }
    let bad = format!("--{HOSTILE}");
    for arguments in [
        &[&hostile, "-o", &hostile][..],
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
    let mut child = command(folder.path())
        .args(["--follow", &format!("missing {name}")])
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command");
    let mut line = String::new();
    let said = child.stderr.take().expect("a pipe");
    BufReader::new(said).read_line(&mut line).expect("a line");
    child.kill().and_then(|()| child.wait()).expect("the end");
    assert!(
        line.contains("waiting for missing") && line.ends_with("999 events\n"),
        "{line}"
    );
    assert!(!line.trim_end().contains(char::is_control), "{line}");
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

/// The bug: with $TMPDIR full or missing, the page and the summary failed with "cannot write OUT: No space left", which has nothing to do with OUT.
#[test]
fn errors_of_temporary_files_name_their_folder() {
    let folder = folder();
    regions(530_000).write(folder.path(), "run.hrxt");
    regions(530_000).write(folder.path(), "copy.hrxt");
    // Large files are refused, also those without a name.
    let full = "mkdir -p full; trap '' XFSZ; ulimit -f 100; TMPDIR=full exec \"$0\"";
    let missing = "TMPDIR=missing exec \"$0\"";
    for (start, named, said) in [
        (full, "full", "File too large"),
        (missing, "missing", "No such file or directory"),
    ] {
        for arguments in [
            "run.hrxt --format html -o /dev/null",
            "run.hrxt --format html",
            "--summary run.hrxt",
            "--diff run.hrxt copy.hrxt",
            "--check --expect failed=0 run.hrxt",
        ] {
            let output = shell(&format!("{start} {arguments} >/dev/null"), folder.path());
            let line = stderr(&output);
            assert_eq!(code(&output), 1, "{start} {arguments}: {line}");
            let expected = format!("error: cannot use temporary files in {named} ($TMPDIR)");
            assert!(
                line.contains(&expected) && line.contains(said),
                "{arguments}: {line}"
            );
            assert_eq!(line.lines().count(), 1, "{line}");
        }
    }
}

/// The bug: `-o OUT` replaced a file of mode 0444, and, run by root, another user's file, whose owner and mode it changed. Found by converting over such
/// files.
#[test]
fn what_is_protected_is_replaced_only_when_told_to() {
    let folder = folder();
    regions(10).write(folder.path(), "run.hrxt");
    let out = folder.path().join("out.json");
    let is_root = geteuid().is_root();
    if !is_root {
        skip("only root can give a file to another user");
    }
    for (mode, owner, said) in [
        (
            0o444,
            None,
            "it is write-protected (mode 0444); --force replaces it",
        ),
        (
            0o640,
            Some(12_345),
            "it belongs to another user (id 12345); --force replaces it",
        ),
    ] {
        if owner.is_some() && !is_root {
            continue;
        }
        for follow in [&[][..], &["--follow"]] {
            fs::write(&out, "precious").expect("a file");
            chown(&out, owner, owner).expect("an owner");
            fs::set_permissions(&out, fs::Permissions::from_mode(mode)).expect("a mode");
            let arguments = [&["run.hrxt", "-o", "out.json"], follow].concat();
            let output = run(&arguments, folder.path());
            assert_eq!(code(&output), 1);
            assert_eq!(
                stderr(&output),
                format!("hrx-convert: error: cannot write out.json: {said}\n")
            );
            assert_eq!(fs::read(&out).expect("the output"), b"precious");
            // Only root writes a file in place whatever its mode.
            if !follow.is_empty() && !is_root {
                continue;
            }
            let output = run(&[&arguments[..], &["--force"]].concat(), folder.path());
            assert_eq!(code(&output), 0, "{}", stderr(&output));
            let file = fs::metadata(&out).expect("the output");
            assert_eq!(file.permissions().mode() & 0o7777, mode);
            assert!(owner.is_none_or(|owner| (file.uid(), file.gid()) == (owner, owner)));
            assert!(
                fs::read(&out)
                    .expect("the output")
                    .starts_with(b"{\"displayTimeUnit\"")
                    || !follow.is_empty()
            );
            fs::remove_file(&out).expect("the output");
        }
    }
    // A device is not replaced.
    let output = run(&["run.hrxt", "-o", "/dev/null"], folder.path());
    assert_eq!(code(&output), 0);
}

/// The bug: `: > o.jsonl` while `--follow -o o.jsonl` wrote left 75,099 NUL bytes before the next line: the follower wrote on where it had been. Found by
/// emptying an output that had grown large.
#[test]
fn an_output_that_is_emptied_while_it_grows_begins_anew() {
    let folder = folder();
    for (name, begins) in [
        ("o.jsonl", &b"{\"kind\""[..]),
        ("o.jsonl.gz", &[0x1F, 0x8B]),
        ("o.csv", b""),
    ] {
        let mut capture = regions(1_000);
        // The boot is unknown, so only the lock tells that the writer lives.
        capture.identity.boot_id = [0; 16];
        let file = capture.write(folder.path(), "run.hrxt");
        let writer = File::open(&file).expect("the capture");
        writer.lock().expect("the writer's lock");
        let mut child = command(folder.path())
            .args(["--follow", "run.hrxt", "-o", name])
            .stderr(Stdio::null())
            .spawn()
            .expect("the command");
        let out = folder.path().join(name);
        let bytes = || fs::metadata(&out).map_or(0, |file| file.len());
        // Until the round is over.
        let mut before = 0;
        while before == 0 || bytes() > before {
            before = bytes();
            sleep(Duration::from_millis(200));
        }
        File::options()
            .write(true)
            .open(&out)
            .and_then(|file| file.set_len(0))
            .expect("an emptied output");
        writer.unlock().expect("the lock");
        assert!(child.wait().expect("the end").success());
        let text = fs::read(&out).expect("the output");
        assert!(
            text.starts_with(begins),
            "{name}: {:?}",
            String::from_utf8_lossy(&text)
        );
        if name.ends_with("gz") {
            let unpacked = Command::new("zcat").arg(&out).output().expect("zcat");
            assert!(
                unpacked.status.success() && unpacked.stdout.starts_with(b"{\"kind\":\"account\"")
            );
        } else {
            assert!(!text.contains(&0), "{name}");
        }
    }
}

/// The bug: where no more threads could be started (`pids.max` of a container), `--summary` panicked and exited with 101. Found by setting such limits.
#[test]
fn one_thread_is_enough() {
    let folder = folder();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).expect("a mode");
    let capture = regions(20_000).write(folder.path(), "run.hrxt");
    fs::set_permissions(capture, fs::Permissions::from_mode(0o644)).expect("a mode");
    regions(10).write(folder.path(), "other.hrxt");
    let with_threads = run(&["--summary", "run.hrxt"], folder.path());
    // Root is not limited, and another user may not be able to read where the command lies.
    let copy = folder.path().join("hrx-convert");
    fs::copy(env!("CARGO_BIN_EXE_hrx-convert"), &copy).expect("a copy");
    let user = match geteuid().is_root() {
        true => "setpriv --reuid=64123 --regid=64123 --clear-groups",
        false => "",
    };
    let limited = |arguments: &str| {
        let script = format!("exec {user} prlimit --nproc=1:1 ./hrx-convert {arguments}");
        shell(&script, folder.path())
    };
    let output = limited("--summary run.hrxt");
    assert_eq!(stderr(&output), "");
    assert_eq!((code(&output), output.stdout), (0, with_threads.stdout));
    for arguments in [
        "run.hrxt -o x.json",
        "run.hrxt -o x.json.gz",
        "run.hrxt --format html -o x.html",
        "--follow run.hrxt -o y.json",
    ] {
        let output = limited(arguments);
        assert_eq!(code(&output), 0, "{arguments}: {}", stderr(&output));
    }
    let expected = run(&["run.hrxt"], folder.path()).stdout;
    assert_eq!(fs::read(folder.path().join("x.json")).ok(), Some(expected));
}

/// The bug: tables were 97 columns wide in a terminal of 80, and labels were cut after 31 columns in one of 200, where those of two kernels that differ in
/// their last template argument were the same row. Found by resizing a terminal.
#[test]
fn text_fits_the_terminal_it_is_printed_to() {
    let folder = folder();
    let labels = ["row_major", "column_major"].map(|order| {
        format!(
            "大_kernel<float, 128, 64, 8, {}, {order}>",
            "warp, ".repeat(6)
        )
    });
    for file in ["run.hrxt", "other.hrxt"] {
        let mut capture = Capture::new(2_000).attributes(&format!("note={}\n", "very ".repeat(60)));
        let ids = labels.each_ref().map(|label| capture.label(label));
        for i in 0..2_000u64 {
            let slower = if file == "run.hrxt" { 1 } else { 3 };
            capture.record(hrx_trace_format::Record {
                label_id: ids[i as usize % 2],
                flags: u8::from(i % 100 == 0),
                status: u32::MAX,
                copied_bytes: 1 << 40,
                correlation_id: u64::MAX - i,
                ..region(
                    [1, 7, 4_000_000_000][i as usize % 3],
                    1 << 40,
                    (i + 1_000_000) * slower,
                )
            });
        }
        let open = hrx_trace_format::OpenRecord {
            label_id: ids[0],
            correlation_id: u64::MAX,
            copied_bytes: 1 << 40,
            ..running(4_000_000_000, 1 << 40)
        };
        capture.open(0, open);
        capture.write(folder.path(), file);
    }
    let wide = |text: &str| {
        let widths = text.lines().map(unicode_width::UnicodeWidthStr::width);
        widths.max().unwrap_or_default()
    };
    for answer in [&["--summary"][..], &["--info"], &["--diff", "other.hrxt"]] {
        let mut widest = Vec::new();
        for columns in ["1", "80", "100", "132", "250", "9999"] {
            let output = command(folder.path())
                .args(about(answer))
                .env("COLUMNS", columns)
                .output();
            let text = stdout(&output.expect("the command"));
            let limit = columns.parse::<usize>().expect("a number").clamp(80, 250);
            assert!(wide(&text) <= limit, "{answer:?} {columns}: {text}");
            widest.push(wide(&text));
            // Whole, or cut in the middle: always told apart.
            let [row, column] = ["row_major>", "n_major>"].map(|end| text.matches(end).count());
            if answer[0] != "--info" {
                assert!(row > 0 && column > 0, "{columns}: {text}");
            }
            if limit >= 132 && answer[0] != "--info" {
                assert!(
                    text.contains(&labels[0]) && text.contains(&labels[1]),
                    "{columns}: {text}"
                );
            }
        }
        assert!(widest[1] > 70 && widest[3] > 100, "{answer:?}: {widest:?}");
        // No terminal, and nothing said: 100.
        let plain = run(&about(answer), folder.path());
        let asked = command(folder.path())
            .args(about(answer))
            .env("COLUMNS", "100")
            .output();
        assert_eq!(plain.stdout, asked.expect("the command").stdout);
        // What the terminal says itself.
        for columns in [80, 140] {
            let script = format!(
                "script -qec 'stty cols {columns}; \"'$0'\" {}' /dev/null",
                about(answer).join(" ")
            );
            let text =
                anstream::adapter::strip_str(&stdout(&shell(&script, folder.path()))).to_string();
            let asked = command(folder.path())
                .args(about(answer))
                .env("COLUMNS", columns.to_string())
                .output();
            assert_eq!(
                text.replace('\r', ""),
                stdout(&asked.expect("the command")),
                "{columns}"
            );
        }
    }
    // A file is no terminal.
    let script = "script -qec 'stty cols 80; \"'$0'\" --summary run.hrxt -o x.txt' /dev/null";
    assert_eq!(code(&shell(script, folder.path())), 0);
    let file = fs::read(folder.path().join("x.txt")).expect("the output");
    assert_eq!(file, run(&["--summary", "run.hrxt"], folder.path()).stdout);
}

/// The bug: 240 captures were refused where 256 files may be open and that limit cannot be raised, and so were 2,000, by `--check` and `--summary` too,
/// which read one after the other. Found by `ulimit -n 256`.
#[test]
fn more_captures_than_files_may_be_open() {
    let folder = folder();
    for i in 0..60 {
        let mut capture = Capture::new(64);
        let label_id = capture.label(&format!("label {i}"));
        for at in 0..100 {
            capture.record(hrx_trace_format::Record {
                label_id,
                ..region(at as u32 % 3, 1_000 * at + i, 900)
            });
        }
        capture.write(folder.path(), &format!("{i}.hrxt"));
    }
    let formats = FORMATS.iter().filter(|format| **format != "seed");
    let formats = formats.map(|format| (format!("--format {format} ."), 0));
    let answers = ANSWERS
        .iter()
        .filter(|(answer, _)| !["--diff", "--generate"].contains(&answer[0]));
    let answers = answers
        .map(|(answer, code)| (format!("{} .", answer.join(" ").replace('>', "\\>")), *code));
    let others = [
        ("--last 10us .".to_owned(), 0),
        ("--follow .".to_owned(), 0),
    ];
    for (arguments, expected) in formats.chain(answers).chain(others) {
        let with = |limit: u32| {
            shell(
                &format!("ulimit -n {limit}; exec \"$0\" {arguments}"),
                folder.path(),
            )
        };
        let (all, few) = (with(1_000), with(40));
        assert_eq!(code(&all), expected, "{arguments}: {}", stderr(&all));
        assert_eq!(
            (code(&few), stderr(&few)),
            (code(&all), stderr(&all)),
            "{arguments}"
        );
        assert!(few.stdout == all.stdout, "{arguments}");
    }
}

/// The bug: a followed capture was renamed away and a program began another at its path, and nothing said that this one was not followed. Found by
/// rotating captures under a follower.
#[test]
fn a_followed_file_that_is_replaced_is_reported() {
    let folder = folder();
    let live = |name: &str, count| {
        let mut capture = regions(count);
        // The boot is unknown, so only the lock tells that the writer lives.
        capture.identity.boot_id = [0; 16];
        let writer = File::open(capture.write(folder.path(), name)).expect("the capture");
        writer.lock().expect("the writer's lock");
        writer
    };
    for replaced in [false, true] {
        let [first, other] = [live("a.hrxt", 10), live("b.hrxt", 20)];
        let child = command(folder.path())
            .args(["--follow", "a.hrxt", "b.hrxt", "-o", "o.jsonl"])
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command");
        let written = || fs::read_to_string(folder.path().join("o.jsonl")).unwrap_or_default();
        while written().lines().count() < 30 {
            sleep(Duration::from_millis(10));
        }
        fs::rename(folder.path().join("a.hrxt"), folder.path().join("old")).expect("a new name");
        let second = replaced.then(|| live("a.hrxt", 5));
        sleep(Duration::from_millis(1_200));
        drop((first, other));
        let output = child.wait_with_output().expect("the end");
        assert!(output.status.success());
        let said = stderr(&output);
        let expected = usize::from(replaced);
        assert_eq!(
            said.matches("a.hrxt: another file lies there now").count(),
            expected,
            "{said}"
        );
        assert!(!said.contains("b.hrxt: another"), "{said}");
        assert_eq!(written().matches("\"kind\":\"region\"").count(), 30);
        drop(second);
        let _ = fs::remove_file(folder.path().join("o.jsonl"));
    }
}

//! The command as its users run it: the real binary on real files.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use hrx_trace_format::header::{COUNTERS_OFFSET, VERSION_MAJOR};
use hrx_trace_format::{Checksum, OpenRecord, Record};
use hrx_trace_tests::capture::{Capture, region, running};
use hrx_trace_tests::skip::skip;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

const LABEL: &str = "host-observed";

fn command() -> Command {
    Command::new(env!("CARGO_BIN_EXE_hrx-convert"))
}

fn run(arguments: &[&str], folder: &Path) -> Output {
    command()
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("the command")
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

/// The names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("UTF-8")
        })
        .collect();
    names.sort();
    names
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// Ten events in a ring of eight, one of them failed, and one region that never ended.
fn small() -> Capture {
    let mut capture = Capture::new(8).attributes("rank=3\n");
    let gemm = capture.label("gemm");
    for i in 0..10 {
        capture.record(Record {
            label_id: if i % 2 == 0 { gemm } else { 0 },
            correlation_id: i,
            copied_bytes: i * 100,
            flags: u8::from(i == 9),
            ..region(i as u32 % 3, 1_000 * i, 900)
        });
    }
    capture.open(
        0,
        OpenRecord {
            label_id: gemm,
            correlation_id: 10,
            ..running(1, 10_500)
        },
    );
    capture
}

/// Its output is more than a pipe holds.
fn large() -> Capture {
    let mut capture = Capture::new(5_000);
    for i in 0..5_000 {
        capture.record(region(1, 1_000 * i, 900));
    }
    capture
}

/// The bug: "over 89 d 23:46:29 h", as if the clock form needed a unit. Found in the line that ends the conversion of a long capture.
#[test]
fn a_span_of_days_is_stated_without_a_unit_after_the_clock() {
    let folder = folder();
    let mut capture = Capture::new(1);
    capture.record(region(0, 0, 7_775_189_000_000_000));
    capture.write(folder.path(), "run.hrxt");
    assert_eq!(
        stderr(&run(&["run.hrxt"], folder.path())),
        "hrx-convert: warning: the JSON reaches to day 90, and its viewers tell every nanosecond apart up to day 6.4 only: -o x.pftrace is exact at any time\n\
         hrx-convert: 1 event over 89 d 23:46:29 (host-observed), 0 overwritten, 0 torn, 0 open regions; the writer died\n"
    );
}

#[test]
fn converts_to_the_standard_output_and_to_a_file_alike() {
    let folder = folder();
    small().write(folder.path(), "run.hrxt");
    let before = fs::read(folder.path().join("run.hrxt")).expect("the input");
    let piped = run(&["run.hrxt"], folder.path());
    assert_eq!(code(&piped), 0);
    let filed = run(&["run.hrxt", "-o", "run.json"], folder.path());
    assert_eq!((code(&filed), filed.stdout.len()), (0, 0));
    assert_eq!(
        fs::read(folder.path().join("run.json")).expect("the output"),
        piped.stdout
    );
    assert_eq!(
        fs::read(folder.path().join("run.hrxt")).expect("the input"),
        before
    );
    assert_eq!(names(folder.path()), ["run.hrxt", "run.json"]);
    for output in [piped, filed] {
        assert_eq!(
            stderr(&output),
            "hrx-convert: 8 events over 8.500 µs (host-observed), 2 overwritten, 0 torn, 1 open region; the writer died\n"
        );
    }

    let document: Value =
        serde_json::from_slice(&fs::read(folder.path().join("run.json")).expect("the output"))
            .expect("JSON");
    let of_phase = |phase: &str| {
        let events = document["traceEvents"].as_array().expect("an array");
        let regions = events
            .iter()
            .filter(|event| event["cat"] != "hrx.capture.host-observed");
        regions.filter(|event| event["ph"] == phase).count()
    };
    assert_eq!((of_phase("X"), of_phase("B"), of_phase("E")), (8, 1, 0));
    assert_eq!(document["metadata"]["dropped_events"], 2);
}

#[test]
fn the_seed_document_byte_for_byte() {
    let folder = folder();
    let mut capture = Capture::new(2).finished(10_000);
    capture.record(region(0, 1, 1));
    capture.record(Record {
        copied_bytes: 4_096,
        ..region(1, 1_500, 2_000_001)
    });
    capture.record(Record {
        flags: 1,
        ..region(7, 3_000, 0)
    });
    capture.write(folder.path(), "run.hrxt");
    let output = run(&["--format", "seed", "run.hrxt"], folder.path());
    assert_eq!(code(&output), 0);
    let microseconds = |ns| std::time::Duration::from_nanos(ns).as_secs_f64() * 1e6;
    let expected = format!(
        concat!(
            r#"{{"displayTimeUnit":"ms","dropped_events":1,"measurement":"host-observed synchronized region latency; not device timestamps","traceEvents":["#,
            r#"{{"args":{{"copied_bytes":4096,"failed":false}},"cat":"hrx.host","dur":{:?},"name":"native region (host-observed)","ph":"X","pid":0,"tid":1,"ts":{:?}}},"#,
            r#"{{"args":{{"copied_bytes":0,"failed":true}},"cat":"hrx.host","dur":0.0,"name":"native region (host-observed)","ph":"X","pid":0,"tid":7,"ts":{:?}}}]}}"#,
        ),
        microseconds(2_000_001),
        microseconds(1_500),
        microseconds(3_000),
    );
    assert_eq!(stdout(&output), expected);
}

#[test]
fn every_output_carries_the_label() {
    let folder = folder();
    small().write(folder.path(), "run.hrxt");
    for arguments in [
        &["run.hrxt"][..],
        &["--format", "seed", "run.hrxt"],
        &["--info", "run.hrxt"],
        &["--info", "--json", "run.hrxt"],
        &["--check", "run.hrxt"],
        &["--help"],
    ] {
        let output = run(arguments, folder.path());
        assert!(stdout(&output).contains(LABEL), "{arguments:?}");
    }
    assert!(stderr(&run(&["run.hrxt"], folder.path())).contains(LABEL));
}

/// Among them is `fallback`, by which a recorder says that it passed over a folder.
#[test]
fn every_output_shows_the_attributes() {
    let folder = folder();
    let made =
        small().attributes("rank=3\nfallback=/run/user/1000: Permission denied (os error 13)\n");
    made.write(folder.path(), "run.hrxt");
    for arguments in [
        &["run.hrxt"][..],
        &["--format", "perfetto", "run.hrxt"],
        &["--format", "jsonl", "run.hrxt"],
        &["--format", "html", "run.hrxt"],
        &["--info", "run.hrxt"],
        &["--info", "--json", "run.hrxt"],
        &["--summary", "run.hrxt"],
        &["--summary", "--json", "run.hrxt"],
    ] {
        let output = run(arguments, folder.path());
        let text = String::from_utf8_lossy(&output.stdout).replace(['\n', ' '], "");
        for value in ["fallback", "/run/user/1000:Permissiondenied(oserror13)"] {
            assert!(text.contains(value), "{arguments:?}: {text}");
        }
    }
}

#[test]
fn a_file_that_is_no_trace_gets_one_line() {
    let folder = folder();
    let put =
        |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).expect("a file");
    put("empty", b"");
    put(
        "text",
        b"It was a dark and stormy night; the rain fell in torrents.\n",
    );
    put("zeroes", &[0; 8192]);
    fs::create_dir(folder.path().join("directory")).expect("a folder");
    let mut future = small();
    future.identity.version_major = VERSION_MAJOR + 1;
    future.write(folder.path(), "future");
    let mut damaged = small().bytes();
    damaged[200] ^= 1;
    put("damaged", &damaged);
    for (name, said) in [
        ("empty", "found 0 bytes"),
        ("text", "at offset 0 found [49, 74"),
        ("zeroes", "creation was cut short"),
        ("directory", "found a directory"),
        ("missing", "No such file"),
        ("future", "found 3.0, expected 2.x"),
        ("damaged", "checksum at offset 16"),
    ] {
        for mode in [
            &["-o", "out"][..],
            &["--info"],
            &["--info", "--json"],
            &["--check"],
            &["--format", "seed"],
        ] {
            let output = run(&[&[name], mode].concat(), folder.path());
            let line = stderr(&output);
            assert_eq!(code(&output), 1, "{name} {mode:?}");
            assert_eq!(line.lines().count(), 1, "{line}");
            assert!(
                line.starts_with("hrx-convert: error: ")
                    && line.contains(name)
                    && line.contains(said),
                "{line}"
            );
            assert!(output.stdout.is_empty());
        }
    }
    assert_eq!(
        names(folder.path()),
        ["damaged", "directory", "empty", "future", "text", "zeroes"]
    );
}

/// However much of a file is left, the result is a clear error or valid output with an account that balances.
#[test]
fn a_file_cut_anywhere() {
    let folder = folder();
    let whole = small().bytes();
    let lengths = (0..whole.len()).step_by(997).chain([
        1,
        7,
        8,
        1023,
        1024,
        2047,
        2048,
        2049,
        4095,
        4096,
        4097,
        whole.len() - 1,
        whole.len() - 4096 + 63,
        whole.len() - 4096 + 64 * 7 + 1,
    ]);
    for length in lengths {
        fs::write(folder.path().join("cut.hrxt"), &whole[..length]).expect("a file");
        let output = run(&["cut.hrxt"], folder.path());
        if (length as u64) < COUNTERS_OFFSET {
            assert_eq!(
                (code(&output), stderr(&output).lines().count()),
                (1, 1),
                "{length}"
            );
            continue;
        }
        assert_eq!(code(&output), 0, "{length}: {}", stderr(&output));
        let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let count = |key: &str| document["account"][key].as_u64().expect("a number");
        assert_eq!(
            count("claimed"),
            count("recovered") + count("overwritten") + count("torn"),
            "{length}"
        );
        assert!(
            !document["damages"].as_array().expect("an array").is_empty(),
            "{length}"
        );
        assert_eq!(
            code(&run(&["--check", "cut.hrxt"], folder.path())),
            4,
            "{length}"
        );
        assert_eq!(
            code(&run(&["--info", "cut.hrxt"], folder.path())),
            0,
            "{length}"
        );
        assert_eq!(
            code(&run(&["--format", "seed", "cut.hrxt"], folder.path())),
            0,
            "{length}"
        );
    }
}

#[test]
fn a_closed_pipe_is_success() {
    let folder = folder();
    large().write(folder.path(), "run.hrxt");
    for format in ["chrome", "seed"] {
        let mut child = command()
            .args(["--format", format, "run.hrxt"])
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command");
        let mut byte = [0];
        // Reads one byte and closes the pipe, as `head -c 1` does.
        let mut pipe = child.stdout.take().expect("a pipe");
        pipe.read_exact(&mut byte).expect("a byte");
        drop(pipe);
        let output = child.wait_with_output().expect("the end");
        assert_eq!(
            (code(&output), stderr(&output).as_str()),
            (0, ""),
            "{format}"
        );
    }
    // A standard error that cannot be written is no failure either.
    let full = File::options()
        .write(true)
        .open("/dev/full")
        .expect("/dev/full");
    let status = command()
        .args(["run.hrxt", "-o", "run.json"])
        .current_dir(folder.path())
        .stderr(full)
        .status();
    assert!(status.expect("the command").success());
}

#[test]
fn a_failed_conversion_leaves_nothing_and_touches_nothing() {
    let folder = folder();
    large().write(folder.path(), "run.hrxt");
    fs::write(folder.path().join("old.json"), "precious").expect("a file");
    for out in ["old.json", "new.json"] {
        // Files cannot grow beyond 50 or 100 KiB (shells count in 512 or 1024 bytes), and the signal that comes with this limit is ignored.
        let script = r#"trap '' XFSZ; ulimit -f 100; exec "$0" run.hrxt -o "$1""#;
        let output = Command::new("sh")
            .args(["-c", script, env!("CARGO_BIN_EXE_hrx-convert"), out])
            .current_dir(folder.path())
            .output()
            .expect("a shell");
        let line = stderr(&output);
        assert_eq!((code(&output), line.lines().count()), (1, 1), "{line}");
        assert!(
            line.contains("cannot write") && line.contains(out),
            "{line}"
        );
        assert_eq!(names(folder.path()), ["old.json", "run.hrxt"]);
        assert_eq!(
            fs::read(folder.path().join("old.json")).expect("the old output"),
            b"precious"
        );
    }
    for (out, said) in [
        ("no/such/folder.json", "No such file"),
        (".", "found a directory"),
        ("/dev/full", "No space"),
    ] {
        let output = run(&["run.hrxt", "-o", out], folder.path());
        assert_eq!(code(&output), 1);
        assert!(
            stderr(&output).contains(said) && stderr(&output).contains(out),
            "{}",
            stderr(&output)
        );
    }
    assert_eq!(names(folder.path()), ["old.json", "run.hrxt"]);
}

/// The bug: a signal ended the command at once, and its temporary file stayed next to OUT, under a hidden name. Found by pressing Ctrl-C. Later, only
/// the signals that were handled removed it: SIGXCPU, SIGALRM, SIGXFSZ, SIGABRT and SIGUSR1 left it, and SIGKILL always did.
#[test]
fn a_signal_leaves_no_file_behind() {
    let folder = folder();
    let mut capture = Capture::new(500_000);
    for i in 0..500_000 {
        capture.record(region(0, i, 1));
    }
    capture.write(folder.path(), "run.hrxt");
    // The output has a temporary name, or it is an open file without one.
    let has_begun = |child: &Child| {
        let open = fs::read_dir(format!("/proc/{}/fd", child.id()));
        let targets = open.into_iter().flatten().flatten();
        let mut targets = targets.filter_map(|entry| fs::read_link(entry.path()).ok());
        let unnamed = targets.any(|target| {
            target.starts_with(folder.path()) && target.to_string_lossy().ends_with("(deleted)")
        });
        unnamed || names(folder.path()).len() > 1
    };
    let convert = |start: &str| {
        let child = Command::new("sh")
            .args(["-c", start, env!("CARGO_BIN_EXE_hrx-convert")])
            .current_dir(folder.path())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell");
        while !has_begun(&child) {
            sleep(Duration::from_millis(1));
        }
        child
    };
    let send =
        |child: &Child, signal| kill_process(Pid::from_child(child), signal).expect("a child");
    // The tests may run with these signals ignored.
    let start = "ulimit -c 0; exec env --default-signal=INT,TERM,HUP,XCPU,ALRM,XFSZ,ABRT,USR1";
    for signal in [
        Signal::INT,
        Signal::TERM,
        Signal::HUP,
        Signal::XCPU,
        Signal::ALARM,
        Signal::XFSZ,
        Signal::ABORT,
        Signal::USR1,
        Signal::KILL,
    ] {
        let mut child = convert(&format!("{start} \"$0\" run.hrxt -o run.json"));
        send(&child, signal);
        let status = child.wait().expect("the end");
        assert_eq!(status.signal(), Some(signal.as_raw()), "{status}");
        assert_eq!(names(folder.path()), ["run.hrxt"]);
    }
    // As under nohup.
    let mut child = convert("trap '' HUP; exec \"$0\" run.hrxt -o run.json");
    send(&child, Signal::HUP);
    assert!(child.wait().expect("the end").success());
    assert_eq!(names(folder.path()), ["run.hrxt", "run.json"]);
    fs::remove_file(folder.path().join("run.json")).expect("the output");

    // Without /proc, as without support by the file system, the file has a name, and is removed on the signals that end a command.
    let without_proc = "exec unshare -m sh -c 'mount -t tmpfs none /proc && exec \"$@\"' sh";
    let may = Command::new("sh")
        .args(["-c", &format!("{without_proc} true")])
        .stderr(Stdio::null())
        .status();
    if !may.expect("a shell").success() {
        return skip("mount namespaces are not to be had here");
    }
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let script =
            format!("{without_proc} env --default-signal=INT,TERM,HUP \"$0\" run.hrxt -o run.json");
        let mut child = convert(&script);
        while names(folder.path()).len() == 1 {
            sleep(Duration::from_millis(1));
        }
        send(&child, signal);
        let status = child.wait().expect("the end");
        assert_eq!(status.signal(), Some(signal.as_raw()), "{status}");
        assert_eq!(names(folder.path()), ["run.hrxt"]);
    }
    let mut child = convert(&format!("{without_proc} \"$0\" run.hrxt -o run.json"));
    assert!(child.wait().expect("the end").success());
    assert_eq!(names(folder.path()), ["run.hrxt", "run.json"]);
}

#[test]
fn the_input_is_never_the_output() {
    let folder = folder();
    let input = small().write(folder.path(), "run.hrxt");
    symlink("run.hrxt", folder.path().join("link")).expect("a link");
    fs::hard_link(&input, folder.path().join("name")).expect("a link");
    for out in ["run.hrxt", "./run.hrxt", "link", "name"] {
        let output = run(&["run.hrxt", "-o", out], folder.path());
        assert_eq!(code(&output), 2, "{out}");
        assert!(
            stderr(&output).contains("OUT is FILE itself"),
            "{}",
            stderr(&output)
        );
        assert_eq!(fs::read(&input).expect("the input"), small().bytes());
    }
}

#[test]
fn an_output_has_the_mode_of_any_new_file_and_replaces_an_old_one() {
    let folder = folder();
    small().write(folder.path(), "run.hrxt");
    let mode = |name: &str| {
        let metadata = fs::metadata(folder.path().join(name)).expect("the output");
        metadata.permissions().mode() & 0o777
    };
    let convert_to = |out: &str| {
        let script = r#"umask 027; exec "$0" run.hrxt -o "$1""#;
        let status = Command::new("sh")
            .args(["-c", script, env!("CARGO_BIN_EXE_hrx-convert"), out])
            .current_dir(folder.path())
            .stderr(Stdio::null())
            .status();
        assert!(status.expect("a shell").success());
    };
    convert_to("new.json");
    assert_eq!(mode("new.json"), 0o640);

    // An existing file keeps its mode, and links to it still lead there.
    fs::write(folder.path().join("old.json"), "old").expect("a file");
    fs::set_permissions(
        folder.path().join("old.json"),
        fs::Permissions::from_mode(0o604),
    )
    .expect("a mode");
    symlink("old.json", folder.path().join("link.json")).expect("a link");
    convert_to("link.json");
    assert!(
        fs::symlink_metadata(folder.path().join("link.json"))
            .expect("a link")
            .is_symlink()
    );
    assert_eq!(mode("old.json"), 0o604);
    assert_eq!(
        fs::read(folder.path().join("old.json")).expect("the output"),
        fs::read(folder.path().join("new.json")).expect("the output")
    );

    // A named pipe is written to, not replaced.
    let pipe = folder.path().join("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .expect("mkfifo")
            .success()
    );
    let reader = Command::new("cat")
        .arg(&pipe)
        .stdout(Stdio::piped())
        .spawn()
        .expect("cat");
    convert_to("pipe");
    let read = reader.wait_with_output().expect("the end").stdout;
    assert_eq!(
        read,
        fs::read(folder.path().join("new.json")).expect("the output")
    );
    assert!(fs::metadata(&pipe).expect("the pipe").file_type().is_fifo());
}

#[test]
fn the_verdict_is_an_exit_code() {
    let folder = folder();
    let check = |name: &str| {
        let output = run(&["--check", name], folder.path());
        assert!(output.stderr.is_empty());
        (code(&output), stdout(&output))
    };
    small().finished(20_000).write(folder.path(), "finished");
    assert_eq!(
        check("finished"),
        (
            0,
            "finished: intact, finished: 8 events (host-observed)\n".into()
        )
    );
    small().write(folder.path(), "died");
    assert_eq!(
        check("died"),
        (
            3,
            "died: intact, the writer died: 8 events (host-observed)\n".into()
        )
    );
    let mut torn = small();
    torn.tear().record(region(0, 20_000, 1));
    torn.write(folder.path(), "torn");
    assert_eq!(
        check("torn"),
        (
            4,
            "torn: damaged, the writer died: 7 events (host-observed); 1 torn\n".into()
        )
    );
    // A label that an event names, with one bit flipped.
    let mut bytes = small().finished(20_000).bytes();
    bytes[small().identity.name_offset as usize + 36] ^= 1;
    fs::write(folder.path().join("label"), bytes).expect("a file");
    assert_eq!(
        check("label"),
        (
            4,
            "label: damaged, finished: 8 events (host-observed); 1 damaged outside the records\n"
                .into()
        )
    );
    // The verdict does not depend on it being read.
    let mut child = command()
        .args(["--check", "died"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("the end").code(), Some(3));
}

#[test]
fn a_live_capture_is_read_while_it_is_written() {
    let folder = folder();
    let mut capture = small();
    // The boot is unknown, so only the lock tells that the writer lives. One thread is inside `record`.
    capture.identity.boot_id = [0; 16];
    capture.tear();
    let file = File::open(capture.write(folder.path(), "run.hrxt")).expect("the capture");
    file.lock().expect("the writer's lock");
    let output = run(&["--check", "run.hrxt"], folder.path());
    assert_eq!(
        (code(&output), stdout(&output).as_str()),
        (
            0,
            "run.hrxt: intact, still recording: 7 events (host-observed); 1 being written as the file was read\n"
        )
    );
    let output = run(&["run.hrxt"], folder.path());
    assert!(stdout(&output).contains("end: still recording when it was read (host-observed)"));
    assert!(
        stderr(&output).contains("0 torn, 1 open region; still recording; also: 1 being written")
    );
}

#[test]
fn info_fits_100_columns_whatever_the_capture_contains() {
    let folder = folder();
    let mut capture = Capture::new(8).attributes(&format!("rank=3\nnote={}\n", "very ".repeat(60)));
    capture.identity.host_name.fill(b'h');
    let hostile = capture.label(&format!(
        "\u{1b}[31mred\u{1b}[0m\n\u{202e}{}",
        "大".repeat(300)
    ));
    capture.record(region(1, 5, 5));
    for slot in 0..60 {
        let lane = u32::MAX - slot;
        capture.open(
            slot,
            OpenRecord {
                label_id: hostile,
                correlation_id: u64::MAX,
                copied_bytes: u64::MAX,
                ..running(lane, 10)
            },
        );
    }
    capture.write(folder.path(), "run.hrxt");
    let output = run(&["--info", "run.hrxt"], folder.path());
    assert_eq!((code(&output), stderr(&output).as_str()), (0, ""));
    let text = stdout(&output);
    for line in text.lines() {
        assert!(unicode_width::UnicodeWidthStr::width(line) <= 100, "{line}");
        assert!(!line.contains(['\u{1b}', '\u{202e}']), "{line}");
    }
    assert!(
        text.contains("rank=3") && text.contains("began       2026-11-30T00:00:00.123456789Z"),
        "{text}"
    );

    let json = run(&["--info", "--json", "run.hrxt"], folder.path());
    let facts: Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!(
        facts["open_regions"].as_array().expect("an array").len(),
        60
    );
    assert_eq!(
        facts["open_regions"][0]["correlation_id"],
        u64::MAX.to_string()
    );
}

#[test]
fn info_as_text() {
    let folder = folder();
    small().write(folder.path(), "run.hrxt");
    let output = run(&["--info", "run.hrxt"], folder.path());
    assert_eq!(
        stdout(&output),
        "\
file        run.hrxt
measured    host-observed synchronized region latency; not device timestamps
program     pipeline, process 4242 on host bench
attribute   rank=3
began       2026-11-30T00:00:00.123456789Z
ending      the writer died; the last sign of life is 10.500 µs after the beginning
clock       CLOCK_MONOTONIC; the wall clock was read within 0 ns
span        8.500 µs, from 2.000 µs to 10.500 µs after the beginning
layout      1 ring of 8 events, 104.00 KiB, format 2.0
events      10 claimed = 8 recovered + 2 overwritten + 0 torn
complete    for all that ended after 2.900 µs
running     gemm on compute for at least 0 ns, correlation 10, thread 99
damage      none found
"
    );
}

#[test]
fn a_wrong_command_line_is_exit_code_2() {
    let folder = folder();
    small().write(folder.path(), "run.hrxt");
    for arguments in [
        &[][..],
        &["run.hrxt", "--format", "xml"],
        &["run.hrxt", "--json"],
        &["run.hrxt", "--info", "--check"],
        &["run.hrxt", "--check", "-o", "out"],
        &["run.hrxt", "--info", "--format", "seed"],
        &["run.hrxt", "--nonsense"],
    ] {
        let output = run(arguments, folder.path());
        assert_eq!(code(&output), 2, "{arguments:?}");
        assert!(
            !output.stderr.is_empty() && output.stdout.is_empty(),
            "{arguments:?}"
        );
    }
}

/// The header's checksum is not secret: a file may verify and still lie.
#[test]
fn a_forged_capture_is_survived() {
    let folder = folder();
    let mut capture = small();
    for record in [
        region(u32::MAX, u64::MAX, u64::MAX),
        region(999_999_999, u64::MAX, 0),
        region(0, 0, u64::MAX),
        Record {
            label_id: u32::MAX,
            kind: 0,
            ..region(0, 1 << 62, 1 << 62)
        },
    ] {
        capture.record(record);
    }
    capture.open(1, running(u32::MAX, u64::MAX));
    let mut bytes = capture.bytes();
    // An absurd counter.
    let claimed_at = capture.identity.control_line(0) as usize;
    bytes[claimed_at..claimed_at + 8].copy_from_slice(&(u64::MAX - 1).to_le_bytes());
    let identity = capture.identity.sealed(&Checksum::new());
    assert_eq!(&bytes[..8], &identity.magic);
    fs::write(folder.path().join("run.hrxt"), bytes).expect("a file");
    let output = run(&["run.hrxt"], folder.path());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    for event in document["traceEvents"].as_array().expect("an array") {
        assert!(
            event["tid"]
                .as_u64()
                .is_none_or(|tid| (1..1 << 32).contains(&tid)),
            "{event}"
        );
        assert!(
            event["ts"]
                .as_f64()
                .is_none_or(|ts| (0.0..5e15).contains(&ts)),
            "{event}"
        );
        assert!(
            event["dur"]
                .as_f64()
                .is_none_or(|dur| (0.0..5e15).contains(&dur)),
            "{event}"
        );
        assert!(
            event["name"].as_str().is_some_and(|name| !name.is_empty()),
            "{event}"
        );
    }
}

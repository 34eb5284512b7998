//! Several captures in one output, windows of large captures, captures that are being recorded, and formats by the name of the output.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use flate2::bufread::GzDecoder;
use hrx_trace::{Event, Recorder, lane};
use hrx_trace_format::header::STATE_RECORDING;
use hrx_trace_format::record::slot_of;
use hrx_trace_format::{Area, Checksum, Geometry, Record};
use hrx_trace_tests::capture::{Capture, region, running};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use serde_json::Value;
use tempfile::TempDir;

fn command() -> Command {
    Command::new(env!("CARGO_BIN_EXE_hrx-convert"))
}

fn run(folder: &TempDir, arguments: &[&str]) -> Output {
    command()
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("the command")
}

fn code(output: &Output) -> i32 {
    output.status.code().expect("an exit, not a signal")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn read(folder: &TempDir, name: &str) -> Vec<u8> {
    fs::read(folder.path().join(name)).expect("the output")
}

fn parse(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).expect("JSON")
}

/// The events of a phase, in either form of the document.
fn of_phase(document: &Value, phase: &str) -> Vec<Value> {
    let events = document.get("traceEvents").unwrap_or(document);
    let events = events.as_array().expect("an array").iter();
    events
        .filter(|event| event["ph"] == phase)
        // The mark that ends an unfinished region is no region.
        .filter(|event| phase != "X" || event["cat"] == "hrx.host-observed")
        .cloned()
        .collect()
}

/// `count` regions on the lane of that rank, 1 µs apart and 900 ns long. The process has id 1, as in a container.
fn rank(rank: u64, count: u64) -> Capture {
    let mut capture = Capture::new(16).attributes(&format!("rank={rank}\n"));
    capture.identity.process_id = 1;
    capture.identity.capture_id = [rank as u8; 16];
    capture.identity.epoch_monotonic_ns += 500 * rank;
    for i in 0..count {
        capture.record(region(rank as u32, 1_000 * i, 900));
    }
    capture
}

#[test]
fn the_name_of_the_output_selects_the_format() {
    let folder = folder();
    rank(0, 5).write(folder.path(), "run.hrxt");
    for (name, format) in [
        ("run.json", "chrome"),
        ("run.pftrace", "perfetto"),
        ("run.jsonl", "jsonl"),
        ("run.csv", "csv"),
    ] {
        let zipped = format!("{name}.gz");
        for options in [
            &["-o", name][..],
            &["-o", &zipped],
            &["-o", "run.any", "--format", format],
        ] {
            let output = run(&folder, &[&["run.hrxt"], options].concat());
            assert_eq!(code(&output), 0, "{}", stderr(&output));
        }
        let plain = read(&folder, name);
        assert_eq!(read(&folder, "run.any"), plain);
        let bytes = read(&folder, &zipped);
        let mut member = GzDecoder::new(bytes.as_slice());
        let mut text = Vec::new();
        member.read_to_end(&mut text).expect("gzip");
        assert_eq!(text, plain, "{name}");
        assert!(member.into_inner().is_empty(), "a second member");
    }
    // The option wins over the name.
    let output = run(&folder, &["run.hrxt", "-o", "seed.csv", "--format", "seed"]);
    assert_eq!(code(&output), 0);
    assert_eq!(parse(&read(&folder, "seed.csv"))["dropped_events"], 0);
}

#[test]
fn captures_of_one_boot_on_one_timeline() {
    let folder = folder();
    fs::create_dir(folder.path().join("ranks")).expect("a folder");
    rank(2, 4).write(&folder.path().join("ranks"), "b.hrxt");
    rank(1, 3)
        .tear()
        .write(&folder.path().join("ranks"), "a.hrxt");
    fs::write(folder.path().join("ranks/notes.txt"), "no capture").expect("a file");
    rank(0, 2).write(folder.path(), "z.hrxt");
    let output = run(
        &folder,
        &["ranks", "z.hrxt", "ranks/a.hrxt", "-o", "all.json"],
    );
    assert_eq!(
        (code(&output), stderr(&output).as_str()),
        (
            0,
            "\
hrx-convert: ranks/a.hrxt: 3 events over 2.900 µs (host-observed), 0 overwritten, 1 torn, 0 open regions; the writer died
hrx-convert: ranks/b.hrxt: 4 events over 3.900 µs (host-observed), 0 overwritten, 0 torn, 0 open regions; the writer died
hrx-convert: z.hrxt: 2 events over 1.900 µs (host-observed), 0 overwritten, 0 torn, 0 open regions; the writer died
hrx-convert: total: 9 events of 3 captures over 4.900 µs (host-observed), 0 overwritten, 1 torn, 0 open regions; aligned by CLOCK_MONOTONIC: all are of one boot
"
        )
    );
    let document = parse(&read(&folder, "all.json"));
    assert_eq!(document["alignment"], "monotonic-clock");
    assert_eq!(document["origin"], "z.hrxt");
    assert_eq!(document["account"]["claimed"], 10);
    let captures = document["captures"].as_array().expect("a list");
    assert_eq!(captures[0]["file"], "ranks/a.hrxt");
    assert_eq!(captures[0]["account"]["torn"], 1);
    let pids: Vec<&Value> = captures
        .iter()
        .map(|capture| &capture["shown_pid"])
        .collect();
    let real: Vec<&Value> = captures.iter().map(|capture| &capture["pid"]).collect();
    assert_eq!(
        (real[0], real[1], real[2]),
        (&1.into(), &1.into(), &1.into())
    );
    assert!(
        pids[0] == 1 && pids[1] != pids[2] && pids[1] != 1 && pids[2] != 1,
        "{pids:?}"
    );
    let names: BTreeMap<String, Value> = of_phase(&document, "M")
        .iter()
        .filter(|event| event["name"] == "process_name")
        .map(|event| (event["pid"].to_string(), event["args"]["name"].clone()))
        .collect();
    assert_eq!(names["1"], "pipeline rank=1 (host-observed)");
    assert_eq!(
        names[&pids[1].to_string()],
        "pipeline rank=2 [pid 1, b.hrxt] (host-observed)"
    );
    // Each rank began half a microsecond after the one before.
    for event in of_phase(&document, "X") {
        let place = pids
            .iter()
            .position(|pid| **pid == event["pid"])
            .expect("a pid");
        let rank = [1, 2, 0][place];
        assert_eq!(event["args"]["lane"], rank);
        let since_start = event["ts"].as_f64().expect("a time") - 0.5 * f64::from(rank);
        assert_eq!(since_start.fract(), 0.0, "{event}");
    }
}

/// The bug: a row named neither its file, nor the process's own id where several processes have the same.
#[test]
fn a_row_names_its_process_and_its_file() {
    let folder = folder();
    fs::create_dir(folder.path().join("ranks")).expect("a folder");
    rank(0, 2).write(&folder.path().join("ranks"), "a, b.hrxt");
    rank(1, 2).write(&folder.path().join("ranks"), "c.hrxt");
    for out in ["all.jsonl", "all.csv"] {
        assert_eq!(code(&run(&folder, &["ranks", "-o", out])), 0);
    }
    let lines = String::from_utf8(read(&folder, "all.jsonl")).expect("UTF-8");
    let lines = lines.lines().map(|line| parse(line.as_bytes()));
    let of_lines = lines.filter(|line| line["kind"] == "region").map(|row| {
        let integer = |key: &str| row[key].as_u64().expect("a number");
        let file = row["file"].as_str().expect("a name").to_owned();
        (integer("capture"), integer("process_id"), file)
    });
    let table = read(&folder, "all.csv");
    let mut table = csv::Reader::from_reader(table.as_slice());
    let head = table.headers().expect("a head").clone();
    let of_table = table.records().map(|row| {
        let row = row.expect("a row");
        let cell = |name| {
            &row[head
                .iter()
                .position(|column| column == name)
                .expect("a column")]
        };
        let integer = |name| cell(name).parse::<u64>().expect("a number");
        (
            integer("capture"),
            integer("process_id"),
            cell("file").to_owned(),
        )
    });
    let a = (0, 1, "ranks/a, b.hrxt".to_owned());
    let c = (1, 1, "ranks/c.hrxt".to_owned());
    let expected = [a.clone(), c.clone(), a, c];
    assert!(of_lines.eq(expected.clone()));
    assert!(of_table.eq(expected));
}

#[test]
fn captures_of_several_boots_are_aligned_by_wall_time_and_say_so() {
    let folder = folder();
    rank(0, 2).write(folder.path(), "a.hrxt");
    let mut other = rank(1, 2);
    other.identity.boot_id = [1; 16];
    other.identity.epoch_monotonic_ns = 3;
    other.identity.epoch_realtime_ns += 60_000_000_000;
    other.write(folder.path(), "b.hrxt");
    let output = run(&folder, &["a.hrxt", "b.hrxt", "-o", "all.json"]);
    let said = "aligned by wall time, which may be off: their monotonic clocks do not compare\n";
    assert!(stderr(&output).ends_with(said), "{}", stderr(&output));
    let document = parse(&read(&folder, "all.json"));
    assert_eq!(document["alignment"], "wall-time");
    let times: Vec<f64> = of_phase(&document, "X")
        .iter()
        .filter_map(|event| event["ts"].as_f64())
        .collect();
    assert_eq!(times, [0.0, 1.0, 60_000_000.0, 60_000_001.0]);
    let marked = of_phase(&document, "i")
        .iter()
        .filter(|mark| {
            mark["name"] == "start: placed by wall time, which may be off (host-observed)"
        })
        .count();
    assert_eq!(marked, 2);
}

#[test]
fn unreadable_files_do_not_stop_the_others() {
    let folder = folder();
    rank(0, 2).finished(9_000).write(folder.path(), "good.hrxt");
    rank(1, 2).tear().write(folder.path(), "torn.hrxt");
    fs::write(folder.path().join("bad.hrxt"), "no capture at all").expect("a file");
    fs::create_dir(folder.path().join("empty")).expect("a folder");
    let files = [
        "bad.hrxt",
        "good.hrxt",
        "missing.hrxt",
        "torn.hrxt",
        "empty",
    ];
    let with = |options: &[&'static str]| run(&folder, &[&files, options].concat());
    for options in [
        &["-o", "out.pftrace"][..],
        &["-o", "out.json"],
        &["--info"],
        &["--info", "--json"],
        &["--check"],
    ] {
        let output = with(options);
        assert_eq!(code(&output), 5, "{options:?}");
        let errors: Vec<String> = stderr(&output)
            .lines()
            .filter_map(|line| line.strip_prefix("hrx-convert: error: "))
            .map(str::to_owned)
            .collect();
        assert_eq!(errors.len(), 3, "{errors:?}");
        assert!(errors[0].starts_with("cannot read empty: found a directory without any *.hrxt"));
        assert!(errors[1].contains("bad.hrxt") && errors[2].contains("missing.hrxt"));
    }
    assert_eq!(of_phase(&parse(&read(&folder, "out.json")), "X").len(), 4);
    assert_eq!(
        stdout(&with(&["--check"])),
        "\
good.hrxt: intact, finished: 2 events (host-observed)
torn.hrxt: damaged, the writer died: 2 events (host-observed); 1 torn
"
    );
    assert_eq!(
        code(&run(&folder, &["good.hrxt", "torn.hrxt", "--check"])),
        4
    );
    assert_eq!(code(&run(&folder, &["good.hrxt", "--check"])), 0);
    let info = stdout(&with(&["--info"]));
    assert!(info.ends_with(
        "\n\ntotal       2 captures\nevents      5 claimed = 4 recovered + 0 overwritten + 1 torn\n"
    ), "{info}");
    let info = parse(&with(&["--info", "--json"]).stdout);
    assert_eq!(info["account"]["recovered"], 4);
    assert_eq!(info["captures"][1]["file"], "torn.hrxt");
    // No file can be read.
    let output = run(&folder, &["bad.hrxt", "missing.hrxt", "-o", "none.json"]);
    assert_eq!((code(&output), stderr(&output).lines().count()), (1, 2));
    assert!(!folder.path().join("none.json").exists());
}

#[test]
fn command_lines_that_are_refused() {
    let folder = folder();
    rank(0, 2).write(folder.path(), "a.hrxt");
    rank(1, 2).write(folder.path(), "b.hrxt");
    let before = read(&folder, "a.hrxt");
    for (arguments, said) in [
        (&["-o", "a.hrxt", "b.hrxt"][..], "named like a capture"),
        (&["a.hrxt", "b.hrxt", "-o", "b.hrxt"], "OUT is FILE itself"),
        (
            &["a.hrxt", "b.hrxt", "--format", "seed"],
            "no place for 2 captures",
        ),
        (
            &["a.hrxt", "--follow", "--format", "seed"],
            "--follow cannot know",
        ),
        (&["a.hrxt", "--last", "2"], "expected a number and a unit"),
        (
            &["a.hrxt", "--from", "1s", "--last", "2s"],
            "cannot be used with",
        ),
        (&["a.hrxt", "--info", "--lane", "1"], "cannot be used with"),
        (&["a.hrxt", "--check", "--follow"], "cannot be used with"),
        (&["a.hrxt", "--lane", "gpu"], "upload, compute"),
        (&["a.hrxt", "--label", "[z-a]"], "invalid range"),
    ] {
        let output = run(&folder, arguments);
        assert_eq!(code(&output), 2, "{arguments:?}");
        assert!(
            stderr(&output).contains(said),
            "{arguments:?}: {}",
            stderr(&output)
        );
    }
    assert_eq!(read(&folder, "a.hrxt"), before);
}

#[test]
fn what_a_filter_leaves_out_is_reported() {
    let folder = folder();
    let mut capture = Capture::new(8);
    let gemm = capture.label("gemm");
    for i in 0..10 {
        capture.record(Record {
            label_id: if i % 2 == 0 { gemm } else { 0 },
            ..region(i as u32 % 3, 1_000 * i, 900)
        });
    }
    capture.open(0, running(0, 9_950));
    capture.write(folder.path(), "run.hrxt");
    let output = run(
        &folder,
        &[
            "run.hrxt", "--label", "gemm", "--lane", "upload,2", "--to", "9.5us",
        ],
    );
    assert_eq!(
        stderr(&output),
        "hrx-convert: 3 events over 7.950 µs (host-observed), 2 overwritten, 0 torn, 0 open regions; the writer died; filtered out: 5 events, 1 open region\n"
    );
    let document = parse(&output.stdout);
    let shown: Vec<Value> = of_phase(&document, "X")
        .iter()
        .map(|event| event["ts"].clone())
        .collect();
    assert_eq!(shown, [2.0, 6.0, 8.0]);
    for facts in [&document, &document["metadata"]] {
        assert_eq!(facts["filtered_out"], 5);
        assert_eq!(facts["open_filtered_out"], 1);
        assert_eq!(facts["account"]["recovered"], 8);
        assert_eq!(facts["dropped_events"], 2);
    }
    // Nothing is outside the window.
    let marks: Vec<(Value, Value)> = of_phase(&document, "i")
        .iter()
        .map(|mark| (mark["ts"].clone(), mark["name"].clone()))
        .collect();
    assert_eq!(
        marks,
        [
            (
                2.0.into(),
                "begin: 2 older events overwritten (host-observed)".into()
            ),
            (
                9.5.into(),
                "filtered out: 5 events, 1 open region (host-observed)".into()
            ),
            (
                9.5.into(),
                "end: the window ends here, before the capture does (host-observed)".into()
            ),
        ]
    );
    let unfiltered = parse(&run(&folder, &["run.hrxt"]).stdout);
    assert_eq!(unfiltered.get("filtered_out"), None);
}

/// The bug: the label tables of all captures were in memory at once, up to 16 MiB each. Found by merging 500 captures.
#[test]
fn label_tables_of_many_captures_take_no_memory() {
    let folder = folder();
    let mut capture = Capture::with(Geometry::new(16).name_bytes(16 << 20));
    let label_id = capture.label(&"x".repeat(100));
    capture.record(Record {
        label_id,
        ..region(0, 0, 1)
    });
    let bytes = capture.bytes();
    for i in 0..60 {
        // Sparse: the zeroes are read, but take no disk space.
        let file = File::create(folder.path().join(format!("{i}.hrxt"))).expect("a file");
        file.set_len(bytes.len() as u64).expect("a sparse file");
        for (page, at) in bytes.chunks(4096).zip((0..).step_by(4096)) {
            if page.iter().any(|byte| *byte != 0) {
                file.write_all_at(page, at).expect("room");
            }
        }
    }
    for options in ["--format chrome", "--format jsonl", "--info"] {
        // The limit is in KiB of address space, which includes the stacks and reserves of threads.
        let script = format!("ulimit -v 600000; exec \"$0\" {options} *.hrxt");
        let output = limited(&folder, &script);
        assert_eq!(code(&output), 0, "{options}: {}", stderr(&output));
        let labels = stdout(&output).matches(&"x".repeat(100)).count();
        assert_eq!(labels, if options == "--info" { 0 } else { 60 });
    }
}

/// The bug: every capture stays open, and at about the 1,025th the only message was "Too many open files".
#[test]
fn captures_beyond_the_limit_on_open_files() {
    let folder = folder();
    for i in 0..100 {
        rank(i, 1).write(folder.path(), &format!("{i}.hrxt"));
    }
    let output = limited(&folder, "ulimit -Sn 64; exec \"$0\" . -o run.json");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stderr(&output).contains("total: 100 events of 100 captures"));
    // Where the limit cannot be raised, those beyond it are opened for each read.
    let output = limited(&folder, "ulimit -n 64; exec \"$0\" . -o limited.json");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let written = |name: &str| fs::read(folder.path().join(name)).expect("the output");
    assert!(written("limited.json") == written("run.json"));
}

/// Runs a shell script that sets limits and then runs the command, which is its `$0`.
fn limited(folder: &TempDir, script: &str) -> Output {
    Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_hrx-convert")])
        .current_dir(folder)
        .output()
        .expect("a shell")
}

/// Waits for a process to end, and returns how many bytes it had read by the system's count, which includes reads from caches.
fn bytes_read(child: &mut Child) -> u64 {
    let pid = Pid::from_child(child);
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(pid), ended).expect("a child");
    let count = fs::read_to_string(format!("/proc/{}/io", child.id())).expect("its account");
    let read = count.lines().find_map(|line| line.strip_prefix("rchar: "));
    read.expect("a line").parse().expect("a number")
}

#[test]
fn the_end_of_a_ring_of_ten_gigabytes_is_converted_without_the_rest() {
    let folder = folder();
    let capacity = 160_000_000;
    let identity = Geometry::new(capacity).layout().expect("a layout");
    let checksum = Checksum::new();
    let identity = identity.sealed(&checksum);
    assert!(identity.file_bytes > 10_000_000_000);
    let file = File::create(folder.path().join("run.hrxt")).expect("a file");
    file.set_len(identity.file_bytes).expect("a sparse file");
    let put = |at, bytes: &[u8]| file.write_all_at(bytes, at).expect("room");
    put(0, bytemuck::bytes_of(&identity));
    put(identity.counters_offset, &STATE_RECORDING.to_le_bytes());
    // One and a half laps, one event a millisecond. The events of the last minute are in the file, and a few scattered ones before them.
    let claimed = capacity / 2 * 3;
    put(identity.control_line(0), &u64::to_le_bytes(claimed));
    let recent = claimed - 60_000 + 1..=claimed;
    let older = (capacity / 2 + 1..claimed).step_by(1_000_000);
    for sequence in older.chain(recent) {
        let record = Record {
            sequence,
            ..region(1, sequence * 1_000_000 - 500, 500)
        };
        let slot = slot_of(sequence, capacity).expect("a slot");
        let record = record.sealed(&checksum, Area::Ring(0).salt(identity.salt));
        put(identity.ring_slot(0, slot), bytemuck::bytes_of(&record));
    }
    for (options, events) in [
        (&["--last", "1s"][..], 1_001),
        (&["--from", "end-3s", "--to", "end-2s"], 1_001),
        (&["--last", "10s", "--min-duration", "501ns"], 0),
    ] {
        let mut child = command()
            .args(["run.hrxt", "-o", "end.jsonl"])
            .args(options)
            .current_dir(&folder)
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command");
        let read_bytes = bytes_read(&mut child);
        let output = child.wait_with_output().expect("the end");
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        assert!(
            stderr(&output).contains("not read: "),
            "{}",
            stderr(&output)
        );
        let lines = String::from_utf8(read(&folder, "end.jsonl")).expect("UTF-8");
        let regions = lines
            .lines()
            .filter(|line| line.contains(r#""kind":"region""#));
        assert_eq!(regions.count(), events, "{options:?}");
        assert!(
            read_bytes < 8 << 20,
            "{options:?}: {read_bytes} bytes were read"
        );
    }
}

#[test]
fn json_too_large_for_browsers_is_warned_of() {
    let folder = folder();
    let mut capture = Capture::with(Geometry::new(34_000).name_bytes(64 << 10));
    let long = capture.label(&"x".repeat(15_000));
    for i in 0..34_000 {
        capture.record(Record {
            label_id: long,
            ..region(0, i, 1)
        });
    }
    capture.write(folder.path(), "run.hrxt");
    let warnings = |options: &[&str]| {
        let options = [&["run.hrxt", "-o", "/dev/null"], options].concat();
        let said = stderr(&run(&folder, &options));
        let warnings = said.lines().filter(|line| line.contains("warning: "));
        warnings.map(str::to_owned).collect::<Vec<_>>()
    };
    let warned = warnings(&[]);
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert!(
        warned[0].contains("the JSON will have about 492 MB, "),
        "{warned:?}"
    );
    // How many events the filter leaves is unknown.
    let warned = warnings(&["--lane", "upload"]);
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert!(warned[0].contains("the JSON nears 512 MB, "), "{warned:?}");
    let warned = warnings(&["--last", "33us"]);
    assert!(warned.is_empty(), "{warned:?}");
    assert!(warnings(&["--format", "perfetto"]).is_empty());
    // The bug: the warning came only after 480 MB. Here half of that is read, and then the pipe is closed.
    let mut child = command()
        .arg("run.hrxt")
        .current_dir(&folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command");
    let mut half = child.stdout.take().expect("a pipe").take(240 << 20);
    std::io::copy(&mut half, &mut std::io::sink()).expect("half of it");
    drop(half);
    let said = stderr(&child.wait_with_output().expect("the end"));
    assert!(said.contains("the JSON will have about 492 MB, "), "{said}");
}

/// The command, following `run.hrxt`.
struct Following {
    child: Child,
}

impl Following {
    fn new(folder: &TempDir, options: &[&str]) -> Self {
        let child = Command::new("env")
            // The tests may run under nohup, which ignores this signal.
            .args(["--default-signal=HUP", env!("CARGO_BIN_EXE_hrx-convert")])
            .args(["--follow", "run.hrxt"])
            .args(options)
            .current_dir(folder)
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command");
        Self { child }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("a child");
    }

    /// Waits for its end, and returns what it printed.
    fn end(self) -> String {
        let output = self.child.wait_with_output().expect("the end");
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        stderr(&output)
    }
}

/// Waits until the file contains the text `count` times.
fn wait_for(folder: &TempDir, name: &str, text: &str, count: usize) {
    let began = Instant::now();
    loop {
        let so_far = fs::read(folder.path().join(name)).unwrap_or_default();
        let so_far = String::from_utf8_lossy(&so_far);
        if so_far.matches(text).count() >= count {
            return;
        }
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "{text} does not come: {so_far}"
        );
        sleep(Duration::from_millis(2));
    }
}

fn record(recorder: &Recorder, count: usize) {
    for i in 0..count {
        let start = Instant::now();
        recorder.record(
            start,
            start.elapsed(),
            Event::new(lane::COMPUTE).correlation_id(i as u64 + 1),
        );
    }
}

#[test]
fn follows_a_program_until_it_finishes() {
    let folder = folder();
    let recorder = Recorder::create(folder.path().join("run.hrxt"), 1_000).expect("a recorder");
    record(&recorder, 10);
    let completes = recorder.begin(Event::new(lane::NPU).label(recorder.label("completes")));
    let following = ["json", "jsonl", "csv", "pftrace", "json.gz"]
        .map(|end| Following::new(&folder, &["-o", &format!("run.{end}")]));
    for name in ["run.json", "run.jsonl", "run.csv"] {
        wait_for(&folder, name, "compute", 1);
    }
    // Viewers can read this before the end: a complete object of what there is.
    let so_far = String::from_utf8(read(&folder, "run.json")).expect("UTF-8");
    assert!(!so_far.contains("completes"), "{so_far}");
    let document = parse(so_far.as_bytes());
    assert_eq!(document["displayTimeUnit"], "ns");
    assert_eq!(of_phase(&document, "X").len(), 10);
    record(&recorder, 20);
    for name in ["run.jsonl", "run.csv"] {
        wait_for(&folder, name, "compute", 30);
    }
    let late = recorder.label("interned while it is followed");
    completes.finish();
    let runs = recorder.begin(Event::new(lane::HOST).label(late));
    wait_for(&folder, "run.jsonl", "completes", 1);
    recorder.finish();
    let said = following.map(Following::end);
    drop(runs);
    let expected = "31 events over ";
    for said in said {
        assert!(
            said.contains(expected) && said.contains("1 open region; finished"),
            "{said}"
        );
    }
    let document = parse(&read(&folder, "run.json"));
    let mut correlations: Vec<u64> = of_phase(&document, "X")
        .iter()
        .filter_map(|event| event["args"]["correlation_id"].as_u64())
        .collect();
    correlations.sort_unstable();
    let mut expected: Vec<u64> = (1..=10).chain(1..=20).collect();
    expected.sort_unstable();
    assert_eq!(correlations, expected);
    let begun = of_phase(&document, "B");
    assert_eq!(begun.len(), 1);
    assert_eq!(
        begun[0]["name"],
        "interned while it is followed (host-observed) [unfinished]"
    );
    assert_eq!(document["account"]["recovered"], 31);
    // Through a pipe it is an array, in which the facts about the whole trace are a mark.
    let piped = parse(&run(&folder, &["--follow", "run.hrxt"]).stdout);
    assert_eq!(of_phase(&piped, "X"), of_phase(&document, "X"));
    let metadata = of_phase(&piped, "i")
        .into_iter()
        .find(|mark| mark["name"] == "metadata of the whole trace (host-observed)")
        .expect("a mark");
    assert_eq!(metadata["args"]["account"]["recovered"], 31);
    assert!(
        metadata["args"]["measurement"]
            .as_str()
            .is_some_and(|label| label.contains("host-observed"))
    );
    // Every format has every region.
    let lines = String::from_utf8(read(&folder, "run.jsonl")).expect("UTF-8");
    assert_eq!(lines.matches(r#""kind":"region""#).count(), 32);
    let bytes = read(&folder, "run.json.gz");
    let mut text = String::new();
    GzDecoder::new(bytes.as_slice())
        .read_to_string(&mut text)
        .expect("gzip");
    assert_eq!(of_phase(&parse(text.as_bytes()), "X").len(), 31);
}

#[test]
fn a_signal_closes_the_output() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let folder = folder();
        let recorder = Recorder::create(folder.path().join("run.hrxt"), 100).expect("a recorder");
        let following = Following::new(&folder, &["-o", "run.json"]);
        record(&recorder, 3);
        wait_for(&folder, "run.json", "\"ph\":\"X\"", 3);
        following.signal(signal);
        let said = following.end();
        assert!(
            said.contains("3 events") && said.contains("still recording"),
            "{said}"
        );
        assert_eq!(of_phase(&parse(&read(&folder, "run.json")), "X").len(), 3);
        // The program is not affected.
        record(&recorder, 1);
        recorder.finish();
        assert!(stderr(&run(&folder, &["run.hrxt", "-o", "again.json"])).contains("4 events"));
    }
}

/// The bug: while it read garbage, which yields no event, `--follow` heard no signal until it had read it all. Found by interrupting it on a large file
/// that no recorder made.
#[test]
fn a_signal_is_heard_in_the_middle_of_garbage() {
    const RECORDS: u64 = 1 << 21;
    for (signal, rings) in [(Signal::INT, 1), (Signal::TERM, 4)] {
        let folder = folder();
        let mut made = Capture::with(Geometry::new(RECORDS / u64::from(rings)).ring_count(rings));
        for ring in 0..rings {
            for _ in 0..RECORDS / u64::from(rings) {
                made.tear_in(ring);
            }
        }
        let mut bytes = made.bytes();
        bytes[made.identity.ring_offset as usize..].fill(0xA5);
        fs::write(folder.path().join("run.hrxt"), bytes).expect("a file");
        let following = Following::new(&folder, &["-o", "run.jsonl"]);
        while !folder.path().join("run.jsonl").exists() {
            sleep(Duration::from_millis(1));
        }
        following.signal(signal);
        let said = following.end();
        assert!(said.contains("not read: "), "{said}");
        let rows = read(&folder, "run.jsonl");
        let account = &parse(&rows)["account"];
        assert_eq!(account["claimed"], RECORDS);
        let count = |what: &str| account[what].as_u64().expect("a number");
        assert_eq!(count("torn") + count("not_read"), RECORDS, "{account}");
    }
}

/// The bug: users start the converter before the program, and it failed with "No such file".
#[test]
fn a_capture_that_does_not_exist_yet_is_waited_for() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    rank(0, 2)
        .finished(5_000)
        .write(folder.path(), "other.hrxt");
    let start = |files: &[&str], out: &str| {
        let mut child = command()
            .args(["--follow", "-o", out])
            .args(files)
            .current_dir(&folder)
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command");
        let mut said = [0; 32];
        let stderr = child.stderr.as_mut().expect("a pipe");
        stderr.read_exact(&mut said).expect("a line");
        assert_eq!(&said, b"hrx-convert: waiting for a.hrxt\n");
        child
    };
    let first = start(&["a.hrxt"], "run.jsonl");
    let both = start(&["a.hrxt", "other.hrxt"], "both.jsonl");
    // A capture that is still being created: first an empty file, then one of full size with nothing written.
    let half_made = File::create(path("a.hrxt")).expect("a file");
    for bytes in [0, 1 << 20] {
        half_made.set_len(bytes).expect("a sparse file");
        sleep(Duration::from_millis(120));
    }
    fs::remove_file(path("a.hrxt")).expect("the file");
    assert!(!path("run.jsonl").exists() && !path("both.jsonl").exists());
    let recorder = Recorder::create(path("a.hrxt"), 1_000).expect("a recorder");
    record(&recorder, 3);
    wait_for(&folder, "run.jsonl", "compute", 3);
    wait_for(&folder, "both.jsonl", "host-observed", 5);
    recorder.finish();
    for (child, events) in [(first, "3 events"), (both, "total: 5 events of 2 captures")] {
        let output = child.wait_with_output().expect("the end");
        assert_eq!(code(&output), 0);
        let said = stderr(&output);
        assert!(said.contains(events) && !said.contains("waiting"), "{said}");
    }
}

/// The bug: `--follow DIR` failed if DIR held no capture, although `--follow FILE` waits.
#[test]
fn the_first_capture_of_a_directory_is_waited_for() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("runs")).expect("a folder");
    let start = |out: &str| {
        let mut child = command()
            .args(["--follow", "runs", "-o", out])
            .current_dir(&folder)
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command");
        let mut said = [0; 30];
        let stderr = child.stderr.as_mut().expect("a pipe");
        stderr.read_exact(&mut said).expect("a line");
        assert_eq!(&said, b"hrx-convert: waiting for runs\n");
        child
    };
    let stopped = start("stopped.jsonl");
    kill_process(Pid::from_child(&stopped), Signal::INT).expect("a child");
    let output = stopped.wait_with_output().expect("the end");
    let said = stderr(&output);
    assert_eq!(code(&output), 1, "{said}");
    assert!(
        said.contains("found a directory without any *.hrxt"),
        "{said}"
    );
    assert!(!path("stopped.jsonl").exists());

    let child = start("run.jsonl");
    fs::write(path("runs/notes.txt"), "none").expect("a file");
    // This one is still being created.
    File::create(path("runs/b.hrxt")).expect("a file");
    let recorder = Recorder::create(path("runs/a.hrxt"), 1_000).expect("a recorder");
    sleep(Duration::from_millis(120));
    assert!(!path("run.jsonl").exists());
    let other = rank(1, 2).finished(5_000).write(folder.path(), "b");
    fs::rename(other, path("runs/b.hrxt")).expect("the file");
    record(&recorder, 3);
    wait_for(&folder, "run.jsonl", "host-observed", 5);
    // Captures that come later are not followed.
    rank(2, 2).finished(5_000).write(&path("runs"), "c.hrxt");
    recorder.finish();
    let output = child.wait_with_output().expect("the end");
    let said = stderr(&output);
    assert_eq!(code(&output), 0, "{said}");
    assert!(said.contains("total: 5 events of 2 captures"), "{said}");
}

#[test]
fn a_wait_that_is_interrupted_reports_the_missing_capture() {
    let folder = folder();
    rank(0, 2)
        .finished(5_000)
        .write(folder.path(), "other.hrxt");
    for (files, expected, out) in [
        (&["run.hrxt"][..], 1, false),
        (&["run.hrxt", "other.hrxt"], 5, true),
    ] {
        let mut child = command()
            .args(["--follow", "-o", "run.json"])
            .args(files)
            .current_dir(&folder)
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command");
        let stderr = child.stderr.as_mut().expect("a pipe");
        stderr.read_exact(&mut [0; 32]).expect("a line");
        kill_process(Pid::from_child(&child), Signal::INT).expect("a child");
        let output = child.wait_with_output().expect("the end");
        assert_eq!(code(&output), expected);
        assert_eq!(folder.path().join("run.json").exists(), out);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            said.contains("cannot read run.hrxt: No such file"),
            "{said}"
        );
    }
}

/// Otherwise it would be emptied before it is read.
#[test]
fn a_capture_that_is_waited_for_is_never_the_output() {
    let folder = folder();
    let refused = |output: &Output| {
        assert_eq!(code(output), 2);
        assert!(
            stderr(output).contains("OUT is FILE itself"),
            "{}",
            stderr(output)
        );
    };
    refused(&run(&folder, &["--follow", "later", "-o", "later"]));
    let mut child = command()
        .args(["--follow", "later", "-o", "./later"])
        .current_dir(&folder)
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command");
    let said = child.stderr.as_mut().expect("a pipe");
    said.read_exact(&mut [0; 31]).expect("a line");
    let later = rank(0, 2).finished(5_000);
    later.write(folder.path(), "later");
    refused(&child.wait_with_output().expect("the end"));
    assert_eq!(read(&folder, "later"), later.bytes());
}

/// Whatever kills the converter, what it had flushed can be read, and the file is a complete gzip member.
#[test]
fn a_killed_follower_leaves_what_it_had_flushed() {
    let folder = folder();
    let path = folder.path().join("run.jsonl.gz");
    let recorder = Recorder::create(folder.path().join("run.hrxt"), 2_000).expect("a recorder");
    let mut following = Following::new(&folder, &["-o", "run.jsonl.gz"]);
    let mut recorded = 0;
    for count in [3, 7, 1_000] {
        record(&recorder, count);
        recorded += count;
        let began = Instant::now();
        let lines = || {
            unzipped(&fs::read(&path).unwrap_or_default()).map_or(0, |text| text.lines().count())
        };
        while lines() < recorded {
            assert!(began.elapsed() < Duration::from_secs(20));
            sleep(Duration::from_millis(2));
        }
    }
    following.signal(Signal::KILL);
    following.child.wait().expect("the end");
    let text = unzipped(&read(&folder, "run.jsonl.gz")).expect("a complete member");
    assert_eq!(text.lines().count(), recorded);
    assert!(
        text.lines()
            .all(|line| parse(line.as_bytes())["kind"] == "region")
    );
    recorder.finish();
}

/// The content of a gzip member, if it is complete.
fn unzipped(bytes: &[u8]) -> Option<String> {
    let mut text = String::new();
    let read = GzDecoder::new(bytes).read_to_string(&mut text);
    read.ok().map(|_| text)
}

#[test]
fn events_that_overtake_the_follower_are_counted() {
    let folder = folder();
    let recorder = Recorder::create(folder.path().join("run.hrxt"), 64).expect("a recorder");
    let following = Following::new(&folder, &["-o", "run.jsonl"]);
    record(&recorder, 1);
    wait_for(&folder, "run.jsonl", "region", 1);
    // Far more than a follower can read from such a small ring.
    record(&recorder, 200_000);
    recorder.finish();
    let said = following.end();
    let lines = String::from_utf8(read(&folder, "run.jsonl")).expect("UTF-8");
    let account: Value = lines
        .lines()
        .last()
        .map(|line| parse(line.as_bytes()))
        .expect("a line");
    let count = |key: &str| account["account"][key].as_u64().expect("a number");
    assert_eq!(count("claimed"), 200_001);
    assert_eq!(
        count("claimed"),
        count("recovered") + count("overtaken") + count("overwritten")
    );
    assert!(
        count("overtaken") > 0 && said.contains("overtaken by the writer"),
        "{said}"
    );
    let sequences: Vec<u64> = lines
        .lines()
        .map(|line| parse(line.as_bytes()))
        .filter_map(|line| line["sequence"].as_u64())
        .collect();
    assert_eq!(sequences.len() as u64, count("recovered"));
    assert!(sequences.is_sorted_by(|one, next| one < next));
    assert_eq!(sequences.last(), Some(&200_001));
}

#[test]
fn follows_until_the_lock_is_free_and_several_at_once() {
    let folder = folder();
    let mut dies = rank(0, 3);
    // The boot is unknown, so only the lock tells that the writer lives.
    dies.identity.boot_id = [0; 16];
    dies.open(0, running(0, 2_950));
    let lock = File::open(dies.write(folder.path(), "run.hrxt")).expect("the capture");
    lock.lock().expect("the writer's lock");
    let mut finished = rank(1, 2).finished(5_000);
    finished.identity.boot_id = [0; 16];
    finished.write(folder.path(), "other.hrxt");
    let following = Following::new(&folder, &["other.hrxt", "-o", "run.json"]);
    wait_for(&folder, "run.json", "\"ph\":\"X\"", 5);
    // Which may be the writer's death: of an unknown boot it cannot be told.
    lock.unlock().expect("the writer's lock");
    let said = following.end();
    assert!(said.contains("run.hrxt: 3 events over 2.950 µs"), "{said}");
    assert!(
        said.contains("1 open region; cannot be told whether it still runs")
            && said.contains("total: 5 events of 2 captures"),
        "{said}"
    );
    let document = parse(&read(&folder, "run.json"));
    assert_eq!(of_phase(&document, "B").len(), 1);
}

#[test]
fn follows_into_a_pipe_until_it_is_closed() {
    let folder = folder();
    let recorder = Recorder::create(folder.path().join("run.hrxt"), 100).expect("a recorder");
    let mut child = command()
        .args([
            "--follow", "run.hrxt", "--format", "jsonl", "--lane", "compute",
        ])
        .current_dir(&folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command");
    record(&recorder, 1);
    let mut line = [0; 16];
    let mut pipe = child.stdout.take().expect("a pipe");
    pipe.read_exact(&mut line).expect("a line");
    drop(pipe);
    // It notices at the next event, or the one after.
    while child.try_wait().expect("a child").is_none() {
        record(&recorder, 1);
        sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().expect("the end");
    assert_eq!((code(&output), stderr(&output).as_str()), (0, ""));
}

/// The extension is that of the file, not of its directory.
#[test]
fn a_directory_with_an_extension_selects_no_format() {
    let folder = folder();
    let deep = folder.path().join("dir.csv");
    fs::create_dir(&deep).expect("a folder");
    rank(0, 2).write(&deep, "run.hrxt");
    let output = run(&folder, &["dir.csv/run.hrxt", "-o", "dir.csv/out"]);
    assert_eq!(code(&output), 0);
    assert_eq!(
        of_phase(
            &parse(&fs::read(Path::new(&deep).join("out")).expect("out")),
            "X"
        )
        .len(),
        2
    );
}

/// The bug: a directory with a file whose creation was cut short, empty or all zeroes, was waited for for ever, although a live capture lay next to it.
#[test]
fn what_was_never_created_to_its_end_is_not_waited_for() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    let long_ago = std::time::SystemTime::now() - Duration::from_secs(60);
    for (name, bytes) in [("empty.hrxt", 0), ("zeroes.hrxt", 1 << 20)] {
        let file = File::create(path(name)).expect("a file");
        file.set_len(bytes).expect("a size");
        file.set_modified(long_ago).expect("an age");
    }
    let recorder = Recorder::create(path("live.hrxt"), 1_000).expect("a recorder");
    record(&recorder, 3);
    let mut child = command()
        .args(["--follow", ".", "-o", "run.jsonl"])
        .current_dir(&folder)
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command");
    wait_for(&folder, "run.jsonl", "compute", 3);
    // One whose recorder lives is waited for, however old it is.
    let creating = File::create(path("creating.hrxt")).expect("a file");
    creating.set_modified(long_ago).expect("an age");
    creating.lock().expect("the lock");
    let mut other = command()
        .args(["--follow", "creating.hrxt", "-o", "other.jsonl"])
        .current_dir(&folder)
        .stderr(Stdio::null())
        .spawn()
        .expect("the command");
    sleep(Duration::from_millis(300));
    assert!(other.try_wait().expect("a child").is_none());
    other.kill().expect("kill");
    other.wait().expect("its status");

    recorder.finish();
    assert!(child.try_wait().is_ok());
    let output = child.wait_with_output().expect("the end");
    assert_eq!(code(&output), 5);
    let said = stderr(&output);
    for text in [
        "empty.hrxt",
        "zeroes.hrxt",
        "creation was cut short",
        "3 events",
    ] {
        assert!(said.contains(text), "{text}: {said}");
    }
}

/// The bug: the mark of a capture's beginning said "3950 older events", next to "1,234 rejected".
#[test]
fn marks_group_thousands() {
    let folder = folder();
    let mut capture = Capture::new(1);
    for i in 0..3_951 {
        capture.record(region(1, 1_000 * i, 900));
    }
    capture.write(folder.path(), "run.hrxt");
    assert_eq!(code(&run(&folder, &["run.hrxt", "-o", "run.json"])), 0);
    let document = parse(&read(&folder, "run.json"));
    assert_eq!(
        of_phase(&document, "i")[0]["name"],
        "begin: 3,950 older events overwritten (host-observed)"
    );
}

//! The figures of `--summary`, compared with a naive computation in another language on the events of another reader; and the texts of
//! `--summary`, `--diff` and `--expect`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use hrx_trace_format::name::LANE_NAMED_FIRST;
use hrx_trace_format::name::Name;
use hrx_trace_format::record::FLAG_CANCELLED;
use hrx_trace_format::{Geometry, Mark, OpenRecord, Record};
use hrx_trace_tests::capture::{Capture, mark, region, running, value};
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

const VECTORS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../spec/vectors");
const NAIVE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/naive_summary.py");

fn convert(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hrx-convert"))
        .args(arguments)
        .current_dir(folder)
        .env_remove("CLICOLOR_FORCE")
        .output()
        .expect("the command")
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).expect("UTF-8")
}

/// The same figures, computed by `naive_summary.py`.
fn naive(files: &[PathBuf]) -> Vec<Value> {
    let output = Command::new("python3")
        .arg(NAIVE)
        .args(files)
        .output()
        .expect("python3");
    assert!(output.status.success(), "{output:?}");
    stdout(&output)
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

/// In the command's JSON, numbers above 2^53 are strings.
fn integer(value: &Value) -> Option<u64> {
    value
        .as_u64()
        .or_else(|| value.as_str().and_then(|text| text.parse().ok()))
}

/// Asserts that everything expected is there and equal. Percentiles may differ within their precision, and labels may be in any order.
fn assert_says(found: &Value, expected: &Value, at: &str) {
    match expected {
        Value::Object(members) if at.ends_with("/labels") => {
            let labels = found.as_array().expect(at);
            assert_eq!(labels.len(), members.len(), "{at}");
            for label in labels {
                let id = label["label_id"].to_string();
                assert_says(label, &members[&id], &format!("{at}/{id}"));
            }
            let totals: Vec<_> = labels
                .iter()
                .map(|label| std::cmp::Reverse(integer(&label["total_ns"])))
                .collect();
            assert!(totals.is_sorted(), "{at}: {totals:?}");
        }
        Value::Object(members) => {
            for (key, value) in members {
                assert_says(&found[key], value, &format!("{at}/{key}"));
            }
        }
        Value::Array(items) => {
            assert_eq!(found.as_array().map(Vec::len), Some(items.len()), "{at}");
            for (index, item) in items.iter().enumerate() {
                assert_says(&found[index], item, &format!("{at}/{index}"));
            }
        }
        Value::Number(number) if number.is_f64() => {
            let (found, expected) = (found.as_f64().expect(at), number.as_f64().expect(at));
            assert!(
                (found - expected).abs() <= expected.abs() * 1e-12,
                "{at}: {found}, {expected}"
            );
        }
        Value::Number(_) if at.contains("/p50") || at.contains("/p90") || at.contains("/p99") => {
            let (found, exact) = (integer(found).expect(at), integer(expected).expect(at));
            assert!(
                exact <= found && found <= exact.saturating_add(exact / 1_000),
                "{at}: {found}, {exact}"
            );
        }
        Value::Number(_) => assert_eq!(integer(found), integer(expected), "{at}"),
        other => assert_eq!(found, other, "{at}"),
    }
}

fn assert_as_naive(files: &[PathBuf], folder: &Path) {
    for (file, expected) in files.iter().zip(naive(files)) {
        let file = file.display().to_string();
        let output = convert(&["--summary", "--json", &file], folder);
        assert!(output.status.success(), "{file}: {output:?}");
        let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_says(&document["captures"][0], &expected, &file);
    }
}

/// Pseudo-random numbers, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % limit
    }
}

/// Overlaps of every kind, several rings, gaps, failures, copies, overwritten events, running regions, and durations over six decades.
fn busy(seed: u64, events: u64, ring_count: u32) -> Capture {
    let mut numbers = Numbers(seed);
    let mut capture = Capture::with(Geometry::new(4_000).ring_count(ring_count));
    let labels: Vec<u32> = (0..7)
        .map(|i| capture.label(&format!("kernel {i}")))
        .collect();
    let mut end_ns = 10_000_000;
    for i in 0..events {
        end_ns += numbers.below(2_000) * numbers.below(3);
        let magnitude = numbers.below(7) as u32;
        let duration_ns = numbers.below(10u64.pow(magnitude) + 1);
        let ring = numbers.below(ring_count.into()) as u32;
        capture.record_in(
            ring,
            Record {
                // Not quite in the order of completion.
                start_ns: end_ns - duration_ns - numbers.below(500),
                duration_ns,
                lane: numbers.below(6) as u32,
                label_id: labels[numbers.below(7) as usize],
                copied_bytes: numbers.below(2) * numbers.below(1 << 20),
                flags: u8::from(numbers.below(50) == 0),
                status: 5,
                correlation_id: i,
                ..region(0, 0, 0)
            },
        );
    }
    for slot in 0..3 {
        capture.open(
            slot,
            OpenRecord {
                label_id: labels[slot as usize],
                ..running(slot + 4, end_ns - 30_000)
            },
        );
    }
    capture
}

#[test]
fn every_figure_equals_the_naive_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let files: Vec<PathBuf> = (0..4)
        .map(|seed| {
            let name = format!("{seed}.hrxt");
            busy(seed, 3_000 + seed * 3_000, 1 + seed as u32 % 3).write(folder.path(), &name);
            folder.path().join(name)
        })
        .collect();
    assert_as_naive(&files, folder.path());
}

#[test]
fn every_figure_of_every_vector_equals_the_naive_one() {
    let mut files: Vec<PathBuf> = ["valid", "torn"]
        .iter()
        .flat_map(|kind| fs::read_dir(Path::new(VECTORS).join(kind)).expect("vectors"))
        .map(|entry| entry.expect("a vector").path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "hrxt")
        })
        .collect();
    files.sort();
    assert!(files.len() > 30);
    assert_as_naive(&files, Path::new("."));
}

/// A GPU job that hangs in its third kernel.
fn hung() -> Capture {
    let mut capture = Capture::new(8).attributes("rank=3\n");
    let (gemm, copy) = (capture.label("gemm"), capture.label("copy \u{1b}[31m大"));
    for i in 0..3 {
        let at_ns = i * 1_000_000;
        capture.record(Record {
            label_id: copy,
            copied_bytes: 4 << 20,
            correlation_id: i + 1,
            ..region(0, at_ns, 500_000)
        });
        if i < 2 {
            capture.record(Record {
                label_id: gemm,
                correlation_id: i + 1,
                flags: i as u8,
                status: 7 * i as u32,
                ..region(1, at_ns + 400_000, 800_000)
            });
        }
    }
    capture.open(
        0,
        OpenRecord {
            label_id: gemm,
            correlation_id: 3,
            ..running(1, 2_400_000)
        },
    );
    capture.tear();
    capture
}

const HUNG: &str = include_str!("summary_hung.txt");

#[test]
fn the_text_of_a_job_that_hung() {
    let folder = tempfile::tempdir().expect("a folder");
    hung().write(folder.path(), "run.hrxt");
    let output = convert(&["--summary", "run.hrxt"], folder.path());
    assert!(output.status.success(), "{output:?}");
    assert_eq!(stdout(&output), HUNG);
}

#[test]
fn no_line_is_wider_than_100_columns() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut wide = Capture::new(64);
    let label = wide.label(&"large kernel 大 ".repeat(40));
    for lane in [0, 1, u32::MAX, u32::MAX - 1] {
        wide.record(Record {
            label_id: label,
            copied_bytes: u64::MAX,
            correlation_id: u64::MAX,
            flags: 1,
            status: u32::MAX,
            ..region(lane, u64::MAX / 2, 123_456_789_012)
        });
    }
    wide.write(folder.path(), "wide.hrxt");
    busy(9, 5_000, 2).write(folder.path(), "busy.hrxt");
    for file in ["wide.hrxt", "busy.hrxt"] {
        let output = convert(&["--summary", file], folder.path());
        let widest = stdout(&output).lines().map(UnicodeWidthStr::width).max();
        assert!(widest <= Some(100), "{}", stdout(&output));
    }
}

#[test]
fn colour_is_used_only_if_it_is_wanted() {
    let folder = tempfile::tempdir().expect("a folder");
    hung().write(folder.path(), "run.hrxt");
    let plain = convert(&["--summary", "run.hrxt"], folder.path());
    assert!(!stdout(&plain).contains('\u{1b}'));
    let forced = |no_colour: bool| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hrx-convert"));
        command
            .args(["--summary", "run.hrxt"])
            .current_dir(folder.path());
        command.env("CLICOLOR_FORCE", "1").env_remove("NO_COLOR");
        if no_colour {
            command.env("NO_COLOR", "1");
        }
        command.output().expect("the command")
    };
    assert!(stdout(&forced(false)).contains("\u{1b}[1m"));
    assert_eq!(stdout(&forced(true)), stdout(&plain));
    // The label's own escape sequence is shown, not obeyed.
    assert!(!stdout(&forced(false)).contains("copy \u{1b}"));
    assert!(stdout(&plain).contains("copy \\u{1b}[31m大"));
}

#[test]
fn expectations_are_met_or_the_figure_is_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut capture = Capture::new(16).finished(10_000_000);
    let gemm = capture.label("gemm");
    for i in 0..8 {
        capture.record(Record {
            label_id: gemm,
            flags: u8::from(i == 5),
            copied_bytes: 1 << 20,
            ..region(3, i * 1_000_000, 1_500_000 + i)
        });
    }
    capture.write(folder.path(), "run.hrxt");
    let check = |words: &[&str]| {
        let output = convert(&[&["--check", "run.hrxt"], words].concat(), folder.path());
        let lines = stdout(&output).lines().skip(1).map(str::to_owned).collect();
        (output.status.code().expect("an exit"), lines)
    };
    let met = (0, Vec::new());
    for expectation in [
        "lane=npu",
        "lane=3",
        "lane!=host",
        "label=gemm",
        "label!=gem",
        "failed=1",
        "count>=5",
        "count<9",
        "p99<2ms",
        "p50>1.5ms",
        "max=1500007ns",
        "bytes=8MiB",
        "unfinished=0",
        "torn=0",
        "overwritten=0",
        "mean!=0",
        "busy<=9s",
    ] {
        assert_eq!(check(&["--expect", expectation]), met, "{expectation}");
    }
    let unmet = |line: &str| {
        (
            6,
            vec![format!("run.hrxt: expected {line} (host-observed)")],
        )
    };
    for (expectation, found) in [
        ("lane=host", "0 regions on lane host"),
        ("lane!=npu", "8 regions on lane NPU"),
        ("label=gem", "0 regions of that label"),
        ("failed=0", "failed is 1"),
        ("count>8", "count is 8"),
        ("max<1ms", "max is 1.50 ms (1,500,007 ns)"),
        ("bytes<8MiB", "bytes is 8,388,608 bytes"),
    ] {
        let line = format!("{expectation}, found: {found}");
        assert_eq!(check(&["--expect", expectation]), unmet(&line));
    }
    // Expectations are about the events that the filters select. All unmet ones are reported, and a figure of no regions meets none.
    assert_eq!(
        check(&["--failed", "--expect", "count=1", "--expect", "failed=1"]),
        met
    );
    assert_eq!(check(&["--lane", "host", "--expect", "count=0"]), met);
    assert_eq!(
        check(&["--lane", "host", "--expect", "p99<1s"]),
        unmet("p99<1s, found: no region, so no p99")
    );
    let (code, lines) = check(&[
        "--expect", "failed=0", "--expect", "lane=npu", "--expect", "count=1",
    ]);
    assert_eq!((code, lines.len()), (6, 2));
    // Marks, values, how regions and the capture ended.
    let mut capture = Capture::new(64);
    let labels = ["ready", " lead", "gpu bytes"].map(|text| capture.label(text));
    capture.name(&Name::lane(LANE_NAMED_FIRST, "stream 3"));
    for at in [10, 20] {
        capture.mark(Mark {
            label_id: labels[0],
            ..mark(0, at)
        });
    }
    capture.record(Record {
        label_id: labels[1],
        flags: FLAG_CANCELLED,
        ..region(LANE_NAMED_FIRST, 30, 10)
    });
    for (at, number) in [(40, 7e9), (50, 8.5e9), (60, f64::NAN)] {
        capture.value(value(labels[2], at, number));
    }
    capture.write(folder.path(), "run.hrxt");
    for expectation in [
        "mark=ready",
        "mark!=unready",
        "marks=2",
        "samples=3",
        "cancelled=1",
        "failed=0",
        "waiting=0",
        "hidden=0",
        "lane=Stream 3",
        "lane=stream *",
        "label= lead",
        "label!=lead",
        "least:gpu bytes>=7e9",
        "most:gpu bytes<8GiB",
        "ending=writer-died",
        "ending!=finished",
    ] {
        let (code, lines) = check(&["--expect", expectation]);
        // Its writer died.
        assert_eq!((code, lines), (3, Vec::new()), "{expectation}");
    }
    for (expectation, found) in [
        ("mark!=ready", "2 marks of that label"),
        ("mark=unready", "0 marks of that label"),
        ("label!= lead", "1 region of that label"),
        ("label=lead", "0 regions of that label"),
        ("lane!=stream 3", "1 region on lane stream 3"),
        ("most:gpu bytes<8e9", "most is 8500000000"),
        // What is no number meets nothing.
        ("last:gpu bytes!=0", "last is NaN"),
        ("last:gpu  bytes<8e9", "no value of that label, so no last"),
        ("ending=finished", "writer-died"),
    ] {
        let line = format!("{expectation}, found: {found}");
        assert_eq!(check(&["--expect", expectation]), unmet(&line));
    }
    // The larger exit code wins: a damaged capture, or an unmet expectation.
    hung().write(folder.path(), "run.hrxt");
    assert_eq!(check(&["--expect", "lane=compute"]).0, 4);
    assert_eq!(check(&["--expect", "lane=npu"]).0, 6);
    for wrong in [
        &["--expect", "npu"][..],
        &["--expect", "p99<2"],
        &["--lane", "host"],
    ] {
        assert_eq!(check(wrong).0, 2, "{wrong:?}");
    }
}

/// Regions on six lanes, or only those of `lane`. The first to begin and the last to end are both on lane 1.
fn lanes(lane: Option<u32>) -> Capture {
    let mut numbers = Numbers(6);
    let mut capture = Capture::new(1_000).finished(2_000_000);
    let labels = ["gemm", "copy"].map(|text| capture.label(text));
    for i in 0..600 {
        let of_lane = if i == 599 { 1 } else { (i as u32 + 1) % 6 };
        let record = Record {
            label_id: labels[numbers.below(2) as usize],
            copied_bytes: numbers.below(9_000),
            flags: u8::from(numbers.below(20) == 0),
            correlation_id: i,
            ..region(of_lane, i * 3_000, numbers.below(9_000) + 9_000 * (i / 599))
        };
        if lane.is_none_or(|lane| lane == of_lane) {
            capture.record(record);
        }
    }
    capture
}

/// The same events have different tickets in different captures.
fn forget_sequences(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.remove("sequence");
            members.values_mut().for_each(forget_sequences);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_sequences),
        _ => {}
    }
}

#[test]
fn a_filtered_summary_equals_that_of_a_capture_with_only_those_events() {
    let folder = tempfile::tempdir().expect("a folder");
    lanes(None).write(folder.path(), "all.hrxt");
    lanes(Some(1)).write(folder.path(), "one.hrxt");
    let summary = |words: &[&str]| {
        let output = convert(&[&["--summary", "--json"], words].concat(), folder.path());
        assert!(output.status.success(), "{output:?}");
        let mut document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        forget_sequences(&mut document);
        document["captures"][0].clone()
    };
    let filtered = summary(&["all.hrxt", "--lane", "compute"]);
    let alone = summary(&["one.hrxt"]);
    for key in [
        "regions", "lanes", "overlaps", "failures", "slowest", "span_ns", "first_ns", "last_ns",
    ] {
        assert!(!filtered[key].is_null(), "{key}");
        assert_eq!(filtered[key], alone[key], "{key}");
    }
    assert_eq!(alone["regions"]["count"], 101);
    assert_eq!(filtered["filtered_out"], serde_json::json!([499, 0]));
    // Losses are those of the whole capture.
    assert_eq!(filtered["account"]["recovered"], 600);
    let text = convert(
        &["--summary", "all.hrxt", "--lane", "compute"],
        folder.path(),
    );
    assert!(stdout(&text).contains("\nThe filter left out 499 events"));
}

/// Two runs of one program. In the second, gemm takes twice as long, and one copy is missing.
fn runs(folder: &Path, copy: &str) {
    for (name, duration_ns, copies) in [("a.hrxt", 10_000, 3), ("b.hrxt", 20_000, 2)] {
        let mut capture = Capture::new(100).finished(3_000_000);
        let (gemm, copy) = (capture.label("gemm"), capture.label(copy));
        for i in 0..50 {
            capture.record(Record {
                label_id: gemm,
                flags: u8::from(i == 0 && copies == 2),
                ..region(1, i * 50_000, duration_ns + i)
            });
        }
        for i in 0..copies {
            capture.record(Record {
                label_id: copy,
                copied_bytes: 4_000,
                ..region(0, i * 50_000, 2_000)
            });
        }
        capture.write(folder, name);
    }
}

const DIFFERENCE: &str = include_str!("difference.txt");

#[test]
fn the_text_of_a_difference() {
    let folder = tempfile::tempdir().expect("a folder");
    runs(folder.path(), "copy \u{1b}[31m大");
    let output = convert(&["--diff", "a.hrxt", "b.hrxt"], folder.path());
    assert!(output.status.success(), "{output:?}");
    assert_eq!(stdout(&output), DIFFERENCE);
}

/// The bug: "found 1 captures to compare". Found by reading every message with the number 1 in it.
#[test]
fn one_capture_cannot_be_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    runs(folder.path(), "copy");
    let one = convert(&["--diff", "a.hrxt"], folder.path());
    assert_eq!((one.status.code(), stdout(&one)), (Some(1), ""));
    assert_eq!(
        String::from_utf8_lossy(&one.stderr),
        "hrx-convert: error: found 1 capture to compare, expected two\n"
    );
    let three = convert(
        &["--diff", "a.hrxt", "b.hrxt", "a.hrxt", "."],
        folder.path(),
    );
    assert!(three.status.success(), "each file counts once: {three:?}");
}

#[test]
fn a_label_is_no_markup_in_the_page_of_a_difference() {
    let folder = tempfile::tempdir().expect("a folder");
    let hostile = "</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>";
    runs(folder.path(), hostile);
    let words = ["--diff", "a.hrxt", "b.hrxt", "-o", "difference.html"];
    let output = convert(&words, folder.path());
    assert!(output.status.success(), "{output:?}");
    let page = fs::read_to_string(folder.path().join("difference.html")).expect("the page");
    let escaped = hostile.replace('<', "\\u003c");
    assert!(page.contains(&escaped));
    // It is nowhere else in the page, so it is no markup there either.
    let rest = page.replace(&escaped, "");
    assert!(!rest.contains("alert("), "{rest}");
    assert_eq!(page.matches("<script").count(), 2);
    assert!(page.contains("Host-observed"));
    // The page's script is checked in a browser; what it shows first is what the text shows first.
    assert!(page.contains("'What changed'") && page.contains("\"changes\":[{\"change\":"));
}

#[test]
fn the_manual_page_and_the_completions_know_every_option() {
    for what in ["man", "bash", "zsh", "fish"] {
        let output = convert(&["--generate", what], Path::new("."));
        assert!(output.status.success(), "{output:?}");
        let text = stdout(&output).replace("\\-", "-");
        for option in ["summary", "diff", "expect", "follow", "label"] {
            assert!(text.contains(option), "{what} lacks --{option}");
        }
    }
    assert_eq!(
        convert(&["--generate", "powershell"], Path::new("."))
            .status
            .code(),
        Some(2)
    );
    assert_eq!(
        convert(&["--generate", "man", "run.hrxt"], Path::new("."))
            .status
            .code(),
        Some(2)
    );
}

/// The bug: a capture that begins later than another was reported as incomplete before its own beginning, because times count from the other's.
/// Found in a page of two captures.
#[test]
fn a_later_capture_is_complete_from_its_own_beginning() {
    let folder = tempfile::tempdir().expect("a folder");
    hung().write(folder.path(), "a.hrxt");
    let mut later = hung();
    later.identity.epoch_monotonic_ns += 5_000_000;
    later.write(folder.path(), "b.hrxt");
    let output = convert(&["--summary", "a.hrxt", "b.hrxt"], folder.path());
    let complete = "complete from the start: nothing was overwritten";
    assert_eq!(
        stdout(&output).matches(complete).count(),
        2,
        "{}",
        stdout(&output)
    );
}

/// The bug: events overwritten in the capture's very first moment were not reported, because "complete since 0" was taken for "nothing was
/// overwritten". Found by looking for comparisons of moments with 0.
#[test]
fn a_capture_complete_since_its_first_moment_may_have_lost_events() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut capture = Capture::new(1);
    capture.record(region(0, 0, 0)).record(region(0, 0, 0));
    capture.write(folder.path(), "a.hrxt");
    for option in ["--info", "--summary"] {
        let output = convert(&[option, "a.hrxt"], folder.path());
        let said = stdout(&output);
        assert!(said.contains("1 overwritten"), "{said}");
        assert!(said.contains("for all that ended after 0 ns"), "{said}");
        assert!(!said.contains("nothing was overwritten"), "{said}");
    }
}

/// The bug: every format names an empty label like a missing one, but summaries, differences and pages left it without a name, and `--label` did not
/// find it by the name that is shown. Found by comparing all code that asks for a name.
#[test]
fn an_empty_label_has_the_name_that_is_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut capture = Capture::new(4);
    let label_id = capture.label("");
    capture.record(Record {
        label_id,
        ..region(1, 0, 100)
    });
    capture.write(folder.path(), "a.hrxt");
    let named = "\"label\": \"(empty)\"";
    for arguments in [
        &["--summary", "--json", "a.hrxt"][..],
        &["--summary", "--json", "a.hrxt", "--label", "(empty)"],
        &["--diff", "--json", "a.hrxt", "./b.hrxt"],
    ] {
        fs::copy(folder.path().join("a.hrxt"), folder.path().join("b.hrxt")).expect("a file");
        let said = convert(arguments, folder.path());
        let said = stdout(&said);
        assert!(said.contains(named), "{arguments:?}: {said}");
    }
}

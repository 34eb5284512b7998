//! The page of `hrx-convert -o report.html`, opened from disk in a real browser: what it counts, finds and shows, that nothing in a capture becomes
//! markup, and that it makes no request.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use hrx_trace_format::name::{LANE_NAMED_FIRST, NAME_LABEL};
use hrx_trace_format::record::{FLAG_CANCELLED, FLAG_FAILED, FLAG_WAITING, OPEN_SLOT_NONE};
use hrx_trace_format::{ArgumentValue, Geometry, Mark, Name, OpenRecord, Record};
use hrx_trace_tests::capture::{Capture, mark, region, running, value};
use hrx_trace_tests::programs::PROGRAMS;
use hrx_trace_tests::viewers::{DrivenPage, PageState, ReportPage, Tools};
use serde_json::{Value, json};

fn page(capture: &Capture, folder: &Path, name: &str) -> PathBuf {
    let from = capture.write(folder, &format!("{name}.hrxt"));
    let to = folder.join(format!("{name}.html"));
    convert(&[&from, "-o".as_ref(), &to]);
    to
}

/// What the command prints on standard output.
fn convert(arguments: &[&Path]) -> String {
    let converted = Command::new(&PROGRAMS.convert)
        .args(arguments)
        .output()
        .expect("hrx-convert starts");
    let complaint = String::from_utf8_lossy(&converted.stderr);
    assert!(converted.status.success(), "{complaint}");
    String::from_utf8(converted.stdout).expect("UTF-8")
}

/// Items of an upload, a kernel and a download under one correlation id. The last kernel never ended, one download failed, and some were overwritten.
fn pipeline() -> Capture {
    let mut capture = Capture::new(100);
    let (gemm, copy) = (capture.label("gemm"), capture.label("copy in"));
    for item in 0..40 {
        let of = |lane, start_ns, duration_ns, label_id| Record {
            correlation_id: item + 1,
            copied_bytes: if lane == 1 { 0 } else { 4_096 },
            label_id,
            flags: u8::from(lane == 2 && item == 20),
            status: if item == 20 { 77 } else { 0 },
            ..region(lane, item * 10_000 + start_ns, duration_ns)
        };
        capture.record(of(0, 0, 2_000, copy));
        capture.record(of(1, 2_500, 6_000, gemm));
        capture.record(of(2, 9_000, 500, 0));
    }
    capture.open(
        0,
        OpenRecord {
            label_id: gemm,
            correlation_id: 41,
            ..running(1, 395_000)
        },
    );
    capture
}

/// Labels that would be markup, a script or the end of a data island, and text of every kind.
const HOSTILE: [&str; 9] = [
    "<script>globalThis.hostile = 'script'</script>",
    "</script><script>globalThis.hostile = 'island'</script>",
    "<img src=x onerror=\"globalThis.hostile = 'handler'\">",
    "<!--<script>",
    "\"'`${globalThis.hostile = 'template'}\\",
    "{{script}}{{packed}}",
    "\u{202e}detrever \u{2066}x",
    "مرحبا שלום",
    "🚀 größe\u{0}\u{1b}[31m\u{2028}",
];

fn hostile() -> Capture {
    let mut capture = Capture::new(64)
        .attributes("name=</title><script>globalThis.hostile = 'attribute'</script>\n");
    for (place, text) in HOSTILE.iter().enumerate() {
        let label_id = capture.label(text);
        capture.record(Record {
            label_id,
            ..region(place as u32 % 3, place as u64 * 1_000, 900)
        });
        capture.open(
            place as u32,
            OpenRecord {
                label_id,
                ..running(5, 9_500)
            },
        );
    }
    // Names and arguments too, with a text that the search in the test does not look for.
    let text = HOSTILE[2];
    let group = capture.group(text);
    capture.name(&Name::lane(3, text).in_group(group));
    capture.name(&Name::thread(6105, 0, text));
    let label_id = capture.name(&Name::of(NAME_LABEL, text).in_group(group));
    let key = capture.key(text);
    let arguments = [(key, ArgumentValue::Text(text.as_bytes()))];
    let region = Record {
        label_id,
        thread_id: 6105,
        ..region(3, 9_000, 100)
    };
    capture.record_with(region, &arguments);
    let mark = Mark {
        label_id,
        thread_id: 6105,
        ..mark(3, 9_200)
    };
    capture.mark_with(mark, &arguments);
    capture.value(value(label_id, 9_300, 1.0));
    let open = OpenRecord {
        label_id,
        thread_id: 6105,
        ..running(3, 9_400)
    };
    capture.open_with(20, open, &arguments);
    capture
}

/// Regions with arguments on a named lane, marks on a lane of their own, eight values, and what was running.
fn kinds() -> Capture {
    let mut capture = Capture::new(1_000);
    let [gpu, nccl] = ["GPU 0", "nccl"].map(|group| capture.group(group));
    let stream = LANE_NAMED_FIRST;
    capture.name(&Name::lane(stream, "stream 3").in_group(gpu));
    capture.name(&Name::thread(6105, 0, "worker-3"));
    let reduce = capture.name(&Name::of(NAME_LABEL, "all_reduce").in_group(nccl));
    let [slow, empty, gemm] = ["slow disk", "", "gemm"].map(|label| capture.label(label));
    let [batch, path] = ["batch", "path"].map(|key| capture.key(key));
    let long = "x".repeat(300);
    for item in 0..20 {
        let path_of = match item {
            3 => long.clone(),
            _ => format!("/data/{item}.BIN"),
        };
        let region = Record {
            label_id: if item == 5 { empty } else { reduce },
            thread_id: if item == 4 { 99 } else { 6105 },
            flags: match item {
                6 => FLAG_CANCELLED,
                7 => FLAG_FAILED,
                _ => 0,
            },
            open_slot: if item == 8 { OPEN_SLOT_NONE } else { 0 },
            correlation_id: item + 1,
            ..region(stream, 2_000 + item * 1_000, 900)
        };
        let arguments = [
            (batch, ArgumentValue::U64(1_000 + item)),
            (path, ArgumentValue::Text(path_of.as_bytes())),
        ];
        match item {
            9 => capture.record(region),
            _ => capture.record_with(region, &arguments),
        };
    }
    for (place, at_ns) in [(0, 1_000), (1, 9_500)] {
        let at = Mark {
            label_id: slow,
            thread_id: 6105,
            ..mark(0, at_ns)
        };
        capture.mark_with(at, &[(batch, ArgumentValue::I64(-7 - place))]);
    }
    for number in 0..8 {
        let label_id = capture.label(&format!("value {number}"));
        for sample in 0..10 {
            let of = match (number, sample) {
                (1, 9) => f64::NAN,
                (2, _) => 1.5e9 + sample as f64,
                _ => (sample * number) as f64,
            };
            capture.value(value(label_id, 1_500 + sample * 2_000, of));
        }
    }
    for (slot, start_ns) in (0..3).zip([20_000, 21_000, 21_500]) {
        let open = OpenRecord {
            label_id: if slot == 1 { gemm } else { reduce },
            thread_id: 6105,
            flags: if slot == 0 { FLAG_WAITING } else { 0 },
            ..running(stream, start_ns)
        };
        capture.open_with(slot, open, &[(batch, ArgumentValue::Bool(slot == 2))]);
    }
    capture.counters.hidden_now = 3;
    capture
}

fn assert_calm(page: &ReportPage) {
    assert_eq!(page.requests, [""; 0]);
    assert_eq!(page.errors, [""; 0]);
    assert_eq!(page.hostile, None);
    assert!(page.label_in_sight);
    assert!(page.title.contains("host-observed"), "{}", page.title);
    assert!(
        page.policy
            .starts_with("default-src 'none'; script-src 'sha256-"),
        "{}",
        page.policy
    );
    // The page's own script and the one data island that it has not unpacked; no image, frame or link.
    assert_eq!(page.elements["script"], 2);
    for name in ["img", "iframe", "link", "object", "a"] {
        assert_eq!(page.elements.get(name), None, "{name}");
    }
}

#[test]
fn the_page_counts_finds_and_shows_regions() {
    let Some(tools) = Tools::browser() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let file = page(&pipeline(), folder.path(), "pipeline");
    let [page] = tools.reports("GEMM", &[&file]).try_into().expect("a page");
    assert_calm(&page);
    assert!(
        page.whole.starts_with("101 regions of 101 in view, "),
        "{}",
        page.whole
    );
    let count = |text: &str| -> u64 {
        text.split(' ')
            .next()
            .expect("a count")
            .parse()
            .expect("a count")
    };
    assert!((10..101).contains(&count(&page.zoomed)), "{}", page.zoomed);
    assert!(count(&page.end) <= 3, "{}", page.end);
    // 33 or 34 of the remaining 100, and the running one.
    assert_eq!(page.found, "34 regions");
    for text in [
        "gemm",
        "compute (1)",
        "6.00 µs = 6,000 ns",
        "correlation",
        "thread",
        "ring, sequence",
        "3 regions of this correlation",
    ] {
        assert!(page.selected.contains(text), "{text}: {}", page.selected);
    }
    assert!(page.selected.contains("lane"), "{}", page.selected);
    // The next region of its correlation is on another lane.
    assert!(page.related.contains("download (2)"), "{}", page.related);
    for text in [
        "the writer died; last sign of life at 2026-",
        "Running at the end",
        "20 overwritten",
        "Complete for all that ended after",
        "failed: 77",
        "Latency of each label",
        "Copy bandwidth over time",
    ] {
        assert!(page.body.contains(text), "{text}: {}", page.body);
    }
    assert_eq!(
        (page.dark.as_str(), page.paper.as_str()),
        ("rgb(20, 23, 28)", "rgb(255, 255, 255)")
    );
}

/// The bug: what was copied by regions without a duration was in the counters and in the tables, and not in the page's charts.
#[test]
fn copies_without_a_duration_are_in_the_charts() {
    let Some(tools) = Tools::browser() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let mut capture = Capture::new(3);
    let copied = |copied_bytes, lane, at_ns| Record {
        copied_bytes,
        ..region(lane, at_ns, 0)
    };
    // The timeline has 1,040 pixels: 293 ns each of the whole, 288 ns each without its margins.
    capture
        .record(copied(5_000, 0, 150_000))
        .record(copied(7_000, 2, 300_000))
        .record(region(1, 0, 300_000));
    let file = page(&capture, folder.path(), "copies");
    let steps =
        json!([{"press": "0"}, {"open": "#from=0&to=300001"}, {"hover": ["#rates", 637, 50]}]);
    let states = drive(&tools, &file, &steps);
    assert_eq!(
        states[0].bandwidth,
        "Copy bandwidth over time: download at most 23.9 GB/s, upload at most 17.1 GB/s, by 293 ns"
    );
    assert_eq!(
        states[1].bandwidth,
        "Copy bandwidth over time: download at most 24.3 GB/s, upload at most 17.3 GB/s, by 288 ns"
    );
    assert_eq!(states[2].hover, "upload: 17.3 GB/s at 149.7 µs");
}

#[test]
fn nothing_in_a_capture_is_markup() {
    let Some(tools) = Tools::browser() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let file = page(&hostile(), folder.path(), "hostile");
    let [page] = tools
        .reports("<script>", &[&file])
        .try_into()
        .expect("a page");
    assert_calm(&page);
    // Each label as it is, with characters that would reorder text or vanish spelt out.
    for text in &HOSTILE[..6] {
        assert!(page.body.contains(text), "{text}: {}", page.body);
    }
    for text in [
        "\\u{202e}detrever \\u{2066}x",
        "مرحبا שלום",
        "🚀 größe\\u{0}\\u{1b}[31m",
    ] {
        assert!(page.body.contains(text), "{text}: {}", page.body);
    }
    // Two labels and a third that contains the text, each completed and running.
    assert_eq!(page.found, "6 regions");
    assert!(page.selected.contains("<script>"), "{}", page.selected);
}

#[test]
fn an_empty_capture_has_a_page() {
    let Some(tools) = Tools::browser() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let file = page(&Capture::new(4).finished(0), folder.path(), "empty");
    let [page] = tools.reports("x", &[&file]).try_into().expect("a page");
    assert_calm(&page);
    assert!(
        page.whole.starts_with("0 regions of 0 in view"),
        "{}",
        page.whole
    );
    assert_eq!(page.found, "0 regions");
}

#[test]
fn a_page_of_a_million_regions_is_usable() {
    const REGIONS: u64 = 1_000_000;
    let Some(tools) = Tools::browser() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let mut capture = Capture::new(REGIONS);
    let labels: Vec<u32> = (0..50)
        .map(|i| capture.label(&format!("kernel {i}")))
        .collect();
    let mut noise = 1u64;
    for i in 0..REGIONS {
        noise = noise
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let duration_ns = 200 + (noise >> 40) % 9_000;
        capture.record(Record {
            label_id: labels[(noise >> 50) as usize % labels.len()],
            correlation_id: i / 6,
            copied_bytes: if i % 6 == 0 { noise >> 42 } else { 0 },
            ..region(
                (i % 6) as u32 % 5,
                10_000 + i * 2_000 - duration_ns,
                duration_ns,
            )
        });
    }
    let file = page(&capture, folder.path(), "million");
    let bytes = fs::metadata(&file).expect("a page").len();
    assert!(bytes < 30_000_000, "{bytes}");
    let [page] = tools
        .reports("kernel 7", &[&file])
        .try_into()
        .expect("a page");
    assert_calm(&page);
    assert!(
        page.whole
            .starts_with("1,000,000 regions of 1,000,000 in view"),
        "{}",
        page.whole
    );
    assert!(page.selected.contains("kernel 7"), "{}", page.selected);
    eprintln!("{bytes} bytes, first paint after {} ms", page.painted_ms);
}

/// The bug: the page of a window showed an account that did not balance, because the events not read were missing in it, and did not mention that a
/// filter had left something out. Found by comparing the page with the text.
#[test]
fn the_page_says_what_was_not_read_and_what_was_filtered_out() {
    let Some(tools) = Tools::browser() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let mut capture = Capture::new(10_000);
    for i in 0..10_000 {
        capture.record(region(1, 1_000_000 * i, 900));
    }
    let from = capture.write(folder.path(), "a.hrxt");
    let to = folder.path().join("a.html");
    let window = |way: &[&Path]| {
        let options = ["--last", "20ms", "--lane", "1"].map(Path::new);
        convert(&[way, &options, &[&from]].concat())
    };
    let text = window(&["--summary".as_ref()]);
    let said = |what: &str| text.lines().find(|line| line.contains(what)).expect(what);
    let expected = [said("The filter left out"), said("10,000 claimed = ")];
    assert!(expected[1].ends_with(" not read"), "{expected:?}");
    window(&["-o".as_ref(), &to]);
    let pages = tools.reports("x", &[&to]);
    for line in expected {
        assert!(pages[0].body.contains(line), "{line}: {}", pages[0].body);
    }
}

/// Does the steps on a page, which must not complain.
fn drive(tools: &Tools, file: &Path, steps: &Value) -> Vec<PageState> {
    let [
        DrivenPage {
            errors,
            steps: states,
        },
    ] = tools.drive(steps, &[file]).try_into().expect("a page");
    assert_eq!(errors, [""; 0]);
    assert_eq!(states.len(), steps.as_array().expect("steps").len());
    states
}

impl Seen for PageState {}

/// What a state means.
trait Seen: std::borrow::Borrow<PageState> {
    fn width_ns(&self) -> f64 {
        let state = self.borrow();
        state.to_ns.expect("an address") - state.from_ns.expect("an address")
    }

    /// Ring and sequence of the selected region, or "open" and what follows.
    fn selected(&self) -> &str {
        let (_, after) = self
            .borrow()
            .link
            .split_once("select=0.")
            .unwrap_or_default();
        after.split('&').next().unwrap_or_default()
    }

    /// The first cells of the table with a column of this name.
    fn column_of(&self, heading: &str) -> Vec<&str> {
        let tables = &self.borrow().tables;
        let with = |table: &&Vec<Vec<String>>| table[0].iter().any(|cell| cell == heading);
        let table = tables.iter().find(with).expect("the table");
        table[1..].iter().map(|row| row[0].as_str()).collect()
    }
}

fn assert_near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "{found}, {expected}");
}

/// The bug: `End` showed an empty timeline, because its window lay in the margin after the last moment. Found by pressing it. None of the other
/// controls had a test either.
#[test]
fn every_control_shows_what_it_says() {
    let Some(tools) = Tools::browser() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let file = page(&pipeline(), folder.path(), "pipeline");
    let go = |steps: Value| drive(&tools, &file, &steps);

    let moves = go(json!([
        {"press": "0"}, {"click": "#end"}, {"press": "Home"}, {"press": "End"}, {"click": "#fit"},
        {"click": "#zoom-in"}, {"click": "#zoom-out"}, {"press": "+"}, {"press": "d"}, {"press": "a"}, {"press": "-"},
        {"wheel": [0, -400, ["Control"]]}, {"wheel": [300, 0]}, {"drag": [0.5, 0.7]}, {"press": "w"}, {"press": "s"},
    ]));
    let [
        whole,
        end,
        home,
        end_key,
        fit,
        zoomed_in,
        zoomed_out,
        plus,
        right,
        left,
        minus,
        wheel,
        sideways,
        dragged,
        closer,
        farther,
    ] = &moves[..]
    else {
        panic!("{}", moves.len());
    };
    for all in [whole, home, fit, zoomed_out] {
        assert!(
            all.window.starts_with("101 regions of 101 in view, "),
            "{}",
            all.window
        );
        assert_near(all.width_ns(), 330_500.0 * 1.016, 2.0);
    }
    for end in [end, end_key] {
        // The kernel and the download of the last item, and what was running.
        assert!(
            end.window.starts_with("3 regions of 101 in view, "),
            "{}",
            end.window
        );
        assert_near(end.from_ns.expect("a link"), 399_500.0 - 3_305.0, 1.0);
        assert_near(end.to_ns.expect("a link"), 399_500.0 + 66.0, 1.0);
    }
    assert_near(zoomed_in.width_ns(), whole.width_ns() / 2.0, 2.0);
    assert_near(plus.width_ns(), whole.width_ns() / 1.5, 2.0);
    let begins = |state: &PageState| state.from_ns.expect("an address");
    assert!(begins(right) > begins(plus));
    assert_near(right.width_ns(), plus.width_ns(), 2.0);
    assert!(begins(left) < begins(right));
    assert_near(minus.width_ns(), whole.width_ns(), 2.0);
    assert!(wheel.width_ns() < whole.width_ns() * 0.6);
    assert_near(
        begins(sideways),
        begins(wheel) + wheel.width_ns() / 4.0,
        2.0,
    );
    assert!(begins(dragged) < begins(sideways) - sideways.width_ns() / 6.0);
    assert_near(closer.width_ns(), dragged.width_ns() / 1.5, 2.0);
    assert_near(farther.width_ns(), dragged.width_ns(), 2.0);

    let chosen = go(json!([
        {"press": "End"}, {"point": [0.3, 68, "hover"]}, {"point": [0.3, 68, "click"]}, {"press": "ArrowLeft"}, {"press": "ArrowRight"},
        {"press": "ArrowDown"}, {"press": "ArrowUp"}, {"press": "Enter"}, {"press": "c"}, {"press": "Escape"}, {"press": "0"}, {"press": "End"},
        {"point": [0.3, 68, "dblclick"]}, {"click": "#tables td button >> nth=0"}, {"click": "#copy-facts"},
    ]));
    assert!(
        chosen[1].hover.starts_with("gemmcompute, 6.00 µs"),
        "{}",
        chosen[1].hover
    );
    let names: Vec<&str> = chosen[2..10].iter().map(Seen::selected).collect();
    // Events are numbered upload, kernel, download; below the kernels' row is the running one's.
    assert_eq!(names[..3], ["0.119", "0.116", "0.119"]);
    assert!(names[3].starts_with("open."), "{names:?}");
    assert_eq!(names[4], "0.119");
    assert_near(chosen[7].width_ns(), 18_000.0, 1.0);
    assert_eq!(names[6], "0.120");
    assert_eq!((names[7], chosen[9].details.as_str()), ("", ""));
    assert_eq!(chosen[12].selected(), "0.119");
    assert_near(chosen[12].width_ns(), 18_000.0, 1.0);
    assert!(
        chosen[13].details.contains("unfinished"),
        "{}",
        chosen[13].details
    );
    for line in [
        "label: gemm",
        "lane: compute (1)",
        "correlation: 41",
        "began: 395,000 ns",
        "ended: never",
    ] {
        assert!(
            chosen[14].copied.lines().any(|copied| copied == line),
            "{line}: {}",
            chosen[14].copied
        );
    }
}

#[test]
fn marks_values_arguments_and_names_are_shown() {
    let Some(tools) = Tools::browser() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let file = page(&kinds(), folder.path(), "kinds");
    let go = |steps: Value| drive(&tools, &file, &steps);

    let searches = [
        ("slow", "0 regions, 2 marks"),
        ("batch=1007", "1 region, by argument"),
        ("BATCH = 1007", "1 region, by argument"),
        ("path=\"/data/1.bin\"", "1 region, by argument"),
        ("argument:/data/1", "11 regions, by argument"),
        ("-8", "0 regions, 1 mark"),
        ("nccl: all", "21 regions"),
        ("(empty)", "1 region"),
        ("worker-3", "22 regions, by thread, 2 marks"),
        ("waiting", "1 region, by status"),
        ("cancelled", "1 region, by status"),
        ("hidden", "1 region, by status"),
        ("unfinished", "3 regions, by status"),
        ("batch=1007x", "0 regions"),
    ];
    let steps = searches.map(|(text, _)| json!({"find": text}));
    for ((text, expected), state) in searches.iter().zip(go(json!(steps))) {
        assert_eq!(state.found, *expected, "{text}");
    }

    let states = go(json!([
        {"press": "0"}, {"find": "slow"}, {"click": "#next"}, {"click": "#next"}, {"click": "#copy-facts"}, {"press": "Escape"},
        {"find": "batch=1006"}, {"click": "#next"}, {"find": "batch=1003"}, {"click": "#next"}, {"find": "waiting"}, {"click": "#next"},
        {"open": "#from=8500&to=10500"}, {"point": [0.551, 40, "hover"]}, {"point": [0.551, 40, "click"]}, {"hover": ["#levels", 700, 20]}, {"click": "#more-values"},
        {"press": "0"}, {"paper": true},
    ]));
    let [first, second] = [&states[2], &states[3]];
    for text in [
        "slow disk",
        "upload (0)",
        "1,000 ns",
        "worker-3 (6105)",
        "Arguments",
        "batch",
        "-7",
    ] {
        assert!(first.details.contains(text), "{text}: {}", first.details);
    }
    assert!(second.details.contains("9,500 ns"), "{}", second.details);
    for line in ["label: slow disk", "moment: 9,500 ns", "argument batch: -8"] {
        let copied = &states[4].copied;
        assert!(
            copied.lines().any(|copied| copied == line),
            "{line}: {copied}"
        );
    }
    assert_eq!(states[5].details, "");
    for text in [
        "nccl: all_reduce",
        "GPU 0: stream 3 (2147483648)",
        "no: cancelled",
        "/data/6.BIN",
        "worker-3 (6105)",
    ] {
        assert!(
            states[7].details.contains(text),
            "{text}: {}",
            states[7].details
        );
    }
    // The text was cut when it was recorded.
    assert!(
        states[9].details.contains("xxx…\""),
        "{}",
        states[9].details
    );
    for text in ["at least 1.90 µs", "unfinished, waiting", "batch\nfalse"] {
        assert!(
            states[11].details.contains(text),
            "{text}: {}",
            states[11].details
        );
    }
    for state in &states[13..15] {
        let hover = &state.hover;
        assert!(
            hover.starts_with("slow diskmark on upload, at 9.500 µs"),
            "{hover}"
        );
        assert!(hover.contains("batch=-8"), "{hover}");
    }
    assert!(
        states[14].details.contains("slow disk"),
        "{}",
        states[14].details
    );

    let values = &states[0].values;
    assert!(values.starts_with("Values over time (host-observed): value 0 0, last 0; value 1 0 to 8, last NaN; value 2 1,500,000,000 to 1,500,000,009, last 1,500,000,009; value 3 0 to 27, last 27;"), "{values}");
    assert!(!values.contains("value 6"), "{values}");
    assert_eq!(
        states[15].hover,
        "value 0: 0 at 9.619 µs, sampled at 9.500 µs"
    );
    assert_eq!((states[15].levels, states[16].levels), (240, 320));
    assert!(
        states[17].values.contains("value 7 0 to 63, last 63"),
        "{}",
        states[17].values
    );
    assert_eq!(states[18].paper.len(), 2);

    let table = |heading: &str| {
        let mut tables = states[0].tables.iter();
        let found = tables.find(|table| table[0].iter().any(|cell| cell == heading));
        let rows = &found.unwrap_or_else(|| panic!("{heading}"))[1..];
        rows.iter().map(|row| row.join("|")).collect::<Vec<_>>()
    };
    assert_eq!(
        states[0].running,
        [
            "3 regions, 1 of them waiting, and 3 more that the full table of open regions does not show."
        ]
    );
    assert_eq!(
        table("Newest began"),
        [
            "GPU 0: stream 3|nccl: all_reduce|2|1|1.90 µs|Show|400 ns before|Show",
            "GPU 0: stream 3|gemm|1||900 ns|Show|900 ns before|Show",
        ]
    );
    assert_eq!(
        table("For at least"),
        [
            "GPU 0: stream 3|nccl: all_reduce|waiting|1.90 µs|20.0 µs|batch=false|||worker-3 (6105)|Show",
            "GPU 0: stream 3|gemm||900 ns|21.0 µs|batch=false|||worker-3 (6105)|Show",
            "GPU 0: stream 3|nccl: all_reduce||400 ns|21.5 µs|batch=true|||worker-3 (6105)|Show",
        ]
    );
    let values = table("Sampled");
    assert_eq!(values.len(), 8);
    assert_eq!(values[1], "value 1|not finite|2.40 µs before|0|8|10");
    assert_eq!(values[3], "value 3|27|2.40 µs before|0|27|10");
    assert_eq!(
        table("Mark"),
        [
            "upload|slow disk|12.4 µs before|batch=-8||worker-3 (6105)",
            "upload|slow disk|20.9 µs before|batch=-7||worker-3 (6105)",
        ]
    );
    let tables = states[0].tables.concat().concat();
    assert!(
        tables.iter().any(|cell| cell == "failed"),
        "without a status"
    );
    assert!(tables.iter().any(|cell| cell == "(empty)"));
}

/// The bug: the newest region, most often the one that hangs, was the last of thousands of rows.
#[test]
fn two_thousand_running_regions_stay_readable() {
    let Some(tools) = Tools::browser() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let mut capture = Capture::with(Geometry::new(10).open_slots(2_048).name_bytes(64 << 10));
    let [request, culprit] = ["request", "culprit"].map(|label| capture.label(label));
    for slot in 0..2_000 {
        let open = OpenRecord {
            label_id: if slot == 700 { culprit } else { request },
            correlation_id: u64::from(slot),
            flags: if slot % 2 == 1 { FLAG_WAITING } else { 0 },
            ..running(
                9,
                if slot == 700 {
                    5_000_000
                } else {
                    1_000 * u64::from(slot)
                },
            )
        };
        capture.open(slot, open);
    }
    let file = page(&capture, folder.path(), "many");
    let states = drive(
        &tools,
        &file,
        &json!([{"press": "0"}, {"click": "#tables table >> nth=1 >> button:text-is('Show') >> nth=0"}, {"click": ".all-running"}]),
    );
    let rows = |state: &PageState, table: usize| -> Vec<String> {
        let rows = state.tables[table][1..].iter();
        rows.map(|row| row.join("|")).collect()
    };
    assert_eq!(states[0].running, ["2,000 regions, 1,000 of them waiting."]);
    assert_eq!(
        rows(&states[0], 0),
        [
            "lane 9|request|1,999|1,000|5.00 ms|Show|3.00 ms before|Show",
            "lane 9|culprit|1||0 ns|Show|at it|Show",
        ]
    );
    let [busy, newest, longest] = [1, 2, 3].map(|table| rows(&states[0], table));
    assert_eq!((busy.len(), newest.len(), longest.len()), (10, 10, 10));
    assert!(
        busy[0].starts_with("lane 9|culprit||0 ns|")
            && busy[1].starts_with("lane 9|request||3.00 ms|"),
        "{busy:?}"
    );
    assert!(
        newest[0].starts_with("lane 9|culprit||0 ns|5.00 ms||"),
        "{}",
        newest[0]
    );
    assert!(
        newest[1].starts_with("lane 9|request|waiting|3.00 ms|2.00 ms|"),
        "{}",
        newest[1]
    );
    assert!(
        longest[0].starts_with("lane 9|request||5.00 ms|0 ns|"),
        "{}",
        longest[0]
    );
    assert!(
        states[1].details.starts_with("culprit"),
        "{}",
        states[1].details
    );
    assert_eq!(rows(&states[2], 4).len(), 2_000);
}

/// The bug: the search found a region by its label only, not by the correlation id that a log names.
#[test]
fn search_finds_by_label_correlation_thread_and_status() {
    let Some(tools) = Tools::browser() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let file = page(&pipeline(), folder.path(), "pipeline");
    let searches = [
        ("GEMM", "34 regions"),
        ("label:copy", "33 regions"),
        ("7", "1 region, by correlation"),
        ("0x15", "3 regions, by correlation"),
        ("correlation:41", "1 region, by correlation"),
        ("77", "3 regions, by status"),
        ("status:77", "3 regions, by status"),
        ("failed", "1 region, by status"),
        ("unfinished", "1 region, by status"),
        ("thread:77", "0 regions"),
        ("label:77", "0 regions"),
        ("18446744073709551616", "0 regions"),
        ("", ""),
    ];
    let steps = searches.map(|(text, _)| json!({"find": text}));
    let states = drive(&tools, &file, &json!(steps));
    for ((text, expected), state) in searches.iter().zip(&states) {
        assert_eq!(state.found, *expected, "{text}");
    }
    let walk = drive(
        &tools,
        &file,
        &json!([
            {"find": "status:77"}, {"click": "#next"}, {"click": "#next"}, {"click": "#next"}, {"click": "#next"}, {"click": "#previous"},
        ]),
    );
    let names: Vec<&str> = walk[1..].iter().map(Seen::selected).collect();
    assert_eq!(names, ["0.61", "0.62", "0.63", "0.61", "0.63"]);
    assert!(
        walk[3].details.contains("yes, status 77"),
        "{}",
        walk[3].details
    );
}

#[test]
fn a_range_has_statistics_and_a_link_reopens_the_view() {
    let Some(tools) = Tools::browser() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let file = page(&pipeline(), folder.path(), "pipeline");
    let go = |steps: Value| drive(&tools, &file, &steps);
    let states = go(json!([
        {"click": "#statistics"}, {"click": "#range button >> nth=1"}, {"press": "r"}, {"press": "Escape"}, {"drag": [0.4, 0.6, ["Shift"]]},
        {"click": "#range button >> nth=0"}, {"find": "status:77"}, {"click": "#next"}, {"click": "#link"},
        {"open": "#from=200000&to=201000"}, {"hover": ["#rates", 600, 50]}, {"open": "#from=nothing&to=1&select=9.9.9&range=5"},
    ]));
    for all in [&states[0], &states[2]] {
        for row in [
            "101 regions in 331 µs",
            "upload\t33\t0\t0\t20.0 %\t2.00 µs\t2.00 µs\t2.00 µs",
            "compute\t33\t0\t1\t60.2 %\t6.00 µs\t6.00 µs\t6.00 µs",
            "gemm\t33\t0\t1\t60.2 %",
            "download\t34\t1\t0\t5.1 %\t500 ns\t500 ns\t500 ns",
        ] {
            assert!(all.range.contains(row), "{row}: {}", all.range);
        }
    }
    assert_eq!(
        (states[1].range.as_str(), states[3].range.as_str()),
        ("", "")
    );
    assert_eq!(states[4].width_ns(), states[3].width_ns());
    assert!(states[5].link.contains("&range="), "{}", states[5].link);
    assert!(
        states[5].width_ns() < states[3].width_ns() * 0.25,
        "{}",
        states[5].link
    );
    let linked = &states[8];
    assert!(linked.copied.starts_with("file://"), "{}", linked.copied);
    assert_eq!(states[10].hover, "upload: 2.05 GB/s at 200.463 µs");
    assert!(
        states[11].window.starts_with("101 regions of 101"),
        "{}",
        states[11].window
    );

    let (_, hash) = linked.copied.split_once('#').expect("a link");
    let again = &go(json!([{"open": format!("#{hash}")}]))[0];
    for (found, expected) in [
        (&again.link, &linked.link),
        (&again.window, &linked.window),
        (&again.found, &linked.found),
        (&again.details, &linked.details),
        (&again.range, &linked.range),
    ] {
        assert_eq!(found, expected);
    }
    assert_eq!(again.selected(), "0.61");
}

#[test]
fn tables_sort_and_paper_has_the_whole() {
    let Some(tools) = Tools::browser() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let file = page(&pipeline(), folder.path(), "pipeline");
    let total = json!({"click": "#tables th button:text-is('Total')"});
    let states = drive(
        &tools,
        &file,
        &json!([
            total, total, total, {"press": "End"}, {"paper": true}, {"paper": false},
        ]),
    );
    let lanes = states[..3].iter().map(|state| state.column_of("Total"));
    let expected = [
        [
            "compute",
            "gemm",
            "upload",
            "copy in",
            "download",
            "native region",
        ],
        [
            "download",
            "native region",
            "upload",
            "copy in",
            "compute",
            "gemm",
        ],
        [
            "upload",
            "copy in",
            "compute",
            "gemm",
            "download",
            "native region",
        ],
    ];
    for (found, expected) in lanes.zip(expected) {
        assert_eq!(found, expected);
    }
    // The bug: printing showed the part of the timeline that was in view, squashed. The uploads are on the first row of the whole.
    let [timeline, _] = states[4].paper[..] else {
        panic!("{:?}", states[4].paper);
    };
    assert!(timeline >= 33, "{timeline}");
    assert_eq!(states[5].paper, [0; 0]);
    assert_eq!(states[5].window, states[3].window);
}

/// The bug: labels that differed after 31 characters only, as kernels' template arguments do, were identical rows without a way to see the rest.
#[test]
fn long_labels_can_be_told_apart() {
    let Some(tools) = Tools::browser() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let mut capture = Capture::new(100);
    let labels: Vec<String> = (0..20)
        .map(|tile| {
            let tail = "RowMajor, cutlass::epilogue::thread::LinearCombination<float>>(Params)";
            format!(
                "void cutlass::gemm::kernel::GemmUniversal<float, {tile}, cutlass::layout::{tail}"
            )
        })
        .collect();
    for (at, label) in (0..).zip(&labels) {
        let label_id = capture.label(label);
        capture.record(Record {
            label_id,
            ..region(1, at * 1_000, 900)
        });
    }
    let file = page(&capture, folder.path(), "long");
    let states = drive(
        &tools,
        &file,
        &json!([{"press": "0"}, {"click": "text=Show 8 more"}]),
    );
    let mut rows = states[0].column_of("Total");
    assert_eq!(rows.len(), 21);
    assert!(rows.iter().all(|row| row.chars().count() <= 56), "{rows:?}");
    rows.sort_unstable();
    rows.dedup();
    assert_eq!(rows.len(), 21, "{rows:?}");
    for label in &labels {
        assert!(states[0].hints.contains(label), "{label}");
    }
    assert_eq!((states[0].charts, states[1].charts), (12, 20));
}

/// The bug: a capture of months had an axis in seconds, "7000000 s", and beyond 2^53 ns, 104 days, short copies had a chart of NaN. Found by trying both.
#[test]
fn months_are_days() {
    const DAY_NS: u64 = 86_400_000_000_000;
    let Some(tools) = Tools::browser() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    for (days, began) in [
        (90, "7,776,000,000,000,001 ns"),
        (120, "10,368,000,000,000,001 ns"),
    ] {
        let mut capture = Capture::new(1_000);
        for at in 0..=days {
            capture.record(Record {
                copied_bytes: 4_096,
                ..region(0, at * DAY_NS + 1, 1)
            });
        }
        let file = page(&capture, folder.path(), &format!("{days}"));
        let states = drive(
            &tools,
            &file,
            &json!([
                {"press": "0"}, {"press": "End"}, {"press": "ArrowRight"}, {"press": "Enter"}, {"click": "#tables td button >> nth=0"}, {"click": "#statistics"}, {"find": "failed"}, {"paper": true},
            ]),
        );
        assert!(
            states[0]
                .window
                .starts_with(&format!("{0} regions of {0} in view, ", days + 1)),
            "{}",
            states[0].window
        );
        assert!(
            states[1]
                .window
                .contains(&format!(" from {} d ", days * 99 / 100)),
            "{}",
            states[1].window
        );
        assert!(states[3].details.contains(began), "{}", states[3].details);
        assert_eq!(states[4].details, states[3].details);
        for state in &states {
            let tables = state.tables.concat().concat().concat();
            for text in [
                &state.window,
                &state.details,
                &state.range,
                &state.link,
                &tables,
            ] {
                assert!(
                    !text.contains("NaN") && !text.contains("Infinity"),
                    "{text}"
                );
            }
        }
    }
}

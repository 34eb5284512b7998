//! The page of `hrx-convert -o report.html`, opened from disk in a real browser: what it counts, finds and shows, that nothing in a capture becomes
//! markup, and that it makes no request.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use hrx_trace_format::{OpenRecord, Record};
use hrx_trace_tests::capture::{Capture, region, running};
use hrx_trace_tests::programs::PROGRAMS;
use hrx_trace_tests::viewers::{ReportPage, Tools};

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
        "the writer died at 2026-",
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

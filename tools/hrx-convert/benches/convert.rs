//! Converts a full ring of 4,000,000 made-up events with the real binary, and prints events per second (the best of three runs) and peak
//! memory.
//!
//! `cargo bench -p hrx-convert`

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use hrx_trace_format::Record;
use hrx_trace_tests::capture::{Capture, region};

const EVENTS: u64 = 4_000_000;

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    for (what, compute_ns) in [
        ("4 compute regions at once", 4_321),
        ("2,000 compute regions at once", 3_000_000),
    ] {
        let file = folder.path().join("run.hrxt");
        pipeline(compute_ns, &file);
        println!("{EVENTS} events, {what}, to /dev/null:");
        for options in [
            &["--format", "chrome"][..],
            &["--format", "perfetto"],
            &["--format", "jsonl"],
            &["--format", "csv"],
            &["--format", "seed"],
            &["--info"],
        ] {
            measure(options, &file);
        }
    }
}

/// Uploads, computes and downloads in the order of completion, in a ring that has begun its second lap.
fn pipeline(compute_ns: u64, file: &Path) {
    let mut capture = Capture::new(EVENTS);
    let labels: Vec<u32> = (0..40)
        .map(|i| capture.label(&format!("kernel_{i}")))
        .collect();
    for i in 0..EVENTS + 1_000 {
        let (lane, duration_ns, copied_bytes) = match i % 6 {
            0 => (0, 765, 1 << 20),
            5 => (2, 765, 1 << 20),
            _ => (1, compute_ns, 0),
        };
        capture.record(Record {
            label_id: labels[i as usize % labels.len()],
            correlation_id: i / 6,
            copied_bytes,
            ..region(lane, compute_ns + 1_000 * i - duration_ns, duration_ns)
        });
    }
    fs::write(file, capture.bytes()).expect("a file");
}

fn measure(options: &[&str], file: &Path) {
    let runs: Vec<(f64, u64)> = (0..3).map(|_| convert(options, file)).collect();
    let seconds = runs.iter().map(|run| run.0).fold(f64::INFINITY, f64::min);
    let peak_kib = runs.iter().map(|run| run.1).max().unwrap_or_default();
    println!(
        "  {:16} {seconds:6.3} s  {:5.2} million events/s  peak {:5.1} MiB",
        options.join(" "),
        EVENTS as f64 / seconds / 1e6,
        peak_kib as f64 / 1024.0
    );
}

/// The seconds it takes, and its peak resident memory in KiB.
fn convert(options: &[&str], file: &Path) -> (f64, u64) {
    let began = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_hrx-convert"))
        .args(options)
        .arg(file)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the converter");
    let status = format!("/proc/{}/status", child.id());
    let mut peak_kib = 0;
    while child.try_wait().expect("a child").is_none() {
        // VmHWM is the peak so far.
        let text = fs::read_to_string(&status).unwrap_or_default();
        let peak = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        peak_kib = peak
            .and_then(|peak| peak.trim().trim_end_matches(" kB").parse().ok())
            .unwrap_or(peak_kib);
        std::thread::sleep(Duration::from_millis(2));
    }
    (began.elapsed().as_secs_f64(), peak_kib)
}

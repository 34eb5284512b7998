//! What Perfetto shows of a trace that is still being written, wherever it is cut, and of several captures in one trace.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use hrx_trace_format::OpenRecord;
use hrx_trace_tests::capture::{Capture, region, running};
use hrx_trace_tests::programs::PROGRAMS;
use hrx_trace_tests::viewers::{Tools, TpSlice, TpTrace};

/// How a region begins.
const REGION: &str = r#"{"ph":"X","cat":"hrx.host-observed""#;

/// What it writes to the standard output.
fn convert(folder: &Path, arguments: &[&str]) -> Vec<u8> {
    let output = Command::new(&PROGRAMS.convert)
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("hrx-convert starts");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    output.stdout
}

/// A dozen regions on two lanes and a running one, of a process with the id 1.
fn capture(rank: u64) -> Capture {
    let mut capture = Capture::new(16).attributes(&format!("rank={rank}\n"));
    capture.identity.process_id = 1;
    capture.identity.capture_id = [rank as u8; 16];
    capture.identity.epoch_monotonic_ns += 100 * rank;
    let gemm = capture.label("gemm \"🚀\"");
    for i in 0..12 {
        capture.record(hrx_trace_format::Record {
            label_id: gemm,
            correlation_id: i + 1,
            copied_bytes: 100,
            ..region(i as u32 % 2, 1_000 * i, 1_500)
        });
    }
    capture.open(
        0,
        OpenRecord {
            label_id: gemm,
            ..running(0, 20_000)
        },
    );
    capture.counters.last_alive_ns = 35_000;
    capture
}

/// The completed regions: process, track, start, duration.
fn regions(trace: &TpTrace) -> Vec<(i64, i64, i64, i64)> {
    let regions = trace.slices.iter().filter(|slice| {
        slice.category.as_deref() == Some("hrx.host-observed") && !is_unfinished(slice)
    });
    regions
        .map(|slice| {
            let pid = slice.pid.unwrap_or_default();
            (pid, slice.track_id, slice.ts_ns, slice.dur_ns)
        })
        .collect()
}

fn is_unfinished(slice: &TpSlice) -> bool {
    slice
        .name
        .as_deref()
        .is_some_and(|name| name.ends_with("[unfinished]"))
}

/// A cut JSON object is refused: a trace written as one could not be seen before its end. A pipe, in which
/// nothing can be overwritten, gets an array.
#[test]
fn a_followed_trace_opens_wherever_it_is_cut() {
    let Some(tools) = Tools::trace_processor() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    capture(0).write(folder.path(), "run.hrxt");
    convert(
        folder.path(),
        &["--follow", "run.hrxt", "-o", "run.pftrace"],
    );
    let whole = convert(folder.path(), &["--follow", "run.hrxt"]);
    let text = std::str::from_utf8(&whole).expect("UTF-8");
    // At every kind of place: within a name, a number, a key, an escape, a character, between events, after a comma.
    let events: Vec<usize> = text.match_indices(REGION).map(|at| at.0).collect();
    let within = events[5]..events[6];
    let cuts = within
        .step_by(3)
        .chain([events[0], whole.len() - 2, whole.len()]);
    let files: Vec<PathBuf> = cuts
        .map(|cut| {
            let path = folder.path().join(format!("cut-{cut}.json"));
            fs::write(&path, &whole[..cut]).expect("a file");
            path
        })
        .collect();
    for (file, trace) in files.iter().zip(tools.trace_processors(&files)) {
        assert_eq!(trace.error, None, "{}", file.display());
        let bytes = fs::read(file).expect("the cut");
        let so_far = String::from_utf8_lossy(&bytes).matches(REGION).count();
        // The region being written may be missing.
        let seen = regions(&trace).len();
        let is_whole = bytes.len() + 2 >= whole.len();
        assert!(
            seen == so_far || (!is_whole && seen + 1 == so_far),
            "{}: {seen} of {so_far}",
            file.display()
        );
        if is_whole {
            assert!(trace.stats.is_empty(), "{:?}", trace.stats);
        }
    }
    let native = fs::read(folder.path().join("run.pftrace")).expect("the trace");
    let cuts: Vec<PathBuf> = (native.len() / 2..native.len())
        .step_by(37)
        .map(|cut| {
            let path = folder.path().join(format!("cut-{cut}.pftrace"));
            fs::write(&path, &native[..cut]).expect("a file");
            path
        })
        .collect();
    for (file, trace) in cuts.iter().zip(tools.trace_processors(&cuts)) {
        assert_eq!(trace.error, None, "{}", file.display());
        assert!(!regions(&trace).is_empty(), "{}", file.display());
    }
}

/// The bug: followed JSON was an array, so that it opens in Perfetto wherever it is cut. It did not say its unit, which chrome://tracing then takes
/// for milliseconds, in which it drew what touches as parent and child. And speedscope and chrome://tracing refused one cut within an event.
#[test]
fn a_killed_converters_json_opens_in_every_viewer() {
    let (Some(tools), Some(browser)) = (Tools::trace_processor(), Tools::browser()) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let mut capture = capture(0);
    // Of no known boot, so that the lock alone decides.
    capture.identity.boot_id = [0; 16];
    let lives = File::open(capture.write(folder.path(), "run.hrxt")).expect("the capture");
    lives.lock().expect("the writer's lock");
    let path = folder.path().join("run.json");
    let mut child = Command::new(&PROGRAMS.convert)
        .args(["--follow", "run.hrxt", "-o", "run.json"])
        .current_dir(folder.path())
        .spawn()
        .expect("hrx-convert starts");
    let began = Instant::now();
    let so_far = || fs::read_to_string(&path).unwrap_or_default();
    while so_far().matches(REGION).count() < 12 {
        assert!(began.elapsed() < Duration::from_secs(60), "{}", so_far());
        sleep(Duration::from_millis(10));
    }
    child.kill().expect("a child");
    child.wait().expect("its end");
    assert_eq!(opened(&tools, &path), 12);
    let catapult = &browser.catapult(&[&path])[0];
    assert_eq!(catapult.faults(), [""; 0]);
    assert_eq!(catapult.time_unit, "ns");
    assert_eq!(catapult.slices.len(), 12);
    let speedscope = &browser.speedscope(&[&path])[0];
    assert_eq!(speedscope.error, None);
    let opened = speedscope
        .profiles
        .iter()
        .flat_map(|profile| &profile.events);
    assert_eq!(opened.filter(|event| event.kind == "O").count(), 12);
}

/// The bug: a gzip member without its end is refused ("GZIP stream incomplete, trace is likely corrupt").
#[test]
fn a_compressed_trace_opens_while_it_is_followed() {
    let Some(tools) = Tools::trace_processor() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let mut capture = capture(0);
    // Of an unknown boot, so that the lock alone decides whether it is live.
    capture.identity.boot_id = [0; 16];
    let lives = File::open(capture.write(folder.path(), "run.hrxt")).expect("the capture");
    lives.lock().expect("the writer's lock");
    let followed = ["json.gz", "pftrace.gz"].map(|end| {
        let child = Command::new(&PROGRAMS.convert)
            .args(["--follow", "run.hrxt", "-o"])
            .arg(format!("run.{end}"))
            .current_dir(folder.path())
            .spawn()
            .expect("hrx-convert starts");
        (child, folder.path().join(format!("run.{end}")))
    });
    for (mut child, path) in followed {
        // At any moment: after the header, after the regions.
        let began = Instant::now();
        let mut seen = 0;
        while seen < 12 {
            assert!(began.elapsed() < Duration::from_secs(60), "{seen} regions");
            sleep(Duration::from_millis(10));
            let so_far = fs::read(&path).unwrap_or_default();
            if !so_far.is_empty() {
                let copy = folder.path().join("copy");
                fs::write(&copy, so_far).expect("a file");
                seen = opened(&tools, &copy);
            }
        }
        child.kill().expect("a child");
        child.wait().expect("its end");
        assert_eq!(opened(&tools, &path), 12);
    }
}

/// The number of regions that Perfetto sees.
fn opened(tools: &Tools, file: &Path) -> usize {
    let traces = tools.trace_processors(&[file]);
    assert_eq!(traces[0].error, None, "{}", file.display());
    regions(&traces[0]).len()
}

/// All process ids are 1, as in containers, and tids are equal: no region may move to another process or vanish.
#[test]
fn captures_of_containers_stay_apart() {
    let Some(tools) = Tools::trace_processor() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    for rank in 0..3 {
        capture(rank).write(folder.path(), &format!("{rank}.hrxt"));
    }
    let files = ["json", "json.gz", "pftrace", "pftrace.gz"].map(|end| {
        let name = format!("all.{end}");
        convert(folder.path(), &["0.hrxt", "1.hrxt", "2.hrxt", "-o", &name]);
        folder.path().join(name)
    });
    for (file, trace) in files.iter().zip(tools.trace_processors(&files)) {
        assert_eq!(trace.error, None, "{}", file.display());
        assert!(trace.stats.is_empty(), "{:?}", trace.stats);
        let mut starts: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        let mut tracks: BTreeMap<i64, BTreeSet<i64>> = BTreeMap::new();
        for (pid, track, start_ns, duration_ns) in regions(&trace) {
            assert_eq!(duration_ns, 1_500);
            starts.entry(pid).or_default().push(start_ns);
            tracks.entry(track).or_default().insert(pid);
        }
        assert_eq!(starts.len(), 3, "{}", file.display());
        assert!(tracks.values().all(|pids| pids.len() == 1), "{tracks:?}");
        let zero = starts[&1][0];
        let names: BTreeMap<i64, String> = trace
            .slices
            .iter()
            .filter_map(|slice| Some((slice.pid?, slice.process_name.clone()?)))
            .collect();
        for (pid, starts) in starts {
            let rank: i64 = (0..3)
                .find(|rank| names[&pid].contains(&format!("rank={rank}")))
                .expect("a rank");
            let expected: Vec<i64> = (0..12).map(|i| zero + 100 * rank + 1_000 * i).collect();
            assert_eq!(starts, expected, "{}: rank {rank}", file.display());
        }
        // Each ends with its own process, not with the last of them.
        let unfinished = trace.slices.iter().filter(|slice| is_unfinished(slice));
        let durations: Vec<i64> = unfinished.map(|slice| slice.dur_ns).collect();
        assert_eq!(durations, [15_000; 3], "{}", file.display());
    }
}

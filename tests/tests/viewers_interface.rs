//! What Perfetto's user interface shows of a trace that it has just opened, and when by the wall clock.

use std::path::{Path, PathBuf};
use std::process::Command;

use hrx_trace_format::{Name, Record};
use hrx_trace_tests::capture::{Capture, region, running};
use hrx_trace_tests::programs::PROGRAMS;
use hrx_trace_tests::viewers::Tools;

fn convert(captures: &[PathBuf], to: &Path) {
    let converted = Command::new(&PROGRAMS.convert)
        .args(captures)
        .arg("-o")
        .arg(to)
        .output()
        .expect("hrx-convert starts");
    let complaint = String::from_utf8_lossy(&converted.stderr);
    assert!(converted.status.success(), "{complaint}");
}

/// Two workers at once on two lanes, one of which the program has named.
fn program() -> Capture {
    let mut capture = Capture::new(64).attributes("rank=3\n");
    capture.identity.process_id = 2_001;
    let gpu = capture.group("GPU 0");
    let stream = 1 << 31;
    capture.name(&Name::lane(stream, "stream 3").in_group(gpu));
    for lane in [0, 1, 7, stream] {
        for thread_id in [1, 2] {
            capture.record(Record {
                thread_id,
                ..region(lane, u64::from(thread_id) * 1_000, 5_000)
            });
        }
    }
    capture
}

/// The bugs: a `.pftrace` of one process was a page with two closed groups. In the JSON, tracks were called "lane 7 8" and "capture (host-observed)
/// 999999999", and the sub-tracks of all lanes came after the last lane. In Perfetto's own format, lanes directly under the process were sorted by name.
#[test]
fn one_process_is_opened_with_its_tracks_in_order() {
    let Some(tools) = Tools::browser() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let capture = program().write(folder.path(), "run.hrxt");
    let files = ["run.json", "run.pftrace"].map(|name| folder.path().join(name));
    files
        .iter()
        .for_each(|file| convert(std::slice::from_ref(&capture), file));
    let shown = tools.titles(&files);
    let process = "pipeline rank=3 (host-observed) 2001";
    // The same in both. The bug that came back: the lanes of a `.pftrace` were inside the track of the capture's marks, which was closed.
    assert_eq!(shown[0], shown[1]);
    assert_eq!(
        shown[0],
        [
            process,
            "capture (host-observed) · track 1",
            "upload · track 1000",
            "upload (2) · track 1001",
            // 2001 is the process's main thread, which comes first.
            "compute · track 2000",
            "compute (2) · track 2002",
            "lane 7 · track 8000",
            "lane 7 (2) · track 8001",
            "GPU 0: stream 3 · track 100000",
            "GPU 0: stream 3 (2) · track 100001",
        ]
    );
}

/// The bug: a machine slept for eight hours between two captures, and the wall times of the second were off by as much.
#[test]
fn wall_times_hold_for_each_capture() {
    const SLEPT_NS: u64 = 8 * 3_600_000_000_000;
    let Some(tools) = Tools::trace_processor() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    // It slept again before the third. Where the wall clock is set back, Perfetto shows what came before at the time that it was set to.
    let captures: Vec<Capture> = [0, SLEPT_NS, SLEPT_NS + SLEPT_NS / 2]
        .into_iter()
        .zip(0..)
        .map(|(ahead_ns, index)| {
            let mut capture = Capture::new(8);
            let identity = &mut capture.identity;
            let after_ns = 1_000_000_000 * index;
            identity.process_id = 10 + index as u32;
            identity.capture_id = [index as u8; 16];
            identity.epoch_monotonic_ns += after_ns;
            identity.epoch_boottime_ns += after_ns + ahead_ns;
            identity.epoch_realtime_ns += after_ns + ahead_ns;
            capture.record(region(index as u32, 5_000, 100));
            capture.open(0, running(4, 6_000));
            capture
        })
        .collect();
    // In any order.
    let files: Vec<PathBuf> = [2, 0, 1]
        .map(|index: usize| captures[index].write(folder.path(), &format!("{index}.hrxt")))
        .into();
    let to = folder.path().join("all.pftrace");
    convert(&files, &to);
    let sql = "select to_realtime(ts) as at, dur from slice where category = 'hrx.host-observed' and dur = 100 order by ts";
    let faults = "select name from stats where value > 0 and severity in ('error', 'data_loss')";
    let answers = tools.query(&[to], &[sql, faults]);
    let [rows, faults] = answers[0].as_deref().expect("no error") else {
        panic!("two answers");
    };
    assert!(faults.is_empty(), "{faults:?}");
    let at: Vec<u64> = rows.iter().filter_map(|row| row["at"].as_u64()).collect();
    let expected: Vec<u64> = captures
        .iter()
        .map(|capture| capture.identity.epoch_realtime_ns + 5_000)
        .collect();
    assert_eq!(at, expected);
}

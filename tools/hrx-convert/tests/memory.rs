//! Memory is bounded whatever the number of captures, labels and events. The real binary runs with a limit on its address space.

use std::path::Path;
use std::process::{Command, Stdio};

use hrx_trace_format::Record;
use hrx_trace_tests::capture::{Capture, region};

/// Writes captures with `labels` labels each. Each label has more regions than are remembered one by one, and one region of 36 years, so that its
/// histogram takes 200 KiB.
fn write(folder: &Path, captures: u32, labels: u64) {
    let events = labels * 520;
    for index in 0..captures {
        let mut capture = Capture::new(events);
        capture.identity.process_id = 1 + index;
        let label_ids: Vec<u32> = (0..labels)
            .map(|i| capture.label(&format!("label {i}")))
            .collect();
        for i in 0..events {
            capture.record(Record {
                label_id: label_ids[(i % labels) as usize],
                correlation_id: i,
                ..region(0, 1_000 * i, if i < labels { 1 << 60 } else { 900 })
            });
        }
        capture.write(folder, &format!("{index}.hrxt"));
    }
}

/// Makes a summary and a page of such captures in 128 MiB of address space, which includes the binary and all stacks.
fn assert_small(captures: u32, labels: u64) {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), captures, labels);
    for options in ["--summary", "-o x.html"] {
        let script = format!("ulimit -v 131072; exec \"$0\" {options} .");
        let output = Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_hrx-convert")])
            .current_dir(&folder)
            // Otherwise each thread reserves 64 MiB that it does not use.
            .env("MALLOC_ARENA_MAX", "1")
            .stdout(Stdio::null())
            .output()
            .expect("a shell");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{options}: {said}");
    }
}

/// The bug: the figures of each label of each capture were held until the last capture had been read. 500 captures with 1,000 labels took
/// 261 MiB with `--summary`, and 810 MiB as a page. Found by measuring all answers on them.
#[test]
fn figures_of_many_captures_are_not_held() {
    assert_small(6, 100);
}

/// The bug: each label had a histogram, of 80 KiB if durations reach a second, and the regions of a page's timeline were in memory several
/// times. A capture of 10,000,000 regions with 1,024 labels took 146 MiB with `--summary`, and 352 MiB as a page.
#[test]
fn durations_and_regions_of_one_capture_are_not_held() {
    assert_small(1, 600);
}

//! Captures for conversions to read.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Result;
use hrx_trace::{Event, Options, lane};

use crate::processes::usage::measure;

/// Makes a capture of `events` at `path`, in a process of its own.
pub fn fill(path: &Path, events: u64) -> Result<()> {
    let events = events.to_string();
    measure(Command::new(std::env::current_exe()?).args([
        OsStr::new("fill"),
        path.as_os_str(),
        OsStr::new(&events),
    ]))
    .map(|_| ())
}

/// Fills a capture in this process: five lanes that are busy four fifths of the time, a few labels, correlation ids.
pub fn fill_here(path: &Path, events: u64) -> Result<()> {
    let recorder = Options::new(events).create(path)?;
    let labels = ["copy in", "gemm", "softmax", "attention", "copy out"];
    let labels = labels.map(|name| recorder.label(name));
    let base = Instant::now();
    for event in 0..events {
        let lane = event as usize % (lane::HOST + 1);
        let description = Event::new(lane)
            .label(labels[lane])
            .correlation_id(event / 5 + 1)
            .copied_bytes(event % 7 * 4096)
            .failed(event % 1_000 == 999);
        recorder.record(
            base + Duration::from_micros(2 * event),
            Duration::from_nanos(8_000 + event % 997),
            description,
        );
    }
    recorder.finish();
    Ok(())
}

//! The outputs that the cases are converted to: one more is one more line in [`OUTPUTS`].

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use hrx_trace_format::Identity;
use hrx_trace_tests::programs::PROGRAMS;
use serde_json::{Value, json};

use crate::case::Arg;

/// One way to convert, and what its viewers can know of it.
#[derive(Debug)]
pub struct Output {
    pub name: &'static str,
    /// Of the output's name.
    pub extension: &'static str,
    pub options: &'static [&'static str],
    /// Times are shown up to here.
    pub shown_ns_max: u64,
    /// What the viewers' clock says when the capture begins.
    pub epoch_ns: fn(&Identity) -> u64,
    /// By how much a time may be off.
    pub tolerance_ns: fn(u64) -> u64,
    /// The last integer that is one in the arguments; larger ones are strings.
    pub integer_max: u64,
    /// Arguments that it leaves out.
    pub without: &'static [&'static str],
    /// Whether there are marks where the capture begins, what it lost and how it ended.
    pub marks: bool,
    /// Whether a track with something unfinished has a mark at the last moment known.
    pub last_moments: bool,
}

const BARE: &[&str] = &["--no-counters", "--no-flows", "--no-marks", "--no-colors"];

/// Perfetto reads them all.
pub const OUTPUTS: &[Output] = &[
    JSON,
    JSON_BARE,
    NATIVE,
    Output {
        name: "pftrace-bare",
        options: &[
            "--format=perfetto",
            "--no-counters",
            "--no-flows",
            "--no-marks",
        ],
        marks: false,
        ..NATIVE
    },
];

/// What catapult and speedscope read too.
pub const JSON: Output = Output {
    name: "json",
    extension: "json",
    options: &[],
    shown_ns_max: 1 << 62,
    epoch_ns: |_| 0,
    // Microseconds and nanoseconds are computed as doubles; see hrx-convert's chrome.rs.
    tolerance_ns: |time_ns| match time_ns {
        _ if JSON_LATE_NS.contains(&time_ns) => 1,
        ..=JSON_EXACT_NS_MAX => 0,
        _ => 1 << (time_ns / JSON_EXACT_NS_MAX).ilog2(),
    },
    integer_max: 1 << 53,
    without: &[],
    marks: true,
    last_moments: true,
};

pub const JSON_BARE: Output = Output {
    name: "json-bare",
    options: BARE,
    marks: false,
    ..JSON
};

const NATIVE: Output = Output {
    name: "pftrace",
    extension: "pftrace",
    options: &["--format=perfetto"],
    // Perfetto counts from the boot of the machine.
    epoch_ns: |identity| identity.epoch_boottime_ns,
    tolerance_ns: |_| 0,
    integer_max: i64::MAX as u64,
    without: &["lane", "sequence"],
    last_moments: false,
    ..JSON
};

pub const JSON_LATE_NS: Range<u64> = (1 << 42) * 1_000..1 << 52;
pub const JSON_EXACT_NS_MAX: u64 = (1 << 43) * 1_000;

impl Output {
    /// Converts a capture with the real command, beside it.
    pub fn convert(&self, capture: &Path) -> PathBuf {
        let to = capture.with_extension(format!("{}.{}", self.name, self.extension));
        let converted = Command::new(&PROGRAMS.convert)
            .args(self.options)
            .args([capture, Path::new("-o"), &to])
            .output()
            .expect("hrx-convert starts");
        let complaint = String::from_utf8_lossy(&converted.stderr);
        assert!(
            converted.status.success(),
            "{}: {complaint}",
            capture.display()
        );
        to
    }

    /// A value beside a region, as it has to be shown.
    pub fn value(&self, arg: &Arg) -> Value {
        match *arg {
            Arg::Bool(value) => json!(value),
            Arg::Integer(value) if value <= self.integer_max => json!(value),
            Arg::Integer(value) => json!(value.to_string()),
        }
    }
}

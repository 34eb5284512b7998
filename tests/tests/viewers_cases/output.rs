//! The outputs that the cases are converted to: one more is one more line in [`OUTPUTS`].

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

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
    /// By how much a time may be off.
    pub tolerance_ns: fn(u64) -> u64,
    /// What the times are relative to, by the clock that a viewer shows; 0: the capture's start.
    pub epoch_ns: i64,
    /// What is not repeated beside each region: the track tells.
    pub absent: &'static [&'static str],
    /// The last integer that is one in the arguments; larger ones are strings.
    pub integer_max: u64,
}

/// Perfetto reads them all.
pub const OUTPUTS: &[Output] = &[JSON, PFTRACE];

/// What catapult and speedscope read too.
pub const JSON: Output = Output {
    name: "json",
    extension: "json",
    options: &[],
    shown_ns_max: 1 << 62,
    // Microseconds and nanoseconds are computed as doubles; see hrx-convert's chrome.rs.
    tolerance_ns: |time_ns| match time_ns {
        _ if JSON_LATE_NS.contains(&time_ns) => 1,
        ..=JSON_EXACT_NS_MAX => 0,
        _ => 1 << (time_ns / JSON_EXACT_NS_MAX).ilog2(),
    },
    epoch_ns: 0,
    absent: &[],
    integer_max: 1 << 53,
};

/// Exact at any time, and on the clock that traces of the same host's devices have.
pub const PFTRACE: Output = Output {
    name: "pftrace",
    extension: "pftrace",
    options: &["--format", "perfetto"],
    shown_ns_max: 1 << 62,
    tolerance_ns: |_| 0,
    // The boot time at which the captures of the cases began.
    epoch_ns: 78_000_000_001,
    absent: &["lane", "sequence"],
    integer_max: i64::MAX as u64,
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

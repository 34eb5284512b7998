//! The outputs that the cases are converted to: one more is one more line in [`OUTPUTS`].

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
    /// Times are exact up to here; then they may be a nanosecond off, and twice as much with each doubling.
    pub exact_ns_max: u64,
    /// The last integer that is one in the arguments; larger ones are strings.
    pub integer_max: u64,
}

/// Perfetto reads them all.
pub const OUTPUTS: &[Output] = &[JSON];

/// What catapult and speedscope read too.
pub const JSON: Output = Output {
    name: "json",
    extension: "json",
    options: &[],
    shown_ns_max: 1 << 62,
    exact_ns_max: (1 << 43) * 1_000,
    integer_max: 1 << 53,
};

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

    /// By how much a time may be off.
    pub fn tolerance_ns(&self, time_ns: u64) -> u64 {
        match time_ns {
            _ if time_ns <= self.exact_ns_max => 0,
            _ => 1 << (time_ns / self.exact_ns_max).ilog2(),
        }
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

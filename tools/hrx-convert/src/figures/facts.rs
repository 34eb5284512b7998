//! The facts of one capture: everything about it except its events. `--info`, its JSON, summaries and the metadata of outputs are made of them.

use std::collections::BTreeMap;

use hrx_trace_format::header::CLOCK_MONOTONIC;
use hrx_trace_reader::{Account, Cause, Ending, Names, OpenRegion, Report, Trace, Witness};
use serde::Serialize;
use serde_json::Value;

use crate::figures::arguments::{Integers, Keys};
use crate::figures::exact::Exact;
use crate::input::labels::name_of;
use crate::input::outcome::running_until;
use crate::text::names::{label_group, lane_text_in, thread_name_in};

/// The account of a ring, or of all rings: what became of the tickets that were claimed.
#[derive(Debug, Serialize)]
pub struct Tickets {
    pub claimed: Exact,
    pub recovered: Exact,
    pub overwritten: Exact,
    pub torn: Exact,
    pub skipped: Exact,
    pub in_flight: Exact,
    pub overtaken: Exact,
    /// Tickets before the part that was read.
    #[serde(skip_serializing_if = "Exact::is_zero")]
    pub not_read: Exact,
    pub regions: Exact,
    pub marks: Exact,
    pub values: Exact,
    pub arguments: Exact,
    pub amendments: Exact,
    pub joined: Exact,
    pub orphaned: Exact,
    pub evicted: Exact,
}

/// The account of the whole capture.
#[derive(Debug, Serialize)]
pub struct Totals {
    #[serde(flatten)]
    pub tickets: Tickets,
    pub rejected: Exact,
    pub open_refused: Exact,
    pub open_torn: Exact,
    pub hidden_now: Exact,
    pub names_refused: Exact,
    pub names_too_long: Exact,
    pub arguments_refused: Exact,
}

/// A region that was running at the end.
#[derive(Debug, Serialize)]
pub struct RunningRegion {
    pub label: String,
    /// The group of the label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    pub lane: u32,
    pub lane_name: String,
    pub start_ns: Exact,
    /// Until its process was seen to end, if [`Seen::seen_exactly`]; otherwise at least: until the last sign of life.
    pub running_ns: Exact,
    pub copied_bytes: Exact,
    pub correlation_id: Exact,
    pub thread_id: u32,
    /// The thread's name when it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    pub status: u32,
    pub waiting: bool,
    /// By name, see [`ArgumentsObject`](crate::figures::arguments::ArgumentsObject).
    pub arguments: Value,
    pub arguments_lost: Exact,
}

impl RunningRegion {
    fn new(
        trace: &Trace,
        names: &Names,
        keys: &mut Keys,
        region: &OpenRegion,
        until_ns: u64,
        shift_ns: u64,
    ) -> Self {
        let began_ns = region.start_ns.saturating_sub(shift_ns);
        let arguments = keys.object(trace, &region.arguments, Integers::Exact);
        Self {
            label: name_of(trace, region.label_id).into_owned(),
            group: label_group(trace, region.label_id),
            lane: region.lane,
            lane_name: lane_text_in(trace, names, region.lane),
            start_ns: Exact(region.start_ns),
            running_ns: Exact(until_ns.saturating_sub(region.start_ns)),
            copied_bytes: Exact(region.copied_bytes),
            correlation_id: Exact(region.correlation_id),
            thread_id: region.thread_id,
            thread: thread_name_in(names, region.thread_id, began_ns),
            status: region.status,
            waiting: region.waiting,
            arguments: serde_json::to_value(arguments).unwrap_or_default(),
            arguments_lost: Exact(region.arguments_lost),
        }
    }
}

/// A damaged place in the file, outside the records.
#[derive(Debug, Serialize)]
pub struct DamagedPlace {
    pub offset: Exact,
    pub what: String,
}

/// When the capture began, by each clock.
#[derive(Debug, Serialize)]
pub struct Clocks {
    pub epoch_realtime_ns: Exact,
    pub epoch_monotonic_ns: Exact,
    pub epoch_boottime_ns: Exact,
    /// 32 hexadecimal digits; None: unknown.
    pub boot_id: Option<String>,
    /// The three were read within this time; None: it was longer than can be told.
    pub bracket_ns: Option<u32>,
    /// The clock of the file's times: "monotonic", or "unknown".
    pub clock: &'static str,
    /// Inode of the time namespace; None: unknown, or the kernel has none.
    pub time_namespace: Option<Exact>,
    /// How far the monotonic clock of that namespace is from the machine's own; None: unknown.
    pub monotonic_offset_ns: Option<i64>,
}

/// What another process saw of the end of the process.
#[derive(Debug, Serialize)]
pub struct Seen {
    pub cause: Cause,
    /// The exit status, or the signal's number.
    pub status: u32,
    /// When it learnt of the end: the end was no later.
    pub seen_ns: Exact,
    /// Whether that is on the capture's own clock.
    pub seen_exactly: bool,
    pub peak_resident_bytes: Exact,
    pub user_ns: Exact,
    pub system_ns: Exact,
    pub core_dumped: Option<bool>,
    pub out_of_memory: Option<bool>,
    /// The process that saw it.
    pub process_id: u32,
}

impl Seen {
    fn new(witness: &Witness, shift_ns: u64) -> Self {
        Self {
            cause: witness.cause,
            status: witness.status,
            seen_ns: Exact(witness.seen_ns.saturating_add(shift_ns)),
            seen_exactly: witness.seen_exactly,
            peak_resident_bytes: Exact(witness.peak_resident_bytes),
            user_ns: Exact(witness.user_ns),
            system_ns: Exact(witness.system_ns),
            core_dumped: witness.core_dumped,
            out_of_memory: witness.out_of_memory,
            process_id: witness.process_id,
        }
    }
}

/// The facts. The fields' names are the keys of the JSON.
#[derive(Debug, Serialize)]
pub struct Facts<'trace> {
    /// Events that newer ones overwrote. The key is that of the in-memory tracer's document.
    pub dropped_events: Exact,
    pub ending: Ending,
    /// What another process saw of the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub witness: Option<Seen>,
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
    /// The account of each ring, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rings: Vec<Tickets>,
    pub first_ns: Option<Exact>,
    pub last_ns: Exact,
    pub complete_since_ns: Exact,
    pub open_regions: Vec<RunningRegion>,
    pub damages: Vec<DamagedPlace>,
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
            regions: Exact(account.regions),
            marks: Exact(account.marks),
            values: Exact(account.values),
            arguments: Exact(account.arguments),
            amendments: Exact(account.amendments),
            joined: Exact(account.joined),
            orphaned: Exact(account.orphaned),
            evicted: Exact(account.evicted),
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
            hidden_now: sum(|report| report.hidden_now),
            names_refused: sum(|report| report.names_refused),
            names_too_long: sum(|report| report.names_too_long),
            arguments_refused: sum(|report| report.arguments_refused),
        }
    }
}

impl Facts<'_> {
    /// Whether what was running did so until a moment that is known, rather than at least until the last sign of life.
    pub fn end_is_seen(&self) -> bool {
        let seen = self.witness.as_ref().is_some_and(|seen| seen.seen_exactly);
        seen && self.ending != Ending::Finished
    }
}

impl<'trace> Facts<'trace> {
    /// The report is `shift_ns` later than the capture's own time.
    pub fn new(trace: &'trace Trace, report: &Report, shift_ns: u64) -> Self {
        let identity = trace.identity();
        let account = &report.account;
        Self {
            dropped_events: Exact(account.overwritten),
            ending: report.ending,
            witness: trace.witness().map(|witness| Seen::new(&witness, shift_ns)),
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
                bracket_ns: (identity.epoch_bracket_ns != u32::MAX)
                    .then_some(identity.epoch_bracket_ns),
                clock: match identity.clock {
                    CLOCK_MONOTONIC => "monotonic",
                    _ => "unknown",
                },
                time_namespace: (identity.time_namespace != 0)
                    .then_some(Exact(identity.time_namespace)),
                monotonic_offset_ns: identity.monotonic_offset(),
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
            open_regions: match report.open_regions.as_slice() {
                [] => Vec::new(),
                open => {
                    let (names, mut keys) = (trace.names(), Keys::default());
                    let (until_ns, _) = running_until(trace, report, shift_ns);
                    open.iter()
                        .map(|region| {
                            RunningRegion::new(trace, &names, &mut keys, region, until_ns, shift_ns)
                        })
                        .collect()
                }
            },
            damages: report
                .damages
                .iter()
                .map(|damage| DamagedPlace {
                    offset: Exact(damage.offset),
                    what: damage.what.clone(),
                })
                .collect(),
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

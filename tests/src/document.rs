//! What a reader makes of a file, in the form that `spec/decode.py` prints.
//!
//! The vectors' expectations, decode.py's output and the Rust reader's findings are all brought into this form and compared.

use std::collections::BTreeMap;

use hrx_trace_format::header::CLOCK_MONOTONIC;
use hrx_trace_format::record::{FLAG_ARGUMENTS, FLAG_SATURATED, FLAG_WAITING, OPEN_SLOT_NONE};
use hrx_trace_format::witness::{CAUSE_EXIT, CAUSE_SIGNAL};
use hrx_trace_format::{Identity, MEASUREMENT, Mark, OpenRecord, Record, Value, Witness};
use serde::{Deserialize, Serialize};
use serde_json::Serializer;
use serde_json::ser::PrettyFormatter;

/// Everything that FORMAT.md has a reader say of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the names are those of FORMAT.md")]
pub struct Document {
    pub measurement: String,
    pub version: String,
    pub host_name: String,
    pub program: String,
    pub attributes: Vec<(String, String)>,
    pub boot_id: String,
    pub capture_id: String,
    pub process_id: u32,
    /// "monotonic" or "unknown".
    pub clock: String,
    pub epoch_monotonic_ns: u64,
    pub epoch_realtime_ns: u64,
    pub epoch_boottime_ns: u64,
    pub epoch_bracket_ns: u32,
    pub time_namespace: u64,
    /// None: not known.
    pub monotonic_offset_ns: Option<i64>,
    pub capacity: u64,
    /// How the capture ended as far as its bytes tell. "not-finished": whether the writer still runs is no property of the bytes.
    pub ending: String,
    pub witness: Option<Ending>,
    pub account: Tickets,
    pub rings: Vec<Tickets>,
    pub rejected: u64,
    pub open_refused: u64,
    pub hidden_now: u64,
    pub arguments_refused: u64,
    pub names_refused: u64,
    pub names_too_long: u64,
    pub open_torn: u64,
    pub last_ns: u64,
    pub complete_since_ns: u64,
    /// The labels that events and open regions name, with their groups; None: unreadable.
    pub labels: BTreeMap<u32, Option<(String, u32)>>,
    /// The same of arguments.
    pub keys: BTreeMap<u32, Option<(String, u32)>>,
    /// The groups of all these, and of lanes and threads. They have no group themselves.
    pub groups: BTreeMap<u32, Option<(String, u32)>>,
    pub lanes: BTreeMap<u32, (String, u32)>,
    pub threads: Vec<ThreadName>,
    pub events: Vec<Event>,
    pub open_regions: Vec<OpenRegion>,
    /// Where the damage lies.
    pub damages: Vec<u64>,
}

/// What became of tickets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the names are those of FORMAT.md")]
pub struct Tickets {
    pub claimed: u64,
    pub recovered: u64,
    pub overwritten: u64,
    pub torn: u64,
    pub skipped: u64,
    pub regions: u64,
    pub marks: u64,
    pub values: u64,
    pub arguments: u64,
    pub amendments: u64,
    pub joined: u64,
    pub orphaned: u64,
}

/// What the witness says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the names are those of FORMAT.md")]
pub struct Ending {
    pub seen_monotonic_ns: u64,
    pub seen_boottime_ns: u64,
    pub seen_realtime_ns: u64,
    pub time_namespace: u64,
    pub peak_resident_bytes: u64,
    pub user_ns: u64,
    pub system_ns: u64,
    pub status: u32,
    /// "exit", "signal" or "exec".
    pub cause: String,
    pub core_dumped: Option<bool>,
    pub out_of_memory: Option<bool>,
    pub witness_process_id: u32,
    /// Since the capture's start.
    pub seen_ns: u64,
    pub seen_exactly: bool,
}

/// A thread's name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the names are those of FORMAT.md")]
pub struct ThreadName {
    pub thread_id: u32,
    pub since_ns: u64,
    pub text: String,
    pub group: u32,
}

/// A key and a value of an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the names are those of FORMAT.md")]
pub struct Argument {
    pub key: u32,
    /// "u64", "i64", "f64", "bool" or "text".
    pub r#type: String,
    /// Of an f64, its bits as text.
    pub value: serde_json::Value,
    pub cut: bool,
    pub incomplete: bool,
}

/// A completed region, a mark or a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
#[allow(missing_docs, reason = "the names are those of FORMAT.md")]
pub enum Event {
    Region {
        ring: u32,
        sequence: u64,
        start_ns: u64,
        duration_ns: u64,
        copied_bytes: u64,
        correlation_id: u64,
        lane: u32,
        label_id: u32,
        thread_id: u32,
        thread: Option<String>,
        status: u32,
        failed: bool,
        cancelled: bool,
        hidden: bool,
        saturated: bool,
        arguments: Vec<Argument>,
        arguments_lost: u64,
    },
    Mark {
        ring: u32,
        sequence: u64,
        start_ns: u64,
        correlation_id: u64,
        lane: u32,
        label_id: u32,
        thread_id: u32,
        thread: Option<String>,
        saturated: bool,
        arguments: Vec<Argument>,
        arguments_lost: u64,
    },
    Value {
        ring: u32,
        sequence: u64,
        start_ns: u64,
        /// Its bits.
        value: String,
        correlation_id: u64,
        label_id: u32,
        thread_id: u32,
        thread: Option<String>,
        saturated: bool,
        arguments: Vec<Argument>,
        arguments_lost: u64,
    },
}

/// One region that had not completed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the names are those of FORMAT.md")]
pub struct OpenRegion {
    pub slot: u32,
    pub ring: u32,
    pub start_ns: u64,
    pub copied_bytes: u64,
    pub correlation_id: u64,
    pub lane: u32,
    pub label_id: u32,
    pub thread_id: u32,
    pub thread: Option<String>,
    pub status: u32,
    pub waiting: bool,
    pub saturated: bool,
    pub amended: bool,
    pub arguments: Vec<Argument>,
    pub arguments_lost: u64,
}

impl Document {
    /// What is said of a file in which nothing was recorded.
    #[must_use]
    pub fn of(identity: &Identity) -> Self {
        let clock = match identity.clock {
            CLOCK_MONOTONIC => "monotonic",
            _ => "unknown",
        };
        Self {
            measurement: MEASUREMENT.to_owned(),
            version: format!("{}.{}", identity.version_major, identity.version_minor),
            host_name: identity.host_name().to_owned(),
            program: identity.program().to_owned(),
            attributes: identity
                .attributes()
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect(),
            boot_id: hex(&identity.boot_id),
            capture_id: hex(&identity.capture_id),
            process_id: identity.process_id,
            clock: clock.to_owned(),
            epoch_monotonic_ns: identity.epoch_monotonic_ns,
            epoch_realtime_ns: identity.epoch_realtime_ns,
            epoch_boottime_ns: identity.epoch_boottime_ns,
            epoch_bracket_ns: identity.epoch_bracket_ns,
            time_namespace: identity.time_namespace,
            monotonic_offset_ns: identity.monotonic_offset(),
            capacity: identity.capacity,
            ending: "not-finished".to_owned(),
            witness: None,
            account: Tickets::default(),
            rings: vec![Tickets::default(); identity.ring_count as usize],
            rejected: 0,
            open_refused: 0,
            hidden_now: 0,
            arguments_refused: 0,
            names_refused: 0,
            names_too_long: 0,
            open_torn: 0,
            last_ns: 0,
            complete_since_ns: 0,
            labels: BTreeMap::new(),
            keys: BTreeMap::new(),
            groups: BTreeMap::new(),
            lanes: BTreeMap::new(),
            threads: Vec::new(),
            events: Vec::new(),
            open_regions: Vec::new(),
            damages: Vec::new(),
        }
    }

    /// The very text that decode.py prints.
    ///
    /// # Panics
    /// Never: nothing in a document is beyond JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut text = Vec::new();
        let formatter = PrettyFormatter::with_indent(b" ");
        let mut serializer = Serializer::with_formatter(&mut text, formatter);
        self.serialize(&mut serializer).expect("plain data");
        text.push(b'\n');
        String::from_utf8(text).expect("JSON is UTF-8")
    }
}

impl Tickets {
    /// Tickets of which all that were recovered were regions.
    #[must_use]
    pub fn of_regions([claimed, recovered, overwritten, torn, skipped]: [u64; 5]) -> Self {
        Self {
            claimed,
            recovered,
            overwritten,
            torn,
            skipped,
            regions: recovered,
            ..Self::default()
        }
    }

    /// Adds the counts of another ring.
    pub fn add(&mut self, other: &Self) {
        self.claimed += other.claimed;
        self.recovered += other.recovered;
        self.overwritten += other.overwritten;
        self.torn += other.torn;
        self.skipped += other.skipped;
        self.regions += other.regions;
        self.marks += other.marks;
        self.values += other.values;
        self.arguments += other.arguments;
        self.amendments += other.amendments;
        self.joined += other.joined;
        self.orphaned += other.orphaned;
    }
}

impl Ending {
    /// What is said of `witness`, which learnt of the end `seen_ns` after the capture's start.
    #[must_use]
    pub fn of(witness: &Witness, seen_ns: u64, seen_exactly: bool) -> Self {
        let cause = match witness.cause {
            CAUSE_EXIT => "exit",
            CAUSE_SIGNAL => "signal",
            _ => "exec",
        };
        Self {
            seen_monotonic_ns: witness.seen_monotonic_ns,
            seen_boottime_ns: witness.seen_boottime_ns,
            seen_realtime_ns: witness.seen_realtime_ns,
            time_namespace: witness.time_namespace,
            peak_resident_bytes: witness.peak_resident_bytes,
            user_ns: witness.user_ns,
            system_ns: witness.system_ns,
            status: witness.status,
            cause: cause.to_owned(),
            core_dumped: Witness::told(witness.core_dumped),
            out_of_memory: Witness::told(witness.out_of_memory),
            witness_process_id: witness.witness_process_id,
            seen_ns,
            seen_exactly,
        }
    }
}

impl Event {
    /// What is said of the region `record` in ring `ring`, if no argument of it is found and its thread has no name.
    #[must_use]
    pub fn region(ring: u32, record: &Record) -> Self {
        Self::Region {
            ring,
            sequence: record.sequence,
            start_ns: record.start_ns,
            duration_ns: record.duration_ns,
            copied_bytes: record.copied_bytes,
            correlation_id: record.correlation_id,
            lane: record.lane,
            label_id: record.label_id,
            thread_id: record.thread_id,
            thread: None,
            status: record.status,
            failed: record.failed(),
            cancelled: record.cancelled(),
            hidden: record.open_slot == OPEN_SLOT_NONE,
            saturated: record.saturated(),
            arguments: Vec::new(),
            arguments_lost: lost(record.flags),
        }
    }

    /// The same of a mark.
    #[must_use]
    pub fn mark(ring: u32, mark: &Mark) -> Self {
        Self::Mark {
            ring,
            sequence: mark.sequence,
            start_ns: mark.start_ns,
            correlation_id: mark.correlation_id,
            lane: mark.lane,
            label_id: mark.label_id,
            thread_id: mark.thread_id,
            thread: None,
            saturated: mark.flags & FLAG_SATURATED != 0,
            arguments: Vec::new(),
            arguments_lost: lost(mark.flags),
        }
    }

    /// The same of a value.
    #[must_use]
    pub fn value(ring: u32, value: &Value) -> Self {
        Self::Value {
            ring,
            sequence: value.sequence,
            start_ns: value.start_ns,
            value: format!("{:#018x}", value.value),
            correlation_id: value.correlation_id,
            label_id: value.label_id,
            thread_id: value.thread_id,
            thread: None,
            saturated: value.flags & FLAG_SATURATED != 0,
            arguments: Vec::new(),
            arguments_lost: lost(value.flags),
        }
    }

    /// Its ring, and when it ended.
    #[must_use]
    pub fn ring_and_end_ns(&self) -> (u32, u64) {
        match self {
            Self::Region {
                ring,
                start_ns,
                duration_ns,
                ..
            } => (*ring, start_ns.saturating_add(*duration_ns)),
            Self::Mark { ring, start_ns, .. } | Self::Value { ring, start_ns, .. } => {
                (*ring, *start_ns)
            }
        }
    }

    /// Its thread's name, its arguments, and at least how many of them are lost.
    pub fn details(&mut self) -> (&mut Option<String>, &mut Vec<Argument>, &mut u64) {
        match self {
            Self::Region {
                thread,
                arguments,
                arguments_lost,
                ..
            }
            | Self::Mark {
                thread,
                arguments,
                arguments_lost,
                ..
            }
            | Self::Value {
                thread,
                arguments,
                arguments_lost,
                ..
            } => (thread, arguments, arguments_lost),
        }
    }
}

/// At least how many arguments are lost if none is found.
fn lost(flags: u8) -> u64 {
    u64::from(flags & FLAG_ARGUMENTS != 0)
}

impl Argument {
    /// A whole argument.
    #[must_use]
    pub fn of(key: u32, r#type: &str, value: impl Into<serde_json::Value>) -> Self {
        Self {
            key,
            r#type: r#type.to_owned(),
            value: value.into(),
            cut: false,
            incomplete: false,
        }
    }
}

impl OpenRegion {
    /// What is said of `open` in slot `slot`, if nothing amends it, it has no arguments, and its thread has no name.
    #[must_use]
    pub fn of(slot: u32, open: &OpenRecord) -> Self {
        Self {
            slot,
            ring: open.ring,
            start_ns: open.start_ns,
            copied_bytes: open.copied_bytes,
            correlation_id: open.correlation_id,
            lane: open.lane,
            label_id: open.label_id,
            thread_id: open.thread_id,
            thread: None,
            status: 0,
            waiting: open.flags & FLAG_WAITING != 0,
            saturated: open.flags & FLAG_SATURATED != 0,
            amended: false,
            arguments: Vec::new(),
            arguments_lost: 0,
        }
    }
}

/// Two digits a byte.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

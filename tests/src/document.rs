//! What a reader finds in a file, in the form that `spec/decode.py` prints.
//!
//! The vectors' expectations, decode.py's output and the Rust reader's findings are all compared in this form.

use std::collections::BTreeMap;

use hrx_trace_format::{Identity, MEASUREMENT, OpenRecord, Record};
use serde::{Deserialize, Serialize};
use serde_json::Serializer;
use serde_json::ser::PrettyFormatter;

/// Everything that FORMAT.md requires a reader to report about a file.
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
    pub epoch_monotonic_ns: u64,
    pub epoch_realtime_ns: u64,
    pub epoch_boottime_ns: u64,
    pub capacity: u64,
    /// "finished" or "not-finished". Whether the writer still runs cannot be told from the bytes.
    pub ending: String,
    pub account: Tickets,
    pub rings: Vec<Tickets>,
    pub rejected: u64,
    pub open_refused: u64,
    pub labels_refused: u64,
    pub open_torn: u64,
    pub last_ns: u64,
    pub complete_since_ns: u64,
    /// The labels that events and open regions refer to; None: unreadable.
    pub labels: BTreeMap<u32, Option<String>>,
    pub events: Vec<Event>,
    pub open_regions: Vec<OpenRegion>,
    /// File offsets of the damage.
    pub damages: Vec<u64>,
}

/// What became of the tickets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the names are those of FORMAT.md")]
pub struct Tickets {
    pub claimed: u64,
    pub recovered: u64,
    pub overwritten: u64,
    pub torn: u64,
    pub skipped: u64,
}

/// One completed region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the names are those of FORMAT.md")]
pub struct Event {
    pub ring: u32,
    pub sequence: u64,
    pub start_ns: u64,
    pub duration_ns: u64,
    pub copied_bytes: u64,
    pub correlation_id: u64,
    pub lane: u32,
    pub label_id: u32,
    pub thread_id: u32,
    pub status: u32,
    pub failed: bool,
    pub saturated: bool,
}

/// One region that had not completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the names are those of FORMAT.md")]
pub struct OpenRegion {
    pub slot: u32,
    pub start_ns: u64,
    pub copied_bytes: u64,
    pub correlation_id: u64,
    pub lane: u32,
    pub label_id: u32,
    pub thread_id: u32,
    pub saturated: bool,
}

impl Document {
    /// The report on a file in which nothing was recorded.
    #[must_use]
    pub fn of(identity: &Identity) -> Self {
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
            epoch_monotonic_ns: identity.epoch_monotonic_ns,
            epoch_realtime_ns: identity.epoch_realtime_ns,
            epoch_boottime_ns: identity.epoch_boottime_ns,
            capacity: identity.capacity,
            ending: "not-finished".to_owned(),
            account: Tickets::default(),
            rings: vec![Tickets::default(); identity.ring_count as usize],
            rejected: 0,
            open_refused: 0,
            labels_refused: 0,
            open_torn: 0,
            last_ns: 0,
            complete_since_ns: 0,
            labels: BTreeMap::new(),
            events: Vec::new(),
            open_regions: Vec::new(),
            damages: Vec::new(),
        }
    }
}

impl Document {
    /// Exactly the text that decode.py prints.
    ///
    /// # Panics
    /// Never: JSON can express every document.
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

impl Event {
    /// The report on `record` in ring `ring`.
    #[must_use]
    pub fn of(ring: u32, record: &Record) -> Self {
        Self {
            ring,
            sequence: record.sequence,
            start_ns: record.start_ns,
            duration_ns: record.duration_ns,
            copied_bytes: record.copied_bytes,
            correlation_id: record.correlation_id,
            lane: record.lane,
            label_id: record.label_id,
            thread_id: record.thread_id,
            status: record.status,
            failed: record.failed(),
            saturated: record.saturated(),
        }
    }
}

impl OpenRegion {
    /// The report on `open` in slot `slot`.
    #[must_use]
    pub fn of(slot: u32, open: &OpenRecord) -> Self {
        Self {
            slot,
            start_ns: open.start_ns,
            copied_bytes: open.copied_bytes,
            correlation_id: open.correlation_id,
            lane: open.lane,
            label_id: open.label_id,
            thread_id: open.thread_id,
            saturated: open.flags & hrx_trace_format::record::FLAG_SATURATED != 0,
        }
    }
}

/// Lower-case hexadecimal, two digits a byte.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

//! The digest of a capture: its facts and its figures, as one document. `--summary --json` prints it, the page of `-o report.html` carries it, and the
//! text of `--summary` is made of it.
//!
//! The fields' names are the keys of the JSON. Counts, times and bytes are whole numbers (see [`Exact`]); shares are fractions of 1. A figure that does
//! not exist, such as the median of no regions, is null.

use std::io;

use hrx_trace_reader::MEASUREMENT;
use serde::Serialize;

use crate::figures::exact::Exact;
use crate::figures::facts::Facts;
use crate::input::other_lanes::LaneCount;

/// How exact percentiles are.
pub const PERCENTILES: &str = "at most 0.1 % above the exact value, never below";
/// What `--summary --json` prints, without the captures: each is written once it has been read, so that only one digest exists at a time.
#[derive(Debug, Serialize)]
struct SummaryDocument {
    measurement: &'static str,
    percentiles: &'static str,
    captures: [(); 0],
}

/// The text of the document before the first [`Digest`], and after the last.
pub fn around_captures(pretty: bool) -> io::Result<(String, String)> {
    let document = SummaryDocument {
        measurement: MEASUREMENT,
        percentiles: PERCENTILES,
        captures: [],
    };
    let text = match pretty {
        true => serde_json::to_string_pretty(&document)?,
        false => serde_json::to_string(&document)?,
    };
    let (before, after) = text.rsplit_once("[]").unwrap_or((&text, ""));
    Ok((format!("{before}["), format!("]{after}")))
}

/// The digest of one capture.
#[derive(Debug, Serialize)]
pub struct Digest<'capture> {
    pub file: String,
    /// The start of the capture on the timeline that all times are on.
    pub shift_ns: Exact,
    #[serde(flatten)]
    pub facts: Facts<'capture>,
    /// With a filter: the numbers of events and of open regions that it left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filtered_out: Option<[Exact; 2]>,
    /// The last moment known, in RFC 3339, UTC; null if it lies outside the calendar.
    pub ended: Option<String>,
    /// From the start of the first region to the last moment known; with a window, to the end of the window and of the regions that reach beyond it.
    pub span_ns: Exact,
    /// All regions; `busy_ns` is the time in which at least one of them ran.
    pub regions: RegionFigures,
    pub lanes: Vec<LaneDigest>,
    /// How many lanes have no figures of their own, but together those of the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_lanes: Option<LaneCount>,
    pub overlaps: Vec<OverlapDigest>,
    /// The last regions that failed, in the order of their completion.
    pub failures: Vec<RegionDigest>,
    /// The longest completed regions.
    pub slowest: Vec<RegionDigest>,
    /// The last marks, in their order.
    pub marks: Vec<MarkDigest>,
    /// How many marks there are of each label.
    pub mark_counts: Vec<MarkCount>,
    /// Marks of labels that are not counted one by one.
    #[serde(skip_serializing_if = "Exact::is_zero")]
    pub other_marks: Exact,
    /// Values, by their labels.
    pub values: Vec<ValueDigest>,
    /// Samples of values that have no figures of their own.
    #[serde(skip_serializing_if = "Exact::is_zero")]
    pub other_samples: Exact,
}

/// The figures of some regions.
#[derive(Debug, Serialize)]
pub struct RegionFigures {
    /// Completed regions. All other figures except `unfinished` and `busy_ns` are about these.
    pub count: Exact,
    pub failed: Exact,
    pub cancelled: Exact,
    /// Regions that were running at the end.
    pub unfinished: Exact,
    pub total_ns: Exact,
    pub mean_ns: Option<Exact>,
    pub p50_ns: Option<Exact>,
    pub p90_ns: Option<Exact>,
    pub p99_ns: Option<Exact>,
    pub max_ns: Option<Exact>,
    /// The time in which at least one of them ran, including those that were running at the end.
    pub busy_ns: Exact,
    /// `busy_ns` as a share of the span.
    pub busy_share: Option<f64>,
    pub copied_bytes: Exact,
    /// Bytes divided by the total time of the regions that copied any.
    pub gigabytes_per_second: Option<f64>,
}

/// A lane and its labels.
#[derive(Debug, Serialize)]
pub struct LaneDigest {
    /// Null: all lanes without figures of their own.
    pub lane: Option<u32>,
    /// With its group.
    pub name: String,
    /// Without.
    #[serde(skip)]
    pub bare_name: String,
    #[serde(flatten)]
    pub figures: RegionFigures,
    pub labels: Vec<LabelDigest>,
    /// The longest stretches without any region.
    pub gaps: Vec<GapDigest>,
    /// The last regions that completed.
    pub last: Vec<RegionDigest>,
}

/// A label on a lane.
#[derive(Debug, Serialize)]
pub struct LabelDigest {
    /// Null: all labels without figures of their own.
    pub label_id: Option<u32>,
    pub label: String,
    /// The group of the label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    #[serde(flatten)]
    pub figures: RegionFigures,
    /// Only on the page: the upper end of each step of durations, and the number of regions in that step.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub histogram: Vec<(Exact, u64)>,
}

/// A stretch of time in which nothing ran on a lane.
#[derive(Debug, Serialize)]
pub struct GapDigest {
    pub start_ns: Exact,
    pub duration_ns: Exact,
    /// Nothing ran on this lane after it.
    pub to_the_end: bool,
}

/// How long two lanes were busy at once.
#[derive(Debug, Serialize)]
pub struct OverlapDigest {
    pub lanes: [String; 2],
    pub overlap_ns: Exact,
    pub share_of_span: Option<f64>,
    /// The overlap as a share of the time that each lane was busy.
    pub share_of_each: [Option<f64>; 2],
}

/// A completed region.
#[derive(Debug, Serialize)]
pub struct RegionDigest {
    pub label: String,
    /// The group of the label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    pub lane: u32,
    pub lane_name: String,
    pub start_ns: Exact,
    pub duration_ns: Exact,
    /// From its end to the last moment known.
    pub before_the_end_ns: Exact,
    pub failed: bool,
    pub cancelled: bool,
    pub status: u32,
    pub copied_bytes: Exact,
    pub correlation_id: Exact,
    pub thread_id: u32,
    pub ring: u32,
    pub sequence: Exact,
}

/// A mark.
#[derive(Debug, Serialize)]
pub struct MarkDigest {
    pub label: String,
    /// The group of the label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    pub lane: u32,
    pub lane_name: String,
    pub start_ns: Exact,
    /// From its moment to the last sign of life.
    pub before_the_end_ns: Exact,
    pub correlation_id: Exact,
    pub thread_id: u32,
    /// The thread's name at that moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// By name, see [`ArgumentsObject`](crate::figures::arguments::ArgumentsObject).
    pub arguments: serde_json::Value,
    pub arguments_lost: Exact,
}

/// The marks of one label.
#[derive(Debug, Serialize)]
pub struct MarkCount {
    pub label_id: u32,
    pub label: String,
    /// The group of the label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    pub count: Exact,
}

/// A value: all samples of one label.
#[derive(Debug, Serialize)]
pub struct ValueDigest {
    pub label_id: u32,
    pub label: String,
    /// The group of the label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    pub samples: Exact,
    /// Null: not finite.
    pub last: f64,
    /// The moment of the last sample.
    pub last_ns: Exact,
    /// From that moment to the last sign of life.
    pub before_the_end_ns: Exact,
    pub least: f64,
    pub most: f64,
}

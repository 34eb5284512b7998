//! Everything there is to say of captures, figures and all, as one document: `--summary --json`, what the page of `-o report.html` carries, and
//! what the text of `--summary` and `--diff` is made of.
//!
//! The fields' names are the keys of the JSON. Counts, times and bytes are whole numbers (see [`Exact`]); shares are of 1. What has no
//! value, like the median of no regions, is null.

use std::io;
use std::mem;

use hrx_trace_reader::{Event, MEASUREMENT, OpenRegion, Trace};
use serde::Serialize;

use crate::figures::facts::{Exact, Facts};
use crate::figures::statistics::{
    Distribution, Figures, Label, Lane, Measures, Question, Statistics,
};
use crate::input::captures::Capture;
use crate::input::conversion::Outcome;
use crate::input::labels::name_of;
use crate::text::names::lane_name;

/// How exact they are.
pub const PERCENTILES: &str = "at most 0.1 % above the exact value, never below";
/// Steps of a histogram to a doubling of the duration.
const STEPS: u32 = 4;

/// What `--summary --json` prints, but for the captures: each is written when it has been read, so that there is one digest at a time.
#[derive(Debug, Serialize)]
struct Document {
    measurement: &'static str,
    percentiles: &'static str,
    captures: [(); 0],
}

/// What stands before the first [`Digest`] of the document, and what behind the last.
pub fn around_captures(pretty: bool) -> io::Result<(String, String)> {
    let document = Document {
        measurement: MEASUREMENT,
        percentiles: PERCENTILES,
        captures: [],
    };
    let text = match pretty {
        true => serde_json::to_string_pretty(&document)?,
        false => serde_json::to_string(&document)?,
    };
    let (before, behind) = text.rsplit_once("[]").unwrap_or((&text, ""));
    Ok((format!("{before}["), format!("]{behind}")))
}

/// Everything of one capture.
#[derive(Debug, Serialize)]
pub struct Digest<'capture> {
    pub file: String,
    /// Where the capture begins on the timeline that all times are on.
    pub shift_ns: Exact,
    #[serde(flatten)]
    pub facts: Facts<'capture>,
    /// With a filter: the events and the open regions that it left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filtered_out: Option<[Exact; 2]>,
    /// The last moment known, by the calendar: RFC 3339, UTC; null: outside the calendar.
    pub ended: Option<String>,
    /// From the first beginning to the last moment known, or to the end of the window that was asked for and of what reaches beyond it.
    pub span_ns: Exact,
    /// All regions; `busy_ns` is the time in which any of them ran.
    pub regions: Row,
    pub lanes: Vec<LaneDigest>,
    pub overlaps: Vec<OverlapDigest>,
    /// The last regions that failed, in the order of their completion.
    pub failures: Vec<RegionDigest>,
    /// The longest completed regions.
    pub slowest: Vec<RegionDigest>,
}

/// The figures of some regions.
#[derive(Debug, Serialize)]
pub struct Row {
    /// Completed regions. All other figures but `unfinished` and `busy_ns` are of these.
    pub count: Exact,
    pub failed: Exact,
    /// Regions that were running at the end.
    pub unfinished: Exact,
    pub total_ns: Exact,
    pub mean_ns: Option<Exact>,
    pub p50_ns: Option<Exact>,
    pub p90_ns: Option<Exact>,
    pub p99_ns: Option<Exact>,
    pub max_ns: Option<Exact>,
    /// The time in which at least one of them ran, those included that were running at the end.
    pub busy_ns: Exact,
    /// Of the span.
    pub busy_share: Option<f64>,
    pub copied_bytes: Exact,
    /// Bytes by the total time of the regions that copied any.
    pub gigabytes_per_second: Option<f64>,
}

#[derive(Debug, Serialize)]
pub struct LaneDigest {
    /// Null: several, too many for figures of their own.
    pub lane: Option<u32>,
    pub name: String,
    #[serde(flatten)]
    pub row: Row,
    pub labels: Vec<LabelDigest>,
    /// The longest stretches without any region.
    pub gaps: Vec<GapDigest>,
    /// The last regions that completed.
    pub last: Vec<RegionDigest>,
}

#[derive(Debug, Serialize)]
pub struct LabelDigest {
    /// Null: several, too many for figures of their own.
    pub label_id: Option<u32>,
    pub label: String,
    #[serde(flatten)]
    pub row: Row,
    /// On the page alone: upper ends of durations, and how many regions took no longer, and longer than the end before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub histogram: Vec<(Exact, u64)>,
}

#[derive(Debug, Serialize)]
pub struct GapDigest {
    pub start_ns: Exact,
    pub duration_ns: Exact,
    /// Nothing ran on this lane again.
    pub to_the_end: bool,
}

/// Two lanes that were busy at once.
#[derive(Debug, Serialize)]
pub struct OverlapDigest {
    pub lanes: [String; 2],
    pub overlap_ns: Exact,
    pub share_of_span: Option<f64>,
    /// Of the time that each lane was busy.
    pub share_of_each: [Option<f64>; 2],
}

/// A completed region.
#[derive(Debug, Serialize)]
pub struct RegionDigest {
    pub label: String,
    pub lane: u32,
    pub lane_name: String,
    pub start_ns: Exact,
    pub duration_ns: Exact,
    /// From its end to the last moment known.
    pub before_the_end_ns: Exact,
    pub failed: bool,
    pub status: u32,
    pub copied_bytes: Exact,
    pub correlation_id: Exact,
    pub thread_id: u32,
    pub ring: u32,
    pub sequence: Exact,
}

/// Takes the events of one capture after the other.
pub struct Gather(Statistics);

impl Gather {
    pub fn new() -> Self {
        Self(Statistics::new())
    }

    #[inline]
    pub fn event(&mut self, event: &Event) -> io::Result<()> {
        self.0.event(event)
    }

    /// The figures of the capture whose last event has been taken.
    pub fn figures<Said>(
        &mut self,
        outcome: &Outcome,
        question: &Question<Said>,
    ) -> io::Result<Figures<Said>> {
        let statistics = mem::replace(&mut self.0, Statistics::new());
        let report = &outcome.report;
        let end_ns = outcome.last_shown_ns();
        statistics.finish(&report.open_regions, report.last_ns, end_ns, question)
    }

    /// All there is to say of that capture. `histograms`: with one for each label.
    pub fn digest<'capture>(
        &mut self,
        capture: &'capture Capture,
        outcome: &Outcome,
        histograms: bool,
    ) -> io::Result<Digest<'capture>> {
        let say = match histograms {
            true => |durations: &Distribution| Spread::new(durations, true),
            false => |durations: &Distribution| Spread::new(durations, false),
        };
        let question = Question { say, name: None };
        let figures = self.figures(outcome, &question)?;
        Ok(Digest::new(capture, outcome, figures))
    }
}

/// What is said of durations.
struct Spread {
    p50_ns: Option<Exact>,
    p90_ns: Option<Exact>,
    p99_ns: Option<Exact>,
    histogram: Vec<(Exact, u64)>,
}

impl Spread {
    fn new(durations: &Distribution, histogram: bool) -> Self {
        let quantile = |quantile| durations.quantile_ns(quantile).map(Exact);
        let bars = match histogram {
            true => durations.histogram(STEPS),
            false => Vec::new(),
        };
        Self {
            p50_ns: quantile(0.5),
            p90_ns: quantile(0.9),
            p99_ns: quantile(0.99),
            histogram: bars
                .into_iter()
                .map(|(upper_ns, count)| (Exact(upper_ns), count))
                .collect(),
        }
    }
}

impl<'capture> Digest<'capture> {
    fn new(capture: &'capture Capture, outcome: &Outcome, figures: Figures<Spread>) -> Self {
        let trace = &capture.trace;
        let report = &outcome.report;
        let open = &report.open_regions;
        let of = Whole {
            trace,
            span_ns: report.first_ns.map_or(0, |first_ns| {
                end_ns(outcome, &figures).saturating_sub(first_ns)
            }),
            last_ns: report.last_ns,
            end_ns: end_ns(outcome, &figures),
        };
        let ended_ns = i128::from(trace.identity().epoch_realtime_ns)
            + i128::from(report.last_ns.saturating_sub(capture.shift_ns));
        let lanes: Vec<LaneDigest> = figures
            .lanes
            .iter()
            .map(|lane| {
                let numbers = || figures.lanes.iter().map(|lane| lane.lane);
                let here: Vec<&OpenRegion> = open
                    .iter()
                    .filter(|region| is_of_lane(region, lane.lane, numbers()))
                    .collect();
                LaneDigest {
                    lane: match lane.lane {
                        Lane::Number(number) => Some(number),
                        Lane::Others => None,
                    },
                    name: lane_text(lane.lane),
                    row: of.row(&lane.measures, lane.busy_ns, here.len()),
                    labels: lane
                        .labels
                        .iter()
                        .map(|label| {
                            let ids = || lane.labels.iter().map(|label| label.label);
                            let unfinished = here
                                .iter()
                                .filter(|region| is_of_label(region, label.label, ids()))
                                .count();
                            LabelDigest {
                                label_id: match label.label {
                                    Label::Id(label_id) => Some(label_id),
                                    Label::Others => None,
                                },
                                label: match label.label {
                                    Label::Id(label_id) => name_of(trace, label_id).into_owned(),
                                    Label::Others => "other labels".to_owned(),
                                },
                                row: of.row(&label.measures, label.busy_ns, unfinished),
                                histogram: label.measures.durations.histogram.clone(),
                            }
                        })
                        .collect(),
                    gaps: lane.gaps.iter().map(|gap| of.gap(*gap)).collect(),
                    last: lane.last.iter().map(|event| of.region(event)).collect(),
                }
            })
            .collect();
        let busy_ns = |lane: Lane| {
            let lane = figures.lanes.iter().find(|other| other.lane == lane);
            lane.map_or(0, |lane| lane.busy_ns)
        };
        Self {
            file: capture.path.display().to_string(),
            shift_ns: Exact(capture.shift_ns),
            facts: Facts::new(trace, report),
            filtered_out: outcome
                .is_filtered
                .then_some([outcome.filtered_out, outcome.open_filtered_out].map(Exact)),
            ended: jiff::Timestamp::from_nanosecond(ended_ns)
                .ok()
                .map(|ended| format!("{ended:.9}")),
            span_ns: Exact(of.span_ns),
            regions: of.row(&figures.measures, figures.busy_ns, open.len()),
            lanes,
            overlaps: figures
                .overlaps
                .iter()
                .map(|overlap| OverlapDigest {
                    lanes: overlap.lanes.map(lane_text),
                    overlap_ns: Exact(overlap.shared_ns),
                    share_of_span: share(overlap.shared_ns, of.span_ns),
                    share_of_each: overlap
                        .lanes
                        .map(|lane| share(overlap.shared_ns, busy_ns(lane))),
                })
                .collect(),
            failures: figures
                .failed
                .iter()
                .map(|event| of.region(event))
                .collect(),
            slowest: figures
                .slowest
                .iter()
                .map(|event| of.region(event))
                .collect(),
        }
    }
}

/// The last moment known, or the end of the window that was asked for and of what reaches beyond it.
fn end_ns(outcome: &Outcome, figures: &Figures<Spread>) -> u64 {
    outcome.last_shown_ns().max(figures.latest_ns)
}

/// What the figures of a capture are set against.
struct Whole<'trace> {
    trace: &'trace Trace,
    span_ns: u64,
    last_ns: u64,
    /// Where the span ends.
    end_ns: u64,
}

impl Whole<'_> {
    fn row(&self, measures: &Measures<Spread>, busy_ns: u64, unfinished: usize) -> Row {
        let durations = &measures.durations;
        Row {
            count: Exact(measures.count),
            failed: Exact(measures.failed),
            unfinished: Exact(unfinished as u64),
            total_ns: sum(measures.total_ns),
            mean_ns: measures.mean_ns().map(Exact),
            p50_ns: durations.p50_ns,
            p90_ns: durations.p90_ns,
            p99_ns: durations.p99_ns,
            max_ns: (measures.count > 0).then_some(Exact(measures.max_ns)),
            busy_ns: Exact(busy_ns),
            busy_share: share(busy_ns, self.span_ns),
            copied_bytes: sum(measures.copied_bytes),
            gigabytes_per_second: measures.gigabytes_per_second(),
        }
    }

    fn region(&self, event: &Event) -> RegionDigest {
        RegionDigest {
            label: name_of(self.trace, event.label_id).into_owned(),
            lane: event.lane,
            lane_name: lane_name(event.lane),
            start_ns: Exact(event.start_ns),
            duration_ns: Exact(event.duration_ns),
            before_the_end_ns: Exact(self.last_ns.saturating_sub(event.end_ns())),
            failed: event.failed,
            status: event.status,
            copied_bytes: Exact(event.copied_bytes),
            correlation_id: Exact(event.correlation_id),
            thread_id: event.thread_id,
            ring: event.ring,
            sequence: Exact(event.sequence),
        }
    }

    fn gap(&self, (start_ns, duration_ns): (u64, u64)) -> GapDigest {
        GapDigest {
            start_ns: Exact(start_ns),
            duration_ns: Exact(duration_ns),
            to_the_end: start_ns.saturating_add(duration_ns) >= self.end_ns,
        }
    }
}

/// What a lane is called, or all those without figures of their own.
pub fn lane_text(lane: Lane) -> String {
    match lane {
        Lane::Number(number) => lane_name(number),
        Lane::Others => "other lanes".to_owned(),
    }
}

fn is_of_lane(region: &OpenRegion, lane: Lane, mut lanes: impl Iterator<Item = Lane>) -> bool {
    let own = Lane::Number(region.lane);
    own == lane || lane == Lane::Others && !lanes.any(|other| other == own)
}

fn is_of_label(region: &OpenRegion, label: Label, mut labels: impl Iterator<Item = Label>) -> bool {
    let own = Label::Id(region.label_id);
    own == label || label == Label::Others && !labels.any(|other| other == own)
}

/// A sum that may exceed what it is made of; the largest number there is stands for what exceeds it.
pub fn sum(sum: u128) -> Exact {
    Exact(u64::try_from(sum).unwrap_or(u64::MAX))
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

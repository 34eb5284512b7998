//! Builds digests: gathers the regions of one capture after the other, and turns their statistics into the document.

use std::io;
use std::mem;

use hrx_trace_reader::{Event, Names, OpenRegion, Trace};

use crate::figures::arguments::{Integers, Keys};
use crate::figures::digest::{
    Digest, GapDigest, LabelDigest, LaneDigest, MarkCount, MarkDigest, OverlapDigest, RegionDigest,
    RegionFigures, ValueDigest,
};
use crate::figures::distribution::Distribution;
use crate::figures::exact::{Exact, saturated};
use crate::figures::facts::Facts;
use crate::figures::groups::{LabelKey, LaneKey, label_key_name, lane_key_name};
use crate::figures::measures::Measures;
use crate::figures::moments::{Moments, ValueFigures};
use crate::figures::statistics::{Figures, Query, Statistics};
use crate::figures::sweep::Gap;
use crate::input::captures::Capture;
use crate::input::labels::name_of;
use crate::input::outcome::Outcome;
use crate::text::names::{label_group, lane_text_in, thread_name_in};

/// Steps of a histogram to a doubling of the duration.
const STEPS: u32 = 4;

/// Gathers the regions of one capture after the other.
#[derive(Default)]
pub struct DigestBuilder {
    statistics: Statistics,
    moments: Moments,
}

impl DigestBuilder {
    /// Adds a completed region of the current capture.
    #[inline]
    pub fn event(&mut self, event: &Event) -> io::Result<()> {
        self.statistics.event(event)
    }

    /// Adds a mark or a value of the current capture.
    #[inline]
    pub fn moment(&mut self, event: &Event) {
        self.moments.moment(event);
    }

    /// The digest of the current capture, all of whose regions have been added; with `histograms`, each label has one. The next region is of the next
    /// capture.
    ///
    /// # Errors
    /// A temporary file cannot be written or read.
    pub fn digest<'capture>(
        &mut self,
        capture: &'capture Capture,
        outcome: &Outcome,
        histograms: bool,
    ) -> io::Result<Digest<'capture>> {
        let describe = match histograms {
            true => |durations: &Distribution| Spread::new(durations, true),
            false => |durations: &Distribution| Spread::new(durations, false),
        };
        let query = Query {
            describe,
            name: None,
        };
        let statistics = mem::take(&mut self.statistics);
        let moments = mem::take(&mut self.moments);
        let figures = statistics.finish(
            &outcome.report.open_regions,
            outcome.report.last_ns,
            outcome.last_shown_ns(),
            &query,
        )?;
        Ok(digest(capture, outcome, figures, &moments))
    }
}

/// What a digest says about durations.
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

fn digest<'capture>(
    capture: &'capture Capture,
    outcome: &Outcome,
    figures: Figures<Spread>,
    moments: &Moments,
) -> Digest<'capture> {
    let trace = &capture.trace;
    let report = &outcome.report;
    let open = &report.open_regions;
    let names = capture.names();
    let of = Whole {
        trace,
        names: &names,
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
                    LaneKey::Number(number) => Some(number),
                    LaneKey::Others => None,
                },
                name: of.lane_name(lane.lane),
                bare_name: of.bare_lane_name(lane.lane),
                figures: of.figures(&lane.measures, lane.busy_ns, here.len()),
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
                                LabelKey::Id(label_id) => Some(label_id),
                                LabelKey::Others => None,
                            },
                            label: label_key_name(trace, label.label),
                            group: match label.label {
                                LabelKey::Id(label_id) => label_group(trace, label_id),
                                LabelKey::Others => None,
                            },
                            figures: of.figures(&label.measures, label.busy_ns, unfinished),
                            histogram: label.measures.durations.histogram.clone(),
                        }
                    })
                    .collect(),
                gaps: lane.gaps.iter().map(|gap| of.gap(gap)).collect(),
                last: lane.last.iter().map(|event| of.region(event)).collect(),
            }
        })
        .collect();
    let busy_ns = |lane: LaneKey| {
        let lane = figures.lanes.iter().find(|other| other.lane == lane);
        lane.map_or(0, |lane| lane.busy_ns)
    };
    Digest {
        file: capture.path.display().to_string(),
        shift_ns: Exact(capture.shift_ns),
        facts: Facts::new(trace, report, capture.shift_ns),
        filtered_out: outcome
            .is_filtered
            .then_some([outcome.filtered_out, outcome.open_filtered_out].map(Exact)),
        ended: jiff::Timestamp::from_nanosecond(ended_ns)
            .ok()
            .map(|ended| format!("{ended:.9}")),
        span_ns: Exact(of.span_ns),
        regions: of.figures(&figures.measures, figures.busy_ns, open.len()),
        lanes,
        other_lanes: figures.other_lanes,
        overlaps: figures
            .overlaps
            .iter()
            .map(|overlap| OverlapDigest {
                lanes: overlap.lanes.map(|lane| of.lane_name(lane)),
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
        marks: of.marks(moments, capture.shift_ns),
        mark_counts: moments
            .mark_counts
            .iter()
            .map(|(label_id, count)| of.mark_count(*label_id, *count))
            .collect(),
        other_marks: Exact(moments.other_marks),
        values: moments
            .values
            .iter()
            .map(|(label_id, value)| of.value(*label_id, value))
            .collect(),
        other_samples: Exact(moments.other_samples),
    }
}

/// The end of the span: the last moment known; with a window, the end of the window and of the regions that reach beyond it.
fn end_ns(outcome: &Outcome, figures: &Figures<Spread>) -> u64 {
    outcome.last_shown_ns().max(figures.latest_ns)
}

/// The capture that figures are part of.
struct Whole<'trace> {
    trace: &'trace Trace,
    names: &'trace Names,
    span_ns: u64,
    last_ns: u64,
    /// The end of the span.
    end_ns: u64,
}

impl Whole<'_> {
    fn figures(
        &self,
        measures: &Measures<Spread>,
        busy_ns: u64,
        unfinished: usize,
    ) -> RegionFigures {
        let durations = &measures.durations;
        RegionFigures {
            count: Exact(measures.count),
            failed: Exact(measures.failed),
            cancelled: Exact(measures.cancelled),
            unfinished: Exact(unfinished as u64),
            total_ns: saturated(measures.total_ns),
            mean_ns: measures.mean_ns().map(Exact),
            p50_ns: durations.p50_ns,
            p90_ns: durations.p90_ns,
            p99_ns: durations.p99_ns,
            max_ns: (measures.count > 0).then_some(Exact(measures.max_ns)),
            busy_ns: Exact(busy_ns),
            busy_share: share(busy_ns, self.span_ns),
            copied_bytes: saturated(measures.copied_bytes),
            gigabytes_per_second: measures.gigabytes_per_second(),
        }
    }

    fn region(&self, event: &Event) -> RegionDigest {
        RegionDigest {
            label: name_of(self.trace, event.label_id).into_owned(),
            group: label_group(self.trace, event.label_id),
            lane: event.lane,
            lane_name: lane_text_in(self.trace, self.names, event.lane),
            start_ns: Exact(event.start_ns),
            duration_ns: Exact(event.duration_ns),
            before_the_end_ns: Exact(self.last_ns.saturating_sub(event.end_ns())),
            failed: event.failed,
            cancelled: event.cancelled,
            status: event.status,
            copied_bytes: Exact(event.copied_bytes),
            correlation_id: Exact(event.correlation_id),
            thread_id: event.thread_id,
            ring: event.ring,
            sequence: Exact(event.sequence),
        }
    }

    fn lane_name(&self, lane: LaneKey) -> String {
        match lane {
            LaneKey::Number(lane) => lane_text_in(self.trace, self.names, lane),
            LaneKey::Others => lane_key_name(lane),
        }
    }

    fn bare_lane_name(&self, lane: LaneKey) -> String {
        let name = match lane {
            LaneKey::Number(lane) => self.names.lane(lane),
            LaneKey::Others => None,
        };
        name.map_or_else(|| lane_key_name(lane), |name| name.text.clone())
    }

    fn marks(&self, moments: &Moments, shift_ns: u64) -> Vec<MarkDigest> {
        let mut keys = Keys::default();
        let marks = moments.marks.iter();
        marks
            .map(|mark| {
                let own_ns = mark.start_ns.saturating_sub(shift_ns);
                let arguments = keys.object(self.trace, &mark.arguments, Integers::Exact);
                MarkDigest {
                    label: name_of(self.trace, mark.label_id).into_owned(),
                    group: label_group(self.trace, mark.label_id),
                    lane: mark.lane,
                    lane_name: lane_text_in(self.trace, self.names, mark.lane),
                    start_ns: Exact(mark.start_ns),
                    before_the_end_ns: Exact(self.last_ns.saturating_sub(mark.start_ns)),
                    correlation_id: Exact(mark.correlation_id),
                    thread_id: mark.thread_id,
                    thread: thread_name_in(self.names, mark.thread_id, own_ns),
                    arguments: serde_json::to_value(arguments).unwrap_or_default(),
                    arguments_lost: Exact(mark.arguments_lost),
                }
            })
            .collect()
    }

    fn mark_count(&self, label_id: u32, count: u64) -> MarkCount {
        MarkCount {
            label_id,
            label: name_of(self.trace, label_id).into_owned(),
            group: label_group(self.trace, label_id),
            count: Exact(count),
        }
    }

    fn value(&self, label_id: u32, value: &ValueFigures) -> ValueDigest {
        ValueDigest {
            label_id,
            label: name_of(self.trace, label_id).into_owned(),
            group: label_group(self.trace, label_id),
            samples: Exact(value.samples),
            last: value.last,
            last_ns: Exact(value.last_ns),
            before_the_end_ns: Exact(self.last_ns.saturating_sub(value.last_ns)),
            least: value.least,
            most: value.most,
        }
    }

    fn gap(&self, gap: &Gap) -> GapDigest {
        let (start_ns, duration_ns) = (gap.start_ns.0, gap.duration_ns);
        GapDigest {
            start_ns: Exact(start_ns),
            duration_ns: Exact(duration_ns),
            to_the_end: start_ns.saturating_add(duration_ns) >= self.end_ns,
        }
    }
}

fn is_of_lane(
    region: &OpenRegion,
    lane: LaneKey,
    mut lanes: impl Iterator<Item = LaneKey>,
) -> bool {
    let own = LaneKey::Number(region.lane);
    own == lane || lane == LaneKey::Others && !lanes.any(|other| other == own)
}

fn is_of_label(
    region: &OpenRegion,
    label: LabelKey,
    mut labels: impl Iterator<Item = LabelKey>,
) -> bool {
    let own = LabelKey::Id(region.label_id);
    own == label || label == LabelKey::Others && !labels.any(|other| other == own)
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

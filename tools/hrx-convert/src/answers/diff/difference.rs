//! What differs between two captures, as one document: `--diff --json`, what its page carries, and what its text is made of. The fields' names are
//! the keys of the JSON.
//!
//! Lanes and labels are matched by name.

use std::collections::{BTreeMap, BTreeSet};

use hrx_trace_reader::MEASUREMENT;
use serde::Serialize;

use crate::answers::diff::percentile::{Comparison, Percentile};
use crate::figures::digest::PERCENTILES;
use crate::figures::exact::Exact;
use crate::figures::exact::saturated;
use crate::figures::groups::{LabelKey, LaneKey, OTHER_LABELS, lane_key_name};
use crate::figures::measures::Measures;
use crate::figures::statistics::Figures;
use crate::input::captures::Capture;
use crate::input::other_lanes::LaneCount;
use crate::text::names::{lane_name, lane_text};

/// The document.
#[derive(Debug, Serialize)]
pub struct Difference {
    pub measurement: &'static str,
    pub percentiles: &'static str,
    pub claims: &'static str,
    pub files: [String; 2],
    /// What is slower, then what is faster, what fails more, what is new and what is missing; empty: no difference is shown.
    pub changes: Vec<Change>,
    /// How many lanes of A and of B have no figures of their own, but together those of "other lanes".
    pub other_lanes: [Option<LaneCount>; 2],
    pub rows: Vec<DifferenceRow>,
}

/// Something that changed from A to B.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    Slower,
    Faster,
    /// Nothing of it failed in A.
    NewFailures,
    MoreFailures,
    /// A has none of it.
    New,
    /// B has none of it.
    Missing,
}

/// A change of a label, or of a lane none of whose labels has that change.
#[derive(Debug, Serialize)]
pub struct Change {
    pub change: ChangeKind,
    pub lane: String,
    /// Null: the whole lane.
    pub label: Option<String>,
    /// The figure that changed: "p50", "p99", "failed" or "count".
    pub figure: &'static str,
    pub a: Option<Exact>,
    pub b: Option<Exact>,
    pub ratio: Option<f64>,
}

/// A lane, or one of its labels.
#[derive(Debug, Serialize)]
pub struct DifferenceRow {
    pub lane: String,
    /// Null: the whole lane.
    pub label: Option<String>,
    pub count: Pair<Exact>,
    pub failed: Pair<Exact>,
    pub total_ns: Pair<Exact>,
    pub p50_ns: Pair<Option<Exact>>,
    pub p50: Comparison,
    pub p99_ns: Pair<Option<Exact>>,
    pub p99: Comparison,
    pub copied_bytes: Pair<Exact>,
    pub gigabytes_per_second: Pair<Option<f64>>,
    /// A or B has none of it, but labels without figures of their own, among which it may be.
    #[serde(skip)]
    may_be_another: bool,
}

/// A figure in both captures.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Pair<T> {
    pub a: T,
    pub b: T,
    /// B divided by A; null: A is 0 or there is no figure.
    pub ratio: Option<f64>,
}

impl Pair<Exact> {
    fn known(self) -> Pair<Option<Exact>> {
        Pair {
            a: Some(self.a),
            b: Some(self.b),
            ratio: self.ratio,
        }
    }
}

impl Difference {
    /// `[a, b]` is the order of the arguments everywhere.
    pub fn new(files: [String; 2], [a, b]: [&FiguresByName; 2]) -> Self {
        let rows = rows(a, b);
        Self {
            measurement: MEASUREMENT,
            percentiles: PERCENTILES,
            claims: "by 95 % confidence intervals of the percentiles",
            files,
            changes: changes(&rows),
            other_lanes: [None; 2],
            rows,
        }
    }
}

/// Figures with the percentiles that are compared: the median and the 99th.
pub type Compared = Measures<[Percentile; 2]>;

/// A lane in both captures: by its name, if the program gave it one. Its number can be another in each.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LaneInBoth {
    Number(u32),
    Named(String),
    Others,
}

impl LaneInBoth {
    /// The lane of one capture.
    pub fn of(capture: &Capture, lane: LaneKey) -> Self {
        match lane {
            LaneKey::Others => Self::Others,
            LaneKey::Number(number) => match lane_text(capture, number) {
                text if text == lane_name(number) => Self::Number(number),
                text => Self::Named(text),
            },
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Number(number) => lane_name(*number),
            Self::Named(text) => text.clone(),
            Self::Others => lane_key_name(LaneKey::Others),
        }
    }
}

/// The figures of lanes in their order; of each lane the whole first, then labels in the order of their names.
pub type FiguresByName = BTreeMap<(LaneInBoth, Option<String>), Compared>;

/// Arranges figures by name. No two labels of a lane have the same name, and no two lanes of a capture, unless it is hostile: then one is shown.
pub fn by_name(
    figures: Figures<[Percentile; 2]>,
    lane_name: impl Fn(LaneKey) -> LaneInBoth,
    name: impl Fn(LabelKey) -> String,
) -> FiguresByName {
    let mut named = FiguresByName::new();
    for lane in figures.lanes {
        let of_lane = lane_name(lane.lane);
        named.insert((of_lane.clone(), None), lane.measures);
        for label in lane.labels {
            named.insert((of_lane.clone(), Some(name(label.label))), label.measures);
        }
    }
    named
}

fn rows(a: &FiguresByName, b: &FiguresByName) -> Vec<DifferenceRow> {
    let names: BTreeSet<_> = a.keys().chain(b.keys()).collect();
    let none = Compared::default();
    let other_labels = |side: &FiguresByName, lane: &LaneInBoth| {
        side.contains_key(&(lane.clone(), Some(OTHER_LABELS.to_owned())))
    };
    let row = |name: &(LaneInBoth, Option<String>)| {
        let (lane, label) = name;
        let may_be_another = label.is_some()
            && [a, b]
                .into_iter()
                .any(|side| !side.contains_key(name) && other_labels(side, lane));
        let (a, b) = (a.get(name).unwrap_or(&none), b.get(name).unwrap_or(&none));
        let ([a_p50, a_p99], [b_p50, b_p99]) = (a.durations, b.durations);
        DifferenceRow {
            lane: lane.text(),
            label: label.clone(),
            count: counts(a.count, b.count),
            failed: counts(a.failed, b.failed),
            total_ns: Pair {
                a: saturated(a.total_ns),
                b: saturated(b.total_ns),
                ratio: ratio(a.total_ns as f64, b.total_ns as f64),
            },
            p50_ns: percentiles(a_p50, b_p50),
            p50: Comparison::new(a_p50, b_p50),
            p99_ns: percentiles(a_p99, b_p99),
            p99: Comparison::new(a_p99, b_p99),
            copied_bytes: Pair {
                a: saturated(a.copied_bytes),
                b: saturated(b.copied_bytes),
                ratio: ratio(a.copied_bytes as f64, b.copied_bytes as f64),
            },
            gigabytes_per_second: {
                let (a, b) = (a.gigabytes_per_second(), b.gigabytes_per_second());
                let ratio = a.zip(b).and_then(|(a, b)| ratio(a, b));
                Pair { a, b, ratio }
            },
            may_be_another,
        }
    };
    names.into_iter().map(row).collect()
}

/// All changes by their kind, the largest first.
fn changes(rows: &[DifferenceRow]) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    let (labels, lanes): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.label.is_some());
    for row in labels {
        changes.extend(changes_of(row));
    }
    for row in lanes {
        for change in changes_of(row) {
            let same = |other: &Change| (other.change, &other.lane) == (change.change, &row.lane);
            if !changes.iter().any(same) {
                changes.push(change);
            }
        }
    }
    // Twice as fast is as large a change as twice as slow. A new label has no ratio.
    let size = |change: &Change| change.ratio.map_or(f64::INFINITY, |ratio| ratio.ln().abs());
    changes.sort_by(|one, other| {
        let by_kind = one.change.cmp(&other.change);
        by_kind.then_with(|| size(other).total_cmp(&size(one)))
    });
    changes
}

fn changes_of(row: &DifferenceRow) -> Vec<Change> {
    let change = |change, figure, pair: Pair<Option<Exact>>| Change {
        change,
        lane: row.lane.clone(),
        label: row.label.clone(),
        figure,
        a: pair.a,
        b: pair.b,
        ratio: pair.ratio,
    };
    let mut changes = Vec::new();
    for (figure, comparison, pair) in [("p50", row.p50, row.p50_ns), ("p99", row.p99, row.p99_ns)] {
        match comparison {
            Comparison::Slower => changes.push(change(ChangeKind::Slower, figure, pair)),
            Comparison::Faster => changes.push(change(ChangeKind::Faster, figure, pair)),
            Comparison::Unclear | Comparison::TooFew => {}
        }
    }
    match (row.failed.a.0, row.failed.b.0) {
        (0, 1..) => changes.push(change(
            ChangeKind::NewFailures,
            "failed",
            row.failed.known(),
        )),
        (a, b) if b > a => {
            changes.push(change(
                ChangeKind::MoreFailures,
                "failed",
                row.failed.known(),
            ));
        }
        _ => {}
    }
    match (row.count.a.0, row.count.b.0) {
        _ if row.may_be_another => {}
        (0, 1..) => changes.push(change(ChangeKind::New, "count", row.count.known())),
        (1.., 0) => changes.push(change(ChangeKind::Missing, "count", row.count.known())),
        _ => {}
    }
    changes
}

fn counts(a: u64, b: u64) -> Pair<Exact> {
    Pair {
        a: Exact(a),
        b: Exact(b),
        ratio: ratio(a as f64, b as f64),
    }
}

fn percentiles(a: Percentile, b: Percentile) -> Pair<Option<Exact>> {
    Pair {
        a: a.ns.map(Exact),
        b: b.ns.map(Exact),
        ratio: a.ns.zip(b.ns).and_then(|(a, b)| ratio(a as f64, b as f64)),
    }
}

fn ratio(a: f64, b: f64) -> Option<f64> {
    (a > 0.0).then(|| b / a)
}

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
use crate::figures::groups::lane_key_name;
use crate::figures::groups::{LabelKey, LaneKey};
use crate::figures::measures::Measures;
use crate::figures::statistics::Figures;

/// The document.
#[derive(Debug, Serialize)]
pub struct Difference {
    pub measurement: &'static str,
    pub percentiles: &'static str,
    pub claims: &'static str,
    pub files: [String; 2],
    pub rows: Vec<DifferenceRow>,
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
}

/// A figure in both captures.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Pair<T> {
    pub a: T,
    pub b: T,
    /// B divided by A; null: A is 0 or there is no figure.
    pub ratio: Option<f64>,
}

impl Difference {
    /// `[a, b]` is the order of the arguments everywhere.
    pub fn new(files: [String; 2], [a, b]: [&FiguresByName; 2]) -> Self {
        Self {
            measurement: MEASUREMENT,
            percentiles: PERCENTILES,
            claims: "by 95 % confidence intervals of the percentiles",
            files,
            rows: rows(a, b),
        }
    }
}

/// Figures with the percentiles that are compared: the median and the 99th.
pub type Compared = Measures<[Percentile; 2]>;

/// The figures of lanes in their order; of each lane the whole first, then labels in the order of their names.
pub type FiguresByName = BTreeMap<(LaneKey, Option<String>), Compared>;

/// Arranges figures by name. No two labels of a lane have the same name.
pub fn by_name(
    figures: Figures<[Percentile; 2]>,
    name: impl Fn(LabelKey) -> String,
) -> FiguresByName {
    let mut named = FiguresByName::new();
    for lane in figures.lanes {
        named.insert((lane.lane, None), lane.measures);
        for label in lane.labels {
            named.insert((lane.lane, Some(name(label.label))), label.measures);
        }
    }
    named
}

fn rows(a: &FiguresByName, b: &FiguresByName) -> Vec<DifferenceRow> {
    let names: BTreeSet<_> = a.keys().chain(b.keys()).collect();
    let none = Compared::default();
    let row = |name: &(LaneKey, Option<String>)| {
        let (a, b) = (a.get(name).unwrap_or(&none), b.get(name).unwrap_or(&none));
        let (lane, label) = name;
        let ([a_p50, a_p99], [b_p50, b_p99]) = (a.durations, b.durations);
        DifferenceRow {
            lane: lane_key_name(*lane),
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
        }
    };
    names.into_iter().map(row).collect()
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

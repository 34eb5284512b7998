//! `--diff A B`: what became slower, faster, more or fewer between two captures, by lane and label.
//!
//! Lanes and labels are matched by name. A percentile of a sample is uncertain, and the fewer the regions the more so: each is compared by
//! its 95 % confidence interval, taken from the ranks around it (binomial, by its normal approximation; nothing is assumed of the distribution
//! of durations, but that the regions are independent). Intervals that lie apart are a change; those that overlap are none that could be told
//! from chance; and where so few regions ran that an interval would reach beyond the longest or the shortest, nothing is claimed.

use std::collections::BTreeMap;
use std::io::{self, Write};

use anstream::adapter::strip_str;
use anstyle::{AnsiColor, Style};
use hrx_trace_reader::{Event, MEASUREMENT, Trace};
use serde::Serialize;

use crate::figures::digest::{Gather, lane_text, sum};
use crate::figures::facts::Exact;
use crate::figures::statistics::{Distribution, Figures, Label, Lane, Measures, Question};
use crate::formats::page;
use crate::input::captures::{Capture, Captures};
use crate::input::conversion::{Outcome, Writer};
use crate::input::labels::name_of;
use crate::text::columns::Align::{Left, Right};
use crate::text::columns::Table;
use crate::text::words::{bandwidth_text, count_text, short_text};

/// Half the width of a 95 % interval, in standard deviations.
const DEVIATIONS: f64 = 1.96;

/// How a difference is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Text { colour: bool },
    Json,
    Html,
}

/// What can be said of a percentile in two captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Claim {
    Faster,
    Slower,
    /// Any difference may be chance.
    Unclear,
    TooFew,
}

/// All that is said.
#[derive(Debug, Serialize)]
struct Difference {
    measurement: &'static str,
    percentiles: &'static str,
    claims: &'static str,
    files: [String; 2],
    rows: Vec<Row>,
}

/// A lane, or a label of it.
#[derive(Debug, Serialize)]
struct Row {
    lane: String,
    /// Null: the whole lane.
    label: Option<String>,
    count: Pair<Exact>,
    failed: Pair<Exact>,
    total_ns: Pair<Exact>,
    p50_ns: Pair<Option<Exact>>,
    p50: Claim,
    p99_ns: Pair<Option<Exact>>,
    p99: Claim,
    copied_bytes: Pair<Exact>,
    gigabytes_per_second: Pair<Option<f64>>,
}

/// A figure in both captures.
#[derive(Clone, Copy, Debug, Serialize)]
struct Pair<T> {
    a: T,
    b: T,
    /// B by A; null: there is none.
    ratio: Option<f64>,
}

/// Compares two captures.
pub struct Diff<Sink> {
    sink: Sink,
    form: Form,
    gather: Gather,
    /// Of those captures that have come to their end.
    named: Vec<Named>,
}

impl<Sink: Write> Diff<Sink> {
    /// Of exactly two captures.
    pub fn new(form: Form, sink: Sink) -> Self {
        Self {
            sink,
            form,
            gather: Gather::new(),
            named: Vec::new(),
        }
    }
}

impl<Sink: Write> Writer for Diff<Sink> {
    const ONE_BY_ONE: bool = true;

    #[inline]
    fn event(&mut self, _: &Capture, event: &Event) -> io::Result<()> {
        self.gather.event(event)
    }

    fn ended(&mut self, capture: &Capture, outcome: &Outcome) -> io::Result<()> {
        let name = |label| label_name(&capture.trace, label);
        let question = Question {
            say: |durations| [0.5, 0.99].map(|quantile| Percentile::new(durations, quantile)),
            name: Some(&name),
        };
        let figures = self.gather.figures(outcome, &question)?;
        self.named.push(by_name(figures, name));
        Ok(())
    }

    fn finish(mut self, captures: &Captures, _: &[Outcome]) -> io::Result<()> {
        let difference = Difference {
            measurement: MEASUREMENT,
            percentiles: crate::figures::digest::PERCENTILES,
            claims: "by 95 % confidence intervals of the percentiles",
            files: [0, 1].map(|at| captures[at].path.display().to_string()),
            rows: rows(&self.named[0], &self.named[1]),
        };
        match self.form {
            Form::Json => {
                serde_json::to_writer_pretty(&mut self.sink, &difference)?;
                self.sink.write_all(b"\n")?;
            }
            Form::Html => {
                page::write_difference(&mut self.sink, &serde_json::to_string(&difference)?)?;
            }
            Form::Text { colour } => {
                let mut text = text(&difference);
                if !colour {
                    text = strip_str(&text).to_string();
                }
                self.sink.write_all(text.as_bytes())?;
            }
        }
        self.sink.flush()
    }
}

/// What is compared: the medians, and the 99th percentiles.
type Compared = Measures<[Percentile; 2]>;

/// Lanes in their order, and within each its whole first, then labels in the order of names.
type Named = BTreeMap<(Lane, Option<String>), Compared>;

/// A percentile, and the interval in which the true one lies with 95 % confidence; None: there are too few regions to tell.
#[derive(Clone, Copy, Debug, Default)]
struct Percentile {
    ns: Option<u64>,
    interval_ns: Option<(u64, u64)>,
}

impl Percentile {
    fn new(durations: &Distribution, quantile: f64) -> Self {
        Self {
            ns: durations.quantile_ns(quantile),
            interval_ns: interval_ns(durations, quantile),
        }
    }
}

fn label_name(trace: &Trace, label: Label) -> String {
    match label {
        Label::Id(label_id) => name_of(trace, label_id).into_owned(),
        Label::Others => "other labels".to_owned(),
    }
}

/// No two labels of a lane have the same name.
fn by_name(figures: Figures<[Percentile; 2]>, name: impl Fn(Label) -> String) -> Named {
    let mut named = Named::new();
    for lane in figures.lanes {
        named.insert((lane.lane, None), lane.measures);
        for label in lane.labels {
            named.insert((lane.lane, Some(name(label.label))), label.measures);
        }
    }
    named
}

fn rows(a: &Named, b: &Named) -> Vec<Row> {
    let names: std::collections::BTreeSet<_> = a.keys().chain(b.keys()).collect();
    let none = Compared::default();
    let row = |name: &(Lane, Option<String>)| {
        let (a, b) = (a.get(name).unwrap_or(&none), b.get(name).unwrap_or(&none));
        let (lane, label) = name;
        let ([a_p50, a_p99], [b_p50, b_p99]) = (a.durations, b.durations);
        Row {
            lane: lane_text(*lane),
            label: label.clone(),
            count: counts(a.count, b.count),
            failed: counts(a.failed, b.failed),
            total_ns: Pair {
                a: sum(a.total_ns),
                b: sum(b.total_ns),
                ratio: ratio(a.total_ns as f64, b.total_ns as f64),
            },
            p50_ns: percentiles(a_p50, b_p50),
            p50: claim(a_p50, b_p50),
            p99_ns: percentiles(a_p99, b_p99),
            p99: claim(a_p99, b_p99),
            copied_bytes: Pair {
                a: sum(a.copied_bytes),
                b: sum(b.copied_bytes),
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

fn claim(a: Percentile, b: Percentile) -> Claim {
    let Some((a, b)) = a.interval_ns.zip(b.interval_ns) else {
        return Claim::TooFew;
    };
    match () {
        () if b.0 > a.1 => Claim::Slower,
        () if b.1 < a.0 => Claim::Faster,
        () => Claim::Unclear,
    }
}

fn interval_ns(durations: &Distribution, quantile: f64) -> Option<(u64, u64)> {
    let count = durations.count as f64;
    let rank = count * quantile;
    let half = DEVIATIONS * (rank * (1.0 - quantile)).sqrt();
    let (low, high) = (rank - half, rank + half + 1.0);
    if low < 1.0 || high > count {
        return None;
    }
    let low_ns = durations.quantile_ns(low.floor() / count)?;
    Some((low_ns, durations.quantile_ns(high.ceil() / count)?))
}

const HEADING: Style = Style::new().bold();
const QUIET: Style = Style::new().dimmed();

fn text(difference: &Difference) -> String {
    let [a, b] = &difference.files;
    let mut text = String::new();
    for line in crate::text::wrap::wrap(&crate::text::printable::printable(&format!("A: {a}")), 98)
        .into_iter()
        .chain(crate::text::wrap::wrap(
            &crate::text::printable::printable(&format!("B: {b}")),
            98,
        ))
    {
        text += &format!("{HEADING}{line}{HEADING:#}\n");
    }
    text += &format!("{QUIET}{MEASUREMENT}. Ratios are B by A.{QUIET:#}\n");

    let mut table = Table::new(
        [
            ("", Left),
            ("count A", Right),
            ("B", Right),
            ("ratio", Right),
            ("failed A", Right),
            ("B", Right),
            ("total A", Right),
            ("B", Right),
            ("ratio", Right),
        ],
        0,
    );
    for row in &difference.rows {
        let cells = [
            row.name(),
            count_text(row.count.a.0, 11),
            count_text(row.count.b.0, 11),
            ratio_text(row.count.ratio),
            count_text(row.failed.a.0, 9),
            count_text(row.failed.b.0, 9),
            short_text(row.total_ns.a.0),
            short_text(row.total_ns.b.0),
            ratio_text(row.total_ns.ratio),
        ];
        table.row(row.style(), cells);
    }
    text += &format!("\n{HEADING}COUNTS AND TOTALS{HEADING:#}\n{}", table.text());

    let mut table = Table::new(
        [
            ("", Left),
            ("p50 A", Right),
            ("B", Right),
            ("ratio", Right),
            ("", Left),
            ("p99 A", Right),
            ("B", Right),
            ("ratio", Right),
            ("", Left),
        ],
        0,
    );
    for row in &difference.rows {
        let time = |ns: Option<Exact>| ns.map_or("-".to_owned(), |ns| short_text(ns.0));
        let cells = [
            row.name(),
            time(row.p50_ns.a),
            time(row.p50_ns.b),
            ratio_text(row.p50_ns.ratio),
            row.p50.text().to_owned(),
            time(row.p99_ns.a),
            time(row.p99_ns.b),
            ratio_text(row.p99_ns.ratio),
            row.p99.text().to_owned(),
        ];
        let style = match (row.p50, row.p99) {
            (Claim::Slower, _) | (_, Claim::Slower) => AnsiColor::Red.on_default(),
            (Claim::Faster, _) | (_, Claim::Faster) => AnsiColor::Green.on_default(),
            _ => row.style(),
        };
        table.row(style, cells);
    }
    text += &format!("\n{HEADING}LATENCY{HEADING:#}\n{}", table.text());
    text += &format!(
        "{QUIET}slower, faster: the percentiles' 95 % confidence intervals lie apart; unclear: they overlap;\ntoo few: too few regions for any claim{QUIET:#}\n"
    );

    let mut table = Table::new(
        [
            ("", Left),
            ("GB/s A", Right),
            ("B", Right),
            ("ratio", Right),
        ],
        0,
    );
    let mut copies = false;
    for row in &difference.rows {
        let rate = row.gigabytes_per_second;
        if rate.a.is_some() || rate.b.is_some() {
            copies = true;
            let figure = |rate: Option<f64>| rate.map_or("-".to_owned(), bandwidth_text);
            let cells = [
                row.name(),
                figure(rate.a),
                figure(rate.b),
                ratio_text(rate.ratio),
            ];
            table.row(row.style(), cells);
        }
    }
    if copies {
        text += &format!("\n{HEADING}COPIES{HEADING:#}\n{}", table.text());
    }
    text
}

impl Row {
    fn name(&self) -> String {
        match &self.label {
            None => self.lane.clone(),
            Some(label) => format!("  {label}"),
        }
    }

    fn style(&self) -> Style {
        match &self.label {
            None => HEADING,
            Some(_) => Style::new(),
        }
    }
}

impl Claim {
    fn text(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Unclear => "unclear",
            Self::TooFew => "too few",
        }
    }
}

fn ratio_text(ratio: Option<f64>) -> String {
    match ratio {
        None => "-".to_owned(),
        Some(ratio) if ratio >= 1_000.0 => ">1000".to_owned(),
        Some(ratio) => format!("{ratio:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::conversion::write_everything;
    use hrx_trace_tests::capture::{Capture as Made, region};

    fn difference(durations: [&dyn Fn(u64) -> u64; 2], counts: [u64; 2]) -> serde_json::Value {
        let files = [0, 1].map(|at| {
            let mut made = Made::new(10_000);
            let label_id = made.label(if at == 0 { "gemm" } else { "other" });
            let gemm = if at == 0 {
                label_id
            } else {
                made.label("gemm")
            };
            for i in 0..counts[at] {
                made.record(hrx_trace_format::Record {
                    label_id: gemm,
                    ..region(1, i * 1_000, durations[at](i))
                });
            }
            made.bytes()
        });
        let captures = Captures::of_bytes(files);
        let mut sink = Vec::new();
        write_everything(&captures, Diff::new(Form::Json, &mut sink));
        serde_json::from_slice(&sink).unwrap()
    }

    #[test]
    fn labels_are_matched_by_name_and_claims_need_regions() {
        let even = |i: u64| 10_000 + i % 100;
        let slow = |i: u64| 20_000 + i % 100;
        let row = |difference: &serde_json::Value| difference["rows"][1].clone();
        let slower = row(&difference([&even, &slow], [1_000, 2_000]));
        assert_eq!(slower["label"], "gemm");
        assert_eq!(
            slower["count"],
            serde_json::json!({"a": 1000, "b": 2000, "ratio": 2.0})
        );
        assert_eq!(
            (&slower["p50"], &slower["p99"]),
            (&"slower".into(), &"slower".into())
        );
        assert_eq!(
            row(&difference([&slow, &even], [1_000, 2_000]))["p50"],
            "faster"
        );
        assert_eq!(
            row(&difference([&even, &even], [1_000, 2_000]))["p50"],
            "unclear"
        );
        // The median of 100 can be told, their 99th percentile cannot.
        let few = row(&difference([&even, &slow], [100, 100]));
        assert_eq!(
            (&few["p50"], &few["p99"]),
            (&"slower".into(), &"too-few".into())
        );
        assert_eq!(row(&difference([&even, &slow], [3, 100]))["p50"], "too-few");
        let none = row(&difference([&even, &slow], [0, 100]));
        assert_eq!(
            (&none["p50"], &none["count"]["ratio"]),
            (&"too-few".into(), &serde_json::Value::Null)
        );
    }
}

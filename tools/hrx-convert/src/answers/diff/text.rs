//! The text of a difference: tables of at most 100 columns.

use anstyle::Style;
use hrx_trace_reader::MEASUREMENT;

use crate::answers::diff::difference::{Difference, DifferenceRow};
use crate::answers::diff::percentile::Comparison;
use crate::figures::exact::Exact;
use crate::text::columns::Align::{Left, Right};
use crate::text::columns::Table;
use crate::text::printable::printable;
use crate::text::quantities::{bandwidth_text, count_text, short_text};
use crate::text::styles::{BAD, GOOD, HEADING, QUIET};
use crate::text::wrap::{LINE_COLUMNS_MAX, wrap};

/// The text, with styles.
pub fn text(difference: &Difference) -> String {
    let mut text = String::new();
    for (capture, file) in ["A", "B"].iter().zip(&difference.files) {
        let line = printable(&format!("{capture}: {file}"));
        for line in wrap(&line, LINE_COLUMNS_MAX - 2) {
            text += &format!("{HEADING}{line}{HEADING:#}\n");
        }
    }
    text += &format!("{QUIET}{MEASUREMENT}. Ratios are B by A.{QUIET:#}\n");
    text += &counts_and_totals(difference);
    text += &latency(difference);
    text += &copies(difference);
    text
}

fn counts_and_totals(difference: &Difference) -> String {
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
            name(row),
            count_text(row.count.a.0, 11),
            count_text(row.count.b.0, 11),
            ratio_text(row.count.ratio),
            count_text(row.failed.a.0, 9),
            count_text(row.failed.b.0, 9),
            short_text(row.total_ns.a.0),
            short_text(row.total_ns.b.0),
            ratio_text(row.total_ns.ratio),
        ];
        table.row(style(row), cells);
    }
    format!("\n{HEADING}COUNTS AND TOTALS{HEADING:#}\n{}", table.text())
}

fn latency(difference: &Difference) -> String {
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
            name(row),
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
            (Comparison::Slower, _) | (_, Comparison::Slower) => BAD,
            (Comparison::Faster, _) | (_, Comparison::Faster) => GOOD,
            _ => style(row),
        };
        table.row(style, cells);
    }
    let mut text = format!("\n{HEADING}LATENCY{HEADING:#}\n{}", table.text());
    text += &format!(
        "{QUIET}slower, faster: the percentiles' 95 % confidence intervals lie apart; unclear: they overlap;\ntoo few: too few regions for any claim{QUIET:#}\n"
    );
    text
}

fn copies(difference: &Difference) -> String {
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
                name(row),
                figure(rate.a),
                figure(rate.b),
                ratio_text(rate.ratio),
            ];
            table.row(style(row), cells);
        }
    }
    match copies {
        true => format!("\n{HEADING}COPIES{HEADING:#}\n{}", table.text()),
        false => String::new(),
    }
}

fn name(row: &DifferenceRow) -> String {
    match &row.label {
        None => row.lane.clone(),
        Some(label) => format!("  {label}"),
    }
}

fn style(row: &DifferenceRow) -> Style {
    match &row.label {
        None => HEADING,
        Some(_) => Style::new(),
    }
}

fn ratio_text(ratio: Option<f64>) -> String {
    match ratio {
        None => "-".to_owned(),
        Some(ratio) if ratio >= 1_000.0 => ">1000".to_owned(),
        Some(ratio) => format!("{ratio:.2}"),
    }
}

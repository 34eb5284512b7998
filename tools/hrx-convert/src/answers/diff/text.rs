//! The text of a difference: what changed, then tables of all figures.

use anstyle::Style;
use hrx_trace_reader::MEASUREMENT;

use crate::answers::diff::difference::{Change, ChangeKind, Difference, DifferenceRow};
use crate::answers::diff::percentile::Comparison;
use crate::figures::exact::Exact;
use crate::input::other_lanes::LaneCount;
use crate::output::printable::printable;
use crate::text::columns::Align::{Left, Right};
use crate::text::columns::Table;
use crate::text::quantities::{bandwidth_text, count_text, counted, short_text};
use crate::text::styles::{BAD, GOOD, HEADING, QUIET};
use crate::text::words::lanes_text;
use crate::text::wrap::wrap;

/// Changes that are listed; the JSON has more.
const LISTED_CHANGES_MAX: usize = 24;

/// The text, with styles, in lines of at most that many columns.
pub fn text(difference: &Difference, columns: usize) -> String {
    let mut text = String::new();
    for (capture, file) in ["A", "B"].iter().zip(&difference.files) {
        let line = printable(&format!("{capture}: {file}"));
        for line in wrap(&line, columns) {
            text += &format!("{HEADING}{line}{HEADING:#}\n");
        }
    }
    text += &note(&format!("{MEASUREMENT}. Ratios are B by A."), columns);
    text += &changes(difference, columns);
    text += &counts_and_totals(difference, columns);
    text += &latency(difference, columns);
    text += &copies(difference, columns);
    text
}

fn changes(difference: &Difference, columns: usize) -> String {
    let heading = format!("\n{HEADING}WHAT CHANGED{HEADING:#}\n");
    let changes = &difference.changes;
    if changes.is_empty() {
        return heading
            + "no difference shown: nothing is slower, faster, fails more, is new or is missing\n";
    }
    let mut table = Table::new(
        [
            ("", Left),
            ("lane", Left),
            ("label", Left),
            ("", Left),
            ("A", Right),
            ("B", Right),
            ("ratio", Right),
        ],
        2,
    );
    for change in changes.iter().take(LISTED_CHANGES_MAX) {
        table.row(style_of(change.change), cells(change));
    }
    let mut text = heading + &table.text(columns);
    if let Some(more @ 1..) = changes.len().checked_sub(LISTED_CHANGES_MAX) {
        let more = counted(more as u64, "change");
        text += &note(&format!("  … and {more} more, see --json"), columns);
    }
    text
}

fn cells(change: &Change) -> [String; 7] {
    let words = match change.change {
        ChangeKind::Slower => "slower",
        ChangeKind::Faster => "faster",
        ChangeKind::NewFailures => "new failures",
        ChangeKind::MoreFailures => "more failures",
        ChangeKind::New if change.label.is_some() => "new label",
        ChangeKind::New => "new lane",
        ChangeKind::Missing if change.label.is_some() => "missing label",
        ChangeKind::Missing => "missing lane",
    };
    let figure = |figure: Option<Exact>| match (figure, change.figure) {
        (None, _) => "-".to_owned(),
        (Some(count), "count" | "failed") => count_text(count.0, 11),
        (Some(ns), _) => short_text(ns.0),
    };
    [
        words.to_owned(),
        change.lane.clone(),
        change.label.clone().unwrap_or_default(),
        change.figure.to_owned(),
        figure(change.a),
        figure(change.b),
        ratio_text(change.ratio),
    ]
}

fn style_of(change: ChangeKind) -> Style {
    match change {
        ChangeKind::Slower | ChangeKind::NewFailures | ChangeKind::MoreFailures => BAD,
        ChangeKind::Faster => GOOD,
        ChangeKind::New | ChangeKind::Missing => Style::new(),
    }
}

/// Lines that explain.
fn note(text: &str, columns: usize) -> String {
    let lines = wrap(text, columns);
    let lines = lines.iter().map(|line| format!("{QUIET}{line}{QUIET:#}\n"));
    lines.collect()
}

fn counts_and_totals(difference: &Difference, columns: usize) -> String {
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
    )
    .sparing(&[8, 3]);
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
    let table = table.text(columns);
    let mut text = format!("\n{HEADING}COUNTS AND TOTALS{HEADING:#}\n{table}");
    if difference.other_lanes.iter().any(Option::is_some) {
        let lanes = |lanes: Option<LaneCount>| lanes.map_or("none".to_owned(), lanes_text);
        let [a, b] = difference.other_lanes.map(lanes);
        let line = format!("other lanes: without figures of their own, {a} in A and {b} in B");
        text += &note(&line, columns);
    }
    text
}

fn latency(difference: &Difference, columns: usize) -> String {
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
    )
    .sparing(&[7, 3]);
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
    let mut text = format!("\n{HEADING}LATENCY{HEADING:#}\n{}", table.text(columns));
    text += &note(
        "slower, faster: the percentiles' 95 % confidence intervals lie apart; none shown: they overlap; too few: too few regions for any claim",
        columns,
    );
    text
}

fn copies(difference: &Difference, columns: usize) -> String {
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
        true => format!("\n{HEADING}COPIES{HEADING:#}\n{}", table.text(columns)),
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

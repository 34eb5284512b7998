//! The figures of lanes and their labels: regions, copies, overlaps, gaps.

use std::cmp::Reverse;

use anstyle::Style;
use indicatif::HumanCount;
use unicode_width::UnicodeWidthStr;

use crate::answers::summary::lines::{LISTED_LANES_MAX, Lines, bytes_text};
use crate::figures::digest::{Digest, RegionFigures};
use crate::figures::exact::Exact;
use crate::text::columns::Align::{self, Left, Right};
use crate::text::columns::Table;
use crate::text::quantities::{bandwidth_text, count_text, percent_text, short_text};
use crate::text::styles::{BAD, HEADING, QUIET};
use crate::text::words::lanes_text;

/// Labels of a lane that are listed; the JSON has more.
const LISTED_LABELS_MAX: usize = 12;

pub fn regions(lines: &mut Lines, digest: &Digest) {
    if digest.lanes.is_empty() {
        return;
    }
    lines.heading("REGIONS, BY LANE AND LABEL");
    let names = [
        "count", "failed", "busy", "total", "mean", "p50", "p90", "p99", "max",
    ];
    let headings: [(&str, Align); 10] = std::array::from_fn(|at| {
        at.checked_sub(1)
            .map_or(("", Left), |at| (names[at], Right))
    });
    let mut table = Table::new(headings, 0).sparing(&[7, 5, 3]);
    for (index, lane) in digest.lanes.iter().enumerate() {
        table.row(HEADING, figures(lane.name.clone(), &lane.figures));
        if index >= LISTED_LANES_MAX {
            continue;
        }
        for label in lane.labels.iter().take(LISTED_LABELS_MAX) {
            let style = if label.figures.failed.0 > 0 {
                BAD
            } else {
                Style::new()
            };
            table.row(style, figures(format!("  {}", label.label), &label.figures));
        }
        if let Some(more @ 1..) = lane.labels.len().checked_sub(LISTED_LABELS_MAX) {
            let mut cells: [String; 10] = Default::default();
            cells[0] = format!("  … and {} more labels", HumanCount(more as u64));
            table.row(QUIET, cells);
        }
    }
    lines.table(&table);
    if let Some(lanes) = digest.other_lanes {
        let lanes = lanes_text(lanes);
        let note = format!("other lanes: {lanes} without figures of their own, which --lane shows");
        lines.wrapped(QUIET, &note);
    }
    let note = "busy: share of the span with at least one running; percentiles at most 0.1 % above the exact ones";
    lines.wrapped(QUIET, note);
}

pub fn copies(lines: &mut Lines, digest: &Digest) {
    if digest.regions.copied_bytes.0 == 0 {
        return;
    }
    lines.heading("COPIES");
    let mut table = Table::new([("", Left), ("bytes", Right), ("GB/s", Right)], 0);
    let cells = |name: String, row: &RegionFigures| {
        [
            name,
            bytes_text(row.copied_bytes.0),
            row.gigabytes_per_second
                .map_or("-".to_owned(), bandwidth_text),
        ]
    };
    let copying = |row: &RegionFigures| row.copied_bytes.0 > 0;
    for lane in digest.lanes.iter().take(LISTED_LANES_MAX) {
        if copying(&lane.figures) {
            table.row(HEADING, cells(lane.name.clone(), &lane.figures));
        }
        let labels = lane.labels.iter().filter(|label| copying(&label.figures));
        for label in labels.take(LISTED_LABELS_MAX) {
            let name = format!("  {}", label.label);
            table.row(Style::new(), cells(name, &label.figures));
        }
    }
    lines.table(&table);
    let note = "GB/s: bytes by the time of the regions that copied any; 1 GB = 10^9 bytes";
    lines.styled(QUIET, note);
}

pub fn overlaps(lines: &mut Lines, digest: &Digest) {
    if digest.overlaps.is_empty() {
        return;
    }
    lines.heading("OVERLAP OF LANES");
    let mut overlaps: Vec<_> = digest
        .overlaps
        .iter()
        .filter(|overlap| overlap.overlap_ns.0 > 0)
        .collect();
    if overlaps.is_empty() {
        return lines.line("no two lanes were busy at once");
    }
    overlaps.sort_by_key(|overlap| Reverse(overlap.overlap_ns.0));
    let mut table = Table::new(
        [("", Left), ("", Right), ("", Right), ("", Left), ("", Left)],
        0,
    )
    .sparing(&[4, 3]);
    let percent = |share: Option<f64>| share.map_or("-".to_owned(), percent_text);
    for overlap in overlaps.iter().take(LISTED_LANES_MAX) {
        let [one, other] = &overlap.lanes;
        let [of_one, of_other] = overlap.share_of_each.map(percent);
        let cells = [
            format!("{one} and {other}"),
            short_text(overlap.overlap_ns.0),
            format!("{} of the span", percent(overlap.share_of_span)),
            format!("{of_one} of {one}"),
            format!("{of_other} of {other}"),
        ];
        table.row(Style::new(), cells);
    }
    lines.table(&table);
    lines.more(overlaps.len(), LISTED_LANES_MAX, "pair");
}

pub fn gaps(lines: &mut Lines, digest: &Digest) {
    let lanes: Vec<_> = digest
        .lanes
        .iter()
        .filter(|lane| !lane.gaps.is_empty())
        .collect();
    if lanes.is_empty() {
        return;
    }
    lines.heading("LONGEST GAPS, WITH NOTHING RUNNING ON THE LANE");
    let mut table = Table::new([("", Left), ("", Left)], 1);
    let listed = lanes.iter().take(LISTED_LANES_MAX);
    let names = listed.clone().map(|lane| lane.name.width());
    let room = lines.columns - 2 - names.max().unwrap_or_default();
    for lane in listed {
        let mut gaps = String::new();
        for gap in &lane.gaps {
            let to_the_end = if gap.to_the_end { " to the end" } else { "" };
            let duration = short_text(gap.duration_ns.0);
            let gap = format!("{duration} from {}{to_the_end}", short_text(gap.start_ns.0));
            let separator = if gaps.is_empty() { "" } else { "; " };
            // Whole gaps, the longest first, as many as there is room for.
            if gaps.width() + separator.len() + gap.width() > room {
                break;
            }
            gaps.extend([separator, &gap]);
        }
        table.row(Style::new(), [lane.name.clone(), gaps]);
    }
    lines.table(&table);
    lines.more(lanes.len(), LISTED_LANES_MAX, "lane");
}

/// A row of the table of regions.
fn figures(name: String, row: &RegionFigures) -> [String; 10] {
    let time = |ns: Option<Exact>| ns.map_or("-".to_owned(), |ns| short_text(ns.0));
    [
        name,
        count_text(row.count.0, 11),
        count_text(row.failed.0, 7),
        row.busy_share.map_or("-".to_owned(), percent_text),
        short_text(row.total_ns.0),
        time(row.mean_ns),
        time(row.p50_ns),
        time(row.p90_ns),
        time(row.p99_ns),
        time(row.max_ns),
    ]
}

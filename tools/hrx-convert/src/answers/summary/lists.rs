//! The regions that are listed one by one: the last, the failed, the slowest.

use anstyle::Style;
use indicatif::HumanCount;

use crate::answers::summary::lines::{LISTED_LANES_MAX, Lines, bytes_text, correlation_text};
use crate::answers::summary::running::arguments_text;
use crate::figures::digest::{Digest, RegionDigest};
use crate::text::columns::Align::{Left, Right};
use crate::text::columns::Table;
use crate::text::quantities::{counted, short_text};
use crate::text::styles::{BAD, QUIET};

/// Labels of values that are listed, and marks.
const VALUES_LISTED_MAX: usize = 16;
const MARKS_LISTED_MAX: usize = 8;

pub fn last(lines: &mut Lines, digest: &Digest) {
    if digest.lanes.iter().all(|lane| lane.last.is_empty()) {
        return;
    }
    lines.heading("LAST BEFORE THE END, ON EACH LANE");
    let lanes = digest.lanes.iter().take(LISTED_LANES_MAX);
    let regions = lanes.flat_map(|lane| lane.last.iter().rev());
    region_table(lines, "ended", regions, |region| {
        before_text(region.before_the_end_ns.0)
    });
    lines.more(digest.lanes.len(), LISTED_LANES_MAX, "lane");
}

pub fn failures(lines: &mut Lines, digest: &Digest) {
    let Some(more) = digest
        .regions
        .failed
        .0
        .checked_sub(digest.failures.len() as u64)
    else {
        return;
    };
    if digest.failures.is_empty() {
        return;
    }
    lines.heading("FAILED, THE LAST FIRST");
    let began = |region: &RegionDigest| short_text(region.start_ns.0);
    region_table(lines, "began", digest.failures.iter().rev(), began);
    if more > 0 {
        lines.styled(
            QUIET,
            &format!("  … and {} before them", counted(more, "failure")),
        );
    }
}

pub fn slowest(lines: &mut Lines, digest: &Digest) {
    if digest.slowest.is_empty() {
        return;
    }
    lines.heading("SLOWEST");
    let began = |region: &RegionDigest| short_text(region.start_ns.0);
    region_table(lines, "began", digest.slowest.iter(), began);
}

/// What was memory, or a queue, when it died?
pub fn values(lines: &mut Lines, digest: &Digest) {
    if digest.values.is_empty() {
        return;
    }
    lines.heading("LAST VALUES BEFORE THE END");
    let mut table = Table::new(
        [
            ("label", Left),
            ("last", Right),
            ("when", Right),
            ("least", Right),
            ("most", Right),
            ("samples", Right),
        ],
        0,
    )
    .sparing(&[5, 3]);
    for value in digest.values.iter().take(VALUES_LISTED_MAX) {
        let label = match &value.group {
            Some(group) => format!("{group}: {}", value.label),
            None => value.label.clone(),
        };
        let cells = [
            label,
            value.last.to_string(),
            before_text(value.before_the_end_ns.0),
            value.least.to_string(),
            value.most.to_string(),
            HumanCount(value.samples.0).to_string(),
        ];
        table.row(Style::new(), cells);
    }
    lines.table(&table);
    lines.more(digest.values.len(), VALUES_LISTED_MAX, "value");
}

pub fn marks(lines: &mut Lines, digest: &Digest) {
    if digest.marks.is_empty() {
        return;
    }
    lines.heading("LAST MARKS, THE LAST FIRST");
    let mut table = Table::new([("lane", Left), ("label", Left), ("when", Right)], 1);
    for mark in digest.marks.iter().rev().take(MARKS_LISTED_MAX) {
        let label = match arguments_text(&mark.arguments).as_slice() {
            [] => mark.label.clone(),
            arguments => format!("{} ({})", mark.label, arguments.join(", ")),
        };
        let cells = [
            mark.lane_name.clone(),
            label,
            before_text(mark.before_the_end_ns.0),
        ];
        table.row(Style::new(), cells);
    }
    lines.table(&table);
}

/// How long before the last sign of life.
fn before_text(ns: u64) -> String {
    match ns {
        0 => "at the end".to_owned(),
        ns => format!("{} before", short_text(ns)),
    }
}

fn region_table<'regions>(
    lines: &mut Lines,
    when: &str,
    regions: impl Iterator<Item = &'regions RegionDigest>,
    when_text: impl Fn(&RegionDigest) -> String,
) {
    let mut table = Table::new(
        [
            ("lane", Left),
            ("label", Left),
            ("took", Right),
            (when, Right),
            ("bytes", Right),
            ("correlation", Right),
            ("", Left),
        ],
        1,
    )
    .sparing(&[4, 5]);
    for region in regions {
        let failed = match region.failed {
            true if region.status == 0 => "failed".to_owned(),
            true => format!("failed: {}", region.status),
            false if region.cancelled => "cancelled".to_owned(),
            false => String::new(),
        };
        let cells = [
            region.lane_name.clone(),
            region.label.clone(),
            short_text(region.duration_ns.0),
            when_text(region),
            bytes_text(region.copied_bytes.0),
            correlation_text(region.correlation_id.0),
            failed,
        ];
        table.row(if region.failed { BAD } else { Style::new() }, cells);
    }
    lines.table(&table);
}

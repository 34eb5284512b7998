//! The regions that are listed one by one: the last, the failed, the slowest.

use anstyle::Style;

use crate::answers::summary::lines::{LISTED_LANES_MAX, Lines, bytes_text, correlation_text};
use crate::figures::digest::{Digest, RegionDigest};
use crate::text::columns::Align::{Left, Right};
use crate::text::columns::Table;
use crate::text::quantities::{counted, short_text};
use crate::text::styles::{BAD, QUIET};

pub fn last(lines: &mut Lines, digest: &Digest) {
    if digest.lanes.iter().all(|lane| lane.last.is_empty()) {
        return;
    }
    lines.heading("LAST BEFORE THE END, ON EACH LANE");
    let lanes = digest.lanes.iter().take(LISTED_LANES_MAX);
    let regions = lanes.flat_map(|lane| lane.last.iter().rev());
    region_table(lines, "ended", regions, |region| {
        match region.before_the_end_ns.0 {
            0 => "at the end".to_owned(),
            ns => format!("{} before", short_text(ns)),
        }
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
    );
    for region in regions {
        let failed = match region.failed {
            true => format!("failed: {}", region.status),
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

//! The regions of the timeline as columns of small numbers.
//!
//! Regions stand in the order of their beginnings, at the same time the longer first. A column holds one number of each as a LEB128 varint,
//! seven bits a byte, the lowest first; the columns follow each other in the order of [`Layout::columns`]. What repeats is a number in a list:
//! a `group` is a lane and a label of a capture, a `thread` a thread id of a capture. `start` is the distance to the beginning
//! before. `row` is the region's line within its lane, chosen so that no two regions of a line overlap.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use crate::captures::Captures;
use crate::chrome::lane_name;
use crate::facts::Exact;
use crate::report::Region;

/// Rows of a lane. In the last one regions may overlap.
const ROWS_MAX: usize = 64;

const FAILED: u64 = 1;
const SATURATED: u64 = 2;
const UNFINISHED: u64 = 4;

/// How the columns are to be read.
#[derive(Debug, Serialize)]
pub struct Layout {
    /// Regions.
    pub count: usize,
    /// The first beginning, which that column counts from.
    base_ns: Exact,
    /// Names and bytes.
    columns: Vec<(&'static str, usize)>,
    lanes: Vec<LaneRows>,
    labels: Vec<String>,
    /// Lane and label, by their places in these lists.
    groups: Vec<(u32, u32)>,
    threads: Vec<u32>,
}

/// A lane of a capture.
#[derive(Debug, Serialize)]
struct LaneRows {
    capture: u32,
    lane: u32,
    name: String,
    rows: usize,
}

/// A list of what was seen, each once.
struct List<T> {
    items: Vec<T>,
    places: HashMap<T, u32>,
}

impl<T: Copy + Eq + std::hash::Hash> List<T> {
    fn new() -> Self {
        Self {
            items: Vec::new(),
            places: HashMap::new(),
        }
    }

    fn place(&mut self, item: T) -> u32 {
        *self.places.entry(item).or_insert_with(|| {
            self.items.push(item);
            self.items.len() as u32 - 1
        })
    }
}

/// Sorts and packs.
pub fn pack(mut regions: Vec<Region>, captures: &Captures) -> (Layout, Vec<u8>) {
    regions.sort_by_key(|region| (region.event.start_ns, Reverse(region.event.duration_ns)));
    // Lanes in the order of captures and numbers, whichever began first.
    let mut rows: BTreeMap<(u32, u32), Vec<u64>> = regions
        .iter()
        .map(|region| ((region.capture, region.event.lane), Vec::new()))
        .collect();
    let lane_places: HashMap<(u32, u32), u32> = rows.keys().copied().zip(0..).collect();
    let (mut labels, mut groups, mut threads) = (List::new(), List::new(), List::new());
    let base_ns = regions.first().map_or(0, |region| region.event.start_ns);
    let mut before_ns = base_ns;
    let mut columns = [
        "start",
        "duration",
        "group",
        "row",
        "bytes",
        "correlation",
        "thread",
        "flags",
        "status",
        "ring",
        "sequence",
    ]
    .map(|name| (name, Vec::new()));
    for region in &regions {
        let event = &region.event;
        let lane = (region.capture, event.lane);
        let label = labels.place((region.capture, event.label_id));
        let of_lane = rows.entry(lane).or_default();
        let flags = [
            (event.failed, FAILED),
            (event.saturated, SATURATED),
            (region.unfinished, UNFINISHED),
        ];
        let values = [
            event.start_ns - before_ns,
            event.duration_ns,
            groups.place((lane_places[&lane], label)).into(),
            row(of_lane, event.start_ns, event.end_ns()) as u64,
            event.copied_bytes,
            event.correlation_id,
            threads.place(event.thread_id).into(),
            flags.iter().filter(|flag| flag.0).map(|flag| flag.1).sum(),
            event.status.into(),
            event.ring.into(),
            event.sequence,
        ];
        before_ns = event.start_ns;
        for ((_, column), value) in columns.iter_mut().zip(values) {
            push_varint(column, value);
        }
    }
    let layout = Layout {
        count: regions.len(),
        base_ns: Exact(base_ns),
        columns: columns
            .iter()
            .map(|(name, column)| (*name, column.len()))
            .collect(),
        lanes: rows
            .iter()
            .map(|(&(capture, lane), rows)| LaneRows {
                capture,
                lane,
                name: lane_name(lane),
                rows: rows.len(),
            })
            .collect(),
        labels: labels
            .items
            .iter()
            .map(|&(capture, label_id)| {
                let trace = &captures[capture as usize].trace;
                trace.name(label_id).into_owned()
            })
            .collect(),
        groups: groups.items,
        threads: threads.items,
    };
    (layout, columns.map(|(_, column)| column).concat())
}

/// The first row that is free from the region's beginning on. `rows` are the ends of what they hold.
fn row(rows: &mut Vec<u64>, start_ns: u64, end_ns: u64) -> usize {
    let free = rows.iter().position(|row_end_ns| *row_end_ns <= start_ns);
    let index = match free {
        Some(free) => free,
        None if rows.len() < ROWS_MAX => {
            rows.push(0);
            rows.len() - 1
        }
        None => ROWS_MAX - 1,
    };
    rows[index] = rows[index].max(end_ns);
    index
}

fn push_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints() {
        let packed = |value| {
            let mut bytes = Vec::new();
            push_varint(&mut bytes, value);
            bytes
        };
        assert_eq!(packed(0), [0]);
        assert_eq!(packed(127), [127]);
        assert_eq!(packed(300), [0xAC, 0x02]);
        assert_eq!(packed(u64::MAX).len(), 10);
    }

    #[test]
    fn no_two_regions_of_a_row_overlap_until_the_last() {
        let mut rows = Vec::new();
        assert_eq!(row(&mut rows, 0, 100), 0);
        assert_eq!(row(&mut rows, 10, 20), 1);
        assert_eq!(row(&mut rows, 20, 30), 1);
        assert_eq!(row(&mut rows, 100, 100), 0);
        for i in 0..100 {
            assert_eq!(row(&mut rows, 200, 300), i.min(ROWS_MAX - 1));
        }
    }
}

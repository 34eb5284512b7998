//! The regions of the timeline as columns of small numbers.
//!
//! Regions are in the order of their beginnings; at equal beginnings the longer first. A column holds one number of each region as a LEB128 varint,
//! seven bits a byte, lowest first. The columns follow each other in the order of [`TimelineLayout::columns`]. Values that repeat are indexes into
//! a list: a `group` is a lane and a label of a capture, a `thread` is a thread id. `start` is the distance to the beginning of the region
//! before. `row` is the region's row within its lane.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use serde::{Serialize, Serializer};

use crate::figures::exact::Exact;
use crate::figures::spill::Spillable;
use crate::formats::page::columns::Column;
use crate::formats::page::newest::Newest;
use crate::formats::page::region::TimelineRegion;
use crate::formats::page::rows::Rows;
use crate::input::captures::Captures;
use crate::input::labels::name_of;
use crate::text::names::lane_name;

/// Lanes of the timeline, each of which takes memory.
const TIMELINE_LANES_MAX: usize = 1 << 16;
/// Groups of the timeline, each of which takes memory.
const TIMELINE_GROUPS_MAX: usize = 1 << 18;

const FAILED: u64 = 1;
const SATURATED: u64 = 2;
const UNFINISHED: u64 = 4;

/// How to read the columns.
#[derive(Debug, Serialize)]
pub struct TimelineLayout<'captures> {
    /// The number of regions.
    pub count: usize,
    /// The first beginning, where the column `start` counts from.
    base_ns: Exact,
    /// Their names and sizes in bytes.
    columns: Vec<(&'static str, usize)>,
    lanes: Vec<LaneRows>,
    labels: LabelNames<'captures>,
    /// A lane and a label each, as indexes into these lists.
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

/// Labels of captures, serialized as their names.
#[derive(Debug)]
struct LabelNames<'captures> {
    captures: &'captures Captures,
    items: Vec<(u32, u32)>,
}

impl Serialize for LabelNames<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.items.iter().map(|&(capture, label_id)| {
            let trace = &self.captures[capture as usize].trace;
            name_of(trace, label_id)
        }))
    }
}

/// A list in which each item has one index.
struct Interner<T> {
    items: Vec<T>,
    indexes: HashMap<T, u32>,
}

impl<T: Copy + Eq + std::hash::Hash> Interner<T> {
    fn new() -> Self {
        Self {
            items: Vec::new(),
            indexes: HashMap::new(),
        }
    }

    fn index(&mut self, item: T) -> u32 {
        *self.indexes.entry(item).or_insert_with(|| {
            self.items.push(item);
            self.items.len() as u32 - 1
        })
    }
}

const PACKED_COLUMNS: [&str; 11] = [
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
];

/// Sorts all regions, completed and open, and packs them into `sink`. None: they have too many lanes or groups.
pub fn pack<'captures>(
    newest: &Newest,
    open: &[TimelineRegion],
    captures: &'captures Captures,
    sink: &mut impl Write,
) -> io::Result<Option<TimelineLayout<'captures>>> {
    // In the order of captures and lane numbers.
    let mut rows: BTreeMap<(u32, u32), Rows> = BTreeMap::new();
    let mut lane_before = None;
    let mut note_lane = |region: &TimelineRegion| {
        let lane = (region.capture, region.event.lane);
        if lane_before != Some(lane) && rows.len() <= TIMELINE_LANES_MAX {
            rows.entry(lane).or_default();
            lane_before = Some(lane);
        }
    };
    let mut runs = newest.sorted(&mut note_lane)?;
    let mut open = open.to_vec();
    open.iter().for_each(&mut note_lane);
    open.sort_by_key(Spillable::key);
    runs.add(&open)?;
    if rows.len() > TIMELINE_LANES_MAX {
        return Ok(None);
    }
    let lane_places: HashMap<(u32, u32), u32> = rows.keys().copied().zip(0..).collect();
    let (mut labels, mut groups, mut threads) = (Interner::new(), Interner::new(), Interner::new());
    let mut columns = PACKED_COLUMNS
        .map(Column::new)
        .into_iter()
        .collect::<io::Result<Vec<Column>>>()?;
    let (mut count, mut base_ns, mut before_ns) = (0, 0, 0);
    runs.merge(|region: TimelineRegion| {
        if groups.items.len() > TIMELINE_GROUPS_MAX {
            return Ok(());
        }
        let event = &region.event;
        if count == 0 {
            (base_ns, before_ns) = (event.start_ns, event.start_ns);
        }
        count += 1;
        let lane = (region.capture, event.lane);
        let label = labels.index((region.capture, event.label_id));
        let of_lane = rows.entry(lane).or_default();
        let flags = [
            (event.failed, FAILED),
            (event.saturated, SATURATED),
            (region.unfinished, UNFINISHED),
        ];
        let values = [
            event.start_ns - before_ns,
            event.duration_ns,
            groups.index((lane_places[&lane], label)).into(),
            of_lane.place(event.start_ns, event.end_ns()) as u64,
            event.copied_bytes,
            event.correlation_id,
            threads.index(event.thread_id).into(),
            flags.iter().filter(|flag| flag.0).map(|flag| flag.1).sum(),
            event.status.into(),
            event.ring.into(),
            event.sequence,
        ];
        before_ns = event.start_ns;
        let mut cells = columns.iter_mut().zip(values);
        cells.try_for_each(|(column, value)| column.push(value))
    })?;
    if groups.items.len() > TIMELINE_GROUPS_MAX {
        return Ok(None);
    }
    let mut sizes = Vec::with_capacity(columns.len());
    for column in columns {
        sizes.push((column.name, column.bytes));
        column.copy_into(sink)?;
    }
    Ok(Some(TimelineLayout {
        count,
        base_ns: Exact(base_ns),
        columns: sizes,
        lanes: rows
            .iter()
            .map(|(&(capture, lane), rows)| LaneRows {
                capture,
                lane,
                name: lane_name(lane),
                rows: rows.count(),
            })
            .collect(),
        labels: LabelNames {
            captures,
            items: labels.items,
        },
        groups: groups.items,
        threads: threads.items,
    }))
}

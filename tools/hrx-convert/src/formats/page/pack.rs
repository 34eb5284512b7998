//! The regions of the timeline as columns of small numbers.
//!
//! Regions are in the order of their beginnings; at equal beginnings the longer first. A column holds one number of each region as a LEB128 varint,
//! seven bits a byte, lowest first. The columns follow each other in the order of [`TimelineLayout::columns`]. Values that repeat are indexes into
//! a list: a `group` is a lane and a label of a capture, a `thread` is a thread id. `start` is the distance to the beginning of the region
//! before. `row` is the region's row within its lane. Lanes beyond [`lanes_with_tracks_max`] share rows; if there are any, a last column has their numbers.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write};

use serde::{Serialize, Serializer};

use crate::figures::exact::Exact;
use crate::figures::groups::LaneKey;
use crate::figures::spill::Spillable;
use crate::formats::page::columns::Column;
use crate::formats::page::newest::Newest;
use crate::formats::page::region::TimelineRegion;
use crate::formats::page::rows::Rows;
use crate::input::captures::Captures;
use crate::input::labels::name_of;
use crate::input::other_lanes::{LaneCount, OtherLanes};
use crate::text::names::lane_name;
use crate::text::words::lanes_text;
use crate::tracks::lanes::lanes_with_tracks_max;

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
    /// By capture: how many lanes share rows.
    #[serde(skip)]
    pub other_lanes: Vec<Option<LaneCount>>,
    labels: LabelNames<'captures>,
    /// A lane and a label each, as indexes into these lists.
    groups: Vec<(u32, u32)>,
    threads: Vec<u32>,
}

/// A lane of a capture.
#[derive(Debug, Serialize)]
struct LaneRows {
    capture: u32,
    /// Null: all lanes without rows of their own.
    lane: Option<u32>,
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

/// The name of the lanes that share rows.
fn others_name(lanes: Option<LaneCount>) -> String {
    let count = lanes.map(lanes_text).unwrap_or_default();
    count.replacen("lane", "other lane", 1)
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

/// The lanes of all captures.
struct TimelineLanes {
    /// Those that have rows, in the order of captures and lane numbers.
    keys: BTreeSet<(u32, LaneKey)>,
    /// By capture: the lanes with rows of their own, and the others.
    of_captures: Vec<(usize, OtherLanes)>,
    before: Option<(u32, u32)>,
}

impl TimelineLanes {
    fn new(captures: usize) -> Self {
        let of_capture = || (0, OtherLanes::new(captures));
        Self {
            keys: BTreeSet::new(),
            of_captures: (0..captures).map(|_| of_capture()).collect(),
            before: None,
        }
    }

    /// Gives a lane rows, of its own while there is room.
    fn note(&mut self, region: &TimelineRegion) {
        let (capture, lane) = (region.capture, region.event.lane);
        if self.before == Some((capture, lane)) {
            return;
        }
        self.before = Some((capture, lane));
        let own_max = lanes_with_tracks_max(self.of_captures.len());
        let (own, others) = &mut self.of_captures[capture as usize];
        let mut key = (capture, LaneKey::Number(lane));
        if self.keys.contains(&key) {
            return;
        }
        match *own < own_max {
            true => *own += 1,
            false => {
                others.note(lane);
                key = (capture, LaneKey::Others);
            }
        }
        self.keys.insert(key);
    }

    fn names(&self, capture: u32, lane: LaneKey) -> (Option<u32>, String) {
        match lane {
            LaneKey::Number(number) => (Some(number), lane_name(number)),
            LaneKey::Others => (None, others_name(self.others(capture))),
        }
    }

    fn others(&self, capture: u32) -> Option<LaneCount> {
        self.of_captures[capture as usize].1.count()
    }
}

const PACKED_COLUMNS: [&str; 12] = [
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
    "lane",
];

/// Sorts all regions, completed and open, and packs them into `sink`. None: they have too many groups.
pub fn pack<'captures>(
    newest: &Newest,
    open: &[TimelineRegion],
    captures: &'captures Captures,
    sink: &mut impl Write,
) -> io::Result<Option<TimelineLayout<'captures>>> {
    let mut lanes = TimelineLanes::new(captures.len());
    let mut open = open.to_vec();
    // A lane on which something hangs has rows of its own.
    open.iter().for_each(|region| lanes.note(region));
    let mut runs = newest.sorted(|region| lanes.note(region))?;
    open.sort_by_key(Spillable::key);
    runs.add(&open)?;
    let places = lanes.keys.iter().copied().zip(0..);
    let lane_places: HashMap<(u32, LaneKey), u32> = places.collect();
    let mut rows: Vec<Rows> = lanes.keys.iter().map(|_| Rows::default()).collect();
    let others_share_rows = lanes.keys.iter().any(|(_, lane)| *lane == LaneKey::Others);
    let column_names = match others_share_rows {
        true => &PACKED_COLUMNS[..],
        false => &PACKED_COLUMNS[..PACKED_COLUMNS.len() - 1],
    };
    let (mut labels, mut groups, mut threads) = (Interner::new(), Interner::new(), Interner::new());
    let mut columns = column_names
        .iter()
        .map(|name| Column::new(name))
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
        let own = (region.capture, LaneKey::Number(event.lane));
        let (place, shared_lane) = match lane_places.get(&own) {
            Some(place) => (*place, 0),
            None => (lane_places[&(region.capture, LaneKey::Others)], event.lane),
        };
        let label = labels.index((region.capture, event.label_id));
        let of_lane = &mut rows[place as usize];
        let flags = [
            (event.failed, FAILED),
            (event.saturated, SATURATED),
            (region.unfinished, UNFINISHED),
        ];
        let values = [
            event.start_ns - before_ns,
            event.duration_ns,
            groups.index((place, label)).into(),
            of_lane.place(event.start_ns, event.end_ns()) as u64,
            event.copied_bytes,
            event.correlation_id,
            threads.index(event.thread_id).into(),
            flags.iter().filter(|flag| flag.0).map(|flag| flag.1).sum(),
            event.status.into(),
            event.ring.into(),
            event.sequence,
            shared_lane.into(),
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
        other_lanes: (0..captures.len() as u32)
            .map(|capture| lanes.others(capture))
            .collect(),
        lanes: lanes
            .keys
            .iter()
            .zip(&rows)
            .map(|(&(capture, lane), rows)| {
                let (lane, name) = lanes.names(capture, lane);
                LaneRows {
                    capture,
                    lane,
                    name,
                    rows: rows.count(),
                }
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

//! The regions of the timeline as columns of small numbers.
//!
//! Regions stand in the order of their beginnings, at the same time the longer first. A column holds one number of each as a LEB128 varint,
//! seven bits a byte, the lowest first; the columns follow each other in the order of [`Layout::columns`]. What repeats is a number in a list:
//! a `group` is a lane and a label of a capture, a `thread` a thread id of a capture. `start` is the distance to the beginning
//! before. `row` is the region's line within its lane, chosen so that no two regions of a line overlap.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};

use serde::{Serialize, Serializer};

use crate::figures::exact::Exact;
use crate::figures::spill::Spillable;
use crate::formats::page::newest::{Newest, Region};
use crate::input::captures::Captures;
use crate::input::labels::name_of;
use crate::text::names::lane_name;

/// Lanes, and labels of them: what is known of each is in memory.
const LANES_MAX: usize = 1 << 16;
const GROUPS_MAX: usize = 1 << 18;
/// Rows of a lane. In the last one regions may overlap.
const ROWS_MAX: usize = 64;

const FAILED: u64 = 1;
const SATURATED: u64 = 2;
const UNFINISHED: u64 = 4;

/// How the columns are to be read.
#[derive(Debug, Serialize)]
pub struct Layout<'captures> {
    /// Regions.
    pub count: usize,
    /// The first beginning, which that column counts from.
    base_ns: Exact,
    /// Names and bytes.
    columns: Vec<(&'static str, usize)>,
    lanes: Vec<LaneRows>,
    labels: Labels<'captures>,
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

/// Labels of captures; written by their names.
#[derive(Debug)]
struct Labels<'captures> {
    captures: &'captures Captures,
    items: Vec<(u32, u32)>,
}

impl Serialize for Labels<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.items.iter().map(|&(capture, label_id)| {
            let trace = &self.captures[capture as usize].trace;
            name_of(trace, label_id)
        }))
    }
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

/// A column in the making, in a temporary file without a name.
struct Column {
    name: &'static str,
    bytes: usize,
    file: BufWriter<File>,
}

impl Column {
    fn new(name: &'static str) -> io::Result<Self> {
        Ok(Self {
            name,
            bytes: 0,
            file: BufWriter::new(tempfile::tempfile()?),
        })
    }

    fn push(&mut self, value: u64) -> io::Result<()> {
        let (varint, bytes) = varint(value);
        self.bytes += bytes;
        self.file.write_all(&varint[..bytes])
    }
}

const COLUMNS: [&str; 11] = [
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

/// Sorts and packs the regions and those that were running into `sink`. None: they are of too many lanes and labels.
pub fn pack<'captures>(
    newest: &Newest,
    open: &[Region],
    captures: &'captures Captures,
    sink: &mut impl Write,
) -> io::Result<Option<Layout<'captures>>> {
    // Lanes in the order of captures and numbers, whichever began first.
    let mut rows: BTreeMap<(u32, u32), Vec<u64>> = BTreeMap::new();
    let mut lane_before = None;
    let mut note_lane = |region: &Region| {
        let lane = (region.capture, region.event.lane);
        if lane_before != Some(lane) && rows.len() <= LANES_MAX {
            rows.entry(lane).or_default();
            lane_before = Some(lane);
        }
    };
    let mut runs = newest.sorted(&mut note_lane)?;
    let mut open = open.to_vec();
    open.iter().for_each(&mut note_lane);
    open.sort_by_key(Spillable::key);
    runs.add(&open)?;
    if rows.len() > LANES_MAX {
        return Ok(None);
    }
    let lane_places: HashMap<(u32, u32), u32> = rows.keys().copied().zip(0..).collect();
    let (mut labels, mut groups, mut threads) = (List::new(), List::new(), List::new());
    let mut columns = COLUMNS
        .map(Column::new)
        .into_iter()
        .collect::<io::Result<Vec<Column>>>()?;
    let (mut count, mut base_ns, mut before_ns) = (0, 0, 0);
    runs.merge(|region: Region| {
        if groups.items.len() > GROUPS_MAX {
            return Ok(());
        }
        let event = &region.event;
        if count == 0 {
            (base_ns, before_ns) = (event.start_ns, event.start_ns);
        }
        count += 1;
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
        let mut places = columns.iter_mut().zip(values);
        places.try_for_each(|(column, value)| column.push(value))
    })?;
    if groups.items.len() > GROUPS_MAX {
        return Ok(None);
    }
    let mut sizes = Vec::with_capacity(columns.len());
    for column in columns {
        sizes.push((column.name, column.bytes));
        let mut file = column.file.into_inner()?;
        file.rewind()?;
        io::copy(&mut file, sink)?;
    }
    Ok(Some(Layout {
        count,
        base_ns: Exact(base_ns),
        columns: sizes,
        lanes: rows
            .iter()
            .map(|(&(capture, lane), rows)| LaneRows {
                capture,
                lane,
                name: lane_name(lane),
                rows: rows.len(),
            })
            .collect(),
        labels: Labels {
            captures,
            items: labels.items,
        },
        groups: groups.items,
        threads: threads.items,
    }))
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

/// The bytes of a number, and how many they are.
fn varint(mut value: u64) -> ([u8; 10], usize) {
    let mut bytes = [0; 10];
    let mut count = 0;
    while value >= 0x80 {
        bytes[count] = value as u8 | 0x80;
        value >>= 7;
        count += 1;
    }
    bytes[count] = value as u8;
    (bytes, count + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints() {
        let packed = |value| {
            let (bytes, count) = varint(value);
            bytes[..count].to_vec()
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

//! The timeline's events as columns of small numbers: those of the regions, then those of the marks, then those of the values.
//!
//! Events are in the order of their beginnings; at equal beginnings the longer first. A column holds one number of each as a LEB128 varint, seven bits a
//! byte, lowest first. The columns follow each other in the order of [`Section::columns`]. Values that repeat are indexes into
//! a list: a `group` is a lane and a label of a capture, a `thread` is a thread id and its name, a `series` is a value's label of a capture. `start` is the
//! distance to the beginning of the event before. `row` is the region's row within its lane.
//! `number` is no varint but the 8 bytes of a double, lowest first. `arguments` is the size of an event's text in `texts`, in UTF-16 code units; 0: it has
//! none. Both are there only if any event has some. Lanes beyond [`lanes_with_tracks_max`] share rows; if there are any, the column `lane` has their
//! numbers.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Seek, Write};

use hrx_trace_reader::Kind;
use serde::{Serialize, Serializer};

use crate::figures::exact::Exact;
use crate::figures::groups::LaneKey;
use crate::figures::spill::{Runs, Spillable};
use crate::formats::page::arguments::ArgumentTexts;
use crate::formats::page::columns::Column;
use crate::formats::page::event::TimelineEvent;
use crate::formats::page::newest::Newest;
use crate::formats::page::rows::Rows;
use crate::input::captures::Captures;
use crate::input::labels::name_of;
use crate::input::other_lanes::{LaneCount, OtherLanes};
use crate::output::scratch::ScratchFile;
use crate::text::names::{label_group, lane_text};
use crate::text::words::lanes_text;
use crate::tracks::lanes::lanes_with_tracks_max;

/// Groups of the timeline, each of which takes memory.
const TIMELINE_GROUPS_MAX: usize = 1 << 18;

const FAILED: u64 = 1;
const SATURATED: u64 = 2;
const UNFINISHED: u64 = 4;
const CANCELLED: u64 = 8;
const HIDDEN: u64 = 16;
const WAITING: u64 = 32;

/// What is packed.
pub struct Kept<'kept, 'page> {
    pub captures: &'page Captures,
    pub regions: &'kept Newest,
    /// The regions that were still running.
    pub open: &'kept [TimelineEvent],
    pub marks: &'kept Newest,
    pub values: &'kept Newest,
    pub arguments: &'kept mut ArgumentTexts,
    pub thread_names: &'page [String],
}

/// How to read the columns.
#[derive(Debug, Serialize)]
pub struct TimelineLayout<'page> {
    #[serde(flatten)]
    pub regions: Section,
    #[serde(skip_serializing_if = "Section::is_empty")]
    pub marks: Section,
    #[serde(skip_serializing_if = "Section::is_empty")]
    pub values: Section,
    lanes: Vec<LaneRows>,
    /// By capture: how many lanes share rows.
    #[serde(skip)]
    pub other_lanes: Vec<Option<LaneCount>>,
    labels: LabelNames<'page>,
    /// The groups of those that have one, by their places in that list.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    label_groups: BTreeMap<usize, String>,
    /// A lane and a label each, as indexes into these lists.
    groups: Vec<(u32, u32)>,
    /// A capture and a label, as an index into the list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    series: Vec<(u32, u32)>,
    threads: Vec<u32>,
    /// The names of those that have one, by their places in that list.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    thread_names: BTreeMap<usize, &'page str>,
    /// Events whose arguments had to make room for newer ones.
    #[serde(skip_serializing_if = "Exact::is_zero")]
    arguments_left_out: Exact,
}

/// Events of one kind.
#[derive(Debug, Serialize)]
pub struct Section {
    /// Their number.
    pub count: usize,
    /// The first beginning, where the column `start` counts from.
    base_ns: Exact,
    /// The columns' names and sizes in bytes.
    columns: Vec<(&'static str, usize)>,
}

impl Section {
    fn is_empty(&self) -> bool {
        self.count == 0
    }
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
    fn note(&mut self, event: &TimelineEvent) {
        let (capture, lane) = (event.capture, event.event.lane);
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

    fn others(&self, capture: u32) -> Option<LaneCount> {
        self.of_captures[capture as usize].1.count()
    }
}

const REGION_COLUMNS: [&str; 12] = [
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
const MARK_COLUMNS: [&str; 7] = [
    "start",
    "group",
    "correlation",
    "thread",
    "ring",
    "sequence",
    "lane",
];
const VALUE_COLUMNS: [&str; 2] = ["start", "series"];

/// Sorts all events and packs them into `sink`. None: they have too many groups.
pub fn pack<'page>(
    kept: Kept<'_, 'page>,
    sink: &mut impl Write,
) -> io::Result<Option<TimelineLayout<'page>>> {
    let (captures, texts) = (kept.captures, kept.arguments);
    let mut lanes = TimelineLanes::new(captures.len());
    let mut open = kept.open.to_vec();
    // A lane on which something hangs has rows of its own.
    open.iter().for_each(|region| lanes.note(region));
    let mut runs = kept.regions.sorted(|region| lanes.note(region))?;
    open.sort_by_key(Spillable::key);
    runs.add(&open)?;
    let marks = kept.marks.sorted(|mark| lanes.note(mark))?;
    let values = kept.values.sorted(|_| ())?;
    let lane_places: HashMap<_, _> = lanes.keys.iter().copied().zip(0..).collect();
    let mut rows: Vec<Rows> = lanes.keys.iter().map(|_| Rows::default()).collect();
    // The last column has the numbers of lanes that share rows.
    let unshared = usize::from(!lane_places.keys().any(|(_, lane)| *lane == LaneKey::Others));
    let mut lists = Lists {
        lane_places,
        labels: Interner::new(),
        groups: Interner::new(),
        series: Interner::new(),
        threads: Interner::new(),
        texts_left_out: 0,
    };
    let region_columns = &REGION_COLUMNS[..REGION_COLUMNS.len() - unshared];
    let mark_columns = &MARK_COLUMNS[..MARK_COLUMNS.len() - unshared];
    let regions = Columns::write(&runs, region_columns, &mut lists, texts, |region, lists| {
        let event = &region.event;
        let (place, shared_lane) = lists.lane(region);
        let row = rows[place as usize].place(event.start_ns, event.end_ns()) as u64;
        let flags = [
            (event.failed, FAILED),
            (event.saturated, SATURATED),
            (region.unfinished, UNFINISHED),
            (event.cancelled, CANCELLED),
            (event.hidden, HIDDEN),
            (region.waiting, WAITING),
        ];
        [
            event.duration_ns,
            lists.group(region, place),
            row,
            event.copied_bytes,
            event.correlation_id,
            lists.thread(region),
            flags.iter().filter(|flag| flag.0).map(|flag| flag.1).sum(),
            event.status.into(),
            event.ring.into(),
            event.sequence,
            shared_lane.into(),
        ]
    })?;
    let marks = Columns::write(&marks, mark_columns, &mut lists, texts, |mark, lists| {
        let event = &mark.event;
        let (lane, shared_lane) = lists.lane(mark);
        [
            lists.group(mark, lane),
            event.correlation_id,
            lists.thread(mark),
            event.ring.into(),
            event.sequence,
            shared_lane.into(),
        ]
    })?;
    let values = Columns::write(
        &values,
        &VALUE_COLUMNS,
        &mut lists,
        texts,
        |value, lists| [lists.series(value)],
    )?;
    if lists.are_full() {
        return Ok(None);
    }
    let regions = regions.finish(sink)?;
    let (marks, values) = (marks.finish(sink)?, values.finish(sink)?);
    let label_groups = (0..).zip(&lists.labels.items).filter_map(|(place, item)| {
        let (capture, label_id) = *item;
        let group = label_group(&captures[capture as usize].trace, label_id)?;
        Some((place, cut(group)))
    });
    let thread_names = (0..).zip(&lists.threads.items).filter_map(|(place, item)| {
        let name = (item.1 as usize).checked_sub(1)?;
        Some((place, kept.thread_names.get(name)?.as_str()))
    });
    Ok(Some(TimelineLayout {
        regions,
        marks,
        values,
        other_lanes: (0..captures.len() as u32)
            .map(|capture| lanes.others(capture))
            .collect(),
        lanes: lane_rows(&lanes, &rows, captures),
        label_groups: label_groups.collect(),
        thread_names: thread_names.collect(),
        labels: LabelNames {
            captures,
            items: lists.labels.items,
        },
        groups: lists.groups.items,
        series: lists.series.items,
        threads: lists.threads.items.iter().map(|thread| thread.0).collect(),
        arguments_left_out: Exact(lists.texts_left_out),
    }))
}

/// The lanes with their names. Holds the names of one capture at a time.
fn lane_rows(of: &TimelineLanes, rows: &[Rows], captures: &Captures) -> Vec<LaneRows> {
    let mut lanes: Vec<LaneRows> = Vec::with_capacity(rows.len());
    let forget = |lanes: &[LaneRows]| {
        if let Some(lane) = lanes.last() {
            captures[lane.capture as usize].forget_names();
        }
    };
    for (&(capture, lane), rows) in of.keys.iter().zip(rows) {
        if lanes.last().is_some_and(|before| before.capture != capture) {
            forget(&lanes);
        }
        let (lane, name) = match lane {
            LaneKey::Number(lane) => (
                Some(lane),
                cut(lane_text(&captures[capture as usize], lane)),
            ),
            LaneKey::Others => (None, others_name(of.others(capture))),
        };
        lanes.push(LaneRows {
            capture,
            lane,
            name,
            // A lane that has only marks has a row, too.
            rows: rows.count().max(1),
        });
    }
    forget(&lanes);
    lanes
}

/// A name of which there is one for each lane or label: at most its first 100 characters.
fn cut(mut name: String) -> String {
    if let Some((end, _)) = name.char_indices().nth(100) {
        name.truncate(end);
        name.push('…');
    }
    name
}

/// What cells are indexes into.
struct Lists {
    lane_places: HashMap<(u32, LaneKey), u32>,
    labels: Interner<(u32, u32)>,
    groups: Interner<(u32, u32)>,
    series: Interner<(u32, u32)>,
    threads: Interner<(u32, u32)>,
    texts_left_out: u64,
}

impl Lists {
    /// The lane that has the rows, and the lane's number if they are shared.
    fn lane(&self, of: &TimelineEvent) -> (u32, u32) {
        let own = (of.capture, LaneKey::Number(of.event.lane));
        match self.lane_places.get(&own) {
            Some(place) => (*place, 0),
            None => (
                self.lane_places[&(of.capture, LaneKey::Others)],
                of.event.lane,
            ),
        }
    }

    fn group(&mut self, of: &TimelineEvent, lane: u32) -> u64 {
        let label = self.labels.index((of.capture, of.event.label_id));
        self.groups.index((lane, label)).into()
    }

    fn series(&mut self, of: &TimelineEvent) -> u64 {
        let label = self.labels.index((of.capture, of.event.label_id));
        self.series.index((of.capture, label)).into()
    }

    fn thread(&mut self, of: &TimelineEvent) -> u64 {
        self.threads
            .index((of.event.thread_id, of.thread_name))
            .into()
    }

    fn are_full(&self) -> bool {
        self.groups.items.len().max(self.series.items.len()) > TIMELINE_GROUPS_MAX
    }
}

/// The columns of a section, one after the other in a single file: of files that may be open, each section takes one.
struct Columns {
    section: Section,
    file: ScratchFile,
}

impl Columns {
    /// Writes the column `start`, and `cells` into the others. Ends early if the lists are full.
    fn write<const CELLS: usize>(
        runs: &Runs,
        names: &[&'static str],
        lists: &mut Lists,
        texts: &mut ArgumentTexts,
        mut cells: impl FnMut(&TimelineEvent, &mut Lists) -> [u64; CELLS],
    ) -> io::Result<Self> {
        let mut columns = names
            .iter()
            .map(|name| Column::new(name))
            .collect::<io::Result<Vec<Column>>>()?;
        let further = ["number", "arguments", "texts"].map(Column::new);
        let [number, arguments, text] = further;
        let (mut number, mut arguments, mut text) = (number?, arguments?, text?);
        let (mut count, mut base_ns, mut before_ns) = (0, 0, 0);
        runs.merge(|of: TimelineEvent| {
            if lists.are_full() {
                return Ok(());
            }
            let start_ns = of.event.start_ns;
            if count == 0 {
                (base_ns, before_ns) = (start_ns, start_ns);
            }
            count += 1;
            let cells = cells(&of, lists);
            for (column, value) in columns
                .iter_mut()
                .zip([start_ns - before_ns].iter().chain(&cells))
            {
                column.push(*value)?;
            }
            before_ns = start_ns;
            if of.event.kind == Kind::Value {
                return number.push_bytes(&of.event.value.to_le_bytes());
            }
            let units = match of.arguments.bytes {
                0 => 0,
                _ => match texts.get(of.arguments)? {
                    Some(of_event) => {
                        text.push_bytes(of_event.as_bytes())?;
                        of_event.encode_utf16().count()
                    }
                    None => {
                        lists.texts_left_out += 1;
                        0
                    }
                },
            };
            arguments.push(units as u64)
        })?;
        if text.bytes > 0 {
            columns.extend([arguments, text]);
        }
        if number.bytes > 0 {
            columns.push(number);
        }
        let mut file = ScratchFile::new()?;
        let mut sizes = Vec::with_capacity(columns.len());
        for column in columns {
            sizes.push((column.name, column.bytes));
            column.copy_into(&mut file)?;
        }
        Ok(Self {
            section: Section {
                count,
                base_ns: Exact(base_ns),
                columns: sizes,
            },
            file,
        })
    }

    /// Copies the columns.
    fn finish(mut self, sink: &mut impl Write) -> io::Result<Section> {
        self.file.rewind()?;
        io::copy(&mut self.file, sink)?;
        Ok(self.section)
    }
}

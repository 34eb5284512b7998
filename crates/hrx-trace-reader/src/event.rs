//! What a reader hands out: completed regions, marks, values, and running regions, in the file's unit, nanoseconds since the capture's start.

use hrx_trace_format::record::{
    FLAG_ARGUMENTS, FLAG_SATURATED, FLAG_WAITING, KIND_REGION, OPEN_SLOT_NONE,
};
use hrx_trace_format::{Amendment, Item, Mark, OpenRecord, Record, Value};

use crate::argument::Argument;

/// What an event is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A completed region.
    #[default]
    Region,
    /// Something happened at a moment.
    Mark,
    /// A sample of a number.
    Value,
}

/// One completed region, a mark or a value, as the host observed it.
///
/// Fields will be added. To make an event of your own, change the fields of `Event::default()`, a region whose fields are all 0.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Event {
    /// What it is.
    pub kind: Kind,
    /// The ring that holds it.
    pub ring: u32,
    /// Its ticket in that ring, from 1: the order of completion within the ring.
    pub sequence: u64,
    /// When it began, in nanoseconds since the capture's start. Of a mark or a value: its moment.
    pub start_ns: u64,
    /// How long it took, in nanoseconds. Marks and values: 0.
    pub duration_ns: u64,
    /// What the number was. Regions and marks: 0.
    pub value: f64,
    /// Bytes it copied. Marks and values: 0.
    pub copied_bytes: u64,
    /// The caller's submission or graph id; 0: none.
    pub correlation_id: u64,
    /// 0 upload, 1 compute, 2 download, 3 NPU, 4 host; others are the caller's own. Values: 0.
    pub lane: u32,
    /// Its name, see [`Trace::label`](crate::Trace::label); 0: none.
    pub label_id: u32,
    /// The operating system's id of the thread that recorded it.
    pub thread_id: u32,
    /// The caller's error code; 0: none. Marks and values: 0.
    pub status: u32,
    /// Whether the region failed.
    pub failed: bool,
    /// Whether the region was cancelled, which is no failure.
    pub cancelled: bool,
    /// Whether the region was not shown while it ran, because the table of open regions was full.
    pub hidden: bool,
    /// Whether a value did not fit its field, which then holds the largest that fits.
    pub saturated: bool,
    /// Its arguments, in the order in which they were recorded.
    pub arguments: Vec<Argument>,
    /// At least how many of its arguments are lost: overwritten, or damaged. 0: none that is known of.
    pub arguments_lost: u64,
}

impl Event {
    /// The event whose record is `record`, of any kind of event.
    #[inline]
    pub(crate) fn of(ring: u32, record: &Record) -> Self {
        match record.kind {
            KIND_REGION => Self::of_region(ring, record),
            _ => Self::of_moment(ring, record),
        }
    }

    #[inline(never)]
    fn of_moment(ring: u32, record: &Record) -> Self {
        match Item::of(bytemuck::cast(*record)) {
            Some(Item::Mark(mark)) => Self::of_mark(ring, &mark),
            Some(Item::Value(value)) => Self::of_value(ring, &value),
            _ => Self::of_region(ring, record),
        }
    }

    #[inline]
    fn of_region(ring: u32, region: &Record) -> Self {
        Self {
            kind: Kind::Region,
            ring,
            sequence: region.sequence,
            start_ns: region.start_ns,
            duration_ns: region.duration_ns,
            value: 0.0,
            copied_bytes: region.copied_bytes,
            correlation_id: region.correlation_id,
            lane: region.lane,
            label_id: region.label_id,
            thread_id: region.thread_id,
            status: region.status,
            failed: region.failed(),
            cancelled: region.cancelled(),
            hidden: region.open_slot == OPEN_SLOT_NONE,
            saturated: region.saturated(),
            arguments: Vec::new(),
            arguments_lost: u64::from(region.has_arguments()),
        }
    }

    fn of_mark(ring: u32, mark: &Mark) -> Self {
        Self {
            kind: Kind::Mark,
            ring,
            sequence: mark.sequence,
            start_ns: mark.start_ns,
            correlation_id: mark.correlation_id,
            lane: mark.lane,
            label_id: mark.label_id,
            thread_id: mark.thread_id,
            saturated: mark.flags & FLAG_SATURATED != 0,
            arguments_lost: u64::from(mark.flags & FLAG_ARGUMENTS != 0),
            ..Self::default()
        }
    }

    fn of_value(ring: u32, value: &Value) -> Self {
        Self {
            kind: Kind::Value,
            ring,
            sequence: value.sequence,
            start_ns: value.start_ns,
            value: value.number(),
            correlation_id: value.correlation_id,
            label_id: value.label_id,
            thread_id: value.thread_id,
            saturated: value.flags & FLAG_SATURATED != 0,
            arguments_lost: u64::from(value.flags & FLAG_ARGUMENTS != 0),
            ..Self::default()
        }
    }

    /// When it completed, in nanoseconds since the capture's start; saturates. A mark or a value completed at its moment.
    #[must_use]
    pub fn end_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.duration_ns)
    }

    /// Whether any of it lies between two moments: it ended at `from_ns` or later, and began before `to_ns`.
    #[must_use]
    pub fn is_within(&self, from_ns: u64, to_ns: u64) -> bool {
        self.end_ns() >= from_ns && self.start_ns < to_ns
    }
}

/// One region that had begun and not completed when the file was read, or when its writer died.
///
/// Fields will be added. To make one of your own, change the fields of `OpenRegion::default()`, which are all 0.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct OpenRegion {
    /// Its slot in the open table.
    pub slot: u32,
    /// The ring that its records go to.
    pub ring: u32,
    /// When it began, in nanoseconds since the capture's start.
    pub start_ns: u64,
    /// Bytes it was announced to copy; 0: none, or unknown.
    pub copied_bytes: u64,
    /// The caller's submission or graph id; 0: none.
    pub correlation_id: u64,
    /// As in [`Event::lane`].
    pub lane: u32,
    /// Its name, see [`Trace::label`](crate::Trace::label); 0: none.
    pub label_id: u32,
    /// The operating system's id of the thread that began it.
    pub thread_id: u32,
    /// The caller's error code, set while it runs; 0: none.
    pub status: u32,
    /// Whether it waits: a task that is not being run.
    pub waiting: bool,
    /// Whether a value did not fit its field, which then holds the largest that fits.
    pub saturated: bool,
    /// Whether the program has changed anything about it since it began. The other fields are as of the latest change.
    pub amended: bool,
    /// Its arguments so far, in the order in which they were recorded.
    pub arguments: Vec<Argument>,
    /// At least how many of its arguments are lost: overwritten, or damaged. 0: none that is known of.
    pub arguments_lost: u64,
}

impl OpenRegion {
    /// What the open record says.
    pub(crate) fn new(slot: u32, open: &OpenRecord) -> Self {
        Self {
            slot,
            ring: open.ring,
            start_ns: open.start_ns,
            copied_bytes: open.copied_bytes,
            correlation_id: open.correlation_id,
            lane: open.lane,
            label_id: open.label_id,
            thread_id: open.thread_id,
            status: 0,
            waiting: open.flags & FLAG_WAITING != 0,
            saturated: open.flags & FLAG_SATURATED != 0,
            amended: false,
            arguments: Vec::new(),
            arguments_lost: 0,
        }
    }

    /// Takes in what an amendment of it says.
    pub(crate) fn amend(&mut self, amendment: &Amendment) {
        self.copied_bytes = amendment.copied_bytes;
        self.correlation_id = amendment.correlation_id;
        self.lane = amendment.lane;
        self.label_id = amendment.label_id;
        self.status = amendment.status;
        self.waiting = amendment.flags & FLAG_WAITING != 0;
        self.saturated = amendment.flags & FLAG_SATURATED != 0;
        self.amended = true;
    }
}

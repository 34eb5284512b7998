//! A capture, and beside it what a viewer has to show of it.
//!
//! The expectation follows from what was recorded, never from reading the capture.

use std::collections::BTreeMap;

use hrx_trace_format::header::STATE_FINISHED;
use hrx_trace_format::{Geometry, LANE_NAMES, OpenRecord, Record, UNLABELLED};
use hrx_trace_tests::capture::{Capture, region};

/// A value beside a region.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    Integer(u64),
    Bool(bool),
}

/// A region as a viewer has to show it.
#[derive(Clone, Debug)]
pub struct Region {
    pub lane: u32,
    pub name: String,
    pub start_ns: u64,
    /// None: unfinished.
    pub duration_ns: Option<u64>,
    pub args: BTreeMap<&'static str, Arg>,
}

/// A mark on the capture's own track.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    pub at_ns: u64,
    pub name: String,
}

/// A capture in the making.
pub struct Case {
    pub name: String,
    pub capture: Capture,
    /// What the mark of the losses has to say, in this order; empty: there is none.
    pub losses: Vec<&'static str>,
    labels: BTreeMap<u32, String>,
    /// Ring by ring; None: a ticket whose record cannot be believed or shown.
    tickets: Vec<Vec<Option<Record>>>,
    open: Vec<OpenRecord>,
}

impl Case {
    /// One ring of `capacity`; the writer died.
    pub fn new(name: &str, capacity: u64) -> Self {
        Self::with(name, Geometry::new(capacity))
    }

    pub fn with(name: &str, geometry: Geometry) -> Self {
        Self {
            name: name.to_owned(),
            capture: Capture::with(geometry),
            losses: Vec::new(),
            labels: BTreeMap::from([(0, UNLABELLED.to_owned())]),
            tickets: vec![Vec::new(); geometry.ring_count as usize],
            open: Vec::new(),
        }
    }

    /// Of one ring that takes exactly these regions (lane, start, duration), completed in this order.
    pub fn of(name: &str, regions: impl IntoIterator<Item = (u32, u64, u64)>) -> Self {
        let regions: Vec<_> = regions.into_iter().collect();
        let mut case = Self::new(name, regions.len().max(1) as u64);
        for (lane, start_ns, duration_ns) in regions {
            case.record(region(lane, start_ns, duration_ns));
        }
        case
    }

    pub fn finished(mut self, at_ns: u64) -> Self {
        self.capture = self.capture.finished(at_ns);
        self
    }

    /// Interns a label.
    pub fn label(&mut self, text: &str) -> u32 {
        let label_id = self.capture.label(text);
        let shown = if text.is_empty() { UNLABELLED } else { text };
        self.labels.insert(label_id, shown.replace('\0', "␀"));
        label_id
    }

    /// Interns a label that nobody can read any more.
    pub fn damaged_label(&mut self) -> u32 {
        let label_id = self.capture.label("never to be read");
        let block = self.capture.identity.label_offset + 64 * u64::from(label_id - 1);
        self.capture.damage(block + 20);
        self.labels
            .insert(label_id, format!("label {label_id} (unreadable)"));
        label_id
    }

    pub fn record(&mut self, record: Record) {
        self.record_in(0, record);
    }

    pub fn record_in(&mut self, ring: u32, record: Record) {
        self.capture.record_in(ring, record);
        self.tickets[ring as usize].push(Some(record));
    }

    /// Records something of a kind that this version does not know.
    pub fn record_unknown(&mut self) {
        self.capture.record(Record {
            kind: 7,
            ..region(0, 1, 1)
        });
        self.tickets[0].push(None);
    }

    pub fn tear_in(&mut self, ring: u32) {
        self.capture.tear_in(ring);
        self.tickets[ring as usize].push(None);
    }

    pub fn open(&mut self, open: OpenRecord) {
        self.capture.open(self.open.len() as u32, open);
        self.open.push(open);
    }

    /// The newest `capacity` tickets of each ring, and how many are older.
    fn window(&self) -> (Vec<(u64, u64, Record)>, u64) {
        let capacity = self.capture.identity.capacity as usize;
        let mut overwritten = 0;
        let mut records = Vec::new();
        for (ring, tickets) in (0..).zip(&self.tickets) {
            let older = tickets.len().saturating_sub(capacity);
            overwritten += older as u64;
            let window = (1..).zip(tickets).skip(older);
            records.extend(window.filter_map(|(n, record)| record.map(|record| (ring, n, record))));
        }
        (records, overwritten)
    }

    /// The first and the last moment that the capture knows of.
    pub fn span_ns(&self) -> (u64, u64) {
        let (records, _) = self.window();
        let begun = || self.open.iter().map(|open| open.start_ns);
        let starts = records.iter().map(|(_, _, record)| record.start_ns);
        let ends = records
            .iter()
            .map(|(_, _, record)| record.start_ns.saturating_add(record.duration_ns));
        let finished_ns = match self.capture.counters.state {
            STATE_FINISHED => self.capture.counters.finished_ns,
            _ => 0,
        };
        let last_ns = ends.chain(begun()).chain([finished_ns]).max();
        (
            starts.chain(begun()).min().unwrap_or_default(),
            last_ns.unwrap_or_default(),
        )
    }

    /// What has to be shown, where times are shown up to `shown_ns_max`.
    pub fn regions(&self, shown_ns_max: u64) -> Vec<Region> {
        let (_, last_ns) = self.span_ns();
        let (records, _) = self.window();
        let several_rings = self.tickets.len() > 1;
        let completed = records.into_iter().map(|(ring, sequence, record)| {
            let start_ns = record.start_ns.min(shown_ns_max);
            let end_ns = record.start_ns.saturating_add(record.duration_ns);
            let duration_ns = end_ns.min(shown_ns_max) - start_ns;
            let mut args = BTreeMap::from([
                ("failed", Arg::Bool(record.failed())),
                ("sequence", Arg::Integer(sequence)),
            ]);
            if several_rings {
                args.insert("ring", Arg::Integer(ring));
            }
            if record.failed() || record.status != 0 {
                args.insert("status", Arg::Integer(record.status.into()));
            }
            if duration_ns != record.duration_ns {
                args.insert("start_ns", Arg::Integer(record.start_ns));
                args.insert("duration_ns", Arg::Integer(record.duration_ns));
            }
            let name = self.shown(record.label_id);
            let failed = if record.failed() { " [failed]" } else { "" };
            Region {
                lane: record.lane,
                name: format!("{name}{failed}"),
                start_ns,
                duration_ns: Some(duration_ns),
                args,
            }
            .with(&record)
        });
        let unfinished = self.open.iter().map(|open| {
            let running_ns = Arg::Integer(last_ns - open.start_ns);
            Region {
                lane: open.lane,
                name: format!("{} [unfinished]", self.shown(open.label_id)),
                start_ns: open.start_ns.min(shown_ns_max),
                duration_ns: None,
                args: BTreeMap::from([("unfinished", Arg::Bool(true)), ("running_ns", running_ns)]),
            }
            .with(&Record {
                copied_bytes: open.copied_bytes,
                correlation_id: open.correlation_id,
                thread_id: open.thread_id,
                lane: open.lane,
                flags: open.flags,
                ..region(0, 0, 0)
            })
        });
        completed.chain(unfinished).collect()
    }

    fn shown(&self, label_id: u32) -> String {
        format!("{} (host-observed)", self.labels[&label_id])
    }

    /// What stands on the capture's own track, in the order of time but for the mark of several rings.
    pub fn marks(&self) -> (Mark, Mark) {
        let (first_ns, last_ns) = self.span_ns();
        let begin = match self.window().1 {
            0 => "begin: nothing older was overwritten (host-observed)".to_owned(),
            1 => "begin: 1 older event overwritten (host-observed)".to_owned(),
            count => format!("begin: {count} older events overwritten (host-observed)"),
        };
        let end = match self.capture.counters.state {
            STATE_FINISHED => "end: finished by its writer (host-observed)",
            _ => "end: the writer died; this is the last moment known (host-observed)",
        };
        let mark = |at_ns, name| Mark { at_ns, name };
        (mark(first_ns, begin), mark(last_ns, end.to_owned()))
    }
}

impl Region {
    /// What completed and unfinished regions have in common.
    fn with(mut self, record: &Record) -> Self {
        self.args.insert("lane", Arg::Integer(record.lane.into()));
        self.args
            .insert("copied_bytes", Arg::Integer(record.copied_bytes));
        self.args
            .insert("thread_id", Arg::Integer(record.thread_id.into()));
        if record.correlation_id != 0 {
            self.args
                .insert("correlation_id", Arg::Integer(record.correlation_id));
        }
        if record.saturated() {
            self.args.insert("saturated", Arg::Bool(true));
        }
        self
    }

    /// What its lane is called.
    pub fn lane_name(&self) -> String {
        match LANE_NAMES.get(self.lane as usize) {
            Some(name) => (*name).to_owned(),
            None => format!("lane {}", self.lane),
        }
    }
}

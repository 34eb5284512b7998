//! A capture together with what a viewer must show of it.
//!
//! The expectation follows from what was recorded, never from reading the capture.

use std::collections::BTreeMap;

use hrx_trace_format::header::STATE_FINISHED;
use hrx_trace_format::record::FLAG_SATURATED;
use hrx_trace_format::{Geometry, Identity, LANE_NAMES, OpenRecord, Record, UNLABELLED};
use hrx_trace_reader::{Ending, Event, Names, OpenRegion, Trace};
use hrx_trace_tests::capture::{Capture, region};

/// The value of a region's argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    Integer(u64),
    Bool(bool),
    Text(String),
}

/// A region as a viewer must show it.
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

/// What a viewer must show of a capture.
#[derive(Clone, Debug)]
pub struct Expected {
    pub what: String,
    /// None: any process id that no other process has.
    pub pid: Option<u32>,
    pub process_name: String,
    pub regions: Vec<Region>,
    pub begin: Mark,
    pub end: Mark,
    /// What the mark of the losses must say, in this order; empty: there is no such mark.
    pub losses: Vec<&'static str>,
}

/// How times are shown.
#[derive(Clone, Copy, Debug)]
pub struct Timeline {
    /// Where the capture begins on the timeline.
    pub shift_ns: u64,
    /// Later times are shown as this one.
    pub shown_ns_max: u64,
    /// The viewer's clock at the timeline's zero.
    pub epoch_ns: u64,
}

impl Timeline {
    fn shown(&self, ns: u64) -> u64 {
        ns.saturating_add(self.shift_ns).min(self.shown_ns_max) + self.epoch_ns
    }
}

impl Region {
    pub fn completed(event: &Event, label: &str, several_rings: bool, timeline: Timeline) -> Self {
        let start_ns = timeline.shown(event.start_ns);
        let duration_ns = timeline.shown(event.end_ns()) - start_ns;
        let mut args = BTreeMap::from([
            ("lane", Arg::Integer(event.lane.into())),
            ("copied_bytes", Arg::Integer(event.copied_bytes)),
            ("failed", Arg::Bool(event.failed)),
            ("thread_id", Arg::Integer(event.thread_id.into())),
            ("sequence", Arg::Integer(event.sequence)),
        ]);
        if several_rings {
            args.insert("ring", Arg::Integer(event.ring.into()));
        }
        if event.failed || event.status != 0 {
            args.insert("status", Arg::Integer(event.status.into()));
        }
        if event.correlation_id != 0 {
            args.insert("correlation_id", Arg::Integer(event.correlation_id));
        }
        if event.saturated {
            args.insert("saturated", Arg::Bool(true));
        }
        if duration_ns != event.duration_ns {
            let start_ns = event.start_ns.saturating_add(timeline.shift_ns);
            args.insert("start_ns", Arg::Integer(start_ns));
            args.insert("duration_ns", Arg::Integer(event.duration_ns));
        }
        let failed = if event.failed { " [failed]" } else { "" };
        Self {
            lane: event.lane,
            name: format!("{label} (host-observed){failed}"),
            start_ns,
            duration_ns: Some(duration_ns),
            args,
        }
    }

    pub fn unfinished(open: &OpenRegion, label: &str, last_ns: u64, timeline: Timeline) -> Self {
        let running_ns = last_ns.saturating_add(timeline.shift_ns)
            - open.start_ns.saturating_add(timeline.shift_ns);
        let mut args = BTreeMap::from([
            ("lane", Arg::Integer(open.lane.into())),
            ("copied_bytes", Arg::Integer(open.copied_bytes)),
            ("unfinished", Arg::Bool(true)),
            ("running_ns", Arg::Integer(running_ns)),
            ("thread_id", Arg::Integer(open.thread_id.into())),
        ]);
        if open.correlation_id != 0 {
            args.insert("correlation_id", Arg::Integer(open.correlation_id));
        }
        if open.saturated {
            args.insert("saturated", Arg::Bool(true));
        }
        Self {
            lane: open.lane,
            name: format!("{label} (host-observed) [unfinished]"),
            start_ns: timeline.shown(open.start_ns),
            duration_ns: None,
            args,
        }
    }

    /// With the name that its thread had at that moment.
    fn by_thread(mut self, names: &Names, thread_id: u32, at_ns: u64) -> Self {
        let name = names.thread(thread_id, at_ns);
        let thread = name.map(|name| ("thread", Arg::Text(name.text.clone())));
        self.args.extend(thread);
        self
    }

    /// The name of its lane.
    pub fn lane_name(&self) -> String {
        match LANE_NAMES.get(self.lane as usize) {
            Some(name) => (*name).to_owned(),
            None => format!("lane {}", self.lane),
        }
    }
}

impl Expected {
    /// The same beside other captures, in one file: what was running ends at the capture's own last moment.
    pub fn among_others(mut self) -> Self {
        let unfinished = (self.regions.iter()).filter(|region| region.duration_ns.is_none());
        let newest_ns = unfinished.map(|region| region.start_ns).max();
        // What begins at the last moment is shown for a nanosecond, and so all end by that.
        let until_ns = self.end.at_ns.max(newest_ns.unwrap_or_default() + 1);
        for region in &mut self.regions {
            region.duration_ns.get_or_insert(until_ns - region.start_ns);
        }
        self
    }

    /// What a reader finds in a capture that has lost nothing but overwritten events and records in progress.
    pub fn of(trace: &Trace, timeline: Timeline) -> Self {
        let report = trace.report();
        let several_rings = trace.identity().ring_count > 1;
        let names = trace.names();
        let completed = trace.events().map(|event| {
            let label = trace.name(event.label_id);
            let region = Region::completed(&event, &label, several_rings, timeline);
            region.by_thread(&names, event.thread_id, event.end_ns())
        });
        let unfinished = report.open_regions.iter().map(|open| {
            let label = trace.name(open.label_id);
            let region = Region::unfinished(open, &label, report.last_ns, timeline);
            region.by_thread(&names, open.thread_id, open.start_ns)
        });
        let span_ns = (report.first_ns.unwrap_or_default(), report.last_ns);
        let overwritten = report.account.overwritten;
        let finished = report.ending == Ending::Finished;
        Self {
            what: trace.identity().program().to_owned(),
            regions: completed.chain(unfinished).collect(),
            losses: if report.account.torn > 0 {
                vec!["torn"]
            } else {
                vec![]
            },
            ..Self::new(trace.identity(), span_ns, overwritten, finished, timeline)
        }
    }

    /// What is expected whatever was recorded. `overwritten` counts events.
    pub fn new(
        identity: &Identity,
        (first_ns, last_ns): (u64, u64),
        overwritten: u64,
        finished: bool,
        timeline: Timeline,
    ) -> Self {
        let begin = match overwritten {
            0 => "begin: nothing older was overwritten (host-observed)".to_owned(),
            1 => "begin: 1 older event overwritten (host-observed)".to_owned(),
            count => format!(
                "begin: {} older events overwritten (host-observed)",
                grouped(count)
            ),
        };
        let attributes: String = identity
            .attributes()
            .map(|(key, value)| format!(" {key}={value}"))
            .collect();
        let end = match finished {
            true => "end: finished by its writer (host-observed)",
            false => "end: the writer died; this is the last sign of life (host-observed)",
        };
        Self {
            what: String::new(),
            pid: Some(identity.process_id),
            process_name: format!("{}{attributes} (host-observed)", identity.program()),
            regions: Vec::new(),
            begin: Mark {
                at_ns: timeline.shown(first_ns),
                name: begin,
            },
            end: Mark {
                at_ns: timeline.shown(last_ns),
                name: end.to_owned(),
            },
            losses: Vec::new(),
        }
    }
}

/// A capture under construction.
pub struct Case {
    pub name: String,
    pub capture: Capture,
    /// What the mark of the losses must say, in this order; empty: there is no such mark.
    pub losses: Vec<&'static str>,
    labels: BTreeMap<u32, String>,
    /// Ring by ring; None: a ticket whose record is invalid or of an unknown kind.
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

    /// One ring that holds exactly these regions (lane, start, duration), completed in this order.
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
        let shown = if text.is_empty() { "(empty)" } else { text };
        self.labels.insert(label_id, shown.replace('\0', "␀"));
        label_id
    }

    /// Interns a label and damages it.
    pub fn damaged_label(&mut self) -> u32 {
        let label_id = self.capture.label("never to be read");
        let block = self.capture.identity.name_entry(label_id);
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

    /// Records an event of a kind unknown to this version.
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

    /// The events of the newest `capacity` tickets of each ring, and the number of older tickets.
    fn window(&self) -> (Vec<Event>, u64) {
        let capacity = self.capture.identity.capacity as usize;
        let mut overwritten = 0;
        let mut events = Vec::new();
        for (ring, tickets) in (0..).zip(&self.tickets) {
            let older = tickets.len().saturating_sub(capacity);
            overwritten += older as u64;
            for (sequence, record) in (1..).zip(tickets).skip(older) {
                events.extend(record.map(|record| event(ring, sequence, &record)));
            }
        }
        (events, overwritten)
    }

    /// What a viewer must show of it.
    pub fn expected(&self, timeline: Timeline) -> Expected {
        let (events, overwritten) = self.window();
        let finished = self.capture.counters.state == STATE_FINISHED;
        let starts = events.iter().map(|event| event.start_ns);
        let begun = || self.open.iter().map(|open| open.start_ns);
        let first_ns = starts.chain(begun()).min().unwrap_or_default();
        let ends = events.iter().map(Event::end_ns);
        let finished_ns = finished.then_some(self.capture.counters.finished_ns);
        let last_ns = ends.chain(begun()).chain(finished_ns).max();
        let span_ns = (first_ns, last_ns.unwrap_or_default());
        let several_rings = self.tickets.len() > 1;
        let completed = events.iter().map(|event| {
            let label = &self.labels[&event.label_id];
            Region::completed(event, label, several_rings, timeline)
        });
        let unfinished = self.open.iter().map(|open| {
            let label = &self.labels[&open.label_id];
            Region::unfinished(&open_region(open), label, span_ns.1, timeline)
        });
        let identity = &self.capture.identity;
        Expected {
            what: self.name.clone(),
            regions: completed.chain(unfinished).collect(),
            losses: self.losses.clone(),
            ..Expected::new(identity, span_ns, overwritten, finished, timeline)
        }
    }
}

fn event(ring: u32, sequence: u64, record: &Record) -> Event {
    let mut event = Event::default();
    event.ring = ring;
    event.sequence = sequence;
    event.start_ns = record.start_ns;
    event.duration_ns = record.duration_ns;
    event.copied_bytes = record.copied_bytes;
    event.correlation_id = record.correlation_id;
    event.lane = record.lane;
    event.label_id = record.label_id;
    event.thread_id = record.thread_id;
    event.status = record.status;
    event.failed = record.failed();
    event.saturated = record.saturated();
    event
}

fn open_region(open: &OpenRecord) -> OpenRegion {
    let mut region = OpenRegion::default();
    region.start_ns = open.start_ns;
    region.copied_bytes = open.copied_bytes;
    region.correlation_id = open.correlation_id;
    region.lane = open.lane;
    region.label_id = open.label_id;
    region.thread_id = open.thread_id;
    region.saturated = open.flags & FLAG_SATURATED != 0;
    region
}

/// A number as people read it: 3,950.
fn grouped(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        _ => format!("{},{:03}", grouped(number / 1_000), number % 1_000),
    }
}

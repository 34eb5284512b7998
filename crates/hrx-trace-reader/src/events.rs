//! The events of all rings in order of completion, and the report that is complete once they have been read.
//!
//! One ring's events come in ticket order and are never sorted. Several rings are merged by completion time. A ring's own order goes
//! before the clock: its key in the merge is the latest completion it has shown so far.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::iter::FusedIterator;

use bytemuck::Zeroable;
use hrx_trace_format::label::BLOCK_BYTES;
use hrx_trace_format::record::FLAG_SATURATED;
use hrx_trace_format::{OpenRecord, Record};

use crate::ring::RingReader;
use crate::trace::{Label, Trace};
use crate::{Account, Damage, Event, OpenRegion, Report};

/// The events of a capture, in order of completion. [`Events::finish`] gives the report.
#[derive(Debug)]
pub struct Events<'trace> {
    trace: &'trace Trace,
    rings: Vec<RingReader>,
    /// Several rings: those that have a head, by (latest completion so far, ring), earliest on top. One ring: empty.
    merge: BinaryHeap<Reverse<(u64, u32)>>,
    /// Several rings: the record of each that comes next.
    heads: Vec<Record>,
    tally: Tally,
}

impl<'trace> Events<'trace> {
    pub(crate) fn new(trace: &'trace Trace) -> Self {
        let mut events = Self {
            trace,
            rings: trace.ring_readers(),
            merge: BinaryHeap::new(),
            heads: Vec::new(),
            tally: Tally::new(trace),
        };
        if events.rings.len() > 1 {
            for (ring, reader) in (0..).zip(&mut events.rings) {
                let head = reader.next(trace.source());
                events
                    .merge
                    .extend(head.map(|head| Reverse((head.end_ns(), ring))));
                events.heads.push(head.unwrap_or(Record::zeroed()));
            }
        }
        events
    }

    /// Reads what is left, and says what became of every ticket, and what was running.
    #[must_use]
    pub fn finish(mut self) -> Report {
        self.by_ref().for_each(drop);
        let Self {
            trace,
            rings,
            tally,
            ..
        } = self;
        let snapshot = trace.snapshot();
        let accounts: Vec<Account> = rings.iter().map(RingReader::account).collect();
        let open_regions = tally.open_regions();
        let open_starts = || open_regions.iter().map(|region| region.start_ns);
        let last_ns = [tally.last_ns, snapshot.counters.finished_ns]
            .into_iter()
            .chain(open_starts())
            .chain(snapshot.now_ns)
            .fold(0, u64::max);
        let mut damages = snapshot.damages.clone();
        damages.extend(rings.iter().filter_map(RingReader::read_failed).cloned());
        damages.extend(tally.labels.damage(trace));
        Report {
            ending: snapshot.ending,
            account: accounts.iter().copied().sum(),
            rings: accounts,
            rejected: snapshot.counters.rejected,
            open_refused: snapshot.counters.open_refused,
            labels_refused: snapshot.counters.labels_refused,
            open_torn: snapshot.open_torn,
            first_ns: tally.first_ns.into_iter().chain(open_starts()).min(),
            last_ns,
            complete_since_ns: rings
                .iter()
                .map(|ring| ring.complete_since_ns().unwrap_or(last_ns))
                .fold(0, u64::max),
            open_regions,
            damages,
        }
    }

    /// The ring and the record that come next.
    #[inline]
    fn next_record(&mut self) -> Option<(u32, Record)> {
        let source = self.trace.source();
        if let [ring] = self.rings.as_mut_slice() {
            return ring.next(source).map(|record| (0, record));
        }
        let mut top = self.merge.peek_mut()?;
        let Reverse((latest_ns, ring)) = *top;
        let head = self.heads.get_mut(ring as usize)?;
        let record = *head;
        match self.rings.get_mut(ring as usize)?.next(source) {
            Some(next) => {
                *top = Reverse((latest_ns.max(next.end_ns()), ring));
                *head = next;
            }
            None => {
                PeekMut::pop(top);
            }
        }
        Some((ring, record))
    }
}

impl Iterator for Events<'_> {
    type Item = Event;

    #[inline]
    fn next(&mut self) -> Option<Event> {
        let (ring, record) = self.next_record()?;
        self.tally.note(self.trace, ring, &record);
        Some(Event {
            ring,
            sequence: record.sequence,
            start_ns: record.start_ns,
            duration_ns: record.duration_ns,
            copied_bytes: record.copied_bytes,
            correlation_id: record.correlation_id,
            lane: record.lane,
            label_id: record.label_id,
            thread_id: record.thread_id,
            status: record.status,
            failed: record.failed(),
            saturated: record.saturated(),
        })
    }

    /// The upper bound is what is left if every slot can be believed: a measure of progress.
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self
            .rings
            .iter()
            .map(RingReader::remaining)
            .fold(self.merge.len() as u64, u64::saturating_add);
        (0, usize::try_from(left).ok())
    }
}

impl FusedIterator for Events<'_> {}

/// What the report needs of the events that have gone by.
#[derive(Debug)]
struct Tally {
    first_ns: Option<u64>,
    last_ns: u64,
    /// The regions that were running, by slot, without those whose completed record has come by.
    open: Vec<Option<OpenRecord>>,
    labels: LabelsSeen,
}

impl Tally {
    fn new(trace: &Trace) -> Self {
        let mut labels = LabelsSeen::new(trace);
        let open = trace.snapshot().open.clone();
        for region in open.iter().flatten() {
            labels.note(trace, region.label_id);
        }
        Self {
            first_ns: None,
            last_ns: 0,
            open,
            labels,
        }
    }

    #[inline]
    fn note(&mut self, trace: &Trace, ring: u32, record: &Record) {
        self.first_ns = Some(
            self.first_ns
                .map_or(record.start_ns, |first_ns| first_ns.min(record.start_ns)),
        );
        self.last_ns = self.last_ns.max(record.end_ns());
        if record.label_id != self.labels.last {
            self.labels.note(trace, record.label_id);
        }
        if let Some(slot) = record.open_slot.checked_sub(1)
            && let Some(open) = self.open.get_mut(usize::from(slot))
            && open.is_some_and(|open| open.ring == ring && record.sequence > open.claimed_at_begin)
        {
            // A slot holds one region at a time, so a later ticket from the same slot is that region, completed.
            *open = None;
        }
    }

    /// What was running, from the oldest to the newest.
    fn open_regions(&self) -> Vec<OpenRegion> {
        let mut regions: Vec<OpenRegion> = (0..)
            .zip(&self.open)
            .filter_map(|(slot, open)| {
                open.map(|open| OpenRegion {
                    slot,
                    start_ns: open.start_ns,
                    copied_bytes: open.copied_bytes,
                    correlation_id: open.correlation_id,
                    lane: open.lane,
                    label_id: open.label_id,
                    thread_id: open.thread_id,
                    saturated: open.flags & FLAG_SATURATED != 0,
                })
            })
            .collect();
        regions.sort_by_key(|region| region.start_ns);
        regions
    }
}

/// Which labels the events name, so that each is verified once.
#[derive(Debug)]
struct LabelsSeen {
    /// The label of the event before: most events share one with their neighbours.
    last: u32,
    /// One bit for each block of the table, and one for all labels behind its end.
    seen: Vec<u64>,
    unreadable: u64,
    first_unreadable: Option<u32>,
}

impl LabelsSeen {
    fn new(trace: &Trace) -> Self {
        let blocks = trace.snapshot().labels.len().div_euclid(BLOCK_BYTES);
        Self {
            last: 0,
            seen: vec![0; blocks.div_euclid(64).saturating_add(1)],
            unreadable: 0,
            first_unreadable: None,
        }
    }

    #[cold]
    fn note(&mut self, trace: &Trace, label_id: u32) {
        self.last = label_id;
        let bits = self.seen.len().saturating_mul(64);
        let index = (label_id as usize).min(bits.saturating_sub(1));
        let Some(word) = self.seen.get_mut(index.div_euclid(64)) else {
            return;
        };
        let bit = 1u64.rotate_left(index.rem_euclid(64) as u32);
        if *word & bit == 0 && trace.label(label_id) == Label::Unreadable {
            self.unreadable = self.unreadable.saturating_add(1);
            self.first_unreadable.get_or_insert(label_id);
        }
        *word |= bit;
    }

    fn damage(&self, trace: &Trace) -> Option<Damage> {
        let label_id = self.first_unreadable?;
        let blocks = u64::from(label_id.saturating_sub(1));
        Some(Damage {
            offset: trace
                .identity()
                .label_offset
                .saturating_add(blocks.saturating_mul(BLOCK_BYTES as u64)),
            what: format!(
                "label {label_id}, which an event names, cannot be believed (labels like it: {})",
                self.unreadable
            ),
        })
    }
}

//! The events of all rings in order of completion, and the report that is complete once they have been read.
//!
//! One ring's events come in ticket order and are never sorted. Several rings are merged by the completion time of the record that each would
//! give next; at the same time the lower ring goes first. So a ring's own order goes before the clock: a record that was complete before its
//! predecessor follows it at once, just as if it had its predecessor's time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::iter::FusedIterator;

use bytemuck::Zeroable;
use hrx_trace_format::Record;
use hrx_trace_format::label::BLOCK_BYTES;
use hrx_trace_format::record::FLAG_SATURATED;

use crate::ring::RingReader;
use crate::source::Source;
use crate::trace::{Label, Reading, Trace};
use crate::{Account, Damage, Event, OpenRegion, Report};

/// The events of a capture, in order of completion. [`Events::finish`] gives the report.
#[derive(Debug)]
pub struct Events<'trace> {
    trace: &'trace Trace,
    merge: Merge,
}

impl<'trace> Events<'trace> {
    pub(crate) fn new(trace: &'trace Trace, reading: Reading) -> Self {
        Self {
            trace,
            merge: Merge::new(trace, trace.ring_readers(reading)),
        }
    }

    /// Reads what is left, and says what became of every ticket, and what was running.
    #[must_use]
    pub fn finish(mut self) -> Report {
        self.by_ref().for_each(drop);
        self.merge.report(self.trace)
    }
}

impl Iterator for Events<'_> {
    type Item = Event;

    #[inline]
    fn next(&mut self) -> Option<Event> {
        self.merge.next(self.trace)
    }

    /// The upper bound is what is left if every slot can be believed: a measure of progress.
    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, usize::try_from(self.merge.left()).ok())
    }
}

/// The rings of a capture on their way into one order. It holds no trace: a follower changes the trace between two events.
#[derive(Debug)]
pub(crate) struct Merge {
    rings: Vec<RingReader>,
    /// Several rings: those that have a head, by (completion, ring), earliest on top. One ring: empty.
    queue: BinaryHeap<Reverse<(u64, u32)>>,
    /// Several rings: the record of each that comes next.
    heads: Vec<Record>,
    tally: Tally,
}

impl Merge {
    pub(crate) fn new(trace: &Trace, rings: Vec<RingReader>) -> Self {
        let mut merge = Self {
            queue: BinaryHeap::new(),
            heads: vec![Record::zeroed(); rings.len()],
            rings,
            tally: Tally::new(trace),
        };
        merge.fill_heads(trace);
        merge
    }

    /// Asks every ring for its next record; none has one in the queue.
    fn fill_heads(&mut self, trace: &Trace) {
        if self.rings.len() < 2 {
            return;
        }
        for ((ring, reader), head) in (0..).zip(&mut self.rings).zip(&mut self.heads) {
            if let Some(record) = reader.next(trace.source()) {
                self.queue.push(Reverse((record.end_ns(), ring)));
                *head = *record;
            }
        }
    }

    /// Goes on to what the trace's snapshot has besides, once [`Merge::next`] has nothing more.
    pub(crate) fn extend(&mut self, trace: &Trace) {
        let snapshot = trace.snapshot();
        for (reader, claimed) in self.rings.iter_mut().zip(&snapshot.claimed) {
            reader.extend(*claimed, snapshot.writer_runs);
        }
        self.fill_heads(trace);
    }

    pub(crate) fn end_following(&mut self) {
        self.rings.iter_mut().for_each(RingReader::end_following);
    }

    fn left(&self) -> u64 {
        let rings = self.rings.iter().map(RingReader::remaining);
        rings.fold(self.queue.len() as u64, u64::saturating_add)
    }

    /// What became of every ticket, and what was running; everything has been read.
    pub(crate) fn report(self, trace: &Trace) -> Report {
        let Self {
            rings, mut tally, ..
        } = self;
        let snapshot = trace.snapshot();
        let accounts: Vec<Account> = rings.iter().map(RingReader::account).collect();
        let open_regions = tally.open_regions(trace);
        let open_starts = || open_regions.iter().map(|region| region.start_ns);
        let last_ns = [tally.last_ns, snapshot.finished_ns()]
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

    /// Always inlined: an event that is handed back through memory is stored field by field and loaded in larger pieces, which have to wait for the stores.
    #[inline(always)]
    pub(crate) fn next(&mut self, trace: &Trace) -> Option<Event> {
        if let [ring] = self.rings.as_mut_slice() {
            let record = ring.next(trace.source())?;
            self.tally.note(trace, 0, record);
            return Some(event(0, record));
        }
        let (ring, record) = self.next_of_several(trace.source())?;
        self.tally.note(trace, ring, &record);
        Some(event(ring, &record))
    }

    /// The ring and the record that come next.
    fn next_of_several(&mut self, source: &Source) -> Option<(u32, Record)> {
        let mut top = self.queue.peek_mut()?;
        let Reverse((_, ring)) = *top;
        let head = self.heads.get_mut(ring as usize)?;
        let record = *head;
        match self.rings.get_mut(ring as usize)?.next(source) {
            Some(next) => {
                *top = Reverse((next.end_ns(), ring));
                *head = *next;
            }
            None => {
                PeekMut::pop(top);
            }
        }
        Some((ring, record))
    }
}

#[inline]
fn event(ring: u32, record: &Record) -> Event {
    Event {
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
    }
}

impl FusedIterator for Events<'_> {}

/// What the report needs of the events that have gone by.
#[derive(Debug)]
struct Tally {
    first_ns: Option<u64>,
    last_ns: u64,
    /// By slot of the open table, and within it by ring: the latest ticket of a region that ran there and completed; 0: none.
    completed: Vec<u64>,
    ring_count: usize,
    labels: LabelsSeen,
}

impl Tally {
    fn new(trace: &Trace) -> Self {
        let ring_count = trace.snapshot().claimed.len();
        let slots = trace.snapshot().open.len();
        Self {
            first_ns: None,
            last_ns: 0,
            completed: vec![0; slots.saturating_mul(ring_count)],
            ring_count,
            labels: LabelsSeen::new(trace),
        }
    }

    #[inline]
    fn note(&mut self, trace: &Trace, ring: u32, record: &Record) {
        self.first_ns = Some(
            self.first_ns
                .map_or(record.start_ns, |first_ns| first_ns.min(record.start_ns)),
        );
        self.last_ns = self.last_ns.max(record.end_ns());
        self.labels.note(trace, record.label_id);
        if let Some(slot) = record.open_slot.checked_sub(1) {
            let index = self.index(slot.into(), ring);
            if let Some(latest) = self.completed.get_mut(index) {
                *latest = record.sequence.max(*latest);
            }
        }
    }

    #[inline]
    fn index(&self, slot: usize, ring: u32) -> usize {
        slot.wrapping_mul(self.ring_count)
            .wrapping_add(ring as usize)
    }

    /// What was running, from the oldest to the newest.
    fn open_regions(&mut self, trace: &Trace) -> Vec<OpenRegion> {
        let mut regions = Vec::new();
        for (slot, open) in (0..).zip(&trace.snapshot().open) {
            let Some(open) = open else { continue };
            self.labels.note(trace, open.label_id);
            let completed = self.completed.get(self.index(slot as usize, open.ring));
            // A slot holds one region at a time, so a later ticket from the same slot is that region, completed.
            if completed.is_some_and(|sequence| *sequence > open.claimed_at_begin) {
                continue;
            }
            regions.push(OpenRegion {
                slot,
                start_ns: open.start_ns,
                copied_bytes: open.copied_bytes,
                correlation_id: open.correlation_id,
                lane: open.lane,
                label_id: open.label_id,
                thread_id: open.thread_id,
                saturated: open.flags & FLAG_SATURATED != 0,
            });
        }
        regions.sort_by_key(|region| region.start_ns);
        regions
    }
}

/// Which labels the events name, so that each is verified once.
#[derive(Debug)]
struct LabelsSeen {
    /// One bit for each block of the table, and one for all labels behind its end.
    seen: Vec<u64>,
    unreadable: u64,
    first_unreadable: Option<u32>,
}

impl LabelsSeen {
    fn new(trace: &Trace) -> Self {
        let blocks = (trace.snapshot().label_bytes as usize).div_euclid(BLOCK_BYTES);
        Self {
            seen: vec![0; blocks.div_euclid(64).saturating_add(1)],
            unreadable: 0,
            first_unreadable: None,
        }
    }

    #[inline]
    fn note(&mut self, trace: &Trace, label_id: u32) {
        let word = self.seen.get((label_id / 64) as usize);
        if word.is_none_or(|word| word >> (label_id % 64) & 1 == 0) {
            self.note_new(trace, label_id);
        }
    }

    #[cold]
    fn note_new(&mut self, trace: &Trace, label_id: u32) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Image, live, read, region};
    use crate::{Ending, Event};
    use hrx_trace_format::OpenRecord;

    /// A region that began in open slot 0, when ring 0 had given out `claimed_at_begin` tickets.
    fn open_since(start_ns: u64, claimed_at_begin: u64) -> OpenRecord {
        OpenRecord {
            start_ns,
            claimed_at_begin,
            ..OpenRecord::zeroed()
        }
    }

    /// The completed record of a region that ran in open slot `slot`.
    fn from_slot(slot: u8, start_ns: u64, end_ns: u64) -> Record {
        Record {
            start_ns,
            duration_ns: end_ns - start_ns,
            open_slot: slot + 1,
            ..Record::zeroed()
        }
    }

    fn order(events: &[Event]) -> Vec<(u32, u64)> {
        events
            .iter()
            .map(|event| (event.ring, event.sequence))
            .collect()
    }

    #[test]
    fn one_ring_is_never_sorted() {
        let mut image = Image::new(4, 1);
        for end_ns in [5000, 2000, 9000, 1000] {
            image.record(0, region(end_ns));
        }
        let ends: Vec<u64> = image.read().0.iter().map(Event::end_ns).collect();
        assert_eq!(ends, [5000, 2000, 9000, 1000]);
    }

    #[test]
    fn rings_are_merged_by_completion_and_keep_their_own_order() {
        let mut image = Image::new(4, 3);
        for end_ns in [2000, 6000, 6500] {
            image.record(0, region(end_ns));
        }
        for end_ns in [1000, 6000, 3000, 7000] {
            image.record(2, region(end_ns));
        }
        let (events, report) = image.read();
        // At 6000 the lower ring goes first; ring 2's 3000 follows its 6000 at once.
        assert_eq!(
            order(&events),
            [(2, 1), (0, 1), (0, 2), (2, 2), (2, 3), (0, 3), (2, 4)]
        );
        assert_eq!(report.rings.len(), 3);
        assert_eq!(report.rings[1], Account::default());
    }

    #[test]
    fn many_rings_against_a_plain_sort() {
        let mut image = Image::new(150, 40);
        for step in 1..=6000u64 {
            let ring = (step * 7919 % 40) as u32;
            image.record(ring, region(step * 10));
        }
        let (events, _) = image.read();
        let ends: Vec<u64> = events.iter().map(Event::end_ns).collect();
        assert_eq!(ends.len(), 6000);
        assert!(ends.is_sorted());
    }

    #[test]
    fn complete_since_is_the_latest_of_the_rings_that_overwrote() {
        let mut image = Image::new(2, 3);
        for end_ns in [1000, 2000] {
            image.record(0, region(end_ns));
        }
        assert_eq!(image.read().1.complete_since_ns, 0);
        for end_ns in [1000, 3000, 4000] {
            image.record(1, region(end_ns));
        }
        assert_eq!(image.read().1.complete_since_ns, 3000);
        for end_ns in [1000, 5000, 8000] {
            image.record(2, region(end_ns));
        }
        assert_eq!(image.read().1.complete_since_ns, 5000);
        image.tear(2, 2);
        assert_eq!(image.read().1.complete_since_ns, 8000);
        // Nothing is left of what came after the overwritten ones.
        image.tear(2, 3);
        let (_, report) = image.read();
        assert_eq!((report.complete_since_ns, report.last_ns), (4000, 4000));
    }

    #[test]
    fn first_and_last() {
        let mut image = Image::new(4, 1);
        let (_, report) = image.read();
        assert_eq!((report.first_ns, report.last_ns), (None, 0));
        image.record(0, region(3000));
        image.record(0, region(2500));
        let (_, report) = image.read();
        assert_eq!((report.first_ns, report.last_ns), (Some(1600), 3000));
        image.open(0, open_since(3500, 2));
        image.open(1, open_since(50, 0));
        let (_, report) = image.read();
        assert_eq!((report.first_ns, report.last_ns), (Some(50), 3500));
        image.finish(9000);
        assert_eq!(image.read().1.last_ns, 9000);
    }

    #[test]
    fn what_was_running() {
        let mut image = Image::new(4, 1);
        image.record_some(0, 2);
        image.open(
            1,
            OpenRecord {
                start_ns: 700,
                claimed_at_begin: 2,
                copied_bytes: 11,
                correlation_id: 12,
                lane: 3,
                label_id: 0,
                thread_id: 13,
                flags: FLAG_SATURATED,
                ..OpenRecord::zeroed()
            },
        );
        image.open(0, open_since(800, 2));
        let (_, report) = image.read();
        assert_eq!(report.ending, Ending::WriterDied);
        assert_eq!(report.open_torn, 0);
        assert_eq!(
            report.open_regions[0],
            OpenRegion {
                slot: 1,
                start_ns: 700,
                copied_bytes: 11,
                correlation_id: 12,
                lane: 3,
                label_id: 0,
                thread_id: 13,
                saturated: true
            }
        );
        assert_eq!(report.open_regions[1].slot, 0);
        assert_eq!(report.open_regions.len(), 2);
        // Finished with a region that never was: shown too.
        image.finish(9000);
        assert_eq!(image.read().1.open_regions.len(), 2);
    }

    #[test]
    fn an_open_region_whose_completed_record_is_there_is_dropped() {
        let mut image = Image::new(4, 2);
        image.record_some(0, 3);
        image.open(0, open_since(3100, 3));
        image.record(0, from_slot(0, 3100, 3500));
        let (events, report) = image.read();
        assert_eq!(events.len(), 4);
        assert_eq!(report.open_regions, []);
        assert_eq!(report.open_torn, 0);
    }

    #[test]
    fn an_earlier_occupant_of_the_slot_drops_nothing() {
        let mut image = Image::new(8, 2);
        image.record(0, from_slot(0, 100, 200));
        image.record(0, from_slot(0, 300, 400));
        // Begun by the same clock tick as the one before: no clock is compared.
        image.open(0, open_since(300, 2));
        // Neither do other slots, nor other rings, nor regions recorded whole.
        image.record(0, from_slot(1, 300, 500));
        image.record_some(1, 2);
        image.record(1, from_slot(0, 300, 500));
        image.record(0, region(700));
        let (_, report) = image.read();
        assert_eq!(report.open_regions.len(), 1);
        assert_eq!(report.open_regions[0].start_ns, 300);
        // A torn record proves nothing either.
        let completed = image.record(0, from_slot(0, 300, 800));
        image.tear(0, completed);
        assert_eq!(image.read().1.open_regions.len(), 1);
        image.record(0, from_slot(0, 300, 800));
        assert_eq!(image.read().1.open_regions, []);
    }

    #[test]
    fn slots_of_the_open_table_that_cannot_be_believed() {
        let mut image = Image::new(4, 1);
        let slot = |slot| image.identity.open_slot(slot);
        let (first, second) = (slot(0), slot(1));
        image.open(0, open_since(300, 0));
        image.open(1, open_since(300, 0));
        let good = image.clone();
        let torn = |image: &Image| {
            let (_, report) = image.read();
            assert_eq!(report.damages, []);
            (report.open_torn, report.open_regions.len())
        };
        assert_eq!(torn(&image), (0, 2));
        // Free, or just taken: nothing.
        image.put(first, &0u64.to_le_bytes());
        image.put(second, &u64::MAX.to_le_bytes());
        assert_eq!(torn(&image), (0, 0));
        // A damaged bit; a slot that was moved; a ring that is not there.
        image = good.clone();
        image.bytes[first as usize + 30] ^= 1;
        assert_eq!(torn(&image), (1, 1));
        image = good.clone();
        let moved = image.bytes[first as usize..][..64].to_vec();
        image.put(second, &moved);
        assert_eq!(torn(&image), (1, 1));
        image = good.clone();
        image.open(
            1,
            OpenRecord {
                ring: 1,
                ..open_since(300, 0)
            },
        );
        assert_eq!(torn(&image), (1, 1));
    }

    #[test]
    fn live_a_region_that_completes_meanwhile_is_shown_once() {
        let mut image = Image::new(4, 1);
        image.open(0, open_since(300, 0));
        let control = image.identity.control_line(0);
        let mut once = true;
        // Completes between the reading of the open table and the reading of `claimed`.
        let trace = live(image, move |image, offset, _| {
            if offset == control && std::mem::take(&mut once) {
                image.record(0, from_slot(0, 300, 800));
                image.put(image.identity.open_slot(0), &0u64.to_le_bytes());
            }
        });
        let (events, report) = read(&trace);
        assert_eq!((events.len(), report.open_regions.len()), (1, 0));
    }

    #[test]
    fn live_a_slot_of_the_open_table_that_changes_as_it_is_read_is_read_again() {
        let mut image = Image::new(4, 1);
        image.open(0, open_since(300, 0));
        let slot = image.identity.open_slot(0);
        image.bytes[slot as usize + 30] ^= 1;
        let trace = live(image, move |image, offset, count| {
            if (offset, count) == (slot, 64) {
                image.open(0, open_since(400, 0));
            }
        });
        let (_, report) = read(&trace);
        assert_eq!((report.open_torn, report.open_regions.len()), (0, 1));
    }

    #[test]
    fn labels_that_cannot_be_believed_are_told_once() {
        let mut image = Image::new(8, 1);
        image.label(1, "gemm");
        image.label(2, "copy");
        for label_id in [1, 2, 3, 2, 3, 900, 1] {
            image.record(
                0,
                Record {
                    label_id,
                    ..region(1000)
                },
            );
        }
        let offset = image.identity.label_offset;
        image.bytes[offset as usize + 64 + 13] ^= 1;
        assert_eq!(
            image.read().1.damages,
            [Damage {
                offset: offset + 64,
                what: "label 2, which an event names, cannot be believed (labels like it: 3)"
                    .into()
            }]
        );
    }

    #[test]
    fn the_upper_bound_of_what_is_left() {
        let mut image = Image::new(4, 2);
        image.record_some(0, 6);
        image.record_some(1, 3);
        image.tear(0, 4);
        let trace = image.trace();
        let mut events = trace.events();
        assert_eq!(events.size_hint().0, 0);
        for left in (0..6).rev() {
            assert!(events.size_hint().1 > Some(left));
            assert!(events.next().is_some());
        }
        assert_eq!(events.size_hint(), (0, Some(0)));
        assert_eq!(events.next(), None);
        assert_eq!(events.next(), None);
    }

    #[test]
    fn a_report_does_not_depend_on_how_far_the_events_were_read() {
        let mut image = Image::new(4, 2);
        image.record_some(0, 6);
        image.record_some(1, 3);
        image.open(0, open_since(300, 0));
        let trace = image.trace();
        let whole = format!("{:?}", trace.report());
        for count in 0..9 {
            let mut events = trace.events();
            events.by_ref().take(count).for_each(drop);
            assert_eq!(format!("{:?}", events.finish()), whole);
        }
    }
}

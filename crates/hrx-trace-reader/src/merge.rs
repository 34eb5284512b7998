//! The windows of all rings in one order, and the report of what has gone by.
//!
//! One ring's events come in ticket order and are never sorted. Several rings are merged by completion time: of the records that the rings would
//! give next, the one that completed first, and at the same time that of the lower ring. So a ring's own order goes before the clock: a record that
//! completed before its predecessor follows it at once, as if both had completed at the same time.
//!
//! A [`Merge`] holds no capture, because a follower takes the capture's snapshot anew between two events.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use bytemuck::Zeroable;
use hrx_trace_format::Record;
use hrx_trace_format::record::KIND_REGION;

use crate::account::Account;
use crate::capture::Capture;
use crate::event::{Event, OpenRegion};
use crate::joiner::Joiner;
use crate::reading::Reading;
use crate::report::Report;
use crate::tables::names::Names;
use crate::tally::Tally;

/// Of a capture that is followed: what is kept about slots of the open table, for all rings together, and at least for each: 24 MiB.
const FOLLOWED_SLOTS: usize = 1 << 18;
const FOLLOWED_SLOTS_MIN: usize = 1 << 6;

/// The rings of a capture on their way into one order.
#[derive(Debug)]
pub(crate) struct Merge {
    rings: Vec<Joiner>,
    /// Several rings: those that have a head, by (completion, ring), earliest on top. One ring: empty.
    queue: BinaryHeap<Reverse<(u64, u32)>>,
    /// Several rings: the record of each that comes next.
    heads: Vec<Record>,
    tally: Tally,
}

impl Merge {
    pub(crate) fn new(capture: &Capture, reading: Reading) -> Self {
        Self::of(capture, joiners(capture, reading).collect())
    }

    /// The same, to be read on while the capture is written: see [`Merge::extend`].
    pub(crate) fn following(capture: &Capture, reading: Reading) -> Self {
        let slots_max = FOLLOWED_SLOTS
            .checked_div(capture.identity.ring_count as usize)
            .unwrap_or_default()
            .max(FOLLOWED_SLOTS_MIN);
        let joiners = joiners(capture, reading);
        Self::of(
            capture,
            joiners.map(|ring| ring.following(slots_max)).collect(),
        )
    }

    fn of(capture: &Capture, rings: Vec<Joiner>) -> Self {
        let mut merge = Self {
            queue: BinaryHeap::new(),
            heads: vec![Record::zeroed(); rings.len()],
            rings,
            tally: Tally::new(capture),
        };
        merge.fill_heads(capture);
        merge
    }

    /// Asks every ring for its next event; none has one in the queue.
    fn fill_heads(&mut self, capture: &Capture) {
        if self.rings.len() < 2 {
            return;
        }
        for ((index, ring), head) in (0..).zip(&mut self.rings).zip(&mut self.heads) {
            if let Some(record) = ring.next(&capture.source, &capture.snapshot.open) {
                self.queue.push(Reverse((end_ns(record), index)));
                *head = *record;
            }
        }
    }

    /// Goes on to what a newer snapshot brings, once [`Merge::next`] has nothing more.
    pub(crate) fn extend(&mut self, capture: &Capture) {
        let snapshot = &capture.snapshot;
        for (ring, claimed) in self.rings.iter_mut().zip(&snapshot.claimed) {
            ring.extend(*claimed, snapshot.writer_runs);
        }
        self.fill_heads(capture);
    }

    /// How many events may still come.
    pub(crate) fn left(&self) -> u64 {
        let rings = self.rings.iter().map(|ring| ring.window().remaining());
        rings.fold(self.queue.len() as u64, u64::saturating_add)
    }

    /// The next event.
    // An event that is handed back through memory is stored field by field and loaded in larger pieces, which have to wait for the stores.
    #[inline(always)]
    pub(crate) fn next(&mut self, capture: &Capture) -> Option<Event> {
        let event = if let [ring] = self.rings.as_mut_slice() {
            let record = ring.next(&capture.source, &capture.snapshot.open)?;
            let (mut event, has_arguments) = (Event::of(0, record), record.has_arguments());
            if has_arguments {
                ring.add_arguments(&mut event);
            }
            event
        } else {
            self.next_of_several(capture)?
        };
        self.tally.note(capture, &event);
        Some(event)
    }

    #[inline(always)]
    fn next_of_several(&mut self, capture: &Capture) -> Option<Event> {
        let mut top = self.queue.peek_mut()?;
        let Reverse((_, index)) = *top;
        let head = self.heads.get_mut(index as usize)?;
        let ring = self.rings.get_mut(index as usize)?;
        let mut event = Event::of(index, head);
        // Before the ring is asked for its next event.
        if head.has_arguments() {
            ring.add_arguments(&mut event);
        }
        match ring.next(&capture.source, &capture.snapshot.open) {
            Some(next) => {
                *top = Reverse((end_ns(next), index));
                *head = *next;
            }
            None => {
                PeekMut::pop(top);
            }
        }
        Some(event)
    }

    /// Reads what is left, and says what became of every ticket, and what was running.
    pub(crate) fn report(&mut self, capture: &Capture) -> Report {
        while self.next(capture).is_some() {}
        let open_regions = self.open_regions(capture);
        let Self { rings, tally, .. } = self;
        let snapshot = &capture.snapshot;
        for open in &open_regions {
            tally.note_names(capture, open.label_id, &open.arguments);
        }
        let open_starts = || open_regions.iter().map(|region| region.start_ns);
        let mut last = tally.last.seen_by(snapshot.limit_ns());
        last.note(snapshot.last_sign(&capture.identity).ns());
        open_starts().for_each(|start_ns| last.note(start_ns));
        let last_ns = last.ns().max(snapshot.now_ns.unwrap_or_default());
        let mut damages = snapshot.damages.clone();
        damages.extend(
            rings
                .iter()
                .filter_map(|ring| ring.window().read_failed().cloned()),
        );
        let names = Names::read(&capture.source, &snapshot.names);
        let unreadable = tally.names.damage(&capture.source, &snapshot.names, &names);
        damages.extend(unreadable);
        damages.sort_by_key(|damage| damage.offset);
        let accounts: Vec<Account> = rings
            .iter()
            .map(|ring| ring.account(&snapshot.open))
            .collect();
        Report {
            ending: snapshot.ending,
            account: accounts.iter().copied().sum(),
            rings: accounts,
            rejected: snapshot.counters.rejected,
            open_refused: snapshot.counters.open_refused,
            hidden_now: snapshot.counters.hidden_now,
            arguments_refused: snapshot.counters.arguments_refused,
            names_refused: snapshot.counters.names_refused,
            names_too_long: snapshot.counters.names_too_long,
            open_torn: snapshot.open.torn,
            first_ns: tally.first_ns.into_iter().chain(open_starts()).min(),
            last_ns,
            complete_since_ns: rings
                .iter()
                .map(|ring| ring.window().complete_since_ns().unwrap_or(last_ns))
                .fold(0, u64::max),
            open_regions,
            damages,
        }
    }

    /// The regions of the open table that have not completed, oldest first.
    fn open_regions(&self, capture: &Capture) -> Vec<OpenRegion> {
        let tenants = capture.snapshot.open.tenants.iter();
        let mut regions: Vec<OpenRegion> = tenants
            .filter_map(|tenant| {
                let ring = self.rings.get(tenant.record.ring as usize)?;
                ring.running(tenant)
            })
            .collect();
        regions.sort_by_key(|region| region.start_ns);
        regions
    }
}

/// Each ring of a capture.
fn joiners(capture: &Capture, reading: Reading) -> impl Iterator<Item = Joiner> {
    let pending_bytes = capture.pending_bytes(reading);
    let windows = (0..).zip(capture.windows(reading));
    windows.map(move |(index, window)| Joiner::new(window, index, pending_bytes))
}

/// When an event was complete.
#[inline]
fn end_ns(record: &Record) -> u64 {
    match record.kind {
        KIND_REGION => record.end_ns(),
        // A mark or a value.
        _ => record.start_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Image, open_since, region};

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
        // At 6000 the lower ring goes first. Ring 2's 3000 follows its 6000 at once.
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
        // Nothing is left after the overwritten ones.
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
}

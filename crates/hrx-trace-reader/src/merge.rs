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

use crate::account::Account;
use crate::capture::Capture;
use crate::event::Event;
use crate::report::Report;
use crate::rings::window::Window;
use crate::source::Source;
use crate::tally::Tally;

/// The rings of a capture on their way into one order.
#[derive(Debug)]
pub(crate) struct Merge {
    windows: Vec<Window>,
    /// Several rings: those that have a head, by (completion, ring), earliest on top. One ring: empty.
    queue: BinaryHeap<Reverse<(u64, u32)>>,
    /// Several rings: the record of each that comes next.
    heads: Vec<Record>,
    tally: Tally,
}

impl Merge {
    pub(crate) fn new(capture: &Capture, windows: Vec<Window>) -> Self {
        let mut merge = Self {
            queue: BinaryHeap::new(),
            heads: vec![Record::zeroed(); windows.len()],
            windows,
            tally: Tally::new(capture),
        };
        merge.fill_heads(capture);
        merge
    }

    /// Asks every ring for its next record; none has one in the queue.
    fn fill_heads(&mut self, capture: &Capture) {
        if self.windows.len() < 2 {
            return;
        }
        for ((ring, window), head) in (0..).zip(&mut self.windows).zip(&mut self.heads) {
            if let Some(record) = window.next(&capture.source) {
                self.queue.push(Reverse((record.end_ns(), ring)));
                *head = *record;
            }
        }
    }

    /// Goes on to what a newer snapshot brings, once [`Merge::next`] has nothing more.
    pub(crate) fn extend(&mut self, capture: &Capture) {
        let snapshot = &capture.snapshot;
        for (window, claimed) in self.windows.iter_mut().zip(&snapshot.claimed) {
            window.extend(*claimed, snapshot.writer_runs);
        }
        self.fill_heads(capture);
    }

    /// How many events may still come.
    pub(crate) fn left(&self) -> u64 {
        let windows = self.windows.iter().map(Window::remaining);
        windows.fold(self.queue.len() as u64, u64::saturating_add)
    }

    /// The next event.
    // An event that is handed back through memory is stored field by field and loaded in larger pieces, which have to wait for the stores.
    #[inline(always)]
    pub(crate) fn next(&mut self, capture: &Capture) -> Option<Event> {
        if let [window] = self.windows.as_mut_slice() {
            let record = window.next(&capture.source)?;
            self.tally.note(capture, 0, record);
            return Some(Event::new(0, record));
        }
        let (ring, record) = self.next_of_several(&capture.source)?;
        self.tally.note(capture, ring, &record);
        Some(Event::new(ring, &record))
    }

    /// The ring and the record that come next.
    fn next_of_several(&mut self, source: &Source) -> Option<(u32, Record)> {
        let mut top = self.queue.peek_mut()?;
        let Reverse((_, ring)) = *top;
        let head = self.heads.get_mut(ring as usize)?;
        let record = *head;
        match self.windows.get_mut(ring as usize)?.next(source) {
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

    /// Reads what is left, and says what became of every ticket, and what was running.
    pub(crate) fn report(&mut self, capture: &Capture) -> Report {
        while self.next(capture).is_some() {}
        let Self { windows, tally, .. } = self;
        let snapshot = &capture.snapshot;
        for open in snapshot.open.slots.iter().flatten() {
            let labels = &mut tally.labels;
            labels.note(&capture.source, &snapshot.labels, open.label_id);
        }
        let open_regions = tally.completions.running(&snapshot.open.slots);
        let open_starts = || open_regions.iter().map(|region| region.start_ns);
        let last_ns = [tally.last_ns, snapshot.finished_ns()]
            .into_iter()
            .chain(open_starts())
            .chain(snapshot.now_ns)
            .fold(0, u64::max);
        let mut damages = snapshot.damages.clone();
        damages.extend(windows.iter().filter_map(Window::read_failed).cloned());
        damages.extend(tally.labels.damage(&snapshot.labels));
        let accounts: Vec<Account> = windows.iter().map(Window::account).collect();
        Report {
            ending: snapshot.ending,
            account: accounts.iter().copied().sum(),
            rings: accounts,
            rejected: snapshot.counters.rejected,
            open_refused: snapshot.counters.open_refused,
            labels_refused: snapshot.counters.names_refused,
            open_torn: snapshot.open.torn,
            first_ns: tally.first_ns.into_iter().chain(open_starts()).min(),
            last_ns,
            complete_since_ns: windows
                .iter()
                .map(|window| window.complete_since_ns().unwrap_or(last_ns))
                .fold(0, u64::max),
            open_regions,
            damages,
        }
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

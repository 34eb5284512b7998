//! The events of several captures in one order: by completion on the common timeline; at the same time, the first capture given comes first. The
//! order within a capture is kept.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use hrx_trace_reader::{Event, Events, Report};

use crate::input::captures::Capture;

/// Iterates over events in the merged order, each with its capture's index. [`MergedEvents::finish`] returns the reports.
pub struct MergedEvents<'captures> {
    /// All captures, or a single one.
    captures: &'captures [Capture],
    streams: Vec<Events<'captures>>,
    /// With several captures: those that have a head, by (completion, index), the earliest on top. With one: empty.
    merge: BinaryHeap<Reverse<(u64, usize)>>,
    /// With several captures: the next event of each.
    heads: Vec<Option<Event>>,
}

impl<'captures> MergedEvents<'captures> {
    /// Reads these captures, which are all of them or a single one. Events that ended before `since_ns` may be missing.
    pub fn new(captures: &'captures [Capture], since_ns: u64) -> Self {
        let mut streams: Vec<Events> = captures
            .iter()
            .map(|capture| {
                capture
                    .trace
                    .read(capture.reading(since_ns, captures.len()))
            })
            .collect();
        let mut merge = BinaryHeap::new();
        let mut heads = Vec::new();
        if captures.len() > 1 {
            for (capture, stream) in captures.iter().zip(&mut streams) {
                let head = stream.next().map(|event| capture.shifted(event));
                merge.extend(
                    head.as_ref()
                        .map(|head| Reverse((head.end_ns(), capture.index))),
                );
                heads.push(head);
            }
        }
        Self {
            captures,
            streams,
            merge,
            heads,
        }
    }

    /// Reads the remaining events and returns a report for each capture, on the common timeline.
    pub fn finish(self) -> Vec<Report> {
        self.captures
            .iter()
            .zip(self.streams)
            .map(|(capture, events)| capture.shifted_report(events.finish()))
            .collect()
    }
}

impl Iterator for MergedEvents<'_> {
    type Item = (usize, Event);

    #[inline]
    fn next(&mut self) -> Option<(usize, Event)> {
        if let ([capture], [only]) = (self.captures, self.streams.as_mut_slice()) {
            return only
                .next()
                .map(|event| (capture.index, capture.shifted(event)));
        }
        let mut top = self.merge.peek_mut()?;
        let Reverse((_, index)) = *top;
        let capture = &self.captures[index];
        let next = self.streams[index]
            .next()
            .map(|event| capture.shifted(event));
        match &next {
            Some(next) => *top = Reverse((next.end_ns(), index)),
            None => {
                PeekMut::pop(top);
            }
        }
        let event = std::mem::replace(&mut self.heads[index], next)?;
        Some((index, event))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let mut left = self.streams.iter().map(|events| events.size_hint().1);
        let left = left.try_fold(self.merge.len(), |sum, left| sum.checked_add(left?));
        (0, left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::alignment::Alignment;
    use crate::input::captures::Captures;
    use hrx_trace_tests::capture::{Capture as Made, region};

    fn merged(captures: &Captures) -> MergedEvents<'_> {
        MergedEvents::new(captures.iter().as_slice(), 0)
    }

    fn ends(captures: &Captures) -> Vec<(usize, u64)> {
        merged(captures)
            .map(|(index, event)| (index, event.end_ns()))
            .collect()
    }

    #[test]
    fn captures_of_one_boot_are_merged_on_the_monotonic_clock() {
        let mut late = Made::new(4);
        late.identity.epoch_monotonic_ns += 1_500;
        // The wall clock was set in between: it has no say here.
        late.identity.epoch_realtime_ns -= 1 << 50;
        late.record(region(0, 0, 100)).record(region(0, 1_000, 100));
        let mut early = Made::new(4);
        early
            .record(region(0, 0, 100))
            .record(region(0, 2_000, 100));
        let captures = Captures::of_bytes([late.bytes(), early.bytes()]);
        assert_eq!(captures.alignment, Alignment::MonotonicClock);
        assert_eq!(captures.origin().index, 1);
        assert_eq!(
            ends(&captures),
            [(1, 100), (0, 1_600), (1, 2_100), (0, 2_600)]
        );
        let reports = merged(&captures).finish();
        assert_eq!(reports[0].first_ns, Some(1_500));
        assert_eq!(reports[0].last_ns, 2_600);
        assert_eq!(reports[1].last_ns, 2_100);
    }
}

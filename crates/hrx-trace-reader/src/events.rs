//! The events of a capture as an iterator.

use std::iter::FusedIterator;

use crate::capture::Capture;
use crate::event::Event;
use crate::merge::Merge;
use crate::reading::Reading;
use crate::report::Report;

/// The events of a capture, in order of completion. [`Events::finish`] gives the report.
#[derive(Debug)]
pub struct Events<'trace> {
    capture: &'trace Capture,
    merge: Merge,
}

impl<'trace> Events<'trace> {
    pub(crate) fn new(capture: &'trace Capture, reading: Reading) -> Self {
        Self {
            capture,
            merge: Merge::new(capture, reading),
        }
    }

    /// Reads what is left, and says what became of every ticket, and what was running.
    #[must_use]
    pub fn finish(mut self) -> Report {
        self.merge.report(self.capture)
    }
}

impl Iterator for Events<'_> {
    type Item = Event;

    #[inline]
    fn next(&mut self) -> Option<Event> {
        self.merge.next(self.capture)
    }

    /// The upper bound is the number of slots that are left, so it can measure progress.
    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, usize::try_from(self.merge.left()).ok())
    }
}

impl FusedIterator for Events<'_> {}

#[cfg(test)]
mod tests {
    use crate::testing::{Image, open_since};

    #[test]
    fn the_size_hint_is_an_upper_bound() {
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

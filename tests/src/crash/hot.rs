//! A million of the calls that must neither allocate nor make system calls, and a few that do, which show that the test would notice.

use std::time::{Duration, Instant};

use hrx_trace::{Event, Label, Recorder, Region};

use crate::crash::way::Way;

/// How many calls [`hot_path`] makes of each kind.
pub const CALLS: u64 = 1_000_000;

/// The words that child and parent share.
pub mod word {
    /// The [`super::Section`] that the child is in: 1 + its index; 0: none.
    pub const SECTION: usize = 0;
    /// Number of words.
    pub const COUNT: usize = 1;
}

/// What the child does while it is counted, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// The first `record` of a thread.
    FirstCall,
    /// [`hot_path`] on the recorder.
    HotPath,
    /// [`hot_path_of_writers`].
    Writers,
    /// `sync`.
    Sync,
}

/// Every section, in order.
pub const SECTIONS: [Section; 4] = [
    Section::FirstCall,
    Section::HotPath,
    Section::Writers,
    Section::Sync,
];

/// A million times each: `record`, `begin` and `finish`, `begin` and `fail`, a dropped region; then calls that are refused.
pub fn hot_path<W: Way>(way: &W, label: Label) {
    let start = Instant::now();
    let before_epoch = start.checked_sub(Duration::from_secs(3600));
    for number in 0..CALLS {
        let event = Event::new(number as usize)
            .label(label)
            .correlation_id(number)
            .copied_bytes(number)
            .status(number as u32)
            .failed(number % 2 == 0);
        way.record(start, Duration::from_nanos(number), event);
        let mut region = way.begin(event);
        region.set_copied_bytes(number);
        region.finish();
        way.begin(event).fail(1);
        drop(way.begin(event));
        way.record(start, Duration::MAX, Event::new(usize::MAX));
        if let Some(start) = before_epoch {
            way.record(start, Duration::ZERO, event);
        }
    }
    // More regions than the open table holds.
    let regions: [Region<'_, W>; 80] = std::array::from_fn(|_| way.begin(Event::new(0)));
    drop(regions);
}

/// [`hot_path`] on a writer with its own ring, then on one that finds no ring left; then a million short-lived writers.
///
/// # Panics
/// If `recorder` does not have exactly one ring for writers.
pub fn hot_path_of_writers(recorder: &Recorder, label: Label) {
    let own = recorder.writer();
    let other = recorder.writer();
    assert!(own.has_own_ring() && !other.has_own_ring());
    hot_path(&own, label);
    hot_path(&other, label);
    drop(own);
    for _ in 0..CALLS {
        assert!(recorder.writer().has_own_ring());
    }
}

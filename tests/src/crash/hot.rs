//! The calls that must neither allocate nor call the system, a million of them; and those by which a test shows that it would notice.

use std::time::{Duration, Instant};

use hrx_trace::{Event, Label, Recorder, Region};

/// How many calls [`hot_path`] makes of each kind.
pub const CALLS: u64 = 1_000_000;

/// The words that child and parent share.
pub mod word {
    /// Which [`super::Section`] the child is in: 1 + its index; 0: none.
    pub const SECTION: usize = 0;
    /// How many words there are.
    pub const COUNT: usize = 1;
}

/// What the child does under count, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// The first `record` of a thread.
    FirstCall,
    /// [`hot_path`].
    HotPath,
    /// `sync`.
    Sync,
}

/// All of them.
pub const SECTIONS: [Section; 3] = [Section::FirstCall, Section::HotPath, Section::Sync];

/// A million times each: `record`, `begin` and `finish`, `begin` and `fail`, a dropped region; and what is refused.
pub fn hot_path(recorder: &Recorder, label: Label) {
    let start = Instant::now();
    let before_epoch = start.checked_sub(Duration::from_secs(3600));
    for number in 0..CALLS {
        let event = Event::new(number as usize)
            .label(label)
            .correlation_id(number)
            .copied_bytes(number)
            .status(number as u32)
            .failed(number % 2 == 0);
        recorder.record(start, Duration::from_nanos(number), event);
        let mut region = recorder.begin(event);
        region.set_copied_bytes(number);
        region.finish();
        recorder.begin(event).fail(1);
        drop(recorder.begin(event));
        recorder.record(start, Duration::MAX, Event::new(usize::MAX));
        if let Some(start) = before_epoch {
            recorder.record(start, Duration::ZERO, event);
        }
    }
    // More than the open table holds.
    let regions: [Region<'_>; 80] = std::array::from_fn(|_| recorder.begin(Event::new(0)));
    drop(regions);
}

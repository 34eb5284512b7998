//! A million of the calls that must neither allocate nor make system calls, and a few that do, which show that the test would notice.

use std::ops::Deref;
use std::time::{Duration, Instant};

use hrx_trace::{Destination, Event, Key, Label, Recorder, Region};

use crate::crash::way::Way;

/// How many calls [`hot_path`] makes of each kind.
pub const CALLS: u64 = 1_000_000;

/// How many regions the recorder of [`hot_path`] must be able to show at a time.
pub const OPEN_REGIONS: u32 = 64;

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

/// A million times each: `record`, `record_between`, `begin` and `finish`, `begin` and `fail`, a dropped region, and calls that are refused. A tenth as often: every call on a
/// running region, marks and values, with arguments and without.
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
        let moment = way.now();
        way.record_between(moment, way.now(), event);
        way.record_between(way.now(), moment, event);
        way.begin(event)
            .finish_with(|event| event.copied_bytes(number));
        way.begin(event).fail(1);
        drop(way.begin(event));
        way.record(start, Duration::MAX, Event::new(usize::MAX));
        if let Some(start) = before_epoch {
            way.record(start, Duration::ZERO, event);
        }
    }
    for number in 0..CALLS / 10 {
        let event = Event::new(number as usize).correlation_id(number);
        let moment = way.now();
        way.begin(event).cancel();
        way.begin_at(start, event).finish_at(start);
        let mut region = way.begin(event);
        change(&mut region, number, label);
        region.finish();
        let arguments = [(Key::NONE, number.into()), (Key::NONE, TEXT.into())];
        way.mark(event);
        way.value(label, number as f64);
        way.mark_with(event, &arguments);
        way.value_with(event, number as f64, &arguments);
        way.record_between_with(moment, way.now(), event, &arguments);
        if let Some(start) = before_epoch {
            change(&mut way.begin_at(start, event), number, label);
        }
    }
    // More regions than the open table of [`OPEN_REGIONS`] holds.
    let mut regions: [Region<W::Held<'_>>; 80] = std::array::from_fn(|_| way.begin(Event::new(0)));
    for region in &mut regions {
        change(region, 0, label);
    }
    drop(regions);
}

/// An argument of several records.
const TEXT: &str = "a text that takes more than one record";

/// Makes every call that a region takes while it runs.
fn change<To: Deref<Target: Destination>>(region: &mut Region<To>, number: u64, label: Label) {
    region.argument(Key::NONE, number);
    region.argument(Key::NONE, TEXT);
    region.set_label(label);
    region.set_correlation_id(number);
    region.set_copied_bytes(number);
    region.set_status(number as u32);
    region.waiting();
    region.running();
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

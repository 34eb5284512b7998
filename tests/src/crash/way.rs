//! What a thread records through: the recorder itself, or one of its writers. The children make the same calls on either.

use std::ops::Deref;
use std::time::{Duration, Instant};

use hrx_trace::{Destination, Event, Recorder, Region, Writer};

/// A recorder or a writer.
pub trait Way: Destination + Sized {
    /// [`Recorder::record`], or [`Writer::record`].
    fn record(&self, start: Instant, elapsed: Duration, event: Event);
    /// [`Recorder::begin`], or [`Writer::begin`].
    fn begin(&self, event: Event) -> Region<'_, Self>;
}

impl Way for Recorder {
    #[inline]
    fn record(&self, start: Instant, elapsed: Duration, event: Event) {
        self.record(start, elapsed, event);
    }

    #[inline]
    fn begin(&self, event: Event) -> Region<'_, Self> {
        self.begin(event)
    }
}

impl<R: Deref<Target = Recorder>> Way for Writer<R> {
    #[inline]
    fn record(&self, start: Instant, elapsed: Duration, event: Event) {
        self.record(start, elapsed, event);
    }

    #[inline]
    fn begin(&self, event: Event) -> Region<'_, Self> {
        self.begin(event)
    }
}

//! A thread's own way into a recorder: a ring that no other thread writes to, so that a ticket takes no locked instruction.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::time::{Duration, Instant};

use crate::areas::OwnRing;
use crate::event::Event;
use crate::moment::Moment;
use crate::recorder::Recorder;
use crate::region::{Destination, Region, Sealed};
use crate::thread::Thread;
use crate::vacancy::{Hints, OwnHints};

/// A thread's own ring of a recorder: the fastest way to record. No busy neighbour can overwrite what this thread recorded.
///
/// An event costs little more than half of [`Recorder::record`], because no other thread takes tickets of this ring: there is no locked
/// instruction, and the processor overlaps an event with the next. [`crate::Options::writers`] says how many rings there are for writers. While all of
/// them are taken, a writer records into the rings that threads share, at their cost. Dropping a writer gives its ring to the next one; the events stay.
///
/// A writer belongs to the thread that made it. Do not use it in a signal handler (a [`Recorder`] may be used there): a handler that interrupts a `record`
/// of the same writer would take the same ticket, and one of the two events would be lost.
///
/// ```
/// use hrx_trace::{Event, Options, lane};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("run.hrxt");
/// let recorder = Options::new(100_000).writers(2).create(&path)?;
/// std::thread::scope(|scope| {
///     for _ in 0..2 {
///         scope.spawn(|| {
///             let writer = recorder.writer();
///             let region = writer.begin(Event::new(lane::COMPUTE));
///             // ... submit, and wait ...
///             region.finish();
///         });
///     }
/// });
/// # assert_eq!(recorder.claimed(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Writer<R: Deref<Target = Recorder>> {
    recorder: R,
    thread: Thread,
    /// The index of the ring it writes to.
    ring: usize,
    /// None: threads share that ring.
    own: Option<OwnRing>,
    hints: OwnHints,
    /// Neither Send nor Sync: one thread, one ring.
    _thread: PhantomData<*const ()>,
}

impl Recorder {
    /// The calling thread's own way into this recorder. [`Writer::new`] makes one that keeps the recorder alive.
    #[must_use]
    pub fn writer(&self) -> Writer<&Self> {
        Writer::new(self)
    }
}

impl<R: Deref<Target = Recorder>> Writer<R> {
    /// A writer of `recorder`, a reference or an `Arc`. Costs one compare-and-swap for each ring that is already taken.
    #[must_use]
    pub fn new(recorder: R) -> Self {
        let thread = recorder.introduced(|| recorder.now_ns());
        let taken = recorder.take_ring();
        Self {
            thread,
            ring: taken.unwrap_or_else(|| recorder.shared_ring_of(thread)),
            own: taken.map(|ring| OwnRing::new(recorder.ring(ring))),
            hints: OwnHints::none(),
            recorder,
            _thread: PhantomData,
        }
    }

    /// Whether it has a ring of its own. If not, there are more writers than rings asked for by [`crate::Options::writers`].
    #[must_use]
    pub fn has_own_ring(&self) -> bool {
        self.own.is_some()
    }

    /// As [`Recorder::record`].
    #[inline]
    pub fn record(&self, start: Instant, elapsed: Duration, event: Event) {
        let thread_id = self.thread.id;
        if let Some(record) = self.recorder.measured(start, elapsed, event, thread_id) {
            self.write(self.ring, bytemuck::cast(record));
        }
    }

    /// As [`Recorder::now`].
    #[inline(always)]
    #[must_use]
    pub fn now(&self) -> Moment {
        self.recorder.now()
    }

    /// As [`Recorder::alive`].
    #[inline]
    pub fn alive(&self) {
        self.recorder.alive();
    }

    /// As [`Recorder::record_between`].
    #[inline]
    pub fn record_between(&self, start: Moment, end: Moment, event: Event) {
        let thread_id = self.thread.id;
        if let Some(record) = self.recorder.between(start, end, event, thread_id) {
            self.write(self.ring, bytemuck::cast(record));
        }
    }

    /// As [`Recorder::begin`].
    #[inline(always)]
    pub fn begin(&self, event: Event) -> Region<&Self> {
        Region::begin(self, event)
    }

    /// As [`Recorder::begin_at`].
    #[inline]
    pub fn begin_at(&self, start: Instant, event: Event) -> Region<&Self> {
        Region::begin_at(self, start, event)
    }
}

impl<R: Deref<Target = Recorder>> Sealed for Writer<R> {}

impl<R: Deref<Target = Recorder>> Destination for Writer<R> {
    #[inline]
    fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    #[inline]
    fn thread(&self, _: impl FnOnce() -> u64) -> Thread {
        self.thread
    }

    #[inline(always)]
    fn hints(&self) -> &impl Hints {
        &self.hints
    }

    #[inline]
    fn ring_of(&self, _: Thread) -> usize {
        self.ring
    }

    #[inline(always)]
    fn write(&self, ring: usize, record: [u64; 8]) -> u64 {
        match &self.own {
            Some(own) => own.write_to(&self.recorder.checksum, record),
            None => self.recorder.write(ring, record),
        }
    }
}

impl<R: Deref<Target = Recorder>> Drop for Writer<R> {
    fn drop(&mut self) {
        if self.has_own_ring() {
            self.recorder.give_ring_back(self.ring);
        }
    }
}

impl<R: Deref<Target = Recorder>> fmt::Debug for Writer<R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Writer")
            .field("ring", &self.ring)
            .field("own", &self.own)
            .finish_non_exhaustive()
    }
}

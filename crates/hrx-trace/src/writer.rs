//! A thread's own way into a recorder: a ring that no other thread writes to, so that no locked instruction is needed to take a ticket.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hrx_trace_format::Record;

use crate::event::Event;
use crate::recorder::{Recorder, Ring};
use crate::region::{Destination, Region};
use crate::slot;
use crate::thread::{self, Thread};

/// A thread's own ring of a recorder: the fastest way to record, and one by which no busy neighbour can overwrite what this thread left.
///
/// Costs little more than half of [`Recorder::record`] (the README has the figures), for nobody else takes tickets of its ring: the locked
/// instruction is spared, and the processor overlaps an event with the next. [`crate::Options::writers`] says how many rings there are for this; while all are taken, a
/// writer records by way of the rings that threads share, at their cost. Dropping a writer gives its ring to the next one; the events stay.
///
/// It belongs to the thread that made it, and is not to be used in a signal handler (a [`Recorder`] is): one that interrupts a `record` of the
/// same writer would take the same ticket, and one of the two events would be lost.
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
    index: usize,
    /// None: that ring is one that threads share.
    own: Option<Own>,
    /// Neither Send nor Sync: one thread, one ring.
    _thread: PhantomData<*const ()>,
}

/// A ring of one's own.
#[derive(Debug)]
struct Own {
    /// Here on the thread's stack: an event touches a page less.
    ring: Ring,
    /// Its next ticket: so all that an event does with the file is to store.
    next: Cell<u64>,
}

impl Recorder {
    /// The calling thread's own way into this recorder. Use [`Writer::new`] to have one that keeps the recorder alive.
    #[must_use]
    pub fn writer(&self) -> Writer<&Self> {
        Writer::new(self)
    }
}

impl<R: Deref<Target = Recorder>> Writer<R> {
    /// A writer of `recorder`, a reference or an `Arc`. Costs one compare-and-swap for each ring that is taken already.
    #[must_use]
    pub fn new(recorder: R) -> Self {
        let thread = thread::current(recorder.process);
        let taken = recorder.take_ring();
        Self {
            thread,
            index: taken.unwrap_or_else(|| recorder.ring_of(thread)),
            own: taken.map(|index| {
                let ring = recorder.ring(index).again();
                let next = Cell::new(ring.claimed().load(Ordering::Relaxed));
                Own { ring, next }
            }),
            recorder,
            _thread: PhantomData,
        }
    }

    /// Whether it has a ring of its own. If not, more writers are there than [`crate::Options::writers`] has asked rings for.
    #[must_use]
    pub fn has_own_ring(&self) -> bool {
        self.own.is_some()
    }

    /// As [`Recorder::record`].
    #[inline]
    pub fn record(&self, start: Instant, elapsed: Duration, event: Event) {
        let measured = self
            .recorder
            .measured(start, elapsed, event, self.thread.id);
        if let Some(record) = measured {
            self.write(self.index, record);
        }
    }

    /// As [`Recorder::begin`].
    #[inline]
    pub fn begin(&self, event: Event) -> Region<'_, Self> {
        Region::begin(self, self.index, self.thread, event)
    }
}

impl<R: Deref<Target = Recorder>> Destination for Writer<R> {
    #[inline]
    fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    #[inline]
    fn thread_id(&self) -> u32 {
        self.thread.id
    }

    #[inline(always)]
    fn write(&self, index: usize, record: Record) {
        let Some(Own { ring, next }) = &self.own else {
            return Destination::write(&*self.recorder, index, record);
        };
        self.recorder.write_to(ring, false, record, |claimed| {
            let ticket = next.get();
            next.set(ticket.wrapping_add(1));
            slot::claim_own(claimed, ticket);
            ticket
        });
    }
}

impl<R: Deref<Target = Recorder>> Drop for Writer<R> {
    fn drop(&mut self) {
        if self.has_own_ring() {
            self.recorder.give_ring_back(self.index);
        }
    }
}

impl<R: Deref<Target = Recorder>> fmt::Debug for Writer<R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Writer")
            .field("index", &self.index)
            .field("own", &self.own)
            .finish_non_exhaustive()
    }
}

//! A region that is running: the file shows it from `begin` to `finish`.

use std::mem::ManuallyDrop;

use hrx_trace_format::Record;

use crate::event::Event;
use crate::recorder::Recorder;
use crate::thread::{self, Thread};

/// What a region is recorded by: a [`Recorder`] or a [`crate::Writer`]. No other type can implement it.
pub trait Destination: Sealed {
    #[doc(hidden)]
    fn recorder(&self) -> &Recorder;
    /// The calling thread's id.
    #[doc(hidden)]
    fn thread_id(&self) -> u32;
    #[doc(hidden)]
    fn write(&self, ring: usize, record: Record);
}

/// In a private module, so that only this crate can implement [`Destination`].
pub trait Sealed {}

impl Recorder {
    /// Begins a region: from now on until it is finished, the file shows that it is running.
    ///
    /// If 1,024 regions are already open, this one is not shown while it runs, which is counted. It is still recorded when it completes.
    #[inline(always)]
    pub fn begin(&self, event: Event) -> Region<'_> {
        let thread = thread::current(self.process);
        Region::begin(self, self.shared_ring_of(thread), thread, event)
    }
}

impl Sealed for Recorder {}

impl Destination for Recorder {
    #[inline]
    fn recorder(&self) -> &Recorder {
        self
    }

    #[inline]
    fn thread_id(&self) -> u32 {
        thread::current(self.process).id
    }

    #[inline(always)]
    fn write(&self, ring: usize, record: Record) {
        self.ring(ring).write_to(&self.checksum, record);
    }
}

/// A region that is running. Finish it: if it is dropped unfinished (a panic unwinding, an early return), it is recorded as failed.
#[must_use = "a region that is dropped at once is recorded as failed"]
#[derive(Debug)]
pub struct Region<'a, To: Destination = Recorder> {
    to: &'a To,
    event: Event,
    /// When it began, in nanoseconds since the capture's start.
    start_ns: u64,
    /// The ring its record will go to, whichever thread finishes it.
    ring: usize,
    /// 1 + its slot in the open table; 0: it is not there.
    open_slot: u16,
}

impl<'a, To: Destination> Region<'a, To> {
    #[inline(always)]
    pub(crate) fn begin(to: &'a To, ring: usize, thread: Thread, event: Event) -> Self {
        let recorder = to.recorder();
        let start_ns = recorder.now_ns();
        Self {
            to,
            event,
            start_ns,
            ring,
            open_slot: recorder.open(start_ns, ring, thread, &event),
        }
    }

    /// Sets how many bytes it copied, once that is known.
    #[inline]
    pub fn set_copied_bytes(&mut self, copied_bytes: u64) {
        self.event = self.event.copied_bytes(copied_bytes);
    }

    /// Records it as completed now.
    #[inline(always)]
    pub fn finish(self) {
        let region = ManuallyDrop::new(self);
        region.complete(region.event);
    }

    /// Records it as failed now, with the caller's error code.
    #[inline(always)]
    pub fn fail(self, status: u32) {
        let region = ManuallyDrop::new(self);
        region.complete(region.event.failed(true).status(status));
    }

    /// Writes its record, then clears its open slot, so that the region is in the file at every instant.
    #[inline(always)]
    fn complete(&self, event: Event) {
        let recorder = self.to.recorder();
        if !recorder.gate.is_open() {
            return;
        }
        let record = Record {
            start_ns: self.start_ns,
            duration_ns: recorder.now_ns().saturating_sub(self.start_ns),
            thread_id: self.to.thread_id(),
            open_slot: self.open_slot,
            ..event.to_record()
        };
        self.to.write(self.ring, record);
        recorder.open_table.clear(self.open_slot);
    }
}

impl<To: Destination> Drop for Region<'_, To> {
    fn drop(&mut self) {
        self.complete(self.event.failed(true));
    }
}

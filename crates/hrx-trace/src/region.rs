//! A region that is running: the file says so from `begin` to `finish`.

use hrx_trace_format::Record;

use crate::event::Event;
use crate::recorder::Recorder;
use crate::slot;
use crate::thread::Thread;

/// What a region is recorded by: a [`Recorder`], or a [`crate::Writer`]. Nothing else can be.
pub trait Destination: sealed::Sealed {
    #[doc(hidden)]
    fn recorder(&self) -> &Recorder;
    /// Of the calling thread.
    #[doc(hidden)]
    fn thread_id(&self) -> u32;
    #[doc(hidden)]
    fn write(&self, ring: usize, record: Record);
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for crate::Recorder {}
    impl<R: std::ops::Deref<Target = crate::Recorder>> Sealed for crate::Writer<R> {}
}

/// A region that is running. Finish it; dropped without that (a panic unwinding, an early return), it is recorded as failed.
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
    open_slot: u8,
}

impl<'a, To: Destination> Region<'a, To> {
    #[inline]
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

    /// Says how many bytes it copied, once that is known.
    #[inline]
    pub fn set_copied_bytes(&mut self, copied_bytes: u64) {
        self.event.copied_bytes = copied_bytes;
    }

    /// Records it as completed now.
    #[inline]
    pub fn finish(self) {
        self.complete(self.event);
        std::mem::forget(self);
    }

    /// Records it as failed now, with the caller's error code.
    #[inline]
    pub fn fail(self, status: u32) {
        self.complete(self.event.failed(true).status(status));
        std::mem::forget(self);
    }

    /// Its record first, then its open slot, so that it is in the file at every instant.
    #[inline]
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
            ..event.record()
        };
        self.to.write(self.ring, record);
        if let Some(taken) = self.open_slot.checked_sub(1) {
            slot::clear(recorder.open.get(usize::from(taken)));
        }
    }
}

impl<To: Destination> Drop for Region<'_, To> {
    fn drop(&mut self) {
        self.complete(self.event.failed(true));
    }
}

//! A region that is running: the file says so from `begin` to `finish`.

use crate::event::Event;
use crate::recorder::Recorder;

/// A region that is running. Finish it; dropped without that (a panic unwinding, an early return), it is recorded as failed.
#[must_use = "a region that is dropped at once is recorded as failed"]
#[derive(Debug)]
pub struct Region<'a> {
    pub(crate) recorder: &'a Recorder,
    pub(crate) event: Event,
    /// When it began, in nanoseconds since the capture's start.
    pub(crate) start_ns: u64,
    /// The ring its record will go to, whichever thread finishes it.
    pub(crate) ring: usize,
    /// 1 + its slot in the open table; 0: it is not there.
    pub(crate) open_slot: u8,
}

impl Region<'_> {
    /// Says how many bytes it copied, once that is known.
    #[inline]
    pub fn set_copied_bytes(&mut self, copied_bytes: u64) {
        self.event.copied_bytes = copied_bytes;
    }

    /// Records it as completed now.
    #[inline]
    pub fn finish(self) {
        self.recorder.complete(&self, self.event);
        std::mem::forget(self);
    }

    /// Records it as failed now, with the caller's error code.
    #[inline]
    pub fn fail(self, status: u32) {
        let event = self.event.failed(true).status(status);
        self.recorder.complete(&self, event);
        std::mem::forget(self);
    }
}

impl Drop for Region<'_> {
    fn drop(&mut self) {
        self.recorder.complete(self, self.event.failed(true));
    }
}

//! A label that its recorder is asked for once.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::event::Label;
use crate::recorder::Recorder;

/// A label for a `static`: interned at the first call, and found by a load after that, as long as the calls are for one recorder.
///
/// ```
/// use hrx_trace::{Event, Recorder, StaticLabel, lane};
///
/// static GEMM: StaticLabel = StaticLabel::new("gemm");
///
/// fn run(recorder: &Recorder) {
///     let region = recorder.begin(Event::new(lane::COMPUTE).label(GEMM.of(recorder)));
///     // ... submit, and wait ...
///     region.finish();
/// }
/// # run(&Recorder::disabled());
/// ```
#[derive(Debug)]
pub struct StaticLabel {
    text: &'static str,
    /// The number of the capture that was asked last, in the upper half, and what it said. No capture has number 0.
    known: AtomicU64,
}

impl StaticLabel {
    /// The label `text`.
    #[must_use]
    pub const fn new(text: &'static str) -> Self {
        Self {
            text,
            known: AtomicU64::new(0),
        }
    }

    /// What `recorder` calls it: see [`Recorder::label`].
    #[inline]
    #[must_use]
    pub fn of(&self, recorder: &Recorder) -> Label {
        // Relaxed: both halves are one word.
        let known = self.known.load(Ordering::Relaxed);
        if (known >> 32) as u32 == recorder.capture {
            return Label(known as u32);
        }
        self.ask(recorder)
    }

    #[cold]
    fn ask(&self, recorder: &Recorder) -> Label {
        let label = recorder.label(self.text);
        let known = u64::from(recorder.capture) << 32 | u64::from(label.0);
        self.known.store(known, Ordering::Relaxed);
        label
    }
}

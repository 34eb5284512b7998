//! What happens at a moment: marks, and samples of numbers.

use std::ops::Deref;

use hrx_trace_format::mark::{KIND_MARK, Mark};
use hrx_trace_format::record::FLAG_SATURATED;
use hrx_trace_format::value::Value as Sample;

use crate::arguments::write_arguments;
use crate::event::{Event, Key, Label};
use crate::recorder::Recorder;
use crate::region::Destination;
use crate::value::Value;
use crate::writer::Writer;

impl Recorder {
    /// Records that something happens now. Costs as much as [`Recorder::record`], and a clock read.
    ///
    /// ```
    /// # use hrx_trace::{Event, Recorder, lane};
    /// # let folder = tempfile::tempdir()?;
    /// # let recorder = Recorder::create(folder.path().join("run.hrxt"), 100)?;
    /// let out_of_memory = recorder.label("out of memory");
    /// recorder.mark(Event::new(lane::HOST).label(out_of_memory));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn mark(&self, event: Event) {
        mark(self, event, &[]);
    }

    /// As [`Recorder::mark`], with these arguments. Each takes a record, a text one for every 26 bytes.
    #[inline]
    pub fn mark_with(&self, event: Event, arguments: &[(Key, Value<'_>)]) {
        mark(self, event, arguments);
    }

    /// Records what a number is now: a queue's depth, the bytes in use. The samples of one number have the same label. Costs as much as [`Recorder::mark`].
    ///
    /// ```
    /// # use hrx_trace::Recorder;
    /// # let folder = tempfile::tempdir()?;
    /// # let recorder = Recorder::create(folder.path().join("run.hrxt"), 100)?;
    /// let depth = recorder.label("queue depth");
    /// recorder.value(depth, 17.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn value(&self, label: Label, number: f64) {
        self.value_with(Event::new(0).label(label), number, &[]);
    }

    /// As [`Recorder::value`], with the label and the correlation id of `event`, of which the rest does not count, and with these arguments.
    #[inline]
    pub fn value_with(&self, event: Event, number: f64, arguments: &[(Key, Value<'_>)]) {
        value(self, event, number, arguments);
    }
}

impl<R: Deref<Target = Recorder>> Writer<R> {
    /// As [`Recorder::mark`].
    #[inline]
    pub fn mark(&self, event: Event) {
        mark(self, event, &[]);
    }

    /// As [`Recorder::mark_with`].
    #[inline]
    pub fn mark_with(&self, event: Event, arguments: &[(Key, Value<'_>)]) {
        mark(self, event, arguments);
    }

    /// As [`Recorder::value`].
    #[inline]
    pub fn value(&self, label: Label, number: f64) {
        self.value_with(Event::new(0).label(label), number, &[]);
    }

    /// As [`Recorder::value_with`].
    #[inline]
    pub fn value_with(&self, event: Event, number: f64, arguments: &[(Key, Value<'_>)]) {
        value(self, event, number, arguments);
    }
}

#[inline(always)]
fn mark<To: Destination>(to: &To, event: Event, arguments: &[(Key, Value<'_>)]) {
    let recorder = to.recorder();
    if !recorder.gate.is_open() {
        return;
    }
    let thread = to.thread(|| recorder.now_ns());
    let ring = to.ring_of(thread);
    let start_ns = recorder.now_ns();
    let described = recorder.describe(event);
    let flag = write_arguments(to, ring, start_ns, thread.id, arguments);
    let mark = Mark {
        sequence: 0,
        start_ns,
        unused_16: [0; 2],
        correlation_id: described.correlation_id,
        lane: described.lane,
        label_id: described.label_id,
        thread_id: thread.id,
        unused_52: 0,
        flags: described.flags & FLAG_SATURATED | flag,
        kind: KIND_MARK,
        open_slot: 0,
        crc32: 0,
    };
    to.write(ring, bytemuck::cast(mark));
}

#[inline(always)]
fn value<To: Destination>(to: &To, event: Event, number: f64, arguments: &[(Key, Value<'_>)]) {
    let recorder = to.recorder();
    if !recorder.gate.is_open() {
        return;
    }
    let thread = to.thread(|| recorder.now_ns());
    let ring = to.ring_of(thread);
    let start_ns = recorder.now_ns();
    let described = recorder.describe(event);
    let sample = Sample {
        correlation_id: described.correlation_id,
        label_id: described.label_id,
        thread_id: thread.id,
        flags: write_arguments(to, ring, start_ns, thread.id, arguments),
        ..Sample::at(start_ns, number)
    };
    to.write(ring, bytemuck::cast(sample));
}

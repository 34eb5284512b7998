//! Our recorder, through each of its entry points.

use std::sync::Arc;

use hrx_trace::{Event, Key, Label, Recorder, Tracer, Writer};

use crate::measuring::contender::{Contender, Fields};

#[inline]
fn event(fields: &Fields) -> Event {
    Event::new(fields.lane)
        .copied_bytes(fields.copied_bytes as u64)
        .failed(fields.failed)
}

/// `Recorder::record`; all threads share the recorder, which has one ring or several.
pub struct Record(pub Recorder);

impl Contender for Record {
    type Thread<'a> = ();

    fn thread(&self, _: usize) {}

    #[inline]
    fn event(&self, (): &mut (), fields: &Fields) {
        self.0.record(fields.start, fields.elapsed, event(fields));
    }
}

/// `Recorder::record`, with a recorder for each thread.
pub struct RecordOwn(pub Vec<Recorder>);

impl Contender for RecordOwn {
    type Thread<'a> = &'a Recorder;

    fn thread(&self, index: usize) -> &Recorder {
        &self.0[index]
    }

    #[inline]
    fn event(&self, recorder: &mut &Recorder, fields: &Fields) {
        recorder.record(fields.start, fields.elapsed, event(fields));
    }
}

/// `Writer::record`: each thread has its own ring.
pub struct ByWriter(pub Recorder);

impl Contender for ByWriter {
    type Thread<'a> = Writer<&'a Recorder>;

    fn thread(&self, _: usize) -> Writer<&Recorder> {
        self.0.writer()
    }

    #[inline]
    fn event(&self, writer: &mut Writer<&Recorder>, fields: &Fields) {
        writer.record(fields.start, fields.elapsed, event(fields));
    }
}

/// `Writer::begin` and `Region::finish`.
pub struct BeginFinishByWriter(pub Recorder);

impl Contender for BeginFinishByWriter {
    type Thread<'a> = Writer<&'a Recorder>;

    fn thread(&self, _: usize) -> Writer<&Recorder> {
        self.0.writer()
    }

    #[inline]
    fn event(&self, writer: &mut Writer<&Recorder>, fields: &Fields) {
        writer.begin(event(fields)).finish();
    }
}

/// `Recorder::begin` and `Region::finish`, which read the clock themselves.
pub struct BeginFinish(pub Recorder);

impl Contender for BeginFinish {
    type Thread<'a> = ();

    fn thread(&self, _: usize) {}

    #[inline]
    fn event(&self, (): &mut (), fields: &Fields) {
        self.0.begin(event(fields)).finish();
    }
}

/// `Recorder::begin_owned` and `Region::finish`, which read the clock themselves.
pub struct BeginFinishOwned(pub Arc<Recorder>);

impl Contender for BeginFinishOwned {
    type Thread<'a> = ();

    fn thread(&self, _: usize) {}

    #[inline]
    fn event(&self, (): &mut (), fields: &Fields) {
        self.0.begin_owned(event(fields)).finish();
    }
}

/// `Recorder::mark`, which reads the clock itself.
pub struct Mark(pub Recorder);

impl Contender for Mark {
    type Thread<'a> = ();

    fn thread(&self, _: usize) {}

    #[inline]
    fn event(&self, (): &mut (), fields: &Fields) {
        self.0.mark(event(fields));
    }
}

/// `Recorder::value`, which reads the clock itself.
pub struct Value {
    recorder: Recorder,
    label: Label,
}

impl Value {
    pub fn new(recorder: Recorder) -> Self {
        let label = recorder.label("queue depth");
        Self { recorder, label }
    }
}

impl Contender for Value {
    type Thread<'a> = ();

    fn thread(&self, _: usize) {}

    #[inline]
    fn event(&self, (): &mut (), fields: &Fields) {
        self.recorder.value(self.label, fields.copied_bytes as f64);
    }
}

/// `Recorder::begin`, `Region::argument` with a number and with a text of one record, and `Region::finish`.
pub struct TwoArguments {
    recorder: Recorder,
    keys: [Key; 2],
}

impl TwoArguments {
    pub fn new(recorder: Recorder) -> Self {
        let keys = ["batch", "layer"].map(|key| recorder.key(key));
        Self { recorder, keys }
    }
}

impl Contender for TwoArguments {
    type Thread<'a> = ();

    fn thread(&self, _: usize) {}

    #[inline]
    fn event(&self, (): &mut (), fields: &Fields) {
        let mut region = self.recorder.begin(event(fields));
        region.argument(self.keys[0], fields.copied_bytes as u64);
        region.argument(self.keys[1], "encoder.3.attention");
        region.finish();
    }
}

/// `Recorder::record_between`, with two calls of `Recorder::now`.
pub struct RecordBetween(pub Recorder);

impl Contender for RecordBetween {
    type Thread<'a> = ();

    fn thread(&self, _: usize) {}

    #[inline]
    fn event(&self, (): &mut (), fields: &Fields) {
        let start = self.0.now();
        self.0.record_between(start, self.0.now(), event(fields));
    }
}

/// `Writer::record_between`, with two calls of `Writer::now`.
pub struct RecordBetweenByWriter(pub Recorder);

impl Contender for RecordBetweenByWriter {
    type Thread<'a> = Writer<&'a Recorder>;

    fn thread(&self, _: usize) -> Writer<&Recorder> {
        self.0.writer()
    }

    #[inline]
    fn event(&self, writer: &mut Writer<&Recorder>, fields: &Fields) {
        let start = writer.now();
        writer.record_between(start, writer.now(), event(fields));
    }
}

/// `Tracer::record`, as a program that used the in-memory tracer calls it.
pub struct ByTracer(pub Tracer);

impl Contender for ByTracer {
    type Thread<'a> = ();

    fn thread(&self, _: usize) {}

    #[inline]
    fn event(&self, (): &mut (), fields: &Fields) {
        self.0.record(
            fields.start,
            fields.elapsed,
            fields.lane,
            fields.copied_bytes,
            fields.failed,
        );
    }
}

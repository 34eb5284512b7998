//! Keys and values of events.
//!
//! Those of a running region go to its ring, and to the lines next to its open record: the region that hangs keeps them, however many records other threads
//! write. Those of an event that holds no slot go to its ring before it does, so that they are there when it is.

use std::ops::Deref;
use std::time::{Duration, Instant};

use hrx_trace_format::line::of_argument;
use hrx_trace_format::record::FLAG_ARGUMENTS;
use hrx_trace_format::{ArgumentsOf, OpenRecord, Record};

use crate::areas::{Counter, LINES};
use crate::event::{Event, Key};
use crate::moment::Moment;
use crate::recorder::Recorder;
use crate::region::{Destination, Region, write_with_line};
use crate::value::Value;
use crate::writer::Writer;

impl<To: Deref<Target: Destination>> Region<To> {
    /// Gives it an argument, which the file shows at once. It takes a record of the ring, a text one for every 26 bytes.
    ///
    /// A text of more than 256 bytes is cut at the last character that fits, and marked as cut. The first five records, and the latest one, stay with the region
    /// as long as it runs, even if other threads' records overwrite them in the ring. A region that is not shown, because the table was full, can have no
    /// arguments, and none has more than 65,536: what cannot be recorded is counted.
    ///
    /// ```
    /// # use hrx_trace::{Event, Key, Recorder, lane};
    /// # fn run(recorder: &Recorder, shape: Key, blocks: Key) {
    /// let mut region = recorder.begin(Event::new(lane::COMPUTE));
    /// region.argument(shape, "4096x4096");
    /// region.argument(blocks, 256_u64);
    /// // ... submit, and wait ...
    /// region.finish();
    /// # }
    /// ```
    #[inline(always)]
    pub fn argument<'value>(&mut self, key: Key, value: impl Into<Value<'value>>) {
        self.add_argument(key, value.into());
    }

    #[inline(always)]
    fn add_argument(&mut self, key: Key, value: Value<'_>) {
        let Some((to, open_slot)) = self.shown() else {
            return;
        };
        let Ok(ordinal) = u16::try_from(self.state.arguments) else {
            return to.recorder().counters.count(Counter::ArgumentsRefused);
        };
        let of = ArgumentsOf::region(&OpenRecord {
            start_ns: self.state.start_ns,
            claimed_at_begin: self.state.tenancy.owner.into(),
            open_slot,
            ..bytemuck::Zeroable::zeroed()
        });
        let mut records = self.state.argument_records;
        for record in of.records(ordinal, key.0, value.0) {
            let line = of_argument(records, LINES);
            let record = bytemuck::cast(record);
            write_with_line(to, self.state.ring, open_slot, line, record);
            records += 1;
        }
        self.state.argument_records = records;
        self.state.arguments += 1;
    }
}

impl Recorder {
    /// As [`Recorder::record`], of a region with these arguments. Each takes a record, a text one for every 26 bytes.
    #[inline]
    pub fn record_with(
        &self,
        start: Instant,
        elapsed: Duration,
        event: Event,
        arguments: &[(Key, Value<'_>)],
    ) {
        let thread_id = self.thread(|| self.end_ns(start, elapsed)).id;
        if let Some(record) = self.measured(start, elapsed, event, thread_id) {
            write_region(self, record, arguments);
        }
    }

    /// As [`Recorder::record_between`], of a region with these arguments. Each takes a record, a text one for every 26 bytes.
    #[inline]
    pub fn record_between_with(
        &self,
        start: Moment,
        end: Moment,
        event: Event,
        arguments: &[(Key, Value<'_>)],
    ) {
        let thread_id = self.thread(|| self.since_epoch_ns(end)).id;
        if let Some(record) = self.between(start, end, event, thread_id) {
            write_region(self, record, arguments);
        }
    }
}

impl<R: Deref<Target = Recorder>> Writer<R> {
    /// As [`Recorder::record_with`].
    #[inline]
    pub fn record_with(
        &self,
        start: Instant,
        elapsed: Duration,
        event: Event,
        arguments: &[(Key, Value<'_>)],
    ) {
        let thread_id = self.thread(|| self.recorder().end_ns(start, elapsed)).id;
        if let Some(record) = self.recorder().measured(start, elapsed, event, thread_id) {
            write_region(self, record, arguments);
        }
    }

    /// As [`Recorder::record_between_with`].
    #[inline]
    pub fn record_between_with(
        &self,
        start: Moment,
        end: Moment,
        event: Event,
        arguments: &[(Key, Value<'_>)],
    ) {
        let thread_id = self.thread(|| self.recorder().since_epoch_ns(end)).id;
        if let Some(record) = self.recorder().between(start, end, event, thread_id) {
            write_region(self, record, arguments);
        }
    }
}

/// Writes a region that holds no slot, after its arguments.
fn write_region<To: Destination>(to: &To, region: Record, arguments: &[(Key, Value<'_>)]) {
    let end_ns = region.start_ns.saturating_add(region.duration_ns);
    let ring = to.ring_of(to.thread(|| end_ns));
    let flag = write_arguments(to, ring, region.start_ns, region.thread_id, arguments);
    let flags = region.flags | flag;
    to.write(ring, bytemuck::cast(Record { flags, ..region }));
}

/// Writes the arguments of an event that holds no slot. The calling thread then writes the event to the same ring, with the flag that is returned, and no other event
/// without a slot before it.
#[inline]
pub fn write_arguments<To: Destination>(
    to: &To,
    ring: usize,
    start_ns: u64,
    thread_id: u32,
    arguments: &[(Key, Value<'_>)],
) -> u8 {
    let of = ArgumentsOf::event(start_ns, thread_id);
    let mut ordinals = 0..=u16::MAX;
    for (key, value) in arguments {
        let Some(ordinal) = ordinals.next() else {
            to.recorder().counters.count(Counter::ArgumentsRefused);
            continue;
        };
        for record in of.records(ordinal, key.0, value.0) {
            to.write(ring, bytemuck::cast(record));
        }
    }
    if arguments.is_empty() {
        0
    } else {
        FLAG_ARGUMENTS
    }
}

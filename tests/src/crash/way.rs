//! What a thread records through: the recorder itself, or one of its writers. The children make the same calls on either.

use std::ops::Deref;
use std::time::{Duration, Instant};

use hrx_trace::{Destination, Event, Key, Label, Moment, Recorder, Region, Value, Writer};

/// Arguments of an event.
pub type Arguments<'a> = &'a [(Key, Value<'a>)];

/// A recorder or a writer.
pub trait Way: Destination + Sized {
    /// [`Recorder::record`], or [`Writer::record`].
    fn record(&self, start: Instant, elapsed: Duration, event: Event);
    /// [`Recorder::now`], or [`Writer::now`].
    fn now(&self) -> Moment;
    /// [`Recorder::record_between`], or [`Writer::record_between`].
    fn record_between(&self, start: Moment, end: Moment, event: Event);
    /// [`Recorder::begin`], or [`Writer::begin`].
    fn begin(&self, event: Event) -> Region<&Self>;
    /// [`Recorder::begin_at`], or [`Writer::begin_at`].
    fn begin_at(&self, start: Instant, event: Event) -> Region<&Self>;
    /// [`Recorder::mark`], or [`Writer::mark`].
    fn mark(&self, event: Event);
    /// [`Recorder::mark_with`], or [`Writer::mark_with`].
    fn mark_with(&self, event: Event, arguments: Arguments<'_>);
    /// [`Recorder::value`], or [`Writer::value`].
    fn value(&self, label: Label, number: f64);
    /// [`Recorder::value_with`], or [`Writer::value_with`].
    fn value_with(&self, event: Event, number: f64, arguments: Arguments<'_>);
    /// [`Recorder::record_between_with`], or [`Writer::record_between_with`].
    fn record_between_with(
        &self,
        start: Moment,
        end: Moment,
        event: Event,
        arguments: Arguments<'_>,
    );
}

impl Way for Recorder {
    #[inline]
    fn record(&self, start: Instant, elapsed: Duration, event: Event) {
        self.record(start, elapsed, event);
    }

    #[inline]
    fn now(&self) -> Moment {
        self.now()
    }

    #[inline]
    fn record_between(&self, start: Moment, end: Moment, event: Event) {
        self.record_between(start, end, event);
    }

    #[inline]
    fn begin(&self, event: Event) -> Region<&Self> {
        self.begin(event)
    }

    #[inline]
    fn begin_at(&self, start: Instant, event: Event) -> Region<&Self> {
        self.begin_at(start, event)
    }

    #[inline]
    fn mark(&self, event: Event) {
        self.mark(event);
    }

    #[inline]
    fn mark_with(&self, event: Event, arguments: Arguments<'_>) {
        self.mark_with(event, arguments);
    }

    #[inline]
    fn value(&self, label: Label, number: f64) {
        self.value(label, number);
    }

    #[inline]
    fn value_with(&self, event: Event, number: f64, arguments: Arguments<'_>) {
        self.value_with(event, number, arguments);
    }

    #[inline]
    fn record_between_with(
        &self,
        start: Moment,
        end: Moment,
        event: Event,
        arguments: Arguments<'_>,
    ) {
        self.record_between_with(start, end, event, arguments);
    }
}

impl<R: Deref<Target = Recorder>> Way for Writer<R> {
    #[inline]
    fn record(&self, start: Instant, elapsed: Duration, event: Event) {
        self.record(start, elapsed, event);
    }

    #[inline]
    fn now(&self) -> Moment {
        self.now()
    }

    #[inline]
    fn record_between(&self, start: Moment, end: Moment, event: Event) {
        self.record_between(start, end, event);
    }

    #[inline]
    fn begin(&self, event: Event) -> Region<&Self> {
        self.begin(event)
    }

    #[inline]
    fn begin_at(&self, start: Instant, event: Event) -> Region<&Self> {
        self.begin_at(start, event)
    }

    #[inline]
    fn mark(&self, event: Event) {
        self.mark(event);
    }

    #[inline]
    fn mark_with(&self, event: Event, arguments: Arguments<'_>) {
        self.mark_with(event, arguments);
    }

    #[inline]
    fn value(&self, label: Label, number: f64) {
        self.value(label, number);
    }

    #[inline]
    fn value_with(&self, event: Event, number: f64, arguments: Arguments<'_>) {
        self.value_with(event, number, arguments);
    }

    #[inline]
    fn record_between_with(
        &self,
        start: Moment,
        end: Moment,
        event: Event,
        arguments: Arguments<'_>,
    ) {
        self.record_between_with(start, end, event, arguments);
    }
}

//! What a thread records through: the recorder itself, a share of it, or one of its writers. The children make the same calls on each.

use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hrx_trace::{Destination, Event, Key, Label, Moment, Recorder, Region, Value, Writer};

/// Arguments of an event.
pub type Arguments<'a> = &'a [(Key, Value<'a>)];

/// A recorder, a share of one, or a writer. Each call is that of [`Recorder`].
pub trait Way: Sized {
    /// What a region holds while it runs.
    type Held<'a>: Deref<Target: Destination>
    where
        Self: 'a;
    /// [`Recorder::record`].
    fn record(&self, start: Instant, elapsed: Duration, event: Event);
    /// [`Recorder::now`].
    fn now(&self) -> Moment;
    /// [`Recorder::record_between`].
    fn record_between(&self, start: Moment, end: Moment, event: Event);
    /// [`Recorder::begin`], or [`Recorder::begin_owned`].
    fn begin(&self, event: Event) -> Region<Self::Held<'_>>;
    /// [`Recorder::begin_at`], or [`Recorder::begin_owned_at`].
    fn begin_at(&self, start: Instant, event: Event) -> Region<Self::Held<'_>>;
    /// [`Recorder::mark`].
    fn mark(&self, event: Event);
    /// [`Recorder::mark_with`].
    fn mark_with(&self, event: Event, arguments: Arguments<'_>);
    /// [`Recorder::value`].
    fn value(&self, label: Label, number: f64);
    /// [`Recorder::value_with`].
    fn value_with(&self, event: Event, number: f64, arguments: Arguments<'_>);
    /// [`Recorder::record_between_with`].
    fn record_between_with(
        &self,
        start: Moment,
        end: Moment,
        event: Event,
        arguments: Arguments<'_>,
    );
}

/// Implements [`Way`] by the methods of `$by`.
macro_rules! way {
    ([$($parameter:ident: $bound:path)?] $way:ty, by $by:ident, $held:ty, $begin:ident, $begin_at:ident) => {
        impl$(<$parameter: $bound>)? Way for $way {
            type Held<'a>
                = $held
            where
                Self: 'a;

            #[inline]
            fn record(&self, start: Instant, elapsed: Duration, event: Event) {
                $by::record(self, start, elapsed, event);
            }

            #[inline]
            fn now(&self) -> Moment {
                $by::now(self)
            }

            #[inline]
            fn record_between(&self, start: Moment, end: Moment, event: Event) {
                $by::record_between(self, start, end, event);
            }

            #[inline]
            fn begin(&self, event: Event) -> Region<Self::Held<'_>> {
                $by::$begin(self, event)
            }

            #[inline]
            fn begin_at(&self, start: Instant, event: Event) -> Region<Self::Held<'_>> {
                $by::$begin_at(self, start, event)
            }

            #[inline]
            fn mark(&self, event: Event) {
                $by::mark(self, event);
            }

            #[inline]
            fn mark_with(&self, event: Event, arguments: Arguments<'_>) {
                $by::mark_with(self, event, arguments);
            }

            #[inline]
            fn value(&self, label: Label, number: f64) {
                $by::value(self, label, number);
            }

            #[inline]
            fn value_with(&self, event: Event, number: f64, arguments: Arguments<'_>) {
                $by::value_with(self, event, number, arguments);
            }

            #[inline]
            fn record_between_with(
                &self,
                start: Moment,
                end: Moment,
                event: Event,
                arguments: Arguments<'_>,
            ) {
                $by::record_between_with(self, start, end, event, arguments);
            }
        }
    };
}

way!([] Recorder, by Recorder, &'a Self, begin, begin_at);
way!([] Arc<Recorder>, by Recorder, Self, begin_owned, begin_owned_at);
way!([R: OfRecorder] Writer<R>, by Writer, &'a Self, begin, begin_at);

/// What a [`Writer`] has its recorder by.
pub trait OfRecorder: Deref<Target = Recorder> {}
impl<R: Deref<Target = Recorder>> OfRecorder for R {}

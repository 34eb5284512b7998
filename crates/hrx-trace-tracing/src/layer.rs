//! The layer.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hrx_trace::{Event, Key, Recorder, Value};
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Metadata, Subscriber, subscriber::Interest};
use tracing_subscriber::layer::{Context, Layer};

use crate::lanes::Lanes;
use crate::sites::Sites;
use crate::span::{Common, Span, Words};
use crate::table::Table;
use crate::visit::{Said, Visitor};

/// Spans that can live at a time, if [`RecorderLayer::spans`] says no other number.
const SPANS: u32 = 8_192;
/// Arguments of an event, its level and how many were left out included: more than fields can be.
const ARGUMENTS: usize = 40;

/// A layer that records spans and events by `recorder`: see the [crate](crate)'s documentation.
///
/// The recorder lives as long as the layer, and a global subscriber is never dropped. Keep a clone of the `Arc` and call [`Recorder::finish`] at the end of `main`,
/// or create the recorder with [`Options::finish_at_exit`](hrx_trace::Options::finish_at_exit); otherwise a clean end reads as a crash.
///
/// Allocates room for 8,192 spans: 4 MiB, and at most 13 MiB more where they have fields.
pub fn layer(recorder: Arc<Recorder>) -> RecorderLayer {
    RecorderLayer {
        spans: Spans::new(SPANS),
        sites: Sites::new(),
        level: recorder.key("level"),
        values: true,
        refused: AtomicU64::new(0),
        common: Common {
            waiting_lane: recorder.lane("waiting"),
            left_out: recorder.key("fields left out"),
            lanes: Lanes::new(),
            whole: false,
            others: Mutex::new(Vec::with_capacity(64)),
            recorder,
        },
    }
}

/// Records spans and events: see [`layer()`].
pub struct RecorderLayer {
    spans: Spans,
    sites: Sites,
    level: Key,
    values: bool,
    /// Spans that found no room.
    refused: AtomicU64,
    common: Common,
}

/// The spans that live.
struct Spans {
    table: Table,
    spans: Box<[Mutex<Span>]>,
    /// Zeros, which take no memory until an entry is used.
    words: Box<[Words]>,
}

impl Spans {
    fn new(capacity: u32) -> Self {
        Self {
            table: Table::new(capacity),
            spans: (0..capacity).map(|_| Mutex::new(Span::none())).collect(),
            words: bytemuck::zeroed_slice_box(capacity as usize),
        }
    }

    #[inline]
    fn locked(&self, entry: usize) -> MutexGuard<'_, Span> {
        self.spans[entry]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Does `work` with the span `id`, if it is there.
    #[inline(always)]
    fn with<T>(&self, id: &Id, work: impl FnOnce(&mut Span, &Words) -> T) -> Option<T> {
        let id = id.into_u64();
        let entry = self.table.find(id)?;
        let mut span = self.locked(entry);
        span.is(id).then(|| work(&mut span, &self.words[entry]))
    }
}

impl RecorderLayer {
    /// A span becomes one region, from its creation to its close, on a lane for each target: it runs while a thread is in it, and waits otherwise. Without this, it
    /// becomes a region for each time that a thread is in it, on that thread's lane.
    #[must_use]
    pub fn whole_spans(mut self) -> Self {
        self.common.whole = true;
        self
    }

    /// Leaves out what programs put into fields: no arguments and no messages. Names, targets, levels and the numbers that a region has of its own (`lane`,
    /// `correlation_id`, `copied_bytes`, `status`), and whether it failed, are still recorded. What a field prints is not even asked for.
    #[must_use]
    pub fn without_values(mut self) -> Self {
        self.values = false;
        self
    }

    /// Room for so many spans at a time. One more is not recorded; a mark `spans not recorded` says how many were not, at the first, second, fourth …
    ///
    /// The file shows as many of them as [`Options::open_regions`](hrx_trace::Options::open_regions) says, 1,024 by default, and counts the others.
    #[must_use]
    pub fn spans(mut self, spans: u32) -> Self {
        self.spans = Spans::new(spans);
        self
    }

    #[inline(always)]
    fn is_recording(&self) -> bool {
        self.common.recorder.is_recording()
    }

    fn visitor<'a, 'said>(
        &'a self,
        metadata: &'static Metadata<'static>,
        said: &'said mut Said,
    ) -> Option<Visitor<'a, 'said>> {
        let recorder = &*self.common.recorder;
        Some(Visitor {
            site: self.sites.get(metadata, recorder, self.common.whole)?,
            recorder,
            values: self.values,
            said,
        })
    }

    #[cold]
    fn refuse(&self) {
        let refused = 1 + self.refused.fetch_add(1, Ordering::Relaxed);
        if refused.is_power_of_two() {
            let recorder = &self.common.recorder;
            let label = recorder.label("spans not recorded");
            let mark = Event::new(self.common.waiting_lane).label(label);
            recorder.mark_with(mark, &[(recorder.key("spans"), refused.into())]);
        }
    }
}

impl<S: Subscriber> Layer<S> for RecorderLayer {
    /// Interns the callsite's names.
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if self.is_recording() {
            self.sites
                .get(metadata, &self.common.recorder, self.common.whole);
        }
        Interest::always()
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, _: Context<'_, S>) {
        if !self.is_recording() {
            return;
        }
        let mut said = Said::nothing();
        let Some(mut visitor) = self.visitor(attributes.metadata(), &mut said) else {
            return;
        };
        // It may call the program's own code, so nothing is locked.
        attributes.record(&mut visitor);
        let site = visitor.site;
        let Some(entry) = self.spans.table.take() else {
            return self.refuse();
        };
        let id = id.into_u64();
        let words = &self.spans.words[entry];
        self.spans
            .locked(entry)
            .begin(id, site, &said, words, &self.common);
        self.spans.table.insert(id, entry);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        if !self.is_recording() {
            return;
        }
        let Some(metadata) = self.spans.with(id, |span, _| span.metadata).flatten() else {
            return;
        };
        let mut said = Said::nothing();
        let Some(mut visitor) = self.visitor(metadata, &mut said) else {
            return;
        };
        values.record(&mut visitor);
        self.spans.with(id, |span, words| {
            span.record(&mut said, words, &self.common);
        });
    }

    #[inline]
    fn on_enter(&self, id: &Id, _: Context<'_, S>) {
        if self.is_recording() {
            self.spans
                .with(id, |span, words| span.enter(words, &self.common));
        }
    }

    #[inline]
    fn on_exit(&self, id: &Id, _: Context<'_, S>) {
        if self.is_recording() {
            self.spans
                .with(id, |span, words| span.exit(words, &self.common));
        }
    }

    fn on_close(&self, id: Id, _: Context<'_, S>) {
        if self.is_recording() {
            self.spans.table.remove(id.into_u64(), |entry| {
                self.spans.locked(entry).close(&self.common);
            });
        }
    }

    fn on_event(&self, event: &tracing_core::Event<'_>, context: Context<'_, S>) {
        if !self.is_recording() {
            return;
        }
        let mut said = Said::nothing();
        let Some(mut visitor) = self.visitor(event.metadata(), &mut said) else {
            return;
        };
        event.record(&mut visitor);
        let site = visitor.site;
        let recorder = &self.common.recorder;
        let lane = said.lane.or(site.lane);
        let lane = lane.unwrap_or_else(|| self.common.lanes.lane(recorder));
        let mark = Event::new(lane)
            .label(site.label)
            .correlation_id(said.correlation_id.unwrap_or_default());

        let level = event.metadata().level().as_str();
        let mut arguments = [(self.level, Value::from(level)); ARGUMENTS];
        let mut count = 1;
        said.fields.each(|key, value| {
            // The last place is for how many were left out.
            if count < ARGUMENTS - 1 {
                arguments[count] = (key, value);
                count += 1;
            }
        });
        if said.fields.left_out() > 0 {
            arguments[count] = (self.common.left_out, said.fields.left_out().into());
            count += 1;
        }
        recorder.mark_with(mark, &arguments[..count]);

        if said.failed {
            let current = context.current_span();
            let contextual = current.id().filter(|_| event.is_contextual());
            // One that is not recorded is not failed, nor is the one around it.
            if let Some(id) = event.parent().or(contextual) {
                self.spans.with(id, |span, _| span.fail());
            }
        }
    }
}

/// What runs is recorded as failed, as unfinished regions are; what waits just leaves.
impl Drop for RecorderLayer {
    fn drop(&mut self) {
        for span in &mut self.spans.spans {
            let span = span.get_mut().unwrap_or_else(PoisonError::into_inner);
            span.abandon(&self.common);
        }
    }
}

impl fmt::Debug for RecorderLayer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RecorderLayer")
            .field("common", &self.common)
            .field("refused", &self.refused)
            .finish_non_exhaustive()
    }
}

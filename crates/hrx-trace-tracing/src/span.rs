//! A span, and the regions that show it.
//!
//! Where regions are polls: entered, a span has a region on each thread that entered it; not entered, it has one that waits. The new one begins before the old one
//! leaves, so that the file shows the span at every instant.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hrx_trace::{Event, Key, Label, OwnedRegion, Recorder};
use tracing_core::Metadata;

use crate::fields::{WORDS, each};
use crate::lanes::{Lanes, this_thread};
use crate::sites::Site;
use crate::visit::Said;

/// What all spans of a layer share.
#[derive(Debug)]
pub struct Common {
    pub recorder: Arc<Recorder>,
    pub lanes: Lanes,
    /// Whether a region is a span's whole life.
    pub whole: bool,
    /// The lane of those that wait.
    pub waiting_lane: usize,
    /// The argument that says how many fields found no room.
    pub left_out: Key,
    /// Regions of spans that several threads have entered at once, but for the first of each span.
    pub others: Mutex<Vec<Poll>>,
}

impl Common {
    fn others(&self) -> MutexGuard<'_, Vec<Poll>> {
        self.others.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thread is in a span.
#[derive(Debug)]
pub struct Poll {
    span: u64,
    thread: usize,
    /// How often the thread entered it, and has not left it yet.
    depth: u32,
    region: OwnedRegion,
}

/// The room for a span's arguments.
pub type Words = [AtomicU64; WORDS];

/// A span. Its arguments are in words beside it, which only the thread that has the span locked reads and writes.
#[derive(Debug)]
pub struct Span {
    /// 0: none.
    id: u64,
    pub metadata: Option<&'static Metadata<'static>>,
    label: Label,
    lane: Option<usize>,
    correlation_id: u64,
    copied_bytes: u64,
    status: u32,
    /// Since the last region of it was recorded.
    failed: bool,
    /// How many words its arguments take, and how many fields found no room.
    words: usize,
    left_out: u32,
    /// What shows it: the region of the thread that is in it, or the one that waits. None: all threads in it are `others`. Where a region is its whole life: that one.
    region: Option<OwnedRegion>,
    /// The thread that the region is of, and how often it has entered the span and not left it; 0: the region waits.
    thread: usize,
    depth: u32,
    /// How many other threads are in it. Where a region is its whole life: how many threads are.
    others: u32,
}

impl Span {
    pub const fn none() -> Self {
        Self {
            id: 0,
            metadata: None,
            label: Label::NONE,
            lane: None,
            correlation_id: 0,
            copied_bytes: 0,
            status: 0,
            failed: false,
            words: 0,
            left_out: 0,
            region: None,
            thread: 0,
            depth: 0,
            others: 0,
        }
    }

    pub const fn is(&self, id: u64) -> bool {
        self.id == id
    }

    /// A new one.
    pub fn begin(&mut self, id: u64, site: &Site, said: &Said, words: &Words, common: &Common) {
        *self = Self {
            id,
            metadata: Some(site.metadata),
            label: site.label,
            lane: site.lane,
            ..Self::none()
        };
        self.keep(said, words);
        self.rest(words, common);
    }

    /// What was said about it later.
    pub fn record(&mut self, said: &mut Said, words: &Words, common: &Common) {
        if let Some(region) = &mut self.region {
            tell(region, said);
        }
        if self.others > 0 && !common.whole {
            let mut others = common.others();
            for other in others.iter_mut().filter(|other| other.span == self.id) {
                tell(&mut other.region, said);
            }
        }
        let older = words[..self.words].iter();
        let older = older.map(|word| word.load(Ordering::Relaxed));
        said.fields.add_older(older, self.left_out);
        self.keep(said, words);
    }

    /// A failure that an event in it tells of.
    pub fn fail(&mut self) {
        self.failed = true;
    }

    #[inline]
    pub fn enter(&mut self, words: &Words, common: &Common) {
        if common.whole {
            self.others += 1;
            if self.others == 1
                && let Some(region) = &mut self.region
            {
                region.running();
            }
            return;
        }
        let thread = this_thread();
        if self.depth > 0 || self.others > 0 {
            return self.enter_again(thread, words, common);
        }
        let event = self.event(self.lane_here(common));
        let known = Known::of(self, words, common);
        if let Some(region) = &mut self.region {
            region.resume(event, |region| known.give(region));
            self.thread = thread;
            self.depth = 1;
        }
    }

    /// A thread enters it that some thread is in already.
    #[cold]
    fn enter_again(&mut self, thread: usize, words: &Words, common: &Common) {
        if self.depth > 0 && self.thread == thread {
            self.depth += 1;
            return;
        }
        let mut others = common.others();
        if let Some(other) = others.iter_mut().find(|other| other.is(self.id, thread)) {
            other.depth += 1;
            return;
        }
        let event = self.event(self.lane_here(common));
        let mut region = common.recorder.begin_owned(event);
        Known::of(self, words, common).give(&mut region);
        if self.depth == 0 {
            self.region = Some(region);
            self.thread = thread;
            self.depth = 1;
            return;
        }
        others.push(Poll {
            span: self.id,
            thread,
            depth: 1,
            region,
        });
        self.others += 1;
    }

    #[inline]
    pub fn exit(&mut self, words: &Words, common: &Common) {
        if std::thread::panicking() {
            self.failed = true;
        }
        if common.whole {
            self.others = self.others.saturating_sub(1);
            if self.others == 0
                && let Some(region) = &mut self.region
            {
                region.waiting();
            }
            return;
        }
        if self.depth != 1 || self.others > 0 || self.thread != this_thread() {
            return self.exit_once(words, common);
        }
        self.depth = 0;
        let waiting = self.event(self.lane.unwrap_or(common.waiting_lane));
        let (failed, bytes, status) = self.outcome();
        let known = Known::of(self, words, common);
        if let Some(region) = &mut self.region {
            region.suspend(
                |event| event.copied_bytes(bytes).status(status).failed(failed),
                waiting,
                |region| known.give(region),
            );
        }
    }

    /// A thread leaves it that is not the only one in it, or has entered it several times, or never.
    #[cold]
    fn exit_once(&mut self, words: &Words, common: &Common) {
        let thread = this_thread();
        if self.depth > 0 && self.thread == thread {
            self.depth -= 1;
            if self.depth == 0
                && let Some(region) = self.region.take()
            {
                // Others are in it.
                self.finish(region);
            }
            return;
        }
        let mut others = common.others();
        let Some(place) = others.iter().position(|other| other.is(self.id, thread)) else {
            return;
        };
        others[place].depth -= 1;
        if others[place].depth > 0 {
            return;
        }
        let other = others.swap_remove(place);
        drop(others);
        self.others -= 1;
        if self.others == 0 && self.depth == 0 {
            self.rest(words, common);
        }
        self.finish(other.region);
    }

    /// It is over, whatever is still in it.
    pub fn close(&mut self, common: &Common) {
        if let Some(region) = self.region.take() {
            if self.depth > 0 || common.whole {
                self.finish(region);
            } else {
                region.withdraw();
            }
        }
        if self.others > 0 && !common.whole {
            let mut others = common.others();
            while let Some(place) = others.iter().position(|other| other.span == self.id) {
                let other = others.swap_remove(place);
                self.finish(other.region);
            }
        }
        self.id = 0;
    }

    /// The layer is over before it is: a region that waits leaves the file, and those that run are dropped.
    pub fn abandon(&mut self, common: &Common) {
        if self.depth == 0
            && !common.whole
            && let Some(waiting) = self.region.take()
        {
            waiting.withdraw();
        }
    }

    /// From now on it waits.
    fn rest(&mut self, words: &Words, common: &Common) {
        let lane = self.lane.unwrap_or(common.waiting_lane);
        let mut region = common.recorder.begin_waiting(self.event(lane));
        Known::of(self, words, common).give(&mut region);
        self.region = Some(region);
    }

    /// The lane of a region on this thread.
    #[inline(always)]
    fn lane_here(&self, common: &Common) -> usize {
        self.lane
            .unwrap_or_else(|| common.lanes.lane(&common.recorder))
    }

    #[inline(always)]
    fn event(&self, lane: usize) -> Event {
        Event::new(lane)
            .label(self.label)
            .correlation_id(self.correlation_id)
            .copied_bytes(self.copied_bytes)
            .status(self.status)
    }

    fn finish(&mut self, region: OwnedRegion) {
        let (failed, bytes, status) = self.outcome();
        region.finish_with(|event| event.copied_bytes(bytes).status(status).failed(failed));
    }

    /// What is known at the end of a region: whether it failed, its bytes, its error code.
    #[inline]
    fn outcome(&mut self) -> (bool, u64, u32) {
        (
            std::mem::take(&mut self.failed),
            self.copied_bytes,
            self.status,
        )
    }

    fn keep(&mut self, said: &Said, words: &Words) {
        self.lane = said.lane.or(self.lane);
        self.correlation_id = said.correlation_id.unwrap_or(self.correlation_id);
        self.copied_bytes = said.copied_bytes.unwrap_or(self.copied_bytes);
        self.status = said.status.unwrap_or(self.status);
        self.failed |= said.failed;
        for (word, value) in words.iter().zip(said.fields.words()) {
            word.store(*value, Ordering::Relaxed);
        }
        self.words = said.fields.words().len();
        self.left_out = said.fields.left_out();
    }
}

/// A span's arguments.
struct Known<'a> {
    words: &'a [AtomicU64],
    left_out: u32,
    left_out_key: Key,
}

impl<'a> Known<'a> {
    #[inline]
    fn of(span: &Span, words: &'a Words, common: &Common) -> Self {
        Self {
            words: &words[..span.words],
            left_out: span.left_out,
            left_out_key: common.left_out,
        }
    }

    /// Gives them to `region`.
    #[inline]
    fn give(&self, region: &mut OwnedRegion) {
        if !self.words.is_empty() {
            self.give_some(region);
        }
    }

    #[inline(never)]
    fn give_some(&self, region: &mut OwnedRegion) {
        let words = self.words.iter().map(|word| word.load(Ordering::Relaxed));
        each(words, |key, value| region.argument(key, value));
        if self.left_out > 0 {
            region.argument(self.left_out_key, self.left_out);
        }
    }
}

impl Poll {
    fn is(&self, span: u64, thread: usize) -> bool {
        self.span == span && self.thread == thread
    }
}

/// Tells `region` what was said while it runs.
#[cold]
fn tell(region: &mut OwnedRegion, said: &Said) {
    if let Some(correlation_id) = said.correlation_id {
        region.set_correlation_id(correlation_id);
    }
    if let Some(copied_bytes) = said.copied_bytes {
        region.set_copied_bytes(copied_bytes);
    }
    if let Some(status) = said.status {
        region.set_status(status);
    }
    said.fields.each(|key, value| region.argument(key, value));
}

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
    /// Not entered: the region that waits. Where a region is its whole life: that one.
    resting: Option<OwnedRegion>,
    /// The first thread that is in it.
    poll: Option<Poll>,
    /// How many others are. Where a region is its whole life: how many threads are.
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
            resting: None,
            poll: None,
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
        if let Some(region) = self.poll.as_mut().map(|poll| &mut poll.region) {
            tell(region, said);
        }
        if let Some(region) = &mut self.resting {
            tell(region, said);
        }
        if self.others > 0 && !common.whole {
            for other in common
                .others()
                .iter_mut()
                .filter(|other| other.span == self.id)
            {
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
                && let Some(region) = &mut self.resting
            {
                region.running();
            }
            return;
        }
        let thread = this_thread();
        if let Some(poll) = &mut self.poll
            && poll.thread == thread
        {
            poll.depth += 1;
            return;
        }
        if self.others > 0 {
            let mut others = common.others();
            let mut others = others.iter_mut();
            if let Some(other) = others.find(|other| other.is(self.id, thread)) {
                other.depth += 1;
                return;
            }
        }
        let lane = self
            .lane
            .unwrap_or_else(|| common.lanes.lane(&common.recorder));
        let mut region = common.recorder.begin_owned(self.event(lane));
        if self.words > 0 {
            self.give(&mut region, words, common);
        }
        let poll = Poll {
            span: self.id,
            thread,
            depth: 1,
            region,
        };
        if self.poll.is_none() {
            self.poll = Some(poll);
        } else {
            common.others().push(poll);
            self.others += 1;
        }
        if let Some(waiting) = self.resting.take() {
            waiting.withdraw();
        }
    }

    #[inline]
    pub fn exit(&mut self, words: &Words, common: &Common) {
        self.failed |= std::thread::panicking();
        if common.whole {
            self.others = self.others.saturating_sub(1);
            if self.others == 0
                && let Some(region) = &mut self.resting
            {
                region.waiting();
            }
            return;
        }
        let Some(poll) = self.leave(common) else {
            return;
        };
        if self.poll.is_none() && self.others == 0 {
            self.rest(words, common);
        }
        self.finish(poll.region);
    }

    /// It is over, whatever is still in it.
    pub fn close(&mut self, common: &Common) {
        if let Some(poll) = self.poll.take() {
            self.finish(poll.region);
        }
        if self.others > 0 && !common.whole {
            let mut others = common.others();
            while let Some(place) = others.iter().position(|other| other.span == self.id) {
                let other = others.swap_remove(place);
                self.finish(other.region);
            }
        }
        if let Some(region) = self.resting.take() {
            if common.whole {
                self.finish(region);
            } else {
                region.withdraw();
            }
        }
        self.id = 0;
    }

    /// The layer is over before it is: a region that waits leaves the file, and those that run are dropped.
    pub fn abandon(&mut self, common: &Common) {
        if !common.whole
            && let Some(waiting) = self.resting.take()
        {
            waiting.withdraw();
        }
    }

    /// The calling thread leaves it. None: it had not entered it, or has entered it more often than left.
    #[inline]
    fn leave(&mut self, common: &Common) -> Option<Poll> {
        let thread = this_thread();
        if self.poll.as_ref().is_some_and(|poll| poll.thread == thread) {
            return self.poll.take_if(|poll| poll.left());
        }
        if self.others == 0 {
            return None;
        }
        let mut others = common.others();
        let place = others.iter().position(|other| other.is(self.id, thread))?;
        if !others[place].left() {
            return None;
        }
        self.others -= 1;
        Some(others.swap_remove(place))
    }

    /// From now on it waits.
    #[inline]
    fn rest(&mut self, words: &Words, common: &Common) {
        let lane = self.lane.unwrap_or(common.waiting_lane);
        let mut region = common.recorder.begin_waiting(self.event(lane));
        if self.words > 0 {
            self.give(&mut region, words, common);
        }
        self.resting = Some(region);
    }

    #[inline]
    fn event(&self, lane: usize) -> Event {
        Event::new(lane)
            .label(self.label)
            .correlation_id(self.correlation_id)
            .copied_bytes(self.copied_bytes)
            .status(self.status)
    }

    #[inline]
    fn finish(&mut self, region: OwnedRegion) {
        let failed = std::mem::take(&mut self.failed);
        let (bytes, status) = (self.copied_bytes, self.status);
        region.finish_with(|event| event.copied_bytes(bytes).status(status).failed(failed));
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

    /// Gives `region` the span's arguments.
    fn give(&self, region: &mut OwnedRegion, words: &Words, common: &Common) {
        let words = words[..self.words].iter();
        let words = words.map(|word| word.load(Ordering::Relaxed));
        each(words, |key, value| region.argument(key, value));
        if self.left_out > 0 {
            region.argument(common.left_out, self.left_out);
        }
    }
}

impl Poll {
    fn is(&self, span: u64, thread: usize) -> bool {
        self.span == span && self.thread == thread
    }

    /// Whether the thread, which leaves it once, is not in it any more.
    fn left(&mut self) -> bool {
        self.depth -= 1;
        self.depth == 0
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

//! A region that is running: the file shows it from `begin` to `finish`.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Instant;

use hrx_trace_format::record::{FLAG_ARGUMENTS, FLAG_SATURATED, FLAG_WAITING, OPEN_SLOT_NONE};
use hrx_trace_format::{Record, line};

use crate::areas::Counter;
use crate::event::Event;
use crate::nanoseconds::nanoseconds;
use crate::recorder::{Recorder, Tenancy};
use crate::thread::{Thread, ThreadHints};
use crate::vacancy::Hints;

/// What events are recorded by: a [`Recorder`] or a [`crate::Writer`]. No other type can implement it.
pub trait Destination: Sealed + Sized {
    #[doc(hidden)]
    fn recorder(&self) -> &Recorder;
    /// The calling thread. `end_ns` gives the end of the event that it is about to record, or the beginning of one that begins.
    #[doc(hidden)]
    fn thread(&self, end_ns: impl FnOnce() -> u64) -> Thread;
    /// Where the calling thread looks for free open slots.
    #[doc(hidden)]
    fn hints(&self) -> &impl Hints;
    /// The ring that `thread`, the calling one, records into.
    #[doc(hidden)]
    fn ring_of(&self, thread: Thread) -> usize;
    /// Writes a record of any kind, but for its sequence and checksum. Returns its sequence.
    #[doc(hidden)]
    fn write(&self, ring: usize, record: [u64; 8]) -> u64;
}

/// In a private module, so that only this crate can implement [`Destination`].
pub trait Sealed {}

impl Recorder {
    /// Begins a region: from now on until it is finished, the file shows that it is running.
    ///
    /// If as many regions run already as the file can show ([`Options::open_regions`](crate::Options::open_regions)), this one is hidden while it runs, which is
    /// counted: how many are hidden now, and how many ever were. It is still recorded when it completes.
    #[inline(always)]
    pub fn begin(&self, event: Event) -> Region<&Self> {
        Region::begin(self, event)
    }

    /// As [`Recorder::begin`], of a region that keeps the recorder alive: it can lie in a job's struct, go through a callback, and be finished by any thread, at
    /// any time. Costs a locked increment at its beginning and a locked decrement at its end more.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use hrx_trace::{Event, OwnedRegion, Recorder, lane};
    /// # let folder = tempfile::tempdir()?;
    /// struct Job {
    ///     region: OwnedRegion,
    /// }
    ///
    /// let recorder = Arc::new(Recorder::create(folder.path().join("run.hrxt"), 100)?);
    /// let job = Job { region: recorder.begin_owned(Event::new(lane::COMPUTE)) };
    /// std::thread::spawn(|| job.region.finish()).join().unwrap();
    /// # assert_eq!(recorder.claimed(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline(always)]
    pub fn begin_owned(self: &Arc<Self>, event: Event) -> OwnedRegion {
        Region::begin(Arc::clone(self), event)
    }

    /// As [`Recorder::begin_at`], of a region that keeps the recorder alive.
    #[inline]
    pub fn begin_owned_at(self: &Arc<Self>, start: Instant, event: Event) -> OwnedRegion {
        Region::begin_at(Arc::clone(self), start, event)
    }

    /// As [`Recorder::begin_owned`], of a region that waits from its beginning, as after [`Region::waiting`]. Costs no record.
    #[inline(always)]
    pub fn begin_waiting(self: &Arc<Self>, event: Event) -> OwnedRegion {
        Region::begin_ns(Arc::clone(self), self.now_ns(), FLAG_WAITING, false, event)
    }

    /// As [`Recorder::begin`], of a region that began at `start`. One that began before the capture is not recorded, and counted as rejected.
    #[inline]
    pub fn begin_at(&self, start: Instant, event: Event) -> Region<&Self> {
        Region::begin_at(self, start, event)
    }
}

impl Sealed for Recorder {}

impl Destination for Recorder {
    #[inline]
    fn recorder(&self) -> &Recorder {
        self
    }

    #[inline(always)]
    fn thread(&self, end_ns: impl FnOnce() -> u64) -> Thread {
        self.introduced(end_ns)
    }

    #[inline(always)]
    fn hints(&self) -> &impl Hints {
        &ThreadHints
    }

    #[inline]
    fn ring_of(&self, thread: Thread) -> usize {
        self.shared_ring_of(thread)
    }

    #[inline(always)]
    fn write(&self, ring: usize, record: [u64; 8]) -> u64 {
        self.ring(ring).write_to(&self.checksum, record)
    }
}

/// A region that is running. Finish it: if it is dropped unfinished (a panic unwinding, an early return), it is recorded as failed, with the status it had.
///
/// What changes while it runs is in the file at once: [`Region::argument`], [`Region::set_label`] and the calls beside it. Each takes a record of the ring.
/// What is known only at the end costs nothing more: [`Region::finish_with`].
///
/// `To` is a reference to what records it, a [`Recorder`] or a [`crate::Writer`], or an `Arc` of a recorder: an [`OwnedRegion`].
#[must_use = "a region that is dropped at once is recorded as failed"]
#[derive(Debug)]
pub struct Region<To: Deref<Target: Destination>> {
    to: Held<To>,
    pub(crate) state: State,
}

#[cfg(not(hrx_trace_off))]
type Held<To> = To;
/// Nothing is recorded.
#[cfg(hrx_trace_off)]
type Held<To> = std::marker::PhantomData<To>;

/// What a region is told apart by, and what has become of it. A copy, so that what finishes it needs no place in memory.
#[derive(Clone, Copy, Debug)]
pub struct State {
    /// What was said about it last.
    pub(crate) event: Event,
    /// When it began, in nanoseconds since the capture's start.
    pub(crate) start_ns: u64,
    /// The ring that all its records go to, whichever thread writes them.
    pub(crate) ring: usize,
    /// [`Tenancy::NONE`]: nothing more of it is recorded. Its end is, or it began before the capture or after it.
    pub(crate) tenancy: Tenancy,
    /// [`FLAG_SATURATED`]: it began later than 64 bits can say.
    /// [`FLAG_WAITING`](hrx_trace_format::record::FLAG_WAITING): it waits.
    pub(crate) flags: u8,
    /// How many arguments it has had, and how many records they took.
    pub(crate) arguments: u32,
    pub(crate) argument_records: u32,
}

/// A region that keeps its recorder alive: [`Recorder::begin_owned`].
pub type OwnedRegion = Region<Arc<Recorder>>;

impl<To: Deref<Target: Destination>> Region<To> {
    /// As [`Recorder::begin`], of a region that holds `to` until it ends: for those who count by themselves who uses a recorder.
    #[inline(always)]
    pub fn begin(to: To, event: Event) -> Self {
        let start_ns = to.recorder().now_ns();
        Self::begin_ns(to, start_ns, 0, false, event)
    }

    #[inline]
    pub(crate) fn begin_at(to: To, start: Instant, event: Event) -> Self {
        if cfg!(hrx_trace_off) {
            return Self::held(to, State::over(event));
        }
        let recorder = to.recorder();
        let since_epoch = start.checked_duration_since(recorder.epoch);
        let (start_ns, start_flag) = nanoseconds(since_epoch.unwrap_or_default());
        let rejected = since_epoch.is_none();
        if rejected && recorder.gate.is_open() {
            recorder.counters.count(Counter::Rejected);
        }
        Self::begin_ns(to, start_ns, start_flag, rejected, event)
    }

    #[inline(always)]
    fn begin_ns(to: To, start_ns: u64, start_flag: u8, rejected: bool, event: Event) -> Self {
        if cfg!(hrx_trace_off) {
            return Self::held(to, State::over(event));
        }
        let state = State::begin(&*to, start_ns, start_flag, rejected, event);
        Self::held(to, state)
    }

    #[cfg(not(hrx_trace_off))]
    #[inline(always)]
    fn held(to: To, state: State) -> Self {
        Self { to, state }
    }

    #[cfg(hrx_trace_off)]
    fn held(_: To, state: State) -> Self {
        let to = std::marker::PhantomData;
        Self { to, state }
    }

    /// What `region!` makes of a program that is compiled without traces.
    #[cfg(hrx_trace_off)]
    #[doc(hidden)]
    pub fn off(event: Event) -> Self {
        let to = std::marker::PhantomData;
        let state = State::over(event);
        Self { to, state }
    }

    /// What it is recorded by. None: nothing is recorded.
    #[cfg(not(hrx_trace_off))]
    #[inline(always)]
    pub(crate) fn to(&self) -> Option<&To::Target> {
        Some(&*self.to)
    }

    #[cfg(hrx_trace_off)]
    pub(crate) fn to(&self) -> Option<&To::Target> {
        None
    }

    /// Records it as completed now, as [`Region::finish_with`] does, and begins another in its place, `event`, which waits: a task whose turn is over. `describe` gives
    /// arguments to the one that waits. The file shows one of them at every instant, and for a moment both.
    ///
    /// Costs a clock read less than the two. `describe` must not panic: the region that is over would be shown until the capture's end.
    #[inline(always)]
    pub fn suspend(
        &mut self,
        change: impl FnOnce(Event) -> Event,
        event: Event,
        describe: impl FnOnce(&mut Self),
    ) {
        let completed = change(self.state.event);
        let Some(to) = self.to() else { return };
        let now_ns = to.recorder().now_ns();
        let next = State::begin(to, now_ns, FLAG_WAITING, false, event);
        let over = std::mem::replace(&mut self.state, next);
        describe(self);
        if let Some(to) = self.to() {
            over.complete(to, completed, now_ns, 0);
        }
    }

    /// Takes a region that waits out of the file, as [`Region::withdraw`] does, and begins another in its place, `event`, which runs: a task whose turn has come.
    /// `describe` gives arguments to the one that runs, and must not panic. The file shows one of them at every instant, and for a moment both.
    #[inline(always)]
    pub fn resume(&mut self, event: Event, describe: impl FnOnce(&mut Self)) {
        let Some(to) = self.to() else { return };
        let now_ns = to.recorder().now_ns();
        let next = State::begin(to, now_ns, 0, false, event);
        let over = std::mem::replace(&mut self.state, next);
        describe(self);
        if let Some(to) = self.to() {
            over.withdraw(to);
        }
    }

    /// Records it as completed now.
    #[inline(always)]
    pub fn finish(self) {
        self.finish_with(|event| event);
    }

    /// Records it as completed now, with what is known only now: `change` gets what was said about the region last.
    ///
    /// ```
    /// # use hrx_trace::{Event, Recorder, lane};
    /// # let folder = tempfile::tempdir()?;
    /// # let recorder = Recorder::create(folder.path().join("run.hrxt"), 100)?;
    /// let region = recorder.begin(Event::new(lane::UPLOAD));
    /// let copied_bytes = 4096; // ... copy ...
    /// region.finish_with(|event| event.copied_bytes(copied_bytes));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline(always)]
    pub fn finish_with(mut self, change: impl FnOnce(Event) -> Event) {
        self.finish_in_place(change);
    }

    /// As [`Region::finish_with`], of a region in a table, which is not moved: what is left in its place does nothing, and may be dropped at any time.
    #[inline(always)]
    pub fn finish_in_place(&mut self, change: impl FnOnce(Event) -> Event) {
        let event = change(self.state.event);
        let state = self.end();
        if let Some(to) = self.to() {
            state.complete(to, event, to.recorder().now_ns(), 0);
        }
    }

    /// Records it as completed at `end`. If that is before its beginning, it took no time.
    #[inline]
    pub fn finish_at(mut self, end: Instant) {
        let state = self.end();
        if let Some(to) = self.to() {
            let since_epoch = end.saturating_duration_since(to.recorder().epoch);
            let (end_ns, end_flag) = nanoseconds(since_epoch);
            state.complete(to, state.event, end_ns, end_flag);
        }
    }

    /// Records it as failed now, with the caller's error code; 0: none.
    #[inline(always)]
    pub fn fail(self, status: u32) {
        self.finish_with(|event| event.failed(true).status(status));
    }

    /// Records it as cancelled now, which is no failure.
    #[inline(always)]
    pub fn cancel(self) {
        self.finish_with(|event| event.failed(false).cancelled(true));
    }

    /// The number of its open slot, if it has one and the capture runs. If it has none, what was to be written there is counted as refused.
    #[inline(always)]
    pub(crate) fn shown(&self) -> Option<(&To::Target, u16)> {
        let to = self.to()?;
        let recorder = to.recorder();
        if !recorder.gate.is_open() || self.state.tenancy.open_slot == 0 {
            return None;
        }
        if self.state.tenancy.open_slot == OPEN_SLOT_NONE {
            recorder.counters.count(Counter::ArgumentsRefused);
            return None;
        }
        Some((to, self.state.tenancy.open_slot))
    }

    /// From now on nothing more of it is recorded. Returns what it was.
    #[inline(always)]
    pub(crate) fn end(&mut self) -> State {
        let state = self.state;
        self.state.tenancy = Tenancy::NONE;
        state
    }
}

impl State {
    /// Of a region of which nothing is recorded.
    fn over(event: Event) -> Self {
        Self {
            event,
            start_ns: 0,
            ring: 0,
            tenancy: Tenancy::NONE,
            flags: 0,
            arguments: 0,
            argument_records: 0,
        }
    }

    #[inline(always)]
    fn begin<To: Destination>(
        to: &To,
        start_ns: u64,
        start_flag: u8,
        rejected: bool,
        event: Event,
    ) -> Self {
        let thread = to.thread(|| start_ns);
        let ring = to.ring_of(thread);
        let described = to.recorder().describe(event);
        let described = Record {
            flags: described.flags | start_flag,
            ..described
        };
        let tenancy = if rejected {
            Tenancy::NONE
        } else {
            to.recorder()
                .open(start_ns, ring, thread, &described, to.hints())
        };
        Self {
            event,
            start_ns,
            ring,
            tenancy,
            flags: start_flag,
            arguments: 0,
            argument_records: 0,
        }
    }

    /// Clears its open slot, without a record.
    #[inline(always)]
    pub(crate) fn withdraw<To: Destination>(self, to: &To) {
        if to.recorder().gate.is_open() {
            to.recorder().close(self.tenancy.open_slot, to.hints());
        }
    }

    /// Writes its record, then clears its open slot, so that the region is in the file at every instant.
    #[inline(always)]
    fn complete<To: Destination>(self, to: &To, event: Event, end_ns: u64, end_flag: u8) {
        let recorder = to.recorder();
        let open_slot = self.tenancy.open_slot;
        if !recorder.gate.is_open() || open_slot == 0 {
            return;
        }
        let described = recorder.describe(event);
        let record = Record {
            start_ns: self.start_ns,
            duration_ns: end_ns.saturating_sub(self.start_ns),
            thread_id: to.thread(|| end_ns).id,
            open_slot,
            flags: described.flags
                | self.flags & FLAG_SATURATED
                | end_flag
                | if self.arguments > 0 {
                    FLAG_ARGUMENTS
                } else {
                    0
                },
            ..described
        };
        to.write(self.ring, bytemuck::cast(record));
        recorder.close(open_slot, to.hints());
    }

    #[cold]
    fn drop<To: Destination>(self, to: &To) {
        self.complete(to, self.event.failed(true), to.recorder().now_ns(), 0);
    }
}

impl<To: Deref<Target: Destination>> Drop for Region<To> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.state.tenancy.open_slot != 0 {
            let state = self.end();
            if let Some(to) = self.to() {
                state.drop(to);
            }
        }
    }
}

/// Writes a record about a running region to its ring, then to line `line` of its open slot, if any: the account knows of all that a line says.
///
/// Out of line, and not a method, so that callers keep the region in registers.
#[inline(never)]
pub fn write_with_line<To: Destination>(
    to: &To,
    ring: usize,
    open_slot: u16,
    line: Option<u32>,
    record: [u64; 8],
) {
    let recorder = to.recorder();
    let sequence = to.write(ring, record);
    if let Some(line) = line {
        let word = line::word(ring as u32, sequence);
        recorder
            .open_table
            .write_line(open_slot, line, &recorder.checksum, word, record);
    }
}

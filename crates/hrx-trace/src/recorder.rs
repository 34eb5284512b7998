//! The hot path. It takes no lock, allocates nothing, makes no system call, and cannot fail, block or panic.
//!
//! What a `record` does, in order: the thread (a thread-local load), the gate (a load), the caller's times to nanoseconds, most of the checksum, a ticket (one
//! read-modify-write), the rest of the checksum, a look at the slot, nine stores to its one cache line. What it costs: the README has the figures and the command.

use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hrx_trace_format::header::STATE_FINISHED;
use hrx_trace_format::open::{KIND_OPEN, OPEN_SLOTS, sequence_of};
use hrx_trace_format::record::FLAG_SATURATED;
use hrx_trace_format::{Checksum, OpenRecord, Record};
use hrx_trace_reader::Trace;

use crate::event::{Event, Label};
use crate::labels::Labels;
use crate::mapping::{Gate, Line, Lines};
use crate::options::Options;
use crate::region::{Destination, Region};
use crate::thread::{self, Thread};
use crate::{Result, slot};

/// Records regions into a file that survives the crash of this process. Usable from any thread by shared reference.
///
/// When `record` has returned, the event is in the file: no later death of the process loses it. The file is valid at every instant and needs no
/// finish; a [`Recorder::finish`] only says that the end was a clean one. Dropping a recorder finishes it, unless the thread is panicking.
///
/// In a forked child every call does nothing: the file belongs to the parent.
// In this order, so that what a `record` needs lies on two lines of the cache where there is but one ring.
#[derive(Debug)]
#[repr(C)]
pub struct Recorder {
    pub(crate) first_ring: Ring,
    pub(crate) gate: Gate,
    pub(crate) epoch: Instant,
    /// The process that created it.
    pub(crate) process: u32,
    /// How many rings threads share: the first ones. Those of writers lie behind them.
    pub(crate) shared_rings: u32,
    pub(crate) checksum: Checksum,
    pub(crate) other_rings: Box<[Ring]>,
    /// For each ring of a writer, whether one has it: [`slot::SEQUENCE_NONE`] if none has.
    pub(crate) own_rings: Box<[[AtomicU64; 1]]>,
    /// The open table.
    pub(crate) open: Lines,
    pub(crate) open_salt: u32,
    /// The line of [`hrx_trace_format::Counters`].
    pub(crate) counters: Lines,
    pub(crate) labels: Labels,
    pub(crate) path: PathBuf,
    /// Holds the lock that tells readers that the writer lives.
    pub(crate) file: File,
}

/// Where one ring is, on a line of its own: `lap_start` changes once a lap.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Ring {
    /// The control line; word 0 is `claimed`.
    pub control: Lines,
    pub slots: Lines,
    pub salt: u32,
    /// A multiple of the capacity, at or below the tickets given out now: spares `slot_of` the division.
    pub lap_start: AtomicU64,
}

const _: () = assert!(size_of::<Ring>() == 64 && offset_of!(Recorder, checksum) == 104);

// Words of the counters' line, in the order of `hrx_trace_format::Counters`.
pub(crate) const WORD_STATE: usize = 0;
const WORD_FINISHED_NS: usize = 1;
const WORD_DROPPED: usize = 2;
const WORD_REJECTED: usize = 3;
const WORD_OPEN_REFUSED: usize = 4;
pub(crate) const WORD_LABELS_REFUSED: usize = 5;

impl Ring {
    /// The same ring, known to somebody who keeps his own account of its laps.
    pub(crate) fn again(&self) -> Self {
        Self {
            control: self.control.clone(),
            slots: self.slots.clone(),
            salt: self.salt,
            lap_start: AtomicU64::new(self.lap_start.load(Ordering::Relaxed)),
        }
    }

    /// The slot of the ticket `ticket`: `ticket % capacity`, with a division only when a lap begins.
    ///
    /// Any `lap_start` is a multiple of the capacity, so whatever value is seen here, a difference below the capacity is the remainder.
    #[inline]
    fn slot_of(&self, ticket: u64) -> usize {
        let capacity = self.slots.count() as u64;
        let since_lap = ticket.wrapping_sub(self.lap_start.load(Ordering::Relaxed));
        if since_lap < capacity {
            return since_lap as usize;
        }
        let slot = ticket % capacity;
        self.lap_start.store(ticket - slot, Ordering::Relaxed);
        slot as usize
    }

    #[inline]
    pub(crate) fn claimed(&self) -> &AtomicU64 {
        &self.control.get(0)[0]
    }
}

impl Recorder {
    /// Begins a capture that keeps the last `capacity` events in a new file at `path`: [`Options`] with their defaults.
    ///
    /// # Errors
    /// See [`Options::create`].
    pub fn create(path: impl AsRef<Path>, capacity: u64) -> Result<Self> {
        Options::new(capacity).create(path)
    }

    /// Interns `name`; the same name gives the same label. If the label table is full, the label is [`Label::NONE`] and the refusal is counted.
    ///
    /// Takes a lock and may allocate: intern once, outside the hot path.
    pub fn label(&self, name: &str) -> Label {
        if !self.gate.is_open() {
            return Label::NONE;
        }
        self.labels.intern(name, &self.checksum).unwrap_or_else(|| {
            self.count(WORD_LABELS_REFUSED);
            Label::NONE
        })
    }

    /// Records a region that began at `start` and took `elapsed`.
    ///
    /// A region that began before the capture is not recorded, and counted as rejected. The oldest event is overwritten when the ring is full.
    /// Times that do not fit 64 bits of nanoseconds (584 years) saturate, and the event is marked so.
    #[inline]
    pub fn record(&self, start: Instant, elapsed: Duration, event: Event) {
        let thread = thread::current(self.process);
        if let Some(record) = self.measured(start, elapsed, event, thread.id) {
            Destination::write(self, self.ring_of(thread), record);
        }
    }

    /// Begins a region: from now on until it is finished, the file says that it is running.
    ///
    /// If 64 regions are open already, this one is not shown while it runs (which is counted) and recorded all the same when it completes.
    #[inline]
    pub fn begin(&self, event: Event) -> Region<'_> {
        let thread = thread::current(self.process);
        Region::begin(self, self.ring_of(thread), thread, event)
    }

    /// The record of a region that was measured by the caller. None: the capture is over, or the region began before it, which is counted.
    #[inline(always)]
    pub(crate) fn measured(
        &self,
        start: Instant,
        elapsed: Duration,
        event: Event,
        thread_id: u32,
    ) -> Option<Record> {
        if !self.gate.is_open() {
            return None;
        }
        let Some(since_epoch) = start.checked_duration_since(self.epoch) else {
            self.count(WORD_REJECTED);
            return None;
        };
        let (start_ns, start_flag) = nanoseconds(since_epoch);
        let (duration_ns, duration_flag) = nanoseconds(elapsed);
        let described = event.record();
        Some(Record {
            start_ns,
            duration_ns,
            thread_id,
            flags: described.flags | start_flag | duration_flag,
            ..described
        })
    }

    /// Puts a region into the open table. Returns 1 + its slot, or 0 if it is not there: the table is full, or the capture is over.
    #[inline]
    pub(crate) fn open(&self, start_ns: u64, ring: usize, thread: Thread, event: &Event) -> u8 {
        if !self.gate.is_open() {
            return 0;
        }
        let Some((taken, slot)) = self.take_open_slot(thread.ordinal) else {
            self.count(WORD_OPEN_REFUSED);
            return 0;
        };
        let described = event.record();
        let open = OpenRecord {
            sequence: sequence_of(start_ns),
            start_ns,
            // After the slot was taken: see the proof in `hrx_trace_format::open`.
            claimed_at_begin: self.ring(ring).claimed().load(Ordering::Relaxed),
            copied_bytes: described.copied_bytes,
            correlation_id: described.correlation_id,
            lane: described.lane,
            label_id: described.label_id,
            thread_id: thread.id,
            ring: ring as u32,
            flags: described.flags & FLAG_SATURATED,
            open_slot: taken as u8 + 1,
            kind: KIND_OPEN,
            crc32: 0,
        }
        .sealed(&self.checksum, self.open_salt);
        slot::fill(slot, &bytemuck::cast(open));
        taken as u8 + 1
    }

    /// Forces what was recorded so far to the disk, so that it survives the death of the kernel too. Takes as long as the disk does.
    ///
    /// # Errors
    /// What the system says.
    pub fn sync(&self) -> io::Result<()> {
        if !self.gate.is_open() {
            return Ok(());
        }
        self.cache_dropped();
        self.file.sync_data()?;
        // The file's name is data of its folder.
        let folder = self
            .path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
    }

    /// Ends the capture cleanly. What is recorded later, or by a thread that is inside `record` now, may or may not be in the file.
    pub fn finish(&self) {
        if !self.gate.close() {
            return;
        }
        self.cache_dropped();
        let counters = self.counters.get(0);
        counters[WORD_FINISHED_NS].store(self.now_ns(), Ordering::Relaxed);
        counters[WORD_STATE].store(STATE_FINISHED, Ordering::Release);
    }

    /// Events recorded so far in all rings, overwritten ones included.
    #[must_use]
    pub fn claimed(&self) -> u64 {
        self.rings()
            .map(|ring| ring.claimed().load(Ordering::Relaxed))
            .sum()
    }

    /// Opens the file for reading, even if it has been renamed or deleted since.
    pub(crate) fn read_back(&self) -> std::result::Result<Trace, hrx_trace_reader::Error> {
        // Not our own descriptor: a reader tries the lock, and the lock belongs to the descriptor.
        Trace::open(format!("/proc/self/fd/{}", self.file.as_raw_fd()))
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Nanoseconds since the capture's start.
    #[inline]
    pub(crate) fn now_ns(&self) -> u64 {
        nanoseconds(self.epoch.elapsed()).0
    }

    #[inline]
    pub(crate) fn ring(&self, index: usize) -> &Ring {
        match index.checked_sub(1) {
            None => &self.first_ring,
            Some(other) => &self.other_rings[other],
        }
    }

    fn rings(&self) -> impl Iterator<Item = &Ring> {
        std::iter::once(&self.first_ring).chain(&self.other_rings)
    }

    /// The ring that `thread` writes to, unless it has a [`crate::Writer`].
    #[inline]
    pub(crate) fn ring_of(&self, thread: Thread) -> usize {
        match self.shared_rings {
            1 => 0,
            count => (thread.ordinal % count) as usize,
        }
    }

    /// Takes a writer's ring that is free, by the open table's protocol: whoever takes one sees every ticket that its last holder took.
    pub(crate) fn take_ring(&self) -> Option<usize> {
        let free = self.own_rings.iter().position(slot::take)?;
        Some(self.shared_rings as usize + free)
    }

    /// Lets another writer have `ring`.
    pub(crate) fn give_ring_back(&self, ring: usize) {
        slot::clear(&self.own_rings[ring - self.shared_rings as usize]);
    }

    /// Takes a ticket of `ring` by `claim`, completes `record` with it, and writes it. `shared`: other threads may write to that ring.
    #[inline(always)]
    pub(crate) fn write_to(
        &self,
        ring: &Ring,
        shared: bool,
        record: Record,
        claim: impl Fn(&AtomicU64) -> u64,
    ) {
        let [_, others @ ..]: [u64; 8] = bytemuck::cast(record);
        let claimed = ring.claimed();
        let record = self
            .checksum
            .seal(ring.salt, || claim(claimed).wrapping_add(1), others);
        let [sequence, ..] = record;
        let slot = ring.slots.get(ring.slot_of(sequence.wrapping_sub(1)));
        if !(shared && slot::overtaken(slot, sequence, claimed)) {
            slot::publish(slot, &record);
        }
    }

    /// A free slot of the open table, now taken; the thread's favourite first, so that threads do not share lines.
    #[inline]
    fn take_open_slot(&self, ordinal: u32) -> Option<(usize, &Line)> {
        // What `Options::create` laid out; a constant, so that no division is left.
        const SLOTS: usize = OPEN_SLOTS as usize;
        // Favourites eight apart: room for nested regions before the next thread's.
        let favourite = ordinal.wrapping_mul(8).wrapping_add(ordinal / 8) as usize % SLOTS;
        let try_take = |index| {
            let slot = self.open.get(index);
            slot::take(slot).then_some((index, slot))
        };
        try_take(favourite)
            .or_else(|| (1..SLOTS).find_map(|next| try_take((favourite + next) % SLOTS)))
    }

    /// Counts one more of something that is not an event in a ring.
    #[cold]
    fn count(&self, word: usize) {
        self.counters.get(0)[word].fetch_add(1, Ordering::Relaxed);
    }

    /// Writes the sum of what was overwritten into the header, for simple tools.
    fn cache_dropped(&self) {
        let dropped = self
            .rings()
            .map(|ring| {
                let claimed = ring.claimed().load(Ordering::Relaxed);
                claimed.saturating_sub(ring.slots.count() as u64)
            })
            .sum();
        self.counters.get(0)[WORD_DROPPED].store(dropped, Ordering::Relaxed);
    }
}

impl Destination for Recorder {
    #[inline]
    fn recorder(&self) -> &Recorder {
        self
    }

    #[inline]
    fn thread_id(&self) -> u32 {
        thread::current(self.process).id
    }

    #[inline(always)]
    fn write(&self, ring: usize, record: Record) {
        self.write_to(self.ring(ring), true, record, slot::claim);
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.finish();
        }
    }
}

/// `duration` in nanoseconds, and the flag to set if that is more than 64 bits hold.
#[inline(always)]
fn nanoseconds(duration: Duration) -> (u64, u8) {
    const SECOND_NS: u64 = 1_000_000_000;
    // One second less than fit, so that no nanoseconds on top are too many: one multiplication, and no 128 bits.
    const SECONDS: u64 = u64::MAX / SECOND_NS - 1;
    if duration.as_secs() <= SECONDS {
        (
            duration.as_secs() * SECOND_NS + u64::from(duration.subsec_nanos()),
            0,
        )
    } else {
        nanoseconds_of_centuries(duration)
    }
}

#[cold]
fn nanoseconds_of_centuries(duration: Duration) -> (u64, u8) {
    match u64::try_from(duration.as_nanos()) {
        Ok(nanoseconds) => (nanoseconds, 0),
        Err(_) => (u64::MAX, FLAG_SATURATED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_are_exact_to_the_last_that_fits_and_saturate_behind_it() {
        let last = Duration::from_nanos(u64::MAX);
        let nanosecond = Duration::from_nanos(1);
        for duration in [
            Duration::ZERO,
            Duration::new(1, 999_999_999),
            Duration::from_secs(last.as_secs() - 1),
            Duration::new(last.as_secs() - 1, 999_999_999),
            Duration::from_secs(last.as_secs()),
            last - nanosecond,
            last,
        ] {
            let exact = u64::try_from(duration.as_nanos()).expect("it fits");
            assert_eq!(nanoseconds(duration), (exact, 0));
        }
        for duration in [last + nanosecond, Duration::MAX] {
            assert_eq!(nanoseconds(duration), (u64::MAX, FLAG_SATURATED));
        }
    }
}

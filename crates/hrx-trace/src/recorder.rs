//! The hot path. It takes no lock, allocates nothing, makes no system call, and cannot fail, block or panic.
//!
//! `record_between` spares the conversion of std's times, `begin` and `finish` read the clock themselves, by one call each: see `moment`.
//!
//! What a `record` does, in order: the thread (a thread-local load), the gate (a load), the caller's times to nanoseconds, and then, in [`Ring::write_to`],
//! most of the checksum, a ticket (one read-modify-write), the rest of the checksum, a look at the slot, nine stores to its one cache line.
//! `hrx-bench record` in the project's sources measures it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use hrx_trace_format::open::{KIND_OPEN, sequence_of};
use hrx_trace_format::record::FLAG_SATURATED;
use hrx_trace_format::{Checksum, OpenRecord, Record};

use crate::areas::{Counter, CountersLine, Labels, OpenTable, Ring};
use crate::error::{Error, Result};
use crate::event::{Event, Label};
use crate::memory::Gate;
use crate::moment::Moment;
use crate::nanoseconds::nanoseconds;
use crate::slot;
use crate::thread::{self, Thread};

/// Records regions into a file that survives the crash of this process. Usable from any thread by shared reference.
///
/// When `record` has returned, the event is in the file: no later death of the process loses it. The file is valid at every instant and needs no
/// finish; [`Recorder::finish`] only says that the end was a clean one. Dropping a recorder finishes it, unless the thread is panicking.
///
/// In a forked child every call does nothing: the file belongs to the parent.
// In this order, so that a `record` finds what it needs on two cache lines if there is only one ring: see the tests.
#[derive(Debug)]
#[repr(C)]
pub struct Recorder {
    pub(crate) first_ring: Ring,
    pub(crate) gate: Gate,
    /// The capture's start.
    pub(crate) epoch: Instant,
    /// The same moment, in nanoseconds of CLOCK_MONOTONIC.
    pub(crate) epoch_ns: u64,
    /// The process that created it.
    pub(crate) process: u32,
    /// How many rings threads share: the first ones. Those of writers come after them.
    pub(crate) shared_rings: u32,
    pub(crate) checksum: Checksum,
    pub(crate) other_rings: Box<[Ring]>,
    /// For each ring of a writer, whether a writer has it: [`slot::SEQUENCE_NONE`] if none has.
    pub(crate) own_rings: Box<[[AtomicU64; 1]]>,
    pub(crate) open_table: OpenTable,
    pub(crate) counters: CountersLine,
    pub(crate) labels: Labels,
    pub(crate) path: PathBuf,
    /// Holds the lock that tells readers that the writer lives.
    pub(crate) file: File,
}

impl Recorder {
    /// Records a region that began at `start` and took `elapsed`.
    ///
    /// A region that began before the capture is not recorded, and counted as rejected. When the ring is full, the oldest event is overwritten.
    /// Times that do not fit 64 bits of nanoseconds (584 years) saturate, and the event is marked as saturated.
    #[inline]
    pub fn record(&self, start: Instant, elapsed: Duration, event: Event) {
        let thread = thread::current(self.process);
        if let Some(record) = self.measured(start, elapsed, event, thread.id) {
            let ring = self.ring(self.shared_ring_of(thread));
            ring.write_to(&self.checksum, record);
        }
    }

    /// This moment, for [`Recorder::record_between`]. Costs one clock read, some 20 ns: what std's `Instant` is made of, without what it is made into.
    #[inline(always)]
    #[must_use]
    pub fn now(&self) -> Moment {
        Moment::now()
    }

    /// Records a region that began at `start` and ended at `end`: [`Recorder::record`] for callers who take their times by [`Recorder::now`], and the cheapest
    /// way to time and record a region that need not be shown while it runs.
    ///
    /// A region that began before the capture is not recorded, and counted as rejected. One that ends before it begins takes 0 ns.
    ///
    /// ```
    /// # use hrx_trace::{Event, Recorder, lane};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("run.hrxt");
    /// let recorder = Recorder::create(&path, 100_000)?;
    /// let start = recorder.now();
    /// // ... copy ...
    /// recorder.record_between(start, recorder.now(), Event::new(lane::UPLOAD).copied_bytes(4096));
    /// # assert_eq!(recorder.claimed(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn record_between(&self, start: Moment, end: Moment, event: Event) {
        let thread = thread::current(self.process);
        if let Some(record) = self.between(start, end, event, thread.id) {
            let ring = self.ring(self.shared_ring_of(thread));
            ring.write_to(&self.checksum, record);
        }
    }

    /// As [`Recorder::measured`], in the clock's own numbers: nothing to convert, and nothing that saturates.
    #[inline(always)]
    pub(crate) fn between(
        &self,
        start: Moment,
        end: Moment,
        event: Event,
        thread_id: u32,
    ) -> Option<Record> {
        if !self.gate.is_open() {
            return None;
        }
        let Some(start_ns) = start.monotonic_ns().checked_sub(self.epoch_ns) else {
            self.counters.count(Counter::Rejected);
            return None;
        };
        Some(Record {
            start_ns,
            duration_ns: end.monotonic_ns().saturating_sub(start.monotonic_ns()),
            thread_id,
            ..event.to_record()
        })
    }

    /// The record of a region that the caller measured. None: the capture is over, or the region began before it, which is counted.
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
            self.counters.count(Counter::Rejected);
            return None;
        };
        let (start_ns, start_flag) = nanoseconds(since_epoch);
        let (duration_ns, duration_flag) = nanoseconds(elapsed);
        let described = event.to_record();
        Some(Record {
            start_ns,
            duration_ns,
            thread_id,
            flags: described.flags | start_flag | duration_flag,
            ..described
        })
    }

    /// Puts a region into the open table. Returns 1 + its slot, or 0 if it is not there because the table is full or the capture is over.
    #[inline(always)]
    pub(crate) fn open(&self, start_ns: u64, ring: usize, thread: Thread, event: &Event) -> u16 {
        if !self.gate.is_open() {
            return 0;
        }
        let Some(taken) = self.open_table.take(thread.ordinal) else {
            self.counters.count(Counter::OpenRefused);
            return 0;
        };
        let described = event.to_record();
        // Read after the slot was taken: the proof in `hrx_trace_format::open` needs this order.
        let claimed_at_begin = self.ring(ring).claimed();
        let open = OpenRecord {
            sequence: sequence_of(claimed_at_begin, ring as u32),
            start_ns,
            claimed_at_begin,
            copied_bytes: described.copied_bytes,
            correlation_id: described.correlation_id,
            lane: described.lane,
            label_id: described.label_id,
            thread_id: thread.id,
            ring: ring as u32,
            flags: described.flags & FLAG_SATURATED,
            open_slot: 0,
            kind: KIND_OPEN,
            crc32: 0,
        };
        taken.fill(&self.checksum, open)
    }

    /// Interns `name`; the same name gives the same label. If the label table is full, the label is [`Label::NONE`] and the refusal is counted.
    ///
    /// Takes a lock and may allocate: intern once, outside the hot path.
    pub fn label(&self, name: &str) -> Label {
        if !self.gate.is_open() {
            return Label::NONE;
        }
        self.labels.intern(name, &self.checksum).unwrap_or_else(|| {
            self.counters.count(Counter::LabelsRefused);
            Label::NONE
        })
    }

    /// Forces what was recorded so far to the disk, so that it survives the death of the kernel too. Takes as long as the disk does.
    ///
    /// # Errors
    /// [`Error::Io`] with the system's reason.
    pub fn sync(&self) -> Result<()> {
        if !self.gate.is_open() {
            return Ok(());
        }
        self.cache_dropped();
        // The file's name is data of its folder.
        let folder = self.path.parent();
        let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
        self.file
            .sync_data()
            .and_then(|()| File::open(folder.unwrap_or(Path::new(".")))?.sync_all())
            .map_err(|source| Error::Io {
                path: self.path.clone(),
                doing: "write it to the disk",
                source,
            })
    }

    /// Ends the capture cleanly. Whatever is recorded later, or by a thread that is inside `record` now, may or may not be in the file.
    pub fn finish(&self) {
        if self.gate.close() {
            self.cache_dropped();
            self.counters.set_finished(self.now_ns());
        }
    }

    /// How many events have been recorded in all rings, overwritten ones included.
    #[must_use]
    pub fn claimed(&self) -> u64 {
        self.rings().map(Ring::claimed).sum()
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Nanoseconds since the capture's start.
    #[inline(always)]
    pub(crate) fn now_ns(&self) -> u64 {
        // No wrapping: the clock does not go back.
        self.now().monotonic_ns().wrapping_sub(self.epoch_ns)
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
    pub(crate) fn shared_ring_of(&self, thread: Thread) -> usize {
        match self.shared_rings {
            1 => 0,
            count => (thread.ordinal % count) as usize,
        }
    }

    /// Takes a free writer's ring by the open table's protocol: the thread that takes it sees every ticket its last holder took.
    pub(crate) fn take_ring(&self) -> Option<usize> {
        let free = self.own_rings.iter().position(slot::take)?;
        Some(self.shared_rings as usize + free)
    }

    /// Lets another writer have `ring`.
    pub(crate) fn give_ring_back(&self, ring: usize) {
        slot::clear(&self.own_rings[ring - self.shared_rings as usize]);
    }

    /// Writes the number of overwritten events into the header, for simple tools.
    fn cache_dropped(&self) {
        self.counters
            .set_dropped(self.rings().map(Ring::overwritten).sum());
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.finish();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    /// A `record` into the only ring finds what it needs on two cache lines. On the first lies the ring. On the second lie the gate, the epoch twice, the process,
    /// the number of shared rings, and the six powers with which the checksum begins, 24 bytes: they end with the line if the checksum begins at 128 - 24 = 104.
    /// The offset depends on private types of std. So it is tested here, where a new release of theirs costs us speed and not our users their build.
    #[test]
    #[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
    fn a_record_needs_two_cache_lines_of_the_recorder() {
        assert_eq!((size_of::<Ring>(), align_of::<Recorder>()), (64, 64));
        assert_eq!(offset_of!(Recorder, first_ring), 0);
        assert_eq!(offset_of!(Recorder, checksum), 104);
    }
}

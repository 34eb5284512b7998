//! The hot path. It takes no lock, allocates nothing, makes no system call, and cannot fail, block or panic.
//!
//! `record_between` spares the conversion of std's times, `begin` and `finish` read the clock themselves, by one call each: see `moment`.
//!
//! What a `record` does, in order: the thread (a thread-local load), the gate (a load), the caller's times to nanoseconds, and then, in [`Ring::write_to`],
//! most of the checksum, a ticket (one read-modify-write), the rest of the checksum, a look at the slot, nine stores to its one cache line.
//! `hrx-bench record` in the project's sources measures it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use hrx_trace_format::name::{LANE_NAMED_FIRST, NAME_KEY, NAME_LABEL};
use hrx_trace_format::open::{KIND_OPEN, sequence_of};
use hrx_trace_format::record::{FLAG_SATURATED, FLAG_WAITING, OPEN_SLOT_NONE};
use hrx_trace_format::{Checksum, OpenRecord, Record};

use crate::areas::{Counter, CounterLines, Group, Names, OpenTable, Refused, Ring};
use crate::error::{Error, Result};
use crate::event::{Event, Key, Label};
use crate::exit::LeftByExit;
use crate::folder::Folder;
use crate::life::Life;
use crate::memory::{self, Gate};
use crate::moment::Moment;
use crate::nanoseconds::nanoseconds;
use crate::options::Options;
use crate::slot;
use crate::thread::{self, Thread};
use crate::vacancy::Hints;

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
    /// The capture's number in this process, by which a thread knows whether it has been introduced.
    pub(crate) capture: u32,
    /// How many rings threads share: the first ones. Those of writers come after them.
    pub(crate) shared_rings: u32,
    pub(crate) checksum: Checksum,
    pub(crate) other_rings: Box<[Ring]>,
    /// For each ring of a writer, whether a writer has it: [`slot::SEQUENCE_NONE`] if none has.
    pub(crate) own_rings: Box<[[AtomicU64; 1]]>,
    pub(crate) open_table: OpenTable,
    pub(crate) counters: CounterLines,
    pub(crate) names: Names,
    /// The process that created it.
    pub(crate) process: u32,
    pub(crate) path: PathBuf,
    /// The file, which holds the lock that tells readers that the writer lives, and its folder. None: the recorder is disabled.
    pub(crate) file: Option<(File, Folder)>,
    /// How a capture like this one is created. None: the recorder is disabled.
    pub(crate) origin: Option<Origin>,
    pub(crate) fallback: Option<String>,
    pub(crate) life: Arc<Life>,
    pub(crate) has_heartbeat: bool,
    /// As long as it is there, an exit is said in the header.
    pub(crate) left_by_exit: Option<LeftByExit>,
}

/// How a capture was created.
#[derive(Debug)]
pub struct Origin {
    pub options: Options,
    /// The absolute path of its folder, if the current folder was known.
    pub folder: PathBuf,
}

/// Where a region is shown while it runs.
#[derive(Clone, Copy, Debug)]
pub struct Tenancy {
    /// 1 + its slot in the open table. [`OPEN_SLOT_NONE`]: the table was full. 0: the region is not of this capture, and nothing of it is recorded.
    pub open_slot: u16,
    /// [`OpenRecord::owner`], by which its arguments and amendments are told from those of the slot's other tenants.
    pub owner: u32,
}

impl Tenancy {
    /// A region that is not of this capture: it is over, or began after the region.
    pub const NONE: Self = Self {
        open_slot: 0,
        owner: 0,
    };
    /// A region that found the table full.
    const HIDDEN: Self = Self {
        open_slot: OPEN_SLOT_NONE,
        owner: 0,
    };
}

impl Recorder {
    /// Records a region that began at `start` and took `elapsed`.
    ///
    /// A region that began before the capture is not recorded, and counted as rejected. When the ring is full, the oldest event is overwritten.
    /// Times that do not fit 64 bits of nanoseconds (584 years) saturate, and the event is marked as saturated.
    #[inline]
    pub fn record(&self, start: Instant, elapsed: Duration, event: Event) {
        let thread = self.introduced(|| self.end_ns(start, elapsed));
        if let Some(record) = self.measured(start, elapsed, event, thread.id) {
            let ring = self.ring(self.shared_ring_of(thread));
            ring.write_to(&self.checksum, bytemuck::cast(record));
        }
    }

    /// This moment, for [`Recorder::record_between`]. Costs one clock read, some 20 ns, and less than `Instant::now` or `elapsed`, which read the same clock
    /// and convert.
    #[inline(always)]
    #[must_use]
    pub fn now(&self) -> Moment {
        Moment::now()
    }

    /// Records a region that began at `start` and ended at `end`: [`Recorder::record`] for callers who take their times by [`Recorder::now`], and the cheapest
    /// way to time and record a region that need not be shown while it runs.
    ///
    /// A region that began before the capture is not recorded, and counted as rejected. One that ends before it begins is recorded with a duration of 0.
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
        let thread = self.introduced(|| self.since_epoch_ns(end));
        if let Some(record) = self.between(start, end, event, thread.id) {
            let ring = self.ring(self.shared_ring_of(thread));
            ring.write_to(&self.checksum, bytemuck::cast(record));
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
            ..self.describe(event)
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
        let described = self.describe(event);
        Some(Record {
            start_ns,
            duration_ns,
            thread_id,
            flags: described.flags | start_flag | duration_flag,
            ..described
        })
    }

    /// A record with what the caller said. Times, thread, ticket and checksum are still zero.
    #[inline(always)]
    pub(crate) fn describe(&self, event: Event) -> Record {
        event.to_record(self.names.lanes_named())
    }

    /// Puts a region into the open table, if there is room.
    #[inline(always)]
    pub(crate) fn open(
        &self,
        start_ns: u64,
        ring: usize,
        thread: Thread,
        described: &Record,
        hints: &impl Hints,
    ) -> Tenancy {
        if !self.gate.is_open() {
            return Tenancy::NONE;
        }
        let Some(taken) = self.open_table.take(hints, thread.ordinal) else {
            self.counters.hide();
            return Tenancy::HIDDEN;
        };
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
            flags: described.flags & (FLAG_SATURATED | FLAG_WAITING),
            open_slot: 0,
            kind: KIND_OPEN,
            crc32: 0,
        };
        let owner = open.owner();
        let open_slot = taken.fill(&self.checksum, open);
        Tenancy { open_slot, owner }
    }

    /// Takes a region that has been recorded out of the open table, or out of the count of those that are hidden. `open_slot` is what [`Recorder::open`] returned.
    #[inline(always)]
    pub(crate) fn close(&self, open_slot: u16, hints: &impl Hints) {
        // One comparison for all that holds no slot.
        if self.open_table.clear(hints, open_slot).is_none() && open_slot == OPEN_SLOT_NONE {
            self.counters.unhide();
        }
    }

    /// The calling thread, as this capture knows it. `since_ns` gives the end of the event that it is about to record: if that is its first, it is named.
    #[inline(always)]
    pub(crate) fn introduced(&self, since_ns: impl FnOnce() -> u64) -> Thread {
        if cfg!(hrx_trace_off) {
            return Thread { id: 0, ordinal: 0 };
        }
        match thread::known_to(self.capture) {
            Some(thread) => thread,
            None => self.introduce(since_ns()),
        }
    }

    #[cold]
    fn introduce(&self, since_ns: u64) -> Thread {
        let thread = thread::introduce(self.capture, self.process);
        if self.gate.is_open() && self.names.is_new_thread(thread.ordinal) {
            // A name cannot be expected to hold later than now, whatever end the caller gave its event.
            let since_ns = since_ns.min(self.now_ns());
            memory::with_thread_name(|name| {
                if !name.is_empty() {
                    self.write_thread_name(thread, since_ns, name);
                }
            });
        }
        thread
    }

    fn write_thread_name(&self, thread: Thread, since_ns: u64, name: &str) {
        let (names, checksum) = (&self.names, &self.checksum);
        if let Err(refused) = names.name_thread(thread.id, since_ns, name, checksum) {
            self.count_refused(refused);
        }
    }

    /// When an event ended that began at `start` and took `elapsed`, in nanoseconds since the capture's start.
    #[cold]
    pub(crate) fn end_ns(&self, start: Instant, elapsed: Duration) -> u64 {
        let since_epoch = start.saturating_duration_since(self.epoch);
        nanoseconds(since_epoch.saturating_add(elapsed)).0
    }

    /// `moment` in nanoseconds since the capture's start; 0 if it is before that.
    #[inline]
    pub(crate) fn since_epoch_ns(&self, moment: Moment) -> u64 {
        moment.monotonic_ns().saturating_sub(self.epoch_ns)
    }

    /// The label `text`, for [`Event::label`]: the same text gives the same label.
    ///
    /// If there is no room for it ([`Options::name_bytes`](crate::Options::name_bytes)), or it is longer than 16 KiB, it is [`Label::NONE`], and counted. The
    /// empty text is a name.
    ///
    /// Takes a lock and may allocate, as all that names but [`Recorder::name_thread`] does: name once, outside the hot path.
    pub fn label(&self, text: &str) -> Label {
        Label(self.name_id(NAME_LABEL, None, text))
    }

    /// The label `text` of the group `group`, such as a domain or a category. The same text in another group, or in none, is another label.
    ///
    /// If the group's name is refused, which is counted too, the label is in no group for readers.
    pub fn label_in(&self, group: &str, text: &str) -> Label {
        Label(self.name_id(NAME_LABEL, Some(group), text))
    }

    /// The name `text` for arguments: as [`Recorder::label`].
    pub fn key(&self, text: &str) -> Key {
        Key(self.name_id(NAME_KEY, None, text))
    }

    /// A lane with the name `text`, for [`Event::new`]: the same text gives the same lane. Its number, from 2^31 up, is of this recorder only: no other
    /// recorder records it.
    ///
    /// If the name is refused, as in [`Recorder::label`], it is still a lane of its own.
    pub fn lane(&self, text: &str) -> usize {
        self.named_lane(None, text)
    }

    /// A lane with the name `text` in the group `group`, such as a device. The same text in another group, or in none, is another lane.
    pub fn lane_in(&self, group: &str, text: &str) -> usize {
        self.named_lane(Some(group), text)
    }

    /// Names the calling thread `text`, from now on. Until then it has the name that the operating system knew at its first event in the capture.
    ///
    /// Threads' names take up to a quarter of the room for names. One that is refused, as in [`Recorder::label`], leaves the thread the name it had. Takes no lock,
    /// and allocates only for a text of more than 36 bytes.
    pub fn name_thread(&self, text: &str) {
        if self.gate.is_open() {
            let thread = thread::introduce(self.capture, self.process);
            // It needs no name from the operating system any more.
            self.names.is_new_thread(thread.ordinal);
            self.write_thread_name(thread, self.now_ns(), text);
        }
    }

    fn name_id(&self, kind: u8, group: Option<&str>, text: &str) -> u32 {
        // First of all: in a forked child, the lock may be held by a thread that is not there.
        if !self.gate.is_open() {
            return 0;
        }
        let group = self.group(group);
        self.counted(self.names.id(kind, group, text, &self.checksum))
    }

    fn named_lane(&self, group: Option<&str>, text: &str) -> usize {
        if !self.gate.is_open() {
            return LANE_NAMED_FIRST as usize;
        }
        let group = self.group(group);
        self.counted(self.names.lane(group, text, &self.checksum)) as usize
    }

    fn group(&self, group: Option<&str>) -> Group {
        group.map_or_else(Group::default, |text| {
            self.counted(self.names.group(text, &self.checksum))
        })
    }

    /// What names gave, after the refusal was counted, if there was one.
    fn counted<T>(&self, (given, refused): (T, Option<Refused>)) -> T {
        if let Some(refused) = refused {
            self.count_refused(refused);
        }
        given
    }

    fn count_refused(&self, refused: Refused) {
        self.counters.count(match refused {
            Refused::Full => Counter::NamesRefused,
            Refused::TooLong => Counter::NamesTooLong,
        });
    }

    /// Forces what was recorded so far to the disk, so that it survives the death of the kernel too. Takes as long as the disk does.
    ///
    /// # Errors
    /// [`Error::Io`] with the system's reason.
    pub fn sync(&self) -> Result<()> {
        let (true, Some((file, folder))) = (self.gate.is_open(), &self.file) else {
            return Ok(());
        };
        self.life.cache_dropped();
        // The file's name is data of its folder.
        file.sync_data()
            .and_then(|()| folder.sync(file))
            .map_err(|source| Error::Io {
                path: self.path.clone(),
                doing: "write it to the disk",
                source,
            })
    }

    /// Ends the capture cleanly. Whatever is recorded later, or by a thread that is inside `record` now, may or may not be in the file.
    pub fn finish(&self) {
        self.life.finish();
    }

    /// Says in the file that the end is a clean one, and goes on recording: for the last moments of a process, in which destructors that nothing is known of may
    /// still record. A death after this call is not told from a clean end.
    pub fn conclude(&self) {
        self.life.conclude();
    }

    /// Says in the file that the process lives at this moment. Call it from a loop that should turn: then the file tells the last time that it did, however the
    /// process dies. Usable from any thread and in a signal handler; costs a clock read and a locked instruction, some 30 ns.
    ///
    /// [`Options::heartbeat`](crate::Options::heartbeat) does it at an interval, and tells only that the process lived, not that its loop turned.
    #[inline]
    pub fn alive(&self) {
        self.life.alive();
    }

    /// Counts an event that an interface in front of this recorder had no room for. The file says it as of one that began before the capture: rejected.
    pub fn reject(&self) {
        if self.gate.is_open() {
            self.counters.count(Counter::Rejected);
        }
    }

    /// Whether a thread says at an interval that the process lives: it was asked for by [`Options::heartbeat`](crate::Options::heartbeat) and could be started,
    /// and the capture is not over.
    #[must_use]
    pub fn has_heartbeat(&self) -> bool {
        self.has_heartbeat && self.gate.is_open()
    }

    /// Whether what is recorded now goes into the file: it does not after [`Recorder::finish`], in a forked child, and by a [`Recorder::disabled`] one.
    #[inline]
    #[must_use]
    pub fn is_recording(&self) -> bool {
        self.gate.is_open()
    }

    /// Whether this is a forked child of the process that created it.
    pub(crate) fn is_parents(&self) -> bool {
        self.process != std::process::id()
    }

    /// How many events have been recorded in all rings, overwritten ones included.
    #[must_use]
    pub fn claimed(&self) -> u64 {
        self.rings().map(Ring::claimed).sum()
    }

    /// The file. Empty if the recorder is disabled.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Why the capture is not in the first folder of the environment; None if it is, or if the environment was not asked. See
    /// [`Options::create_from_environment`](crate::Options::create_from_environment).
    #[must_use]
    pub fn fallback(&self) -> Option<&str> {
        self.fallback.as_deref()
    }

    /// Nanoseconds since the capture's start.
    #[inline(always)]
    pub(crate) fn now_ns(&self) -> u64 {
        // No wrapping: the clock does not go back.
        self.now().monotonic_ns().wrapping_sub(self.epoch_ns)
    }

    /// Opens the file a second time, for reading.
    #[cfg(feature = "tracer")]
    pub(crate) fn reopen(&self) -> std::io::Result<File> {
        let (file, folder) = self.file.as_ref().ok_or(rustix::io::Errno::BADF)?;
        folder.open_again(&self.path, file)
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

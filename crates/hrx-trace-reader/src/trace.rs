//! A capture as programs see it.

use std::borrow::Cow;
use std::fs::File;
use std::path::Path;

use hrx_trace_format::Identity;
use hrx_trace_format::name::{NAME_GROUP, NAME_KEY, NAME_LABEL};

use crate::account::Account;
use crate::capture::Capture;
use crate::ending::Ending;
use crate::error::Error;
use crate::event::OpenRegion;
use crate::events::Events;
use crate::reading::Reading;
use crate::report::Report;
use crate::rings::claimed::Evidence;
use crate::source::Source;
use crate::tables::name::Name;
use crate::tables::names::Names;
use crate::tables::open_table::Tenant;
use crate::witness::Witness;

/// One capture, as of the moment it was opened or [refreshed](Trace::refresh).
///
/// A clone shares the open file, and is refreshed on its own.
#[derive(Clone, Debug)]
pub struct Trace {
    capture: Capture,
}

impl Trace {
    /// Opens the file `path`. Never maps it, never changes it.
    ///
    /// # Errors
    /// Only if the file cannot be read or has no usable header. Any other damage is counted in the [`Report`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::from_source(Source::open(path.as_ref())?, Evidence::EveryRecord)
    }

    /// As [`Trace::open`], for a reader of the newest events of a capture that may be large: where a sample of the records confirms a ring's
    /// counter, the other records are not read to make sure of it. It can miss newer records that power loss or damage left apart from all others.
    ///
    /// # Errors
    /// Those of [`Trace::open`].
    pub fn open_for_newest(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::from_source(Source::open(path.as_ref())?, Evidence::Sample)
    }

    /// Reads a file that is open already, for reading: one that was handed over by another process, or that has been renamed or deleted since.
    ///
    /// The file's cursor is not used, but may move. The file must not be the writer's own, nor a duplicate of it: the reader tries the writer's lock
    /// and releases it, and a duplicate's lock is the writer's.
    ///
    /// ```
    /// use std::fs::File;
    /// use hrx_trace_reader::Trace;
    ///
    /// let file = File::open("examples/killed.hrxt")?;
    /// assert_eq!(Trace::from_file(file)?.events().count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Trace::open`]. They call the file `(open file)`: an open file does not know its path.
    pub fn from_file(file: File) -> Result<Self, Error> {
        Self::from_source(Source::from_file(file)?, Evidence::EveryRecord)
    }

    /// Reads a capture that lies in memory. Whether its writer runs cannot be told then: see [`Ending::NotFinished`].
    ///
    /// # Errors
    /// If the bytes have no usable header. The error calls them `(bytes)`.
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Result<Self, Error> {
        Self::from_source(Source::from_bytes(bytes.into()), Evidence::EveryRecord)
    }

    /// Closes the file and opens it anew for each read, which is slower, but lets any number of captures be read where few files may be open. A read
    /// that does not find the same file at its path any more fails, and counts as damage. What was handed over open, and bytes in memory, stay as
    /// they are. To be called before [`Trace::interrupt_when`].
    pub fn close_between_reads(&mut self) {
        self.capture.close_between_reads();
    }

    pub(crate) fn from_source(source: Source, evidence: Evidence) -> Result<Self, Error> {
        let capture = Capture::new(source, evidence)?;
        Ok(Self { capture })
    }

    pub(crate) fn capture(&self) -> &Capture {
        &self.capture
    }

    /// Lets every reading of this capture end early, also by clones of it, once `interrupted` returns true: the events end after at most some
    /// thousand more, the tickets that were not reached count as [`Account::not_read`], and a search for the newest records of a dead writer's rings
    /// is given up. `interrupted` is called between two reads of a chunk, by any thread that reads; only the first condition that is set holds.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    /// use hrx_trace_reader::Trace;
    ///
    /// let trace = Trace::open("examples/killed.hrxt")?;
    /// let stop = Arc::new(AtomicBool::new(false));
    /// let heard = Arc::clone(&stop);
    /// trace.interrupt_when(move || heard.load(Relaxed));
    /// stop.store(true, Relaxed);
    /// assert_eq!(trace.report().account.not_read, 2);
    /// # Ok::<(), hrx_trace_reader::Error>(())
    /// ```
    pub fn interrupt_when(&self, interrupted: impl Fn() -> bool + Send + Sync + 'static) {
        self.capture.source.interrupt_when(interrupted);
    }

    /// Looks again: what has been recorded since, what runs now, whether the writer still lives.
    pub fn refresh(&mut self) {
        self.capture.refresh();
    }

    /// Looks again, but only for new events.
    pub(crate) fn advance(&mut self) {
        self.capture.advance();
    }

    /// Who recorded, when, and how the file is laid out.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.capture.identity
    }

    /// How the capture ended.
    #[must_use]
    pub fn ending(&self) -> Ending {
        self.capture.snapshot.ending
    }

    /// How large the file is, in bytes. [`Identity::file_bytes`] is how large it should be.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.capture.snapshot.file_bytes
    }

    /// Records of any kind, in all rings, that newer ones overwrote: [`Account::overwritten`], known before the first event is read.
    #[must_use]
    pub fn overwritten(&self) -> u64 {
        self.capture.overwritten()
    }

    /// How the writer's process ended, if another process saw it and wrote it into the file.
    #[must_use]
    pub fn witness(&self) -> Option<Witness> {
        self.capture.snapshot.witness
    }

    /// The label of an event or an open region. Read from the file each time, so a caller that asks for every event should remember it.
    #[must_use]
    pub fn label(&self, label_id: u32) -> Name {
        self.capture.name(NAME_LABEL, label_id)
    }

    /// The name of an argument. Read from the file each time, as [`Trace::label`] is.
    #[must_use]
    pub fn key(&self, key: u32) -> Name {
        self.capture.name(NAME_KEY, key)
    }

    /// The name of a group of names: the domain of a label, the device of a lane. Read from the file each time, as [`Trace::label`] is.
    #[must_use]
    pub fn group(&self, group: u32) -> Name {
        self.capture.name(NAME_GROUP, group)
    }

    /// The names of lanes and threads. Reads the whole name table, at most 16 MiB, each time.
    #[must_use]
    pub fn names(&self) -> Names {
        self.capture.names()
    }

    /// What to call an event or an open region of that label.
    #[must_use]
    pub fn name(&self, label_id: u32) -> Cow<'static, str> {
        self.label(label_id).into_text(label_id)
    }

    /// All events whose records verify, in order of completion.
    #[must_use]
    pub fn events(&self) -> Events<'_> {
        self.read(Reading::default())
    }

    /// As [`Trace::events`], but from a later moment on, or with more or less memory.
    #[must_use]
    pub fn read(&self, reading: Reading) -> Events<'_> {
        Events::new(&self.capture, reading)
    }

    /// The last moment known, as [`Report::last_ns`], but only as far as the newest events of each ring show. Known before the events are read.
    #[must_use]
    pub fn latest_ns(&self) -> u64 {
        self.capture.latest_ns()
    }

    /// Everything there is to say of the capture besides its events. Reads all of them.
    #[must_use]
    pub fn report(&self) -> Report {
        self.events().finish()
    }

    /// What was running at the last moment known, oldest first. Reads all events, because the file may hold the end of a region too. A caller that
    /// wants the events as well takes the regions from [`Events::finish`].
    #[must_use]
    pub fn open_regions(&self) -> Vec<OpenRegion> {
        self.report().open_regions
    }

    /// The regions that the open table held at the last look, in the order of its slots: those of [`Trace::open_regions`], and some that had just
    /// completed, as far as their slots tell. Known before the events are read.
    #[must_use]
    pub fn perhaps_running(&self) -> Vec<OpenRegion> {
        let tenants = self.capture.snapshot.open.tenants.iter();
        tenants.map(Tenant::region).collect()
    }

    /// What became of every event that was recorded. Reads all of them, as [`Trace::open_regions`] does.
    #[must_use]
    pub fn account(&self) -> Account {
        self.report().account
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argument::{Argument, ArgumentValue};
    use crate::event::{Event, Kind};
    use crate::testing::{Image, compact, read, region};
    use hrx_trace_format::header::{MAGIC, RING_COUNT_MAX};
    use hrx_trace_format::open::{OPEN_SLOTS_MAX, OPEN_STRIDE_MAX};
    use hrx_trace_format::{Checksum, HeaderError, OpenRecord, Record, Value};
    use proptest::prelude::*;
    use std::collections::HashSet;
    use std::fs::{self, File};
    use std::os::unix::fs::FileExt;

    /// Two rings that wrapped, labels, an open region and one that completed.
    fn sample() -> Image {
        let mut image = Image::new(4, 2);
        image.label(1, "gemm");
        image.label(
            2,
            "a name that takes two blocks of the table, because it is long",
        );
        for end_ns in 1..=6 {
            image.record(
                0,
                Record {
                    label_id: end_ns as u32 % 3,
                    ..region(end_ns * 1000)
                },
            );
        }
        image.record_some(1, 2);
        let open = OpenRecord {
            start_ns: 5500,
            claimed_at_begin: 5,
            ..bytemuck::Zeroable::zeroed()
        };
        image.open(0, open);
        image.open(
            1,
            OpenRecord {
                claimed_at_begin: 2,
                ring: 1,
                ..open
            },
        );
        image.record(
            1,
            Record {
                open_slot: 2,
                ..region(5600)
            },
        );
        image
    }

    #[test]
    fn errors_name_the_file() {
        use std::error::Error as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.hrxt");
        let name = path.display();
        let error = Trace::open(&path).unwrap_err();
        assert!(matches!(error, Error::Io { .. }));
        assert_eq!(error.to_string(), format!("cannot read {name}"));
        assert_eq!(
            error.source().unwrap().to_string(),
            "No such file or directory (os error 2)"
        );

        let error = Trace::open(folder.path()).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "cannot read {}: found a directory, expected a regular file",
                folder.path().display()
            )
        );
        let error = Trace::open("/dev/null").unwrap_err();
        assert!(error.to_string().contains("found a device"));

        fs::write(&path, b"").unwrap();
        let error = Trace::open(&path).unwrap_err();
        assert_eq!(error.to_string(), format!("cannot read {name}"));
        assert_eq!(
            error.source().unwrap().to_string(),
            "cut short: found 0 bytes, expected a header of at least 2048"
        );
        assert!(matches!(
            Trace::from_bytes(*b"hello, world"),
            Err(Error::Header {
                source: HeaderError::NotATrace { .. },
                ..
            })
        ));
    }

    #[test]
    fn a_file_and_its_bytes_read_the_same() {
        let mut image = sample();
        image.killed();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.hrxt");
        fs::write(&path, &image.bytes).unwrap();
        let trace = Trace::open(&path).unwrap();
        let (events, report) = read(&trace);
        let (events_of_bytes, report_of_bytes) = image.read();
        assert_eq!(events, events_of_bytes);
        assert_eq!(format!("{report:?}"), format!("{report_of_bytes:?}"));
        assert_eq!(trace.file_bytes(), image.identity.file_bytes);
        assert_eq!(trace.identity(), &image.identity);
        assert_eq!(
            fs::read(&path).unwrap(),
            image.bytes,
            "the input was changed"
        );
    }

    #[test]
    fn an_open_file_is_read_whatever_became_of_its_path() {
        let image = sample();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.hrxt");
        fs::write(&path, &image.bytes).unwrap();
        let writer = File::open(&path).unwrap();
        writer.try_lock().unwrap();
        let file = File::open(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let mut trace = Trace::from_file(file).unwrap();
        assert_eq!(trace.ending(), Ending::Live);
        writer.unlock().unwrap();
        trace.refresh();
        assert_eq!(trace.ending(), Ending::CannotTell);
        assert_eq!(read(&trace).0, image.read().0);
    }

    #[test]
    fn an_open_file_that_is_no_capture() {
        use std::error::Error as _;
        let folder = tempfile::tempdir().unwrap();
        let error = Trace::from_file(File::open(folder.path()).unwrap()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot read (open file): found a directory, expected a regular file"
        );
        let path = folder.path().join("x.hrxt");
        fs::write(&path, sample().bytes).unwrap();
        // Open, but not for reading.
        let file = File::options().write(true).open(&path).unwrap();
        let error = Trace::from_file(file).unwrap_err();
        assert_eq!(error.to_string(), "cannot read (open file)");
        assert_eq!(
            error.source().unwrap().to_string(),
            "Bad file descriptor (os error 9)"
        );
    }

    #[test]
    fn a_clone_is_refreshed_on_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.hrxt");
        let mut image = Image::new(4, 1);
        fs::write(&path, &image.bytes).unwrap();
        let trace = Trace::open(&path).unwrap();
        let mut clone = trace.clone();
        image.record_some(0, 3);
        fs::write(&path, &image.bytes).unwrap();
        clone.refresh();
        assert_eq!(clone.account().claimed, 3);
        assert_eq!(trace.account().claimed, 0);
    }

    #[test]
    fn cut_at_every_length() {
        let image = sample();
        let (all, whole) = image.read();
        for length in 0..image.bytes.len() {
            let Ok(trace) = Trace::from_bytes(&image.bytes[..length]) else {
                assert!(length < 2048, "{length}");
                continue;
            };
            let (events, report) = read(&trace);
            let whole_ones = all
                .iter()
                .filter(|event| image.offset_of(event.ring, event.sequence) + 64 <= length as u64);
            assert!(events.iter().eq(whole_ones), "{length}");
            assert_eq!(report.account.claimed, whole.account.claimed);
            assert_eq!(report.account.overwritten, whole.account.overwritten);
            assert_eq!(report.damages[0].offset, length as u64);
        }
    }

    #[test]
    fn every_single_bit_flip() {
        let image = sample();
        let (all, whole) = image.read();
        let written: HashSet<String> = all.iter().map(|event| format!("{event:?}")).collect();
        let mut bytes = image.bytes.clone();
        let mut rejected = 0;
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            match Trace::from_bytes(bytes.clone()) {
                Err(_) => rejected += 1,
                Ok(trace) => {
                    let (events, report) = read(&trace);
                    for event in &events {
                        assert!(
                            written.contains(&format!("{event:?}")),
                            "bit {bit}: {event:?}"
                        );
                    }
                    assert!(
                        events.len() as u64 + 1 >= whole.account.recovered,
                        "bit {bit}"
                    );
                    for region in &report.open_regions {
                        assert_eq!(region.start_ns, 5500, "bit {bit}");
                    }
                    for label_id in 1..=2 {
                        let label = trace.label(label_id);
                        assert!(
                            label == image.trace().label(label_id) || label == Name::Unreadable
                        );
                    }
                }
            }
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        // The identity's bits, and no others.
        assert_eq!(rejected, 1024 * 8);
    }

    /// Events and running regions of every kind, with arguments and amendments, in the ring and in lines. Nothing has been overwritten.
    fn sample_of_every_kind() -> Image {
        let mut image = Image::with_lines(16, 2);
        let text = hrx_trace_format::ArgumentValue::Text(
            b"a text of more than one part, which takes three records",
        );
        let mut completed = image.begin(1, 0, 400);
        image.argument(&mut completed, 1, text);
        image.mark(0, 450, &[2, 3]);
        let mut running = image.begin(0, 0, 500);
        image.argument(&mut running, 1, text);
        image.relabel(&completed, 1);
        image.argument(&mut running, 2, hrx_trace_format::ArgumentValue::Bool(true));
        image.end(&completed, 600);
        image.relabel(&running, 1);
        image.argument(&mut running, 3, hrx_trace_format::ArgumentValue::F64(0.5));
        image.record(1, Value::at(700, 1.5));
        image.mark(1, 800, &[4]);
        image
    }

    /// Whether `found` are some of the arguments `written`, or the beginnings of texts that are said to be incomplete.
    fn are_of(found: &[Argument], written: &[Argument]) -> bool {
        found.iter().all(|argument| {
            written
                .iter()
                .any(|whole| match (&argument.value, &whole.value) {
                    (ArgumentValue::Text(part), ArgumentValue::Text(text))
                        if argument.incomplete =>
                    {
                        argument.key == whole.key && text.starts_with(part)
                    }
                    _ => argument == whole,
                })
        })
    }

    fn without_arguments(event: &Event) -> Event {
        Event {
            arguments: Vec::new(),
            arguments_lost: 0,
            ..event.clone()
        }
    }

    /// Of each flipped bit: what is shown was written, whatever is not shown is counted, and a running region loses nothing that has a copy.
    #[test]
    fn every_single_bit_flip_among_arguments_and_lines() {
        let image = sample_of_every_kind();
        let (all, whole) = image.read();
        let open = &whole.open_regions[0];
        assert_eq!(
            (all.len(), open.arguments.len(), whole.account.joined),
            (4, 3, 11)
        );
        let from = image.identity.control_offset as usize;
        let mut bytes = image.bytes.clone();
        for bit in from * 8..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            let (events, report) = read(&Trace::from_bytes(bytes.clone()).unwrap());
            for event in &events {
                let key = (event.ring, event.sequence);
                let written = all.iter().find(|other| (other.ring, other.sequence) == key);
                let written = written.unwrap_or_else(|| panic!("bit {bit}: {event:?}"));
                assert_eq!(
                    without_arguments(event),
                    without_arguments(written),
                    "bit {bit}"
                );
                assert!(
                    are_of(&event.arguments, &written.arguments),
                    "bit {bit}: {event:?}"
                );
            }
            if events != all {
                assert_ne!(report.account, whole.account, "bit {bit}");
            }
            match report.open_regions.as_slice() {
                [] => assert_eq!(report.open_torn, 1, "bit {bit}"),
                // Slot 0, or slot 1 whose region's record is lost: a freed slot shows nothing.
                regions => assert_eq!(regions, std::slice::from_ref(open), "bit {bit}"),
            }
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn cut_at_every_length_among_arguments_and_lines() {
        let image = sample_of_every_kind();
        let (all, _) = image.read();
        for length in 2048..image.bytes.len() {
            let (events, report) = read(&Trace::from_bytes(&image.bytes[..length]).unwrap());
            let is_whole =
                |event: &&Event| image.offset_of(event.ring, event.sequence) + 64 <= length as u64;
            let whole_ones = all.iter().filter(is_whole).map(without_arguments);
            assert!(
                events.iter().map(without_arguments).eq(whole_ones),
                "{length}"
            );
            // Records lie in the order of their tickets, so an event that is there has all its arguments.
            for event in &events {
                assert_eq!(
                    (event.arguments_lost, event.arguments.is_empty()),
                    (0, event.kind == Kind::Value)
                );
            }
            // The open table lies before the shortest cut.
            assert_eq!(report.open_regions, image.read().1.open_regions, "{length}");
        }
    }

    /// A layout that passes the checks. Any bytes may follow it: no panic, no endless loop, no event without a checksum, an account that balances.
    fn forged_identity() -> impl Strategy<Value = Identity> {
        let small = (1u64..40, 1u32..4).prop_map(|(capacity, rings)| compact(capacity, rings));
        let edges = prop_oneof![
            Just(0u64),
            Just(64),
            Just(1 << 46),
            Just(i64::MAX as u64),
            Just(u64::MAX),
            any::<u64>(),
            (0u64..200).prop_map(|lines| lines * 64),
        ];
        (small, prop::collection::vec((0usize..13, edges), 0..3)).prop_map(
            |(mut identity, changes)| {
                for (field, value) in changes {
                    match field {
                        0 => identity.file_bytes = value,
                        1 => identity.counters_offset = value,
                        2 => identity.control_offset = value,
                        3 => identity.control_stride = value,
                        4 => identity.open_offset = value,
                        5 => identity.name_offset = value,
                        6 => identity.name_bytes = value,
                        7 => identity.ring_offset = value,
                        8 => identity.ring_stride = value,
                        9 => identity.capacity = value,
                        10 => identity.ring_count = value as u32,
                        11 => identity.open_stride = value,
                        _ => identity.open_slots = value as u32,
                    }
                }
                identity
            },
        )
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(mut bytes in prop::collection::vec(0u8.., 0..4000), with_magic: bool) {
            if with_magic && bytes.len() >= 8 {
                bytes[..8].copy_from_slice(&MAGIC);
            }
            prop_assert!(Trace::from_bytes(bytes).is_err());
        }

        #[test]
        fn any_bytes_after_a_forged_identity_are_survived(
            identity in forged_identity(), body in prop::collection::vec(0u8.., 0..6000), counter: u64,
        ) {
            let identity = identity.sealed(&Checksum::new());
            let mut bytes = bytemuck::bytes_of(&identity).to_vec();
            bytes.extend(body);
            let at = usize::try_from(identity.control_offset).unwrap_or(usize::MAX);
            if let Some(to) = at.checked_add(8).and_then(|end| bytes.get_mut(at..end)) {
                to.copy_from_slice(&counter.to_le_bytes());
            }
            if let Ok(trace) = Trace::from_bytes(bytes) {
                let (events, _) = read(&trace);
                prop_assert_eq!(events, []);
                let _ = trace.name(counter as u32);
            }
        }

        /// Records with valid checksums and any content, and counters of any value.
        #[test]
        fn any_records_are_survived(
            records in prop::collection::vec((0u32..2, any::<[u8; 64]>(), 1u64..20), 0..12),
            opens in prop::collection::vec((0u32..2, any::<[u8; 64]>()), 0..3),
            lines in prop::collection::vec((2u32..16, any::<[u8; 64]>()), 0..3),
            counters in prop::array::uniform2(prop_oneof![0u64..20, any::<u64>()]),
        ) {
            let mut image = Image::with_lines(5, 2);
            for (ring, bytes, sequence) in records {
                let record = Record::from_bytes(bytes);
                let sequence = if record.kind.is_multiple_of(4) { record.sequence.max(1) } else { sequence };
                let [start_ns, open_slot] = [record.start_ns % 2, u64::from(record.open_slot) % 5];
                // In its upper byte `status` has the type of an argument.
                let status = record.status % (7 << 24);
                image.put_record(ring, Record { sequence, kind: record.kind % 7, start_ns, open_slot: open_slot as u16, status, ..record });
            }
            for (slot, bytes) in opens {
                let open = OpenRecord { ring: 0, ..OpenRecord::from_bytes(bytes) };
                image.open(slot, OpenRecord { start_ns: open.start_ns % 2, claimed_at_begin: open.claimed_at_begin % 8, ..open });
            }
            for (number, bytes) in lines {
                image.line(number % 2, number / 2, 0, number.into(), Record::from_bytes(bytes));
            }
            for (ring, counter) in (0..).zip(counters) {
                image.set_claimed(ring, counter);
            }
            image.read();
        }
    }

    #[test]
    fn a_forged_capacity_costs_no_time_and_no_memory() {
        let mut identity = hrx_trace_format::Geometry::new(1 << 46)
            .ring_count(RING_COUNT_MAX)
            .name_bytes(16 << 20)
            .layout()
            .unwrap();
        identity.salt = 1;
        // As many and as large open slots as there can be, of which the file has none.
        identity.open_slots = OPEN_SLOTS_MAX;
        identity.open_stride = OPEN_STRIDE_MAX;
        let slots_bytes = u64::from(OPEN_SLOTS_MAX) * OPEN_STRIDE_MAX;
        for offset in [
            &mut identity.name_offset,
            &mut identity.ring_offset,
            &mut identity.file_bytes,
        ] {
            *offset += slots_bytes;
        }
        let identity = identity.sealed(&Checksum::new());
        let mut bytes = bytemuck::bytes_of(&identity).to_vec();
        bytes.resize(identity.open_offset as usize, 0);
        for ring in 0..RING_COUNT_MAX {
            let at = identity.control_line(ring) as usize;
            bytes[at..at + 8].copy_from_slice(&(1u64 << 50).to_le_bytes());
        }
        let (events, report) = read(&Trace::from_bytes(bytes).unwrap());
        assert_eq!(events, []);
        assert_eq!(report.account.torn, 1 << 56);
        assert_eq!(report.account.overwritten, (1 << 60) - (1 << 56));
    }

    #[test]
    fn the_largest_counters_still_balance() {
        let mut image = Image::new(1, 8);
        for ring in 0..8 {
            image.set_claimed(ring, u64::MAX / 1024);
        }
        assert_eq!(image.read().1.account.claimed, u64::MAX / 1024 * 8);
    }

    #[test]
    fn refreshing_sees_what_was_recorded_since() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.hrxt");
        let mut image = Image::new(4, 1);
        fs::write(&path, &image.bytes).unwrap();
        let mut trace = Trace::open(&path).unwrap();
        assert_eq!(trace.report().account, Account::default());
        image.record_some(0, 3);
        image.label(1, "late");
        fs::write(&path, &image.bytes).unwrap();
        assert_eq!(trace.report().account.claimed, 0);
        trace.refresh();
        assert_eq!(trace.report().account.recovered, 3);
        assert_eq!(trace.name(1), "late");
        // The file is cut short after the snapshot was taken.
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(image.offset_of(0, 2))
            .unwrap();
        let (events, report) = read(&trace);
        assert_eq!((events.len(), report.account.torn), (1, 2));
    }

    /// A writer laps a real file, by plain writes in a real writer's order, while a thread reads it.
    #[test]
    fn a_live_file_that_is_written_while_it_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.hrxt");
        let mut image = Image::new(64, 1);
        image.record_some(0, 10);
        fs::write(&path, &image.bytes).unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        file.try_lock().unwrap();
        let read_on = || {
            let mut trace = Trace::open(&path).unwrap();
            let (mut rounds, mut seen) = (0, 0);
            while rounds < 200 || seen < 2000 {
                trace.refresh();
                assert_eq!(trace.ending(), Ending::Live);
                let (events, report) = read(&trace);
                for event in events {
                    assert_eq!(event.end_ns(), event.sequence * 1000);
                    assert_eq!(event.copied_bytes, event.sequence * 3000);
                }
                assert_eq!(report.account.torn, 0, "{report:?}");
                assert_eq!(report.damages, []);
                rounds += 1;
                seen += report.account.recovered;
            }
        };
        std::thread::scope(|scope| {
            let reader = scope.spawn(read_on);
            while !reader.is_finished() {
                image.record_some(0, 1);
                let sequence = image.claimed(0);
                let offset = image.offset_of(0, sequence);
                let sealed = &image.bytes[offset as usize..][..64];
                let control = image.identity.control_line(0);
                file.write_all_at(&sequence.to_le_bytes(), control).unwrap();
                file.write_all_at(&[0; 8], offset).unwrap();
                file.write_all_at(&sealed[8..], offset + 8).unwrap();
                file.write_all_at(&sealed[..8], offset).unwrap();
            }
        });
    }
}

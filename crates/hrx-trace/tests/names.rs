//! Names of labels, lanes, keys, groups and threads, and what is counted when they or open regions find no room: as the bytes of the file have it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hrx_trace::{Event, Key, Label, Options, Recorder, lane};
use hrx_trace_format::header::COUNTERS_OFFSET;
use hrx_trace_format::name::{
    BLOCK_BYTES, LANE_NAMED_FIRST, NAME_GROUP, NAME_KEY, NAME_LABEL, NAME_LANE, NAME_THREAD,
    TEXT_BYTES_MAX, decode, entry_bytes,
};
use hrx_trace_format::record::{FLAG_SATURATED, OPEN_SLOT_NONE};
use hrx_trace_format::{Area, Checksum, Counters, Identity, Name, OpenRecord, Record};
use hrx_trace_reader::Trace;

/// A file, read again.
struct File {
    bytes: Vec<u8>,
    identity: Identity,
}

impl File {
    fn read(path: &Path) -> Self {
        let bytes = fs::read(path).unwrap();
        let identity = bytemuck::pod_read_unaligned(&bytes[..size_of::<Identity>()]);
        Self { bytes, identity }
    }

    fn item<T: bytemuck::AnyBitPattern>(&self, offset: u64) -> T {
        bytemuck::pod_read_unaligned(&self.bytes[offset as usize..][..size_of::<T>()])
    }

    fn counters(&self) -> Counters {
        self.item(COUNTERS_OFFSET)
    }

    /// All names with their ids.
    fn names(&self) -> Vec<(u32, Name<'_>)> {
        let (checksum, salt) = (Checksum::new(), Area::NameTable.salt(self.identity.salt));
        let table =
            &self.bytes[self.identity.name_offset as usize..][..self.identity.name_bytes as usize];
        let mut names = Vec::new();
        let mut block = 0;
        while block * BLOCK_BYTES < table.len() {
            let (id, entry) = (block as u32 + 1, &table[block * BLOCK_BYTES..]);
            match decode(entry, id, &checksum, salt) {
                Some(name) => {
                    names.push((id, name));
                    block += entry_bytes(entry, id).unwrap() / BLOCK_BYTES;
                }
                None => block += 1,
            }
        }
        names
    }

    /// The names of this kind.
    fn of_kind(&self, kind: u8) -> Vec<(u32, Name<'_>)> {
        let mut names = self.names();
        names.retain(|(_, name)| name.kind == kind);
        names
    }

    /// The records of ring 0.
    fn records(&self) -> Vec<Record> {
        (0..self.identity.capacity)
            .map(|slot| self.item(self.identity.ring_slot(0, slot)))
            .take_while(|record: &Record| record.sequence != 0)
            .collect()
    }

    fn open_records(&self) -> Vec<OpenRecord> {
        (0..self.identity.open_slots)
            .map(|slot| self.item(self.identity.open_slot(slot)))
            .filter(|open: &OpenRecord| open.sequence != 0)
            .collect()
    }
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.hrxt");
    (folder, path)
}

fn record(recorder: &Recorder, event: Event) {
    recorder.record(Instant::now(), Duration::ZERO, event);
}

/// Runs `work` on a thread with this name, and returns its id.
fn on_thread(name: &str, work: impl FnOnce() + Send) -> u32 {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name(name.to_owned());
        let spawned = thread.spawn_scoped(scope, || {
            work();
            rustix::thread::gettid()
                .as_raw_nonzero()
                .get()
                .cast_unsigned()
        });
        spawned.unwrap().join().unwrap()
    })
}

#[test]
fn labels_keys_and_groups_are_in_the_table_once() {
    let (_folder, path) = folder();
    let recorder = Recorder::create(&path, 4).unwrap();
    let plain = recorder.label("gemm");
    let grouped = recorder.label_in("blas", "gemm");
    let key = recorder.key("gemm");
    let empty = recorder.label("");
    assert_eq!(plain, recorder.label("gemm"));
    assert_eq!(grouped, recorder.label_in("blas", "gemm"));
    assert_eq!(key, recorder.key("gemm"));
    assert_ne!(plain, grouped);
    assert_ne!(empty, Label::NONE);
    assert_ne!(key, Key::NONE);
    let file = File::read(&path);
    let groups = file.of_kind(NAME_GROUP);
    assert_eq!(groups.len(), 1);
    let (group, name) = groups[0];
    assert_eq!(name.text, "blas");
    let labels = file.of_kind(NAME_LABEL);
    let labels: Vec<_> = labels
        .iter()
        .map(|(_, name)| (name.text, name.group))
        .collect();
    assert_eq!(labels, [("gemm", 0), ("gemm", group), ("", 0)]);
    assert!(
        group < file.of_kind(NAME_LABEL)[1].0,
        "the group comes first"
    );
    assert_eq!(file.of_kind(NAME_KEY).len(), 1);
}

#[test]
fn a_named_lane_keeps_its_number_and_any_other_of_that_size_saturates() {
    let (_folder, path) = folder();
    let recorder = Recorder::create(&path, 16).unwrap();
    let first = recorder.lane("stream 0");
    let second = recorder.lane_in("GPU 1", "stream 0");
    assert_eq!(first, recorder.lane("stream 0"));
    assert_eq!(
        [first, second],
        [0, 1].map(|number| LANE_NAMED_FIRST as usize + number)
    );
    let chosen = LANE_NAMED_FIRST as usize - 1;
    let lanes = [
        first,
        second,
        chosen,
        second + 1,
        u32::MAX as usize,
        usize::MAX,
    ];
    for lane in lanes {
        record(&recorder, Event::new(lane));
    }
    let region = recorder.begin(Event::new(second));
    let file = File::read(&path);
    let [open] = file.open_records()[..] else {
        panic!("one region is open");
    };
    assert_eq!((open.lane, open.flags), (LANE_NAMED_FIRST + 1, 0));
    region.finish();
    let expected = [
        (LANE_NAMED_FIRST, 0),
        (LANE_NAMED_FIRST + 1, 0),
        (LANE_NAMED_FIRST - 1, 0),
        (LANE_NAMED_FIRST - 1, FLAG_SATURATED),
        (LANE_NAMED_FIRST - 1, FLAG_SATURATED),
        (LANE_NAMED_FIRST - 1, FLAG_SATURATED),
        (LANE_NAMED_FIRST + 1, 0),
    ];
    let file = File::read(&path);
    let records = file.records();
    assert!(
        records
            .iter()
            .map(|record| (record.lane, record.flags))
            .eq(expected)
    );
    let lanes = file.of_kind(NAME_LANE);
    let lanes: Vec<_> = lanes
        .iter()
        .map(|(_, name)| (name.subject, name.text))
        .collect();
    assert_eq!(
        lanes,
        [
            (LANE_NAMED_FIRST, "stream 0"),
            (LANE_NAMED_FIRST + 1, "stream 0")
        ]
    );
    // What one recorder gave out, another does not know.
    let path = path.with_extension("other");
    let other = Recorder::create(&path, 1).unwrap();
    record(&other, Event::new(first));
    assert_eq!(File::read(&path).records()[0].flags, FLAG_SATURATED);
}

#[test]
fn names_that_are_too_long_or_find_no_room_are_counted() {
    let (_folder, path) = folder();
    let recorder = Options::new(4).name_bytes(4096).create(&path).unwrap();
    let too_long = "x".repeat(TEXT_BYTES_MAX + 1);
    assert_eq!(recorder.label(&too_long), Label::NONE);
    assert_eq!(recorder.key(&too_long), Key::NONE);
    recorder.name_thread(&too_long);
    // Each a lane of its own, although neither the lane nor the groups have names.
    let lane = recorder.lane(&too_long);
    let in_one = recorder.lane_in(&format!("{too_long}1"), "lane");
    let in_other = recorder.lane_in(&format!("{too_long}2"), "lane");
    assert!(lane != in_one && in_one != in_other && lane != in_other);
    assert_eq!(lane, recorder.lane(&too_long));
    let counters = File::read(&path).counters();
    assert_eq!((counters.names_too_long, counters.names_refused), (6, 0));
    // One that does not fit leaves the room to those that do: three blocks are taken, 16,384 bytes would be 257.
    assert_eq!(recorder.label(&"x".repeat(TEXT_BYTES_MAX)), Label::NONE);
    let fitting = (0..100)
        .filter(|name| recorder.label(&name.to_string()) != Label::NONE)
        .count();
    assert_eq!(fitting, 61);
    assert_eq!(recorder.lane("another"), in_other + 1);
    let counters = File::read(&path).counters();
    assert_eq!(
        (counters.names_too_long, counters.names_refused),
        (6, 1 + 39 + 1)
    );

    let path = path.with_extension("none");
    let nameless = Options::new(4).name_bytes(0).create(&path).unwrap();
    assert_eq!(nameless.label("a"), Label::NONE);
    assert_eq!(File::read(&path).counters().names_refused, 2);
}

#[test]
fn a_thread_is_named_before_its_first_event_and_once() {
    let (_folder, path) = folder();
    let recorder = Options::new(64).writers(1).create(&path).unwrap();
    let other_path = path.with_extension("other");
    let other = Recorder::create(&other_path, 64).unwrap();
    let (start, elapsed) = (Instant::now(), Duration::from_nanos(7));
    let worker = on_thread("worker", || {
        for _ in 0..3 {
            recorder.record(start, elapsed, Event::new(0));
            record(&other, Event::new(0));
        }
    });
    let writer = on_thread("writer", || {
        recorder.writer().begin(Event::new(0)).finish();
        recorder.begin(Event::new(0)).finish();
    });
    // It ends in a century, by what the caller says.
    let future = on_thread("future", || {
        recorder.record(start, Duration::from_secs(1 << 32), Event::new(0));
    });
    let silent = on_thread("silent", || {
        let _ = recorder.now();
    });
    let finisher = {
        let region = recorder.begin(Event::new(0));
        on_thread("finisher", || region.finish())
    };
    let file = File::read(&path);
    let threads = file.of_kind(NAME_THREAD);
    let named = |id| {
        let mut of_thread = threads.iter().filter(|(_, name)| name.subject == id);
        let name = of_thread.next().map(|(_, name)| (name.text, name.since_ns));
        assert!(of_thread.next().is_none(), "named once");
        name
    };
    let records = file.records();
    let first_end = |id| {
        let record = records
            .iter()
            .find(|record| record.thread_id == id)
            .unwrap();
        record.start_ns.saturating_add(record.duration_ns)
    };
    assert_eq!(named(worker), Some(("worker", first_end(worker))));
    assert_eq!(named(finisher), Some(("finisher", first_end(finisher))));
    let (name, since_ns) = named(writer).unwrap();
    assert!(name == "writer" && since_ns <= first_end(writer));
    let (name, since_ns) = named(future).unwrap();
    assert!(name == "future" && since_ns < 60_000_000_000);
    assert_eq!(named(silent), None);
    let others = File::read(&other_path);
    let named = others.of_kind(NAME_THREAD);
    assert!(
        named
            .iter()
            .any(|(_, name)| name.subject == worker && name.text == "worker")
    );
    assert_eq!(named.len(), 2, "the creator, and the worker");
}

#[test]
fn a_thread_names_itself_before_its_first_event_or_later() {
    let (_folder, path) = folder();
    let recorder = Recorder::create(&path, 64).unwrap();
    let before = on_thread("before", || {
        recorder.name_thread("I");
        record(&recorder, Event::new(0));
    });
    let later = on_thread("later", || {
        record(&recorder, Event::new(0));
        recorder.name_thread("II, with more letters than the operating system takes for a name");
        record(&recorder, Event::new(0));
    });
    let file = File::read(&path);
    let threads = file.of_kind(NAME_THREAD);
    let named = |id| {
        let of_thread = threads.iter().filter(move |(_, name)| name.subject == id);
        of_thread
            .map(|(_, name)| (name.text, name.since_ns))
            .collect::<Vec<_>>()
    };
    let [("I", since_ns)] = named(before)[..] else {
        panic!("{:?}", named(before));
    };
    let end_ns = |index: usize| file.records()[index].start_ns + file.records()[index].duration_ns;
    assert!(since_ns <= end_ns(0));
    let [("later", since_ns), (text, since_later_ns)] = named(later)[..] else {
        panic!("{:?}", named(later));
    };
    assert!(text.starts_with("II, with") && since_ns == end_ns(1));
    assert!(since_later_ns >= since_ns && since_later_ns <= end_ns(2));
}

/// The kernel cuts a name after 15 bytes, within a character if need be.
#[test]
fn a_thread_name_that_was_cut_within_a_character_ends_before_it() {
    let (_folder, path) = folder();
    let recorder = Recorder::create(&path, 4).unwrap();
    let id = on_thread("fourteen bytesé", || record(&recorder, Event::new(0)));
    let file = File::read(&path);
    let threads = file.of_kind(NAME_THREAD);
    let name = threads.iter().find(|(_, name)| name.subject == id);
    assert_eq!(name.map(|(_, name)| name.text), Some("fourteen bytes"));
}

/// A program that starts threads without end must not use up what its labels need.
#[test]
fn threads_take_at_most_a_quarter_of_the_table() {
    let (_folder, path) = folder();
    let recorder = Options::new(64).name_bytes(4096).create(&path).unwrap();
    for _ in 0..20 {
        on_thread("one of many", || record(&recorder, Event::new(0)));
    }
    let file = File::read(&path);
    assert_eq!(file.of_kind(NAME_THREAD).len(), 16);
    assert_eq!(file.counters().names_refused, 5);
    let labels = (0..60).filter(|name| recorder.label(&name.to_string()) != Label::NONE);
    assert_eq!(labels.count(), 48);
}

#[test]
fn what_is_hidden_now_is_counted_until_it_is_recorded() {
    let (_folder, path) = folder();
    let recorder = Options::new(64)
        .writers(1)
        .open_regions(2)
        .create(&path)
        .unwrap();
    let counts = || {
        let file = File::read(&path);
        let counters = file.counters();
        (
            file.open_records().len(),
            counters.hidden_now,
            counters.open_refused,
        )
    };
    let writer = recorder.writer();
    let shown = [recorder.begin(Event::new(0)), recorder.begin(Event::new(1))];
    assert_eq!(counts(), (2, 0, 0));
    let hidden = recorder.begin(Event::new(2));
    let failing = writer.begin(Event::new(3));
    let dropped = recorder.begin(Event::new(4));
    assert_eq!(counts(), (2, 3, 3));
    hidden.finish();
    failing.fail(1);
    drop(dropped);
    assert_eq!(counts(), (2, 0, 3));
    let slots: Vec<u16> = File::read(&path)
        .records()
        .iter()
        .map(|record| record.open_slot)
        .collect();
    assert_eq!(slots, [OPEN_SLOT_NONE; 2]);
    shown.into_iter().for_each(hrx_trace::Region::finish);
    assert_eq!(counts(), (0, 0, 3));

    // After the end, neither is touched.
    let region = recorder.begin(Event::new(0));
    let other = recorder.begin(Event::new(0));
    let hidden = recorder.begin(Event::new(0));
    recorder.finish();
    let late = recorder.begin(Event::new(0));
    hidden.finish();
    assert_eq!(counts(), (2, 1, 4));
    late.finish();
    region.finish();
    other.finish();
    assert_eq!(counts(), (2, 1, 4));
}

#[test]
fn any_number_of_open_regions_can_be_chosen() {
    let (folder, _) = folder();
    for slots in [0, 1, 63, 4_097, 65_534] {
        let path = folder.path().join(format!("{slots}.hrxt"));
        let recorder = Options::new(4).open_regions(slots).create(&path).unwrap();
        let count = slots as usize + 2;
        for _ in 0..2 {
            let mut regions: Vec<_> = (0..count).map(|_| recorder.begin(Event::new(0))).collect();
            let file = File::read(&path);
            assert_eq!(file.counters().hidden_now, 2);
            assert!(file.open_records().len() == slots as usize);
            // Each slot that is freed is found again, wherever it is.
            for place in [0, count / 3] {
                regions.swap_remove(place).finish();
            }
            regions.extend((0..2).map(|_| recorder.begin(Event::new(0))));
            let file = File::read(&path);
            assert_eq!(file.open_records().len(), slots as usize);
        }
        assert_eq!(File::read(&path).counters().hidden_now, 0);
    }
    let path = folder.path().join("too-many.hrxt");
    assert!(Options::new(4).open_regions(65_535).create(&path).is_err());
}

/// By the key of an argument, as a reader finds it. A key of the recorder's belongs to no group.
#[test]
fn a_keys_text_and_group_come_back() {
    let (_folder, path) = folder();
    let recorder = Recorder::create(&path, 64).unwrap();
    let long = "k".repeat(200);
    let texts = ["blocks", "", "gemm", "größe \n", &long];
    let keys = texts.map(|text| recorder.key(text));
    // A label and a group of the same text are others.
    recorder.label_in("blocks", "gemm");
    let mut region = recorder.begin(Event::new(lane::COMPUTE));
    for key in keys.into_iter().chain([Key::NONE]) {
        region.argument(key, 1_u64);
    }
    let shown = |trace: &Trace, arguments: &[hrx_trace_reader::Argument]| {
        let found: Vec<_> = arguments.iter().map(|it| trace.key(it.key)).collect();
        let text = |text: &&str| hrx_trace_reader::Name::Known {
            text: (*text).to_owned(),
            group: 0,
        };
        let expected = texts.iter().map(text).chain([hrx_trace_reader::Name::None]);
        assert_eq!(found, expected.collect::<Vec<_>>());
    };
    let trace = Trace::open(&path).unwrap();
    shown(&trace, &trace.open_regions()[0].arguments);
    region.finish();
    let trace = Trace::open(&path).unwrap();
    shown(&trace, &trace.events().next().unwrap().arguments);
}

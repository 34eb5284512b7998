//! The recorder through its public interface, checked with the reader.

use std::error::Error as _;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hrx_trace::{Error, Event, Label, Options, Recorder, lane};
use hrx_trace_reader::{Ending, Trace, process};
use proptest::prelude::*;
use tempfile::TempDir;

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.hrxt");
    (folder, path)
}

#[test]
fn what_is_recorded_is_read_back_whole() {
    let (_folder, path) = folder();
    let recorder = Options::new(8)
        .attribute("rank", "3")
        .attribute("attempt", "2=b")
        .create(&path)
        .unwrap();
    let gemm = recorder.label("gemm");
    let start = Instant::now();
    recorder.record(
        start,
        Duration::from_nanos(1234),
        Event::new(lane::NPU)
            .label(gemm)
            .correlation_id(u64::MAX)
            .copied_bytes(1 << 60)
            .status(9)
            .failed(true),
    );
    recorder.record(
        start + Duration::from_nanos(7),
        Duration::MAX,
        Event::new(lane::HOST),
    );
    recorder.finish();

    let trace = Trace::open(&path).unwrap();
    let events: Vec<_> = trace.events().collect();
    assert_eq!(events.len(), 2);
    let (first, second) = (&events[0], &events[1]);
    assert_eq!(trace.name(first.label_id), "gemm");
    assert_eq!(first.duration_ns, 1234);
    assert_eq!((first.lane, first.correlation_id), (3, u64::MAX));
    assert_eq!((first.copied_bytes, first.status), (1 << 60, 9));
    assert!(first.failed && !first.saturated);
    assert_eq!(second.start_ns - first.start_ns, 7);
    assert_eq!((second.duration_ns, second.saturated), (u64::MAX, true));
    assert_eq!(trace.name(second.label_id), "native region");
    assert_eq!(
        i64::from(first.thread_id),
        i64::from(rustix::thread::gettid().as_raw_nonzero().get())
    );

    let identity = trace.identity();
    assert_eq!(identity.process_id, std::process::id());
    assert_eq!(
        identity.attributes().collect::<Vec<_>>(),
        [("rank", "3"), ("attempt", "2=b")]
    );
    assert!(
        identity.program().starts_with("recorder"),
        "{}",
        identity.program()
    );
    assert_eq!(
        identity.host_name(),
        rustix::system::uname().nodename().to_str().unwrap()
    );
    assert_eq!(trace.ending(), Ending::Finished);
}

/// A reader decides by these whether the writer still lives, and finds them out by code of its own.
#[test]
fn the_header_names_the_process_as_the_reader_does() {
    let (_folder, path) = folder();
    let _recorder = Recorder::create(&path, 1).unwrap();
    let trace = Trace::open(&path).unwrap();
    let identity = trace.identity();
    let process_id = std::process::id();
    assert_eq!(identity.process_id, process_id);
    assert_eq!(Some(identity.boot_id), process::boot_id());
    assert_eq!(Some(identity.pid_namespace), process::pid_namespace());
    let start_ticks = process::start_ticks(process_id);
    assert_eq!(Some(identity.process_start_ticks), start_ticks);
    assert_eq!(Some(identity.stack_start), process::stack_start(process_id));
}

#[test]
fn the_epoch_is_now_by_every_clock() {
    let (_folder, path) = folder();
    let before = std::time::SystemTime::now();
    let _recorder = Recorder::create(&path, 1).unwrap();
    let trace = Trace::open(&path).unwrap();
    let identity = trace.identity();
    let epoch = std::time::UNIX_EPOCH + Duration::from_nanos(identity.epoch_realtime_ns);
    assert!(epoch >= before && epoch <= std::time::SystemTime::now());
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let now_ns = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
    assert!(identity.epoch_monotonic_ns <= now_ns);
    assert!(now_ns - identity.epoch_monotonic_ns < 60_000_000_000);
    // CLOCK_BOOTTIME is never less than CLOCK_MONOTONIC, but it was read a moment earlier.
    assert!(identity.epoch_boottime_ns + 1_000_000_000 > identity.epoch_monotonic_ns);
}

#[test]
fn a_region_is_open_until_it_is_finished() {
    let (_folder, path) = folder();
    let recorder = Recorder::create(&path, 8).unwrap();
    let outer = recorder.begin(
        Event::new(lane::HOST)
            .label(recorder.label("step"))
            .correlation_id(5),
    );
    let inner = recorder.begin(Event::new(lane::UPLOAD).copied_bytes(10));

    let report = Trace::open(&path).unwrap().report();
    assert_eq!(report.ending, Ending::Live);
    assert_eq!(report.account.claimed, 0);
    let open: Vec<_> = report
        .open_regions
        .iter()
        .map(|open| (open.lane, open.correlation_id, open.copied_bytes))
        .collect();
    assert_eq!(open, [(4, 5, 0), (0, 0, 10)]);

    inner.finish_with(|event| event.copied_bytes(11));
    let report = Trace::open(&path).unwrap().report();
    assert_eq!(
        (report.account.recovered, report.open_regions.len()),
        (1, 1)
    );
    outer.fail(77);
    recorder.finish();

    let trace = Trace::open(&path).unwrap();
    let events: Vec<_> = trace.events().collect();
    assert_eq!(trace.report().open_regions, []);
    assert_eq!((events[0].copied_bytes, events[0].failed), (11, false));
    assert_eq!((events[1].status, events[1].failed), (77, true));
    assert!(events[1].start_ns <= events[0].start_ns && events[1].end_ns() >= events[0].end_ns());
}

#[test]
fn a_region_that_is_dropped_is_recorded_as_failed() {
    let (_folder, path) = folder();
    let recorder = Recorder::create(&path, 8).unwrap();
    let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _region = recorder.begin(Event::new(lane::COMPUTE));
        panic!("the kernel launch failed");
    }));
    assert!(unwound.is_err());
    let trace = Trace::open(&path).unwrap();
    let events: Vec<_> = trace.events().collect();
    assert_eq!(events.len(), 1);
    assert!(events[0].failed);
    assert_eq!(trace.report().open_regions, []);
}

#[test]
fn a_region_finished_by_another_thread_is_shown_once() {
    let (_folder, path) = folder();
    let recorder = Options::new(8).rings(4).create(&path).unwrap();
    let region = recorder.begin(Event::new(1));
    std::thread::scope(|scope| {
        scope.spawn(|| region.finish());
    });
    let report = Trace::open(&path).unwrap().report();
    assert_eq!(
        (report.account.recovered, report.open_regions.len()),
        (1, 0)
    );
}

/// Found in a service that kept a region in each job: the recorder had to be leaked, and clean exits read as crashes.
#[test]
fn an_owned_region_keeps_its_recorder_and_is_finished_by_any_thread() {
    let (_folder, path) = folder();
    let recorder = Arc::new(Recorder::create(&path, 8).unwrap());
    let region = recorder.begin_owned(Event::new(1).correlation_id(7));
    drop(recorder);
    let report = Trace::open(&path).unwrap().report();
    assert_eq!(report.open_regions[0].correlation_id, 7);
    assert_eq!(report.ending, Ending::Live);
    let job: Box<dyn FnOnce() + Send> = Box::new(move || region.finish());
    std::thread::spawn(job).join().unwrap();
    let report = Trace::open(&path).unwrap().report();
    assert_eq!(
        (report.account.recovered, report.open_regions.len()),
        (1, 0)
    );
    // The region was the recorder's last owner, and gave it up.
    assert_eq!(report.ending, Ending::Finished);
}

/// A task that is run in turns: each turn is a region, and what it waited for in between leaves nothing but its arguments' records.
#[test]
fn a_task_is_shown_in_and_between_its_turns() {
    let (_folder, path) = folder();
    let recorder = Arc::new(Recorder::create(&path, 64).unwrap());
    let key = recorder.key("path");
    let shown = || {
        let open = Trace::open(&path).unwrap().report().open_regions;
        assert_eq!(open.len(), 1);
        (open[0].lane, open[0].waiting, open[0].arguments.len())
    };
    let mut task = recorder.begin_waiting(Event::new(9));
    assert_eq!(shown(), (9, true, 0));
    for turn in 1..=3 {
        task.resume(Event::new(1), |region| region.argument(key, "/"));
        assert_eq!(shown(), (1, false, 1));
        let change = |event: Event| event.status(turn);
        task.suspend(change, Event::new(9), |region| region.argument(key, "/"));
        assert_eq!(shown(), (9, true, 1));
    }
    task.withdraw();
    let trace = Trace::open(&path).unwrap();
    let turns: Vec<_> = trace.events().collect();
    let seen = |event: &hrx_trace_reader::Event| (event.lane, event.status, event.arguments.len());
    assert_eq!(
        turns.iter().map(seen).collect::<Vec<_>>(),
        [(1, 1, 1), (1, 2, 1), (1, 3, 1)]
    );
    let report = trace.report();
    assert_eq!((report.account.orphaned, report.hidden_now), (3, 0));
    assert_eq!(report.open_regions, []);
}

/// Without a record, and where the table is full.
#[test]
fn a_region_that_is_withdrawn_was_not_there() {
    let (_folder, path) = folder();
    let recorder = Arc::new(Options::new(8).open_regions(1).create(&path).unwrap());
    for _ in 0..100 {
        let shown = recorder.begin_waiting(Event::new(1));
        let hidden = recorder.begin(Event::new(2));
        assert_eq!(Trace::open(&path).unwrap().report().hidden_now, 1);
        hidden.withdraw();
        shown.withdraw();
    }
    let report = Trace::open(&path).unwrap().report();
    assert_eq!((report.account.claimed, report.hidden_now), (0, 0));
    assert_eq!(report.open_regions, []);
}

/// Found by reading: the region was neither recorded nor ever removed from what runs.
#[test]
fn a_region_whose_last_words_panic_is_recorded_as_failed() {
    let (_folder, path) = folder();
    let recorder = Recorder::create(&path, 8).unwrap();
    let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let region = recorder.begin(Event::new(lane::UPLOAD));
        region.finish_with(|_| panic!("no size"));
    }));
    assert!(unwound.is_err());
    let trace = Trace::open(&path).unwrap();
    assert!(trace.events().all(|event| event.failed));
    let report = trace.report();
    assert_eq!(
        (report.account.recovered, report.open_regions.len()),
        (1, 0)
    );
}

#[test]
fn a_disabled_recorder_takes_every_call_and_records_nothing() {
    let recorder = Arc::new(Recorder::disabled());
    assert!(!recorder.is_recording() && recorder.path().as_os_str().is_empty());
    let label = recorder.label("gemm");
    assert_eq!(label, Label::NONE);
    let lane = recorder.lane_in("GPU 0", "stream 3");
    let event = Event::new(lane).label(label);
    let start = Instant::now();
    recorder.record(start, start.elapsed(), event);
    recorder.record_between(recorder.now(), recorder.now(), event);
    recorder.mark_with(event, &[(recorder.key("batch"), 7.into())]);
    recorder.value(label, 1.0);
    recorder.name_thread("main");
    recorder.alive();
    let mut region = recorder.begin_owned(event);
    region.argument(recorder.key("batch"), 7);
    region.set_label(label);
    region.waiting();
    region.resume(event, |region| region.argument(recorder.key("batch"), 7));
    region.suspend(|event| event, event, |_| {});
    region.fail(3);
    recorder.begin_waiting(event).withdraw();
    let writer = recorder.writer();
    assert!(!writer.has_own_ring());
    writer.record(start, start.elapsed(), event);
    writer.begin(event).finish();
    drop(recorder.begin_at(start, event));
    recorder.conclude();
    recorder.finish();
    recorder.sync().unwrap();
    assert_eq!((recorder.claimed(), recorder.fallback()), (0, None));
}

#[test]
fn more_open_regions_than_slots_are_counted_and_recorded() {
    let (_folder, path) = folder();
    let recorder = Recorder::create(&path, 2_048).unwrap();
    let regions: Vec<_> = (0..1_030)
        .map(|lane| recorder.begin(Event::new(lane)))
        .collect();
    let report = Trace::open(&path).unwrap().report();
    assert_eq!((report.open_regions.len(), report.open_refused), (1_024, 6));
    regions.into_iter().for_each(hrx_trace::Region::finish);
    let report = Trace::open(&path).unwrap().report();
    assert_eq!(
        (report.open_regions.len(), report.account.recovered),
        (0, 1_030)
    );
    // The slots are free again.
    let _again = recorder.begin(Event::new(0));
    assert_eq!(Trace::open(&path).unwrap().report().open_regions.len(), 1);
}

#[test]
fn each_thread_keeps_to_its_ring() {
    let (_folder, path) = folder();
    let recorder = Options::new(64).rings(2).create(&path).unwrap();
    let record = |thread: u64| {
        recorder.record(
            Instant::now(),
            Duration::ZERO,
            Event::new(0).correlation_id(thread),
        );
    };
    let ring_of = |thread: u64| {
        let trace = Trace::open(&path).unwrap();
        let mut events = trace.events();
        events
            .find(|event| event.correlation_id == thread)
            .unwrap()
            .ring
    };
    let quiet = 1;
    std::thread::scope(|scope| scope.spawn(|| record(quiet)).join().unwrap());
    // Threads are numbered in the order of their first records, across all tests of this process: one of the next few has the other ring.
    let other_ring = |thread: u64| {
        record(thread);
        let differs = ring_of(thread) != ring_of(quiet);
        if differs {
            (0..1000).for_each(|_| record(thread));
        }
        differs
    };
    let flooded = (2..60).any(|thread| {
        std::thread::scope(|scope| scope.spawn(|| other_ring(thread)).join().unwrap())
    });
    assert!(flooded);
    let report = Trace::open(&path).unwrap().report();
    assert_eq!(report.account.overwritten, 1001 - 64);
    assert_ne!(report.rings[ring_of(quiet) as usize].recovered, 64);
    assert!(report.account.balances());
}

#[test]
fn labels_are_interned_and_the_table_can_be_full() {
    let (_folder, path) = folder();
    let recorder = Options::new(4).name_bytes(4096).create(&path).unwrap();
    let first = recorder.label("a");
    assert_eq!(first, recorder.label("a"));
    assert_ne!(first, recorder.label("b"));
    // 34 of the table's 64 blocks are taken after this one.
    let long = "é".repeat(1000);
    let long_label = recorder.label(&long);
    assert_ne!(long_label, Label::NONE);
    assert_eq!(recorder.label(&"x".repeat(17 << 10)), Label::NONE);
    let refused = (0..100)
        .filter(|index| recorder.label(&format!("name {index}")) == Label::NONE)
        .count();
    assert!(refused > 0 && refused < 100, "{refused}");
    recorder.record(
        Instant::now(),
        Duration::ZERO,
        Event::new(0).label(long_label),
    );
    let trace = Trace::open(&path).unwrap();
    let event = trace.events().next().unwrap();
    assert_eq!(trace.name(event.label_id), long);
    // The one that was too long is counted as such.
    assert_eq!(trace.report().names_refused, refused as u64);
    assert_eq!(trace.report().names_too_long, 1);
}

#[test]
fn rejected_events_are_counted_and_not_dropped() {
    let (_folder, path) = folder();
    let before = Instant::now();
    let recorder = Recorder::create(&path, 1).unwrap();
    recorder.record(before, Duration::from_secs(1), Event::new(0));
    let report = Trace::open(&path).unwrap().report();
    assert_eq!((report.rejected, report.account.claimed), (1, 0));
}

#[test]
fn a_moment_before_the_capture_is_rejected_and_not_dropped() {
    let (folder, path) = folder();
    let earlier = Recorder::create(&path, 1).unwrap();
    let before = earlier.now();
    let path = folder.path().join("later.hrxt");
    let recorder = Options::new(2).writers(1).create(&path).unwrap();
    recorder.record_between(before, recorder.now(), Event::new(0));
    recorder
        .writer()
        .record_between(before, recorder.now(), Event::new(0));
    let report = Trace::open(&path).unwrap().report();
    assert_eq!((report.rejected, report.account.claimed), (2, 0));
}

#[test]
fn a_region_that_ends_before_it_begins_takes_no_time() {
    let (_folder, path) = folder();
    let recorder = Options::new(2).writers(1).create(&path).unwrap();
    let end = recorder.now();
    std::thread::sleep(Duration::from_millis(1));
    let start = recorder.now();
    recorder.record_between(start, end, Event::new(0));
    recorder.writer().record_between(start, end, Event::new(0));
    let trace = Trace::open(&path).unwrap();
    let events: Vec<_> = trace.events().collect();
    assert_eq!(events.len(), 2);
    assert_eq!(events[0].start_ns, events[1].start_ns);
    assert!(events[0].start_ns > 1_000_000);
    for event in events {
        assert_eq!((event.duration_ns, event.saturated), (0, false));
    }
}

/// Regions are timed by the recorder's clock, by `Instant`s, by `begin` and `finish` and again by the recorder's clock, each inside the one before it, and are
/// nested in the file by the nanosecond.
#[test]
fn times_by_moments_instants_and_regions_are_of_one_clock() {
    const ROUNDS: u64 = 1000;
    let (_folder, path) = folder();
    let recorder = Recorder::create(&path, 4 * ROUNDS).unwrap();
    for _ in 0..ROUNDS {
        let outer = recorder.now();
        let start = Instant::now();
        let region = recorder.begin(Event::new(3));
        let (inner, inner_end) = (recorder.now(), recorder.now());
        region.finish();
        let elapsed = start.elapsed();
        let outer_end = recorder.now();
        recorder.record_between(outer, outer_end, Event::new(1));
        recorder.record(start, elapsed, Event::new(2));
        recorder.record_between(inner, inner_end, Event::new(4));
    }
    let trace = Trace::open(&path).unwrap();
    let mut events: Vec<_> = trace.events().collect();
    assert_eq!(events.len() as u64, 4 * ROUNDS);
    for round in events.chunks_mut(4) {
        round.sort_unstable_by_key(|event| event.lane);
        for pair in round.windows(2) {
            let nested =
                pair[0].start_ns <= pair[1].start_ns && pair[1].end_ns() <= pair[0].end_ns();
            assert!(nested, "{pair:?}");
        }
    }
}

#[test]
fn finish_is_idempotent_and_caches_dropped() {
    let (_folder, path) = folder();
    let recorder = Recorder::create(&path, 2).unwrap();
    for _ in 0..5 {
        recorder.record(Instant::now(), Duration::ZERO, Event::new(0));
    }
    recorder.sync().unwrap();
    assert_eq!(counter(&path, 2), 3, "the header's dropped counter");
    recorder.record(Instant::now(), Duration::ZERO, Event::new(0));
    recorder.finish();
    recorder.finish();
    assert_eq!(counter(&path, 2), 4);
    recorder.begin(Event::new(0)).finish();
    recorder.sync().unwrap();
    drop(recorder);
    let report = Trace::open(&path).unwrap().report();
    assert_eq!(
        (report.account.claimed, report.ending),
        (6, Ending::Finished)
    );
}

/// The bug: `sync` failed with an error of the system that named no file.
#[test]
fn a_sync_that_fails_names_the_file_and_the_reason() {
    let (folder, _) = folder();
    let inside = folder.path().join("inside");
    fs::create_dir(&inside).unwrap();
    let path = inside.join("t.hrxt");
    let recorder = Recorder::create(&path, 1).unwrap();
    fs::remove_dir_all(&inside).unwrap();
    let error = recorder.sync().unwrap_err();
    let message = format!("{}: cannot write it to the disk", path.display());
    assert_eq!(error.to_string(), message);
    let reason = error.source().unwrap().downcast_ref::<std::io::Error>();
    assert_eq!(reason.unwrap().kind(), std::io::ErrorKind::NotFound);
}

/// Word `index` of the header's counters.
fn counter(path: &Path, index: usize) -> u64 {
    let bytes = fs::read(path).unwrap();
    let at = hrx_trace_format::header::COUNTERS_OFFSET as usize + index * 8;
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

#[test]
fn a_dropped_recorder_is_finished_unless_its_thread_panics() {
    let (folder, path) = folder();
    drop(Recorder::create(&path, 1).unwrap());
    assert_eq!(Trace::open(&path).unwrap().ending(), Ending::Finished);

    let path = folder.path().join("panic.hrxt");
    let panicked = std::panic::catch_unwind(|| {
        let _recorder = Recorder::create(&path, 1).unwrap();
        panic!("unwinding");
    });
    assert!(panicked.is_err());
    // The process runs on, and has let go of the file.
    assert_eq!(Trace::open(&path).unwrap().ending(), Ending::CannotTell);
}

#[test]
fn the_file_is_private_and_its_space_is_reserved() {
    let (_folder, path) = folder();
    let _recorder = Options::new(100_000).populate(false).create(&path).unwrap();
    let metadata = fs::metadata(&path).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    assert!(
        metadata.blocks() * 512 >= metadata.len(),
        "{} blocks",
        metadata.blocks()
    );
    assert_eq!(
        metadata.len(),
        Trace::open(&path).unwrap().identity().file_bytes
    );
}

#[test]
fn creation_that_fails_says_why_and_leaves_nothing() {
    let (folder, path) = folder();
    let message = |result: hrx_trace::Result<Recorder>| result.unwrap_err().to_string();

    let error = Recorder::create(&path, 0).unwrap_err();
    assert!(matches!(error, Error::ZeroCapacity));
    assert_eq!(
        message(Recorder::create(&path, u64::MAX)),
        "size of the trace: found 1 as the number of rings, 18446744073709551615 as the events in each, 1024 as the regions shown while they run, 1048576 as the bytes for names; expected 1 to 1024 rings, up to 2^46 events, up to 65534 regions, up to 16 MiB for names"
    );
    assert!(matches!(
        Options::new(1).attribute("a=b", "c").create(&path),
        Err(Error::Attribute { .. })
    ));
    assert!(matches!(
        Options::new(1)
            .attribute("a", "x".repeat(800))
            .create(&path),
        Err(Error::Attribute { .. })
    ));
    assert!(!path.exists());

    // More than any disk holds.
    let error = Recorder::create(&path, 1 << 40).unwrap_err();
    assert!(matches!(error, Error::NoSpace { .. }), "{error:?}");
    let needs = 64 * (1u64 << 40);
    let (said, reason) = (error.to_string(), error.source().unwrap().to_string());
    assert!(said.starts_with(&format!("{}: no room for its ", path.display())));
    assert!(
        !said.contains(&reason),
        "the reason is printed twice: {said}"
    );
    assert!(matches!(error, Error::NoSpace { bytes, .. } if bytes > needs));
    assert!(!path.exists(), "the failed creation left a file");

    fs::write(&path, "the last crash").unwrap();
    assert_eq!(
        message(Recorder::create(&path, 1)),
        format!(
            "{}: exists already, and a trace is never overwritten: move it away or choose another name",
            path.display()
        )
    );
    assert_eq!(fs::read(&path).unwrap(), b"the last crash");

    for target in ["nowhere", "t.hrxt"] {
        let link = folder.path().join(format!("link to {target}"));
        symlink(folder.path().join(target), &link).unwrap();
        assert!(matches!(
            Recorder::create(&link, 1),
            Err(Error::Exists { .. })
        ));
        assert!(!folder.path().join("nowhere").exists());
    }
    assert!(matches!(
        Recorder::create(folder.path(), 1),
        Err(Error::Exists { .. })
    ));

    let missing = folder.path().join("no such folder/t.hrxt");
    assert_eq!(
        message(Recorder::create(&missing, 1)),
        format!("{}: its folder does not exist", missing.display())
    );
    // /proc takes no new files, not even root's.
    let error = Recorder::create("/proc/t.hrxt", 1).unwrap_err();
    assert!(error.to_string().starts_with("/proc/t.hrxt: "), "{error}");
}

#[test]
fn two_recorders_do_not_share_a_file() {
    let (_folder, path) = folder();
    let first = Recorder::create(&path, 4).unwrap();
    assert!(matches!(
        Recorder::create(&path, 4),
        Err(Error::Exists { .. })
    ));
    first.record(Instant::now(), Duration::ZERO, Event::new(0));
    assert_eq!(Trace::open(&path).unwrap().report().account.recovered, 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The recorder against the one-line model: the last `capacity` of what was recorded.
    #[test]
    fn the_last_capacity_events_remain(
        capacity in 1u64..20,
        recorded in prop::collection::vec((0usize..6, 0u64.., 0u64.., 0u32.., any::<bool>(), 0u32..1_000_000), 0..60),
    ) {
        let (_folder, path) = folder();
        let recorder = Options::new(capacity).populate(false).create(&path).unwrap();
        let epoch = Instant::now();
        for (lane, bytes, correlation, status, failed, ns) in &recorded {
            let event = Event::new(*lane)
                .copied_bytes(*bytes)
                .correlation_id(*correlation)
                .status(*status)
                .failed(*failed);
            recorder.record(epoch, Duration::from_nanos(u64::from(*ns)), event);
        }
        let trace = Trace::open(&path).unwrap();
        let read: Vec<_> = trace
            .events()
            .map(|e| (e.lane as usize, e.copied_bytes, e.correlation_id, e.status, e.failed, e.duration_ns as u32))
            .collect();
        let skip = recorded.len().saturating_sub(capacity as usize);
        prop_assert_eq!(&read, &recorded[skip..]);
        let account = trace.report().account;
        prop_assert!(account.balances());
        prop_assert_eq!(account.overwritten, skip as u64);
        prop_assert_eq!(account.claimed, recorded.len() as u64);
    }
}

/// Each writer's events are in its own ring. A writer too many records into the shared ring. A ring that is given back is taken again and keeps counting.
#[test]
fn writers_have_rings_of_their_own() {
    let (_folder, path) = folder();
    let recorder = Options::new(100).writers(2).create(&path).unwrap();
    let start = Instant::now();
    let record = |writer: &hrx_trace::Writer<&Recorder>, lane, count| {
        for _ in 0..count {
            writer.record(start, Duration::from_nanos(1), Event::new(lane));
        }
    };
    let (first, second, third) = (recorder.writer(), recorder.writer(), recorder.writer());
    let own = [&first, &second, &third].map(hrx_trace::Writer::has_own_ring);
    assert_eq!(own, [true, true, false]);
    record(&first, 11, 3);
    record(&second, 12, 150);
    record(&third, 13, 2);
    drop(first);
    let fourth = recorder.writer();
    assert!(fourth.has_own_ring());
    record(&fourth, 14, 4);
    let running = fourth.begin(Event::new(15));
    fourth.begin(Event::new(16)).finish();
    recorder.record(start, Duration::ZERO, Event::new(17));

    let trace = Trace::open(&path).unwrap();
    let rings_of = |lane: u32| {
        let events = trace.events().filter(|event| event.lane == lane);
        events.map(|event| event.ring).collect::<Vec<_>>()
    };
    assert_eq!(rings_of(11), [1; 3]);
    assert_eq!(rings_of(12), [2; 100]);
    assert_eq!(rings_of(13), [0; 2]);
    assert_eq!(rings_of(14), [1; 4]);
    assert_eq!(rings_of(16), [1]);
    assert_eq!(rings_of(17), [0]);
    let open: Vec<_> = trace
        .open_regions()
        .iter()
        .map(|region| region.lane)
        .collect();
    assert_eq!(open, [15]);
    let account = trace.account();
    assert_eq!(
        (account.claimed, account.overwritten, account.torn),
        (161, 50, 0)
    );
    running.finish();
}

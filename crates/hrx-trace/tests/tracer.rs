//! What a `Tracer` keeps mapped, and that it records wherever a thread is.

use std::cell::RefCell;
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use hrx_trace::{Error, Event, ExecutionTrace, Options, Recorder, Tracer};

/// Records a region on `lane` that begins now and takes one nanosecond.
fn record(tracer: &Tracer, lane: usize) {
    tracer.record(Instant::now(), Duration::from_nanos(1), lane, 0, false);
}

fn lanes(trace: &ExecutionTrace) -> Vec<usize> {
    trace.events.iter().map(|event| event.lane).collect()
}

/// Whether this process has `path` mapped.
fn is_mapped(path: &Path) -> bool {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    maps.contains(path.to_str().unwrap())
}

#[test]
fn a_capture_is_unmapped_once_no_thread_keeps_a_share_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let tracer = &Tracer::new();
    tracer.start_at(path("alone"), 4).unwrap();
    record(tracer, 1);
    assert!(is_mapped(&path("alone")));
    tracer.finish().unwrap();
    assert!(!is_mapped(&path("alone")));

    std::thread::scope(|scope| {
        let (go, turns) = mpsc::channel();
        let (done, dones) = mpsc::channel();
        let turn = || {
            go.send(()).unwrap();
            dones.recv().unwrap();
        };
        let other = scope.spawn(move || {
            for lane in turns.iter().enumerate().map(|(lane, ())| lane) {
                record(tracer, lane);
                done.send(()).unwrap();
            }
        });
        tracer.start_at(path("kept"), 4).unwrap();
        turn();
        assert_eq!(lanes(&tracer.finish().unwrap()), [0]);
        // The other thread might have been stopped in the middle of its `record`.
        assert!(is_mapped(&path("kept")));
        tracer.start_at(path("second"), 4).unwrap();
        assert!(is_mapped(&path("kept")));
        turn();
        // The other thread has given its share up, and has unmapped nothing itself.
        assert!(is_mapped(&path("kept")));
        assert_eq!(lanes(&tracer.finish().unwrap()), [1]);
        assert!(!is_mapped(&path("kept")));

        assert!(is_mapped(&path("second")));
        drop(go);
        other.join().unwrap();
        tracer.start_at(path("third"), 4).unwrap();
        assert!(!is_mapped(&path("second")));
    });
}

#[test]
fn a_recorder_that_the_caller_keeps_outlives_the_tracer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.hrxt");
    let tracer = Tracer::new();
    tracer.start_at(&path, 4).unwrap();
    let recorder = tracer.recorder().unwrap();
    record(&tracer, 1);
    tracer.finish().unwrap();
    drop(tracer);
    assert!(is_mapped(&path));
    assert_eq!(recorder.claimed(), 1);
    drop(recorder);
    assert!(!is_mapped(&path));
}

#[test]
fn two_tracers_in_one_thread_keep_their_captures_apart() {
    let folder = tempfile::tempdir().unwrap();
    let tracers = [Tracer::new(), Tracer::new()];
    for (index, tracer) in tracers.iter().enumerate() {
        tracer
            .start_at(folder.path().join(index.to_string()), 8)
            .unwrap();
    }
    for lane in 0..6 {
        record(&tracers[lane % 2], lane);
    }
    let traces = tracers.each_ref().map(|tracer| tracer.finish().unwrap());
    assert_eq!(traces.each_ref().map(lanes), [[0, 2, 4], [1, 3, 5]]);
}

/// A thread's destructors run in an order that no one chooses, and may run after the thread has given up what it kept.
#[test]
fn a_thread_that_is_ending_still_records() {
    static TRACER: Tracer = Tracer::new();
    struct RecordsWhenDropped(usize);
    impl Drop for RecordsWhenDropped {
        fn drop(&mut self) {
            record(&TRACER, self.0);
        }
    }
    thread_local! {
        static FIRST: RefCell<Option<RecordsWhenDropped>> = const { RefCell::new(None) };
        static LAST: RefCell<Option<RecordsWhenDropped>> = const { RefCell::new(None) };
    }
    let folder = tempfile::tempdir().unwrap();
    TRACER.start_at(folder.path().join("t.hrxt"), 8).unwrap();
    std::thread::spawn(|| {
        FIRST.set(Some(RecordsWhenDropped(1)));
        record(&TRACER, 2);
        LAST.set(Some(RecordsWhenDropped(3)));
    })
    .join()
    .unwrap();
    let mut found = lanes(&TRACER.finish().unwrap());
    found.sort_unstable();
    assert_eq!(found, [1, 2, 3]);
}

#[test]
fn a_region_keeps_the_capture_that_it_began_in() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let tracer = Tracer::new();
    // No capture runs.
    tracer.begin(Event::new(1)).finish();
    tracer.start_at(&path, 4).unwrap();
    let (first, late) = (tracer.begin(Event::new(1)), tracer.begin(Event::new(2)));
    std::thread::spawn(|| first.finish()).join().unwrap();
    assert_eq!(lanes(&tracer.finish().unwrap()), [1]);
    assert!(is_mapped(&path));
    // Its capture is over, and stays as it is.
    late.finish();
    tracer.start_at(folder.path().join("next"), 4).unwrap();
    assert!(!is_mapped(&path));
    assert_eq!(lanes(&tracer.finish().unwrap()), [0; 0]);
    assert_eq!(
        hrx_trace_reader::Trace::open(&path)
            .unwrap()
            .events()
            .count(),
        1
    );
}

#[test]
fn a_capture_by_a_recorder_with_options_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let create = |name: &str| {
        let options = Options::new(4).attribute("rank", "3");
        options.create(folder.path().join(name)).unwrap()
    };
    let tracer = Tracer::new();
    tracer.start_with(create("run")).unwrap();
    record(&tracer, 1);
    assert!(matches!(
        tracer.start_with(create("second")),
        Err(Error::Busy(_))
    ));
    record(&tracer, 2);
    assert_eq!(tracer.path(), Some(folder.path().join("run")));
    assert_eq!(lanes(&tracer.finish().unwrap()), [1, 2]);
    // One that records nothing.
    tracer.start_with(Recorder::disabled()).unwrap();
    record(&tracer, 3);
    assert_eq!(lanes(&tracer.finish().unwrap()), [0; 0]);
}

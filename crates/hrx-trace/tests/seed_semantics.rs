//! Every rule of the in-memory tracer's behaviour that the file keeps, one test each.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hrx_trace::{Error, ExecutionTrace, TraceEvent, Tracer};
use tempfile::TempDir;

/// A running capture of `capacity` events, and the folder of its file.
fn started(capacity: usize) -> (Tracer, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let tracer = Tracer::default();
    tracer
        .start_at(folder.path().join("t.hrxt"), capacity)
        .unwrap();
    (tracer, folder)
}

/// Records a region on `lane` that begins now and takes one nanosecond.
fn record(tracer: &Tracer, lane: usize) {
    tracer.record(Instant::now(), Duration::from_nanos(1), lane, 0, false);
}

fn lanes(trace: &ExecutionTrace) -> Vec<usize> {
    trace.events.iter().map(|event| event.lane).collect()
}

#[test]
fn capacity_zero_is_an_error_even_while_a_trace_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.hrxt");
    let tracer = Tracer::default();
    let refused = |tracer: &Tracer| {
        let error = tracer.start_at(&path, 0).unwrap_err();
        assert_eq!(error.to_string(), "trace capacity must be nonzero");
    };
    refused(&tracer);
    assert!(!path.exists());
    tracer.start_at(&path, 2).unwrap();
    refused(&tracer);
    assert_eq!(
        tracer.start(0).unwrap_err().to_string(),
        "trace capacity must be nonzero"
    );
}

#[test]
fn a_second_start_is_busy_and_leaves_the_first_untouched() {
    let (tracer, folder) = started(4);
    record(&tracer, 1);
    let second = folder.path().join("second.hrxt");
    let error = tracer.start_at(&second, 8).unwrap_err();
    assert!(
        matches!(error, Error::Busy("a trace is already running")),
        "{error:?}"
    );
    assert_eq!(error.to_string(), "a trace is already running");
    assert!(!second.exists());
    record(&tracer, 2);
    assert_eq!(lanes(&tracer.finish().unwrap()), [1, 2]);
}

#[test]
fn finish_when_idle_is_none() {
    let tracer = Tracer::default();
    assert_eq!(tracer.finish(), None);
    let (tracer, _folder) = started(4);
    assert!(tracer.finish().is_some());
    assert_eq!(tracer.finish(), None);
}

/// What `Tracer::default` could not: it is no constant.
#[test]
fn a_tracer_can_be_a_static() {
    static TRACER: Tracer = Tracer::new();
    let folder = tempfile::tempdir().unwrap();
    TRACER.start_at(folder.path().join("t.hrxt"), 2).unwrap();
    record(&TRACER, 3);
    assert_eq!(lanes(&TRACER.finish().unwrap()), [3]);
}

#[test]
fn after_a_finish_a_start_begins_afresh() {
    let (tracer, folder) = started(1);
    let before = Instant::now();
    for lane in 0..3 {
        record(&tracer, lane);
    }
    assert_eq!(tracer.finish().unwrap().dropped, 2);

    tracer
        .start_at(folder.path().join("again.hrxt"), 1)
        .unwrap();
    // The old events began before the new epoch.
    tracer.record(before, Duration::ZERO, 0, 0, false);
    record(&tracer, 3);
    let trace = tracer.finish().unwrap();
    assert_eq!((lanes(&trace), trace.dropped), (vec![3], 0));
}

#[test]
fn record_when_off_is_a_no_op() {
    let tracer = Tracer::default();
    record(&tracer, 0);
    let (tracer, _folder) = started(4);
    let recorder = tracer.recorder().unwrap();
    assert_eq!(tracer.finish().unwrap().events, []);
    record(&tracer, 0);
    // Nor does a recorder that was kept.
    recorder.record(Instant::now(), Duration::ZERO, hrx_trace::Event::new(0));
    assert_eq!(recorder.claimed(), 0);
}

#[test]
fn a_start_before_the_epoch_is_ignored_and_not_dropped() {
    let before = Instant::now();
    let (tracer, _folder) = started(1);
    tracer.record(before, Duration::from_secs(1), 0, 0, false);
    let trace = tracer.finish().unwrap();
    assert_eq!((trace.events.len(), trace.dropped), (0, 0));
}

#[test]
fn full_drops_the_oldest_and_exactly_the_last_capacity_events_remain() {
    for capacity in [1, 2, 3, 7] {
        let (tracer, _folder) = started(capacity);
        for count in 0..20 {
            record(&tracer, count);
        }
        let trace = tracer.finish().unwrap();
        assert_eq!(trace.dropped, 20 - capacity as u64);
        assert_eq!(lanes(&trace), (20 - capacity..20).collect::<Vec<_>>());
    }
}

#[test]
fn events_are_in_completion_order_not_sorted() {
    let (tracer, _folder) = started(4);
    let early = Instant::now();
    let late = early + Duration::from_millis(5);
    tracer.record(late, Duration::from_nanos(1), 0, 0, false);
    tracer.record(early, Duration::from_millis(20), 1, 0, false);
    let trace = tracer.finish().unwrap();
    assert_eq!(lanes(&trace), [0, 1]);
    assert!(trace.events[0].start_us > trace.events[1].start_us);
}

#[test]
fn values_come_back_by_the_same_expression() {
    let (tracer, _folder) = started(4);
    let start = Instant::now();
    let elapsed = Duration::from_nanos(1_234_567_891);
    tracer.record(start, elapsed, 2, 4096, true);
    tracer.record(
        start + Duration::from_nanos(1001),
        Duration::ZERO,
        0,
        usize::MAX,
        false,
    );
    let trace = tracer.finish().unwrap();
    assert_eq!(trace.events[0].duration_us, elapsed.as_secs_f64() * 1e6);
    assert_eq!(
        (trace.events[0].copied_bytes, trace.events[0].failed),
        (4096, true)
    );
    assert_eq!(
        (trace.events[1].copied_bytes, trace.events[1].failed),
        (usize::MAX, false)
    );
    let apart = trace.events[1].start_us - trace.events[0].start_us;
    assert!((apart - 1.001).abs() < 1e-6, "{apart}");
}

#[test]
fn any_lane_passes() {
    let (tracer, _folder) = started(4);
    let last = (1 << 31) - 1;
    for lane in [4, 1000, last, usize::MAX] {
        record(&tracer, lane);
    }
    // The file has 31 bits for a lane that the program chooses: a larger one saturates, and the event is marked as saturated.
    let path = tracer.path().unwrap();
    assert_eq!(lanes(&tracer.finish().unwrap()), [4, 1000, last, last]);
    let saturated: Vec<bool> = hrx_trace_reader::Trace::open(path)
        .unwrap()
        .events()
        .map(|event| event.saturated)
        .collect();
    assert_eq!(saturated, [false, false, false, true]);
}

#[test]
fn a_poisoned_lock_is_tolerated() {
    let (tracer, folder) = started(4);
    // The one thing of the caller's that `start_at` runs under its lock is the conversion of the path. Here it panics.
    struct Panics;
    impl AsRef<std::path::Path> for Panics {
        fn as_ref(&self) -> &std::path::Path {
            panic!("poison")
        }
    }
    assert!(tracer.finish().is_some());
    let poisoned =
        std::thread::scope(|scope| scope.spawn(|| tracer.start_at(Panics, 1)).join().is_err());
    assert!(poisoned);
    assert_eq!(tracer.path(), Some(folder.path().join("t.hrxt")));
    tracer
        .start_at(folder.path().join("later.hrxt"), 1)
        .unwrap();
    record(&tracer, 3);
    assert_eq!(lanes(&tracer.finish().unwrap()), [3]);
}

#[test]
fn the_types_serialize_as_they_did() {
    let trace = ExecutionTrace {
        events: vec![TraceEvent {
            start_us: 1.5,
            duration_us: 0.25,
            lane: 3,
            copied_bytes: 64,
            failed: true,
        }],
        dropped: 2,
    };
    assert_eq!(
        serde_json::to_string(&trace).unwrap(),
        r#"{"events":[{"start_us":1.5,"duration_us":0.25,"lane":3,"copied_bytes":64,"failed":true}],"dropped":2}"#
    );
    let document = concat!(
        r#"{"displayTimeUnit":"ms","dropped_events":2,"#,
        r#""measurement":"host-observed synchronized region latency; not device timestamps","#,
        r#""traceEvents":[{"args":{"copied_bytes":64,"failed":true},"cat":"hrx.host","dur":0.25,"#,
        r#""name":"native region (host-observed)","ph":"X","pid":0,"tid":3,"ts":1.5}]}"#
    );
    assert_eq!(trace.to_json().unwrap(), document);
}

#[test]
fn a_finish_that_races_with_record_is_harmless() {
    let folder = tempfile::tempdir().unwrap();
    let tracer = &Tracer::default();
    let stop = &std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for lane in 0..3 {
            scope.spawn(move || {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    record(tracer, lane);
                }
            });
        }
        for round in 0..200 {
            tracer
                .start_at(folder.path().join(format!("{round}.hrxt")), 16)
                .unwrap();
            std::thread::sleep(Duration::from_micros(50));
            let trace = tracer.finish().unwrap();
            assert!(trace.events.len() <= 16);
            assert!(trace.events.iter().all(|event| event.lane < 3));
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

/// Environment variables belong to the whole process, so this one test does all of it in children.
#[test]
fn the_environment_chooses_the_file() {
    const CHILD: &str = "HRX_TEST_CHILD";
    if std::env::var_os(CHILD).is_some() {
        let tracer = Tracer::default();
        assert_eq!(tracer.path(), None);
        match tracer.start(4) {
            Ok(()) => println!(
                "path={} id={}",
                tracer.path().unwrap().display(),
                std::process::id()
            ),
            Err(error) => println!("error={error}"),
        }
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let child = |variables: &[(&str, PathBuf)]| {
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "the_environment_chooses_the_file", "--nocapture"])
            .env_remove("HRX_TRACE_FILE")
            .env_remove("HRX_TRACE_DIR")
            .env_remove("HRX_TRACE_KEEP")
            .env_remove("XDG_RUNTIME_DIR")
            .env("TMPDIR", folder.path())
            .env(CHILD, "1")
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .output()
            .unwrap();
        let output = String::from_utf8(output.stdout).unwrap();
        let line = output
            .lines()
            .find_map(|line| {
                line.find("path=")
                    .or(line.find("error="))
                    .map(|at| &line[at..])
            })
            .unwrap_or_else(|| panic!("{output}"));
        line.to_owned()
    };
    let file = folder.path().join("named.hrxt");
    let named = child(&[("HRX_TRACE_FILE", file.clone())]);
    assert!(
        named.starts_with(&format!("path={} id=", file.display())),
        "{named}"
    );
    let again = child(&[("HRX_TRACE_FILE", file)]);
    assert!(
        again.contains("exists already, and a trace is never overwritten"),
        "{again}"
    );

    let program = std::env::current_exe().unwrap();
    let program = program.file_name().unwrap().to_str().unwrap();
    let is_in = |said: &str, folder: &Path| {
        let (_, id) = said.rsplit_once(" id=").unwrap();
        let path = folder.join(format!("{program}.{id}.0.hrxt"));
        assert_eq!(said, format!("path={} id={id}", path.display()));
    };
    for (variable, name) in [("HRX_TRACE_DIR", "traces"), ("XDG_RUNTIME_DIR", "runtime")] {
        let inside = folder.path().join(name);
        std::fs::create_dir(&inside).unwrap();
        let paths = [0, 1].map(|_| child(&[(variable, inside.clone())]));
        assert_ne!(paths[0], paths[1]);
        for path in &paths {
            is_in(path, &inside);
        }
    }
    is_in(&child(&[]), folder.path());
}

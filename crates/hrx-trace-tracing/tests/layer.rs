//! Proves: spans and events become what the README says, at once, and whatever the program does with them.
//!
//! How: programs' own macros under a subscriber with the layer; then the file is read, most of the time while the program still runs. Each region is compared as
//! one line of text.

use std::cell::RefCell;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

use hrx_trace::{Options, Recorder};
use hrx_trace_reader::{ArgumentValue, Ending, Event, Kind, OpenRegion, Trace};
use hrx_trace_tests::seeds;
use hrx_trace_tracing::{RecorderLayer, layer};
use tempfile::TempDir;
use tracing::{Dispatch, Level, error, info, info_span, trace_span, warn};
use tracing_subscriber::prelude::*;
use tracing_subscriber::{EnvFilter, reload};

/// A capture, and what is in it.
struct Capture {
    recorder: Arc<Recorder>,
    path: PathBuf,
    _folder: TempDir,
}

impl Capture {
    fn new(options: Options) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("run.hrxt");
        Self {
            recorder: Arc::new(options.create(&path).expect("a capture")),
            path,
            _folder: folder,
        }
    }

    fn layer(&self) -> RecorderLayer {
        layer(Arc::clone(&self.recorder))
    }

    fn trace(&self) -> Trace {
        Trace::open(&self.path).expect("the header is intact")
    }

    /// What is completed, marks included, in the order of completion.
    fn completed(&self) -> Vec<String> {
        let trace = self.trace();
        let of = |event: Event| {
            let mut text = match event.kind {
                Kind::Mark => "mark ".to_owned(),
                _ => String::new(),
            };
            text += &describe(&trace, event.lane, event.label_id, &event.arguments);
            for (number, what) in [
                (event.correlation_id, "correlation"),
                (event.copied_bytes, "bytes"),
                (event.status.into(), "status"),
            ] {
                if number != 0 {
                    write!(text, " {what} {number}").expect("a string");
                }
            }
            if event.failed {
                text += " failed";
            }
            text
        };
        trace.events().map(of).collect()
    }

    /// What runs, in the order of its beginning, and what waits, in any order.
    fn open(&self) -> [Vec<String>; 2] {
        let trace = self.trace();
        let mut regions = trace.report().open_regions;
        regions.sort_by_key(|region| region.start_ns);
        let of =
            |region: &OpenRegion| describe(&trace, region.lane, region.label_id, &region.arguments);
        let (waiting, running): (Vec<_>, Vec<_>) = regions.iter().partition(|open| open.waiting);
        let mut waiting: Vec<String> = waiting.into_iter().map(of).collect();
        waiting.sort();
        [running.into_iter().map(of).collect(), waiting]
    }
}

fn describe(
    trace: &Trace,
    lane: u32,
    label_id: u32,
    arguments: &[hrx_trace_reader::Argument],
) -> String {
    let lane = match trace.names().lane(lane) {
        Some(name) => name.text.clone(),
        None => format!("lane {lane}"),
    };
    let mut text = format!("{lane}: {}", trace.name(label_id));
    for argument in arguments {
        let key = trace.key(argument.key).into_text(argument.key);
        match &argument.value {
            ArgumentValue::Text(value) => write!(text, " {key}={value:?}"),
            ArgumentValue::U64(value) => write!(text, " {key}={value}"),
            ArgumentValue::I64(value) => write!(text, " {key}={value}"),
            ArgumentValue::F64(value) => write!(text, " {key}={value}"),
            ArgumentValue::Bool(value) => write!(text, " {key}={value}"),
            other => panic!("{other:?}"),
        }
        .expect("a string");
        if argument.cut {
            text += "…";
        }
    }
    text
}

/// Runs `program` on a thread named "worker", under `subscriber`.
fn on_worker(subscriber: impl Into<Dispatch>, program: impl FnOnce() + Send + 'static) {
    on_thread("worker", subscriber, program);
}

fn on_thread(name: &str, subscriber: impl Into<Dispatch>, program: impl FnOnce() + Send + 'static) {
    let dispatch = subscriber.into();
    let thread = std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || tracing::dispatcher::with_default(&dispatch, program))
        .expect("a thread");
    thread.join().expect("it ends well");
}

#[test]
fn a_span_is_a_region_each_time_it_is_entered() {
    let capture = Arc::new(Capture::new(Options::new(1_000)));
    let inside = Arc::clone(&capture);
    on_worker(
        tracing_subscriber::registry().with(capture.layer()),
        move || {
            let request = info_span!("request", method = "GET", size = 7_u32);
            let waiting = vec!["waiting: request method=\"GET\" size=7".to_owned()];
            let running = vec!["worker: request method=\"GET\" size=7".to_owned()];
            assert_eq!(inside.open(), [vec![], waiting.clone()]);
            for _ in 0..2 {
                request.in_scope(|| {
                    assert_eq!(inside.open(), [running.clone(), vec![]]);
                    info_span!("query", rows = -3_i64, share = 0.5, cached = true).in_scope(|| {
                        let query = "worker: query rows=-3 share=0.5 cached=true".to_owned();
                        assert_eq!(inside.open(), [vec![running[0].clone(), query], vec![]]);
                    });
                });
                assert_eq!(inside.open(), [vec![], waiting.clone()]);
            }
            drop(request);
            assert_eq!(inside.open(), [const { Vec::<String>::new() }; 2]);
        },
    );
    let once = [
        "worker: query rows=-3 share=0.5 cached=true",
        "worker: request method=\"GET\" size=7",
    ];
    assert_eq!(capture.completed(), once.repeat(2));
    // The inner one lies within the outer one.
    let events: Vec<Event> = capture.trace().events().collect();
    for pair in events.chunks(2) {
        assert!(pair[1].start_ns <= pair[0].start_ns && pair[0].end_ns() <= pair[1].end_ns());
    }
    let trace = capture.trace();
    let hrx_trace_reader::Name::Known { group, .. } = trace.label(events[0].label_id) else {
        panic!("a label");
    };
    assert_eq!(trace.group(group).into_text(group), module_path!());
}

#[test]
fn some_fields_have_a_meaning() {
    let capture = Capture::new(Options::new(1_000));
    on_worker(tracing_subscriber::registry().with(capture.layer()), || {
        info_span!(
            "a",
            lane = 1,
            correlation_id = 7,
            copied_bytes = 4096_u64,
            status = 5
        )
        .in_scope(|| ());
        info_span!("b", lane = "GPU 0", correlation_id = "seven", status = -5).in_scope(|| ());
        let c = info_span!(
            "c",
            err = tracing::field::Empty,
            status = tracing::field::Empty
        );
        c.in_scope(|| ());
        c.in_scope(|| {
            c.record("err", "no memory");
            c.record("status", 3);
        });
        c.in_scope(|| ());
        let d = info_span!("d");
        d.in_scope(|| error!(error = "broken", status = 500));
        d.in_scope(|| warn!(error = false));
    });
    let completed = capture.completed();
    let (marks, regions): (Vec<_>, Vec<_>) =
        completed.iter().partition(|text| text.starts_with("mark"));
    assert_eq!(
        regions,
        [
            "lane 1: a correlation 7 bytes 4096 status 5",
            "GPU 0: b correlation_id=\"seven\" status=-5",
            "worker: c",
            "worker: c err=\"no memory\" status 3 failed",
            "worker: c err=\"no memory\" status 3",
            "worker: d failed",
            "worker: d",
        ]
    );
    assert_eq!(marks.len(), 2);
    assert!(
        marks[0].ends_with("level=\"ERROR\" error=\"broken\" status=500"),
        "{}",
        marks[0]
    );
    assert!(
        marks[1].ends_with("level=\"WARN\" error=false"),
        "{}",
        marks[1]
    );
}

#[test]
fn what_is_recorded_later_is_shown_at_once() {
    let capture = Arc::new(Capture::new(Options::new(1_000)));
    let inside = Arc::clone(&capture);
    on_worker(
        tracing_subscriber::registry().with(capture.layer()),
        move || {
            let span = info_span!("s", a = 1_u64, b = tracing::field::Empty);
            span.record("b", "waiting");
            assert_eq!(inside.open()[1], ["waiting: s a=1 b=\"waiting\""]);
            let entered = span.enter();
            span.record("b", "running");
            assert_eq!(
                inside.open()[0],
                ["worker: s a=1 b=\"waiting\" b=\"running\""]
            );
            drop(entered);
            // The later value takes the place of the earlier one.
            assert_eq!(inside.open()[1], ["waiting: s a=1 b=\"running\""]);
        },
    );
}

#[test]
fn events_are_marks_with_message_and_level() {
    let capture = Capture::new(Options::new(1_000));
    on_worker(tracing_subscriber::registry().with(capture.layer()), || {
        info!(name: "started", "listening on {}", 8080);
        info_span!("s").in_scope(|| warn!(name: "slow", took = 1.5, correlation_id = 4, "late"));
        tracing::debug!("place");
    });
    let completed = capture.completed();
    assert_eq!(
        completed[..3],
        [
            "mark worker: started level=\"INFO\" message=\"listening on 8080\"",
            "mark worker: slow level=\"WARN\" message=\"late\" took=1.5 correlation 4",
            "worker: s",
        ]
    );
    assert!(completed[3].contains("tests/layer.rs:"), "{}", completed[3]);
    assert!(completed[3].ends_with(" level=\"DEBUG\" message=\"place\""));
}

#[test]
fn a_panic_marks_a_failure() {
    let capture = Capture::new(Options::new(1_000));
    on_worker(tracing_subscriber::registry().with(capture.layer()), || {
        let span = info_span!("s");
        let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            span.in_scope(|| std::panic::resume_unwind(Box::new(())));
        }));
        assert!(unwound.is_err());
        span.in_scope(|| ());
    });
    assert_eq!(capture.completed(), ["worker: s failed", "worker: s"]);
}

#[test]
fn filters_are_per_layer_and_can_change() {
    let capture = Capture::new(Options::new(1_000));
    let (filter, handle) = reload::Layer::new(EnvFilter::new("layer=info,other=off"));
    let subscriber = tracing_subscriber::registry()
        .with(capture.layer().with_filter(filter))
        .with(tracing_subscriber::filter::LevelFilter::TRACE);
    on_worker(subscriber, move || {
        let program = || {
            info_span!("wanted")
                .in_scope(|| trace_span!("fine").in_scope(|| info!(name: "e", "m")));
            info_span!(target: "other", "another").in_scope(|| ());
        };
        program();
        // A span that lives while the filter changes.
        let living = info_span!("living");
        let entered = living.enter();
        handle
            .reload(EnvFilter::new("layer=trace"))
            .expect("it lives");
        program();
        drop(entered);
        living.in_scope(|| ());
    });
    let mark = "mark worker: e level=\"INFO\" message=\"m\"";
    let [wanted, fine, living] = ["worker: wanted", "worker: fine", "worker: living"];
    assert_eq!(
        capture.completed(),
        [mark, wanted, mark, fine, wanted, living, living]
    );
}

#[test]
fn values_can_be_left_out() {
    struct Secret;
    impl std::fmt::Debug for Secret {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            panic!("it is not asked for");
        }
    }
    let capture = Arc::new(Capture::new(Options::new(1_000)));
    let inside = Arc::clone(&capture);
    let layer = capture.layer().without_values();
    on_worker(tracing_subscriber::registry().with(layer), move || {
        let span = info_span!("s", path = "/home/ann", sql = ?Secret, lane = "ann", status = 4);
        assert_eq!(inside.open()[1], ["waiting: s"]);
        span.in_scope(|| error!(name: "e", err = ?Secret, "SELECT {}", "ann"));
    });
    assert_eq!(
        capture.completed(),
        [
            "mark worker: e level=\"ERROR\"",
            "worker: s status 4 failed"
        ]
    );
    let bytes = std::fs::read(&capture.path).expect("a file");
    assert!(!bytes.windows(3).any(|window| window == b"ann"));
}

#[test]
fn long_and_many_fields_are_cut_and_counted() {
    let capture = Capture::new(Options::new(1_000));
    on_worker(tracing_subscriber::registry().with(capture.layer()), || {
        let long = "ä".repeat(1_000);
        let long = long.as_str();
        info_span!("s", a = long, b = ?long, c = long, d = long, e = long, f = long, g = 1)
            .in_scope(|| ());
    });
    let completed = capture.completed();
    assert_eq!(completed.len(), 1);
    let region = &completed[0];
    assert_eq!(region.matches('…').count(), 5, "{region}");
    assert!(
        region.contains("g=1") && region.ends_with("fields left out=1"),
        "{region}"
    );
}

#[test]
fn a_whole_span_is_one_region_on_the_lane_of_its_target() {
    let capture = Arc::new(Capture::new(Options::new(1_000)));
    let inside = Arc::clone(&capture);
    let layer = capture.layer().whole_spans();
    on_worker(tracing_subscriber::registry().with(layer), move || {
        let span = info_span!(target: "http", "request", path = "/");
        let text = "http: request path=\"/\"".to_owned();
        assert_eq!(inside.open(), [vec![], vec![text.clone()]]);
        for _ in 0..3 {
            span.in_scope(|| assert_eq!(inside.open(), [vec![text.clone()], vec![]]));
        }
        span.in_scope(|| span.in_scope(|| ()));
        assert_eq!(inside.open(), [vec![], vec![text]]);
        info!(name: "e", target: "http", "m");
    });
    let mark = "mark http: e level=\"INFO\" message=\"m\"";
    assert_eq!(capture.completed(), [mark, "http: request path=\"/\""]);
}

#[test]
fn several_threads_in_one_span_have_a_region_each() {
    let capture = Arc::new(Capture::new(Options::new(1_000)));
    let dispatch: Dispatch = tracing_subscriber::registry().with(capture.layer()).into();
    let span = tracing::dispatcher::with_default(&dispatch, || info_span!("s", a = 1_u64));
    let all = std::sync::Barrier::new(5);
    let [[mut first, first_waiting], [second, _]] = std::thread::scope(|scope| {
        for number in 0..4 {
            let name = if number == 0 { "named" } else { "pool" }.to_owned();
            let worker = std::thread::Builder::new().name(name);
            let work = || {
                let entered = span.enter();
                // A second time: no region of its own.
                let again = span.enter();
                all.wait();
                all.wait();
                drop(again);
                drop(entered);
            };
            worker.spawn_scoped(scope, work).expect("a thread");
        }
        all.wait();
        let first = capture.open();
        span.record("a", 2_u64);
        let second = capture.open();
        all.wait();
        [first, second]
    });
    first.sort();
    let lanes = ["named", "pool", "pool 2", "pool 3"];
    let mut lanes = lanes.map(|lane| format!("{lane}: s a=1"));
    lanes.sort();
    assert_eq!(first, lanes);
    assert_eq!(first_waiting, [""; 0]);
    assert_eq!(second.len(), 4);
    assert!(
        second.iter().all(|text| text.ends_with("a=1 a=2")),
        "{second:?}"
    );
    assert_eq!(capture.open(), [vec![], vec!["waiting: s a=2".to_owned()]]);
    assert_eq!(capture.completed().len(), 4);
    // A lane is free again when its thread has ended.
    on_thread("pool", dispatch, || info_span!("t").in_scope(|| ()));
    let last = capture.completed().pop().expect("a region");
    assert!(last.starts_with("pool") && !last.contains('4'), "{last}");
}

#[test]
fn spans_without_room_are_counted() {
    let capture = Arc::new(Capture::new(Options::new(1_000)));
    let layer = capture.layer().spans(2);
    on_worker(tracing_subscriber::registry().with(layer), || {
        let spans: Vec<_> = (0..6).map(|_| info_span!("s")).collect();
        for span in &spans {
            span.in_scope(|| span.record("a", 1));
        }
    });
    let counted = |spans| format!("mark waiting: spans not recorded spans={spans}");
    let expected = [counted(1), counted(2), counted(4)];
    let [one, two, four] = &expected;
    assert_eq!(
        capture.completed(),
        [one, two, four, "worker: s", "worker: s"]
    );
}

/// A subscriber's own calls, in any order, from several threads.
#[test]
fn nothing_panics_and_nothing_stays() {
    let mut random = seeds::rng("nothing_panics_and_nothing_stays");
    for whole in [false, true].repeat(10) {
        let capture = Capture::new(Options::new(4_096).open_regions(random.u32(0..64)));
        let layer = capture.layer().spans(random.u32(1..64));
        let layer = if whole { layer.whole_spans() } else { layer };
        let dispatch: Dispatch = tracing_subscriber::registry().with(layer).into();
        let shared: std::sync::Mutex<Vec<tracing::Span>> = std::sync::Mutex::default();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                let (dispatch, shared) = (dispatch.clone(), &shared);
                let mut random = random.fork();
                scope.spawn(move || {
                    let _default = tracing::dispatcher::set_default(&dispatch);
                    for _ in 0..2_000 {
                        let mut spans = shared.lock().expect("no panic");
                        let span = match spans.len() {
                            0 => None,
                            count => Some(spans[random.usize(0..count)].clone()),
                        };
                        let span = match (random.u8(0..8), span) {
                            (0 | 1, _) | (_, None) => {
                                let later = tracing::field::Empty;
                                // Its parent would be one that was entered and may be closed, which the registry does not allow.
                                let span =
                                    info_span!(parent: None, "s", a = random.u64(..), err = later);
                                spans.push(span.clone());
                                span
                            }
                            (2 | 3, Some(_)) => {
                                let place = random.usize(0..spans.len());
                                spans.swap_remove(place)
                            }
                            (_, Some(span)) => span,
                        };
                        drop(spans);
                        let id = span.id().expect("it is enabled");
                        match random.u8(0..6) {
                            0 | 1 => dispatch.enter(&id),
                            2 | 3 => dispatch.exit(&id),
                            4 => drop(span.record("err", random.bool())),
                            _ => span.in_scope(|| error!(error = "e", "{}", random.u8(..))),
                        }
                    }
                });
            }
        });
        tracing::dispatcher::with_default(&dispatch, || shared.lock().expect("no panic").clear());
        drop(dispatch);
        let report = capture.trace().report();
        let account = &report.account;
        assert_eq!(account.claimed, account.recovered + account.overwritten);
        assert_eq!(report.hidden_now, 0);
        assert_eq!(report.open_regions, []);
    }
}

/// The registry itself panics where a span is created or entered by a thread whose registry values are gone, so only events come then.
#[test]
fn a_thread_s_destructors_may_use_spans() {
    struct Last(Dispatch, Option<tracing::Span>);
    impl Drop for Last {
        fn drop(&mut self) {
            tracing::dispatcher::with_default(&self.0, || {
                info!(name: "e", "m");
                if let Some(span) = self.1.take() {
                    span.in_scope(|| ());
                }
            });
        }
    }
    thread_local! {
        static FIRST: RefCell<Option<Last>> = const { RefCell::new(None) };
        static SECOND: RefCell<Option<Last>> = const { RefCell::new(None) };
    }
    for uses_before in [false, true] {
        let capture = Capture::new(Options::new(1_000));
        let dispatch: Dispatch = tracing_subscriber::registry().with(capture.layer()).into();
        let last = tracing::dispatcher::with_default(&dispatch, || info_span!("last"));
        let one = Last(dispatch.clone(), None);
        let two = Last(dispatch.clone(), uses_before.then_some(last));
        on_worker(dispatch, move || {
            FIRST.with(|first| *first.borrow_mut() = Some(one));
            if uses_before {
                info_span!("before").in_scope(|| ());
            }
            SECOND.with(|second| *second.borrow_mut() = Some(two));
        });
        let completed = capture.completed();
        let marks = completed.iter().filter(|text| text.starts_with("mark"));
        assert_eq!(marks.count(), 2, "{completed:?}");
        let has_last = completed.contains(&"worker: last".to_owned());
        assert_eq!(has_last, uses_before, "{completed:?}");
        assert_eq!(capture.open(), [const { Vec::<String>::new() }; 2]);
    }
}

#[test]
fn after_the_end_nothing_is_recorded() {
    let capture = Capture::new(Options::new(1_000));
    let recorder = Arc::clone(&capture.recorder);
    on_worker(
        tracing_subscriber::registry().with(capture.layer()),
        move || {
            let span = info_span!("s");
            let entered = span.enter();
            recorder.finish();
            info!("late");
            drop(entered);
            span.in_scope(|| ());
            drop(span);
            info_span!("t").in_scope(|| ());
        },
    );
    assert_eq!(capture.completed(), [""; 0]);
    assert_eq!(capture.trace().ending(), Ending::Finished);
    on_worker(
        tracing_subscriber::registry().with(layer(Arc::new(Recorder::disabled()))),
        || info_span!("s").in_scope(|| info!("m")),
    );
}

#[test]
fn a_layer_that_goes_before_its_spans_leaves_no_waiting_ones() {
    let capture = Capture::new(Options::new(1_000));
    let (layer, handle) = reload::Layer::new(Some(capture.layer()));
    let subscriber = tracing_subscriber::registry().with(layer);
    on_worker(subscriber, move || {
        let [running, waiting] = [info_span!("running"), info_span!("waiting")];
        let entered = running.enter();
        handle.reload(None).expect("it lives");
        drop(entered);
        assert!(
            waiting
                .metadata()
                .is_some_and(|span| *span.level() == Level::INFO)
        );
    });
    assert_eq!(capture.completed(), ["worker: running failed"]);
    assert_eq!(capture.open(), [const { Vec::<String>::new() }; 2]);
}

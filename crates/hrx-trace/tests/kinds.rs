//! Marks, values, arguments, amendments, and how regions end, through the recorder's public interface, checked with the reader.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use hrx_trace::{Event, Key, Options, Recorder, Value, lane};
use hrx_trace_reader::{ArgumentValue, Kind, OpenRegion, Report, Trace};
use tempfile::TempDir;

type Read = hrx_trace_reader::Event;

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.hrxt");
    (folder, path)
}

fn events(path: &PathBuf) -> Vec<Read> {
    Trace::open(path).unwrap().events().collect()
}

/// What the file says, whose account is checked.
fn report(path: &PathBuf) -> Report {
    let report = Trace::open(path).unwrap().report();
    assert!(report.account.balances(), "{:?}", report.account);
    assert_eq!((report.open_torn, &report.damages), (0, &Vec::new()));
    report
}

/// The only region that runs.
fn running(path: &PathBuf) -> OpenRegion {
    let [region] = report(path).open_regions.try_into().unwrap();
    region
}

fn text(text: &str) -> ArgumentValue {
    ArgumentValue::Text(text.to_owned())
}

#[test]
fn marks_and_values_are_read_back_whole() {
    let (_folder, path) = folder();
    let recorder = Options::new(16).writers(1).create(&path).unwrap();
    let (full, depth) = (recorder.label("queue full"), recorder.label("queue depth"));
    let before = recorder.now();
    recorder.mark(
        Event::new(lane::HOST)
            .label(full)
            .correlation_id(7)
            .copied_bytes(1)
            .status(2)
            .failed(true),
    );
    recorder.value(depth, 17.5);
    recorder.value_with(Event::new(9).label(depth).correlation_id(8), -0.0, &[]);
    recorder.mark(Event::new(usize::MAX));
    recorder.record_between(before, recorder.now(), Event::new(0));
    let writer = recorder.writer();
    writer.mark(Event::new(lane::NPU).label(full));
    writer.value(depth, f64::INFINITY);
    writer.value_with(Event::new(0).correlation_id(9), 1.0, &[]);

    let found = events(&path);
    let kinds: Vec<_> = found.iter().map(|event| (event.ring, event.kind)).collect();
    assert_eq!(
        kinds,
        [
            (0, Kind::Mark),
            (0, Kind::Value),
            (0, Kind::Value),
            (0, Kind::Mark),
            (0, Kind::Region),
            (1, Kind::Mark),
            (1, Kind::Value),
            (1, Kind::Value)
        ]
    );
    let [
        mark,
        value,
        zero,
        saturated,
        region,
        own_mark,
        own_value,
        own_correlated,
    ] = found.try_into().unwrap();
    let trace = Trace::open(&path).unwrap();
    assert_eq!(trace.name(mark.label_id), "queue full");
    assert_eq!((mark.lane, mark.correlation_id), (4, 7));
    // Nothing that only a region has.
    assert_eq!((mark.copied_bytes, mark.status, mark.failed), (0, 0, false));
    assert!(mark.arguments.is_empty() && mark.arguments_lost == 0);
    assert_eq!(trace.name(value.label_id), "queue depth");
    assert_eq!((value.value, value.correlation_id), (17.5, 0));
    assert_eq!(zero.value.to_bits(), (-0.0_f64).to_bits());
    assert_eq!((zero.correlation_id, zero.lane), (8, 0));
    assert_eq!((saturated.lane, saturated.saturated), ((1 << 31) - 1, true));
    assert_eq!((own_mark.lane, own_mark.thread_id), (3, mark.thread_id));
    assert_eq!(own_value.value, f64::INFINITY);
    assert_eq!(own_correlated.correlation_id, 9);
    let moments = [
        region.start_ns,
        mark.start_ns,
        value.start_ns,
        zero.start_ns,
        saturated.start_ns,
        region.end_ns(),
        own_mark.start_ns,
    ];
    assert!(moments.is_sorted(), "{moments:?}");
    let account = report(&path).account;
    assert_eq!((account.regions, account.marks, account.values), (1, 3, 4));
}

/// Every type of argument, and texts at the limits of a record and of an argument.
fn check_arguments(give: impl Fn(&[(Key, Value<'_>)]) -> Read) {
    let long = "x".repeat(256);
    let longer = format!("{long}y");
    // The 255th to 258th byte are one character.
    let cut_character = format!("{}\u{1F980}", "x".repeat(254));
    let record = "abcdefghijklmnopqrstuvwxyz";
    let two_records = format!("{record}!");
    let given = [
        Value::from(u64::MAX),
        Value::from(3_u32),
        Value::from(4_usize),
        Value::from(i64::MIN),
        Value::from(-5),
        Value::from(0.1),
        Value::from(true),
        Value::from(false),
        Value::from(""),
        Value::from(record),
        Value::from(&*two_records),
        Value::from(&*long),
        Value::from(&*longer),
        Value::from(&*cut_character),
    ];
    let expected = [
        (ArgumentValue::U64(u64::MAX), false),
        (ArgumentValue::U64(3), false),
        (ArgumentValue::U64(4), false),
        (ArgumentValue::I64(i64::MIN), false),
        (ArgumentValue::I64(-5), false),
        (ArgumentValue::F64(0.1), false),
        (ArgumentValue::Bool(true), false),
        (ArgumentValue::Bool(false), false),
        (text(""), false),
        (text(record), false),
        (text(&two_records), false),
        (text(&long), false),
        (text(&long), true),
        (text(&"x".repeat(254)), true),
    ];
    let event = give(&given.map(|value| (Key::NONE, value)));
    let found = event.arguments.iter().map(|argument| {
        assert!(!argument.incomplete && argument.key == 0);
        (argument.value.clone(), argument.cut)
    });
    assert!(found.eq(expected), "{:?}", event.arguments);
    assert_eq!(event.arguments_lost, 0);
}

#[test]
fn arguments_of_every_type_are_read_back() {
    let (_folder, path) = folder();
    let recorder = Options::new(100).writers(1).create(&path).unwrap();
    let writer = recorder.writer();
    let event = Event::new(lane::COMPUTE).correlation_id(5);
    let last = |kind, ring| {
        let mut found = events(&path).into_iter().filter(|event| event.ring == ring);
        let last = found.next_back().unwrap();
        assert_eq!((last.kind, last.correlation_id), (kind, 5));
        last
    };
    let nanosecond = Duration::from_nanos(1);
    check_arguments(|arguments| {
        recorder.mark_with(event, arguments);
        last(Kind::Mark, 0)
    });
    check_arguments(|arguments| {
        recorder.value_with(event, 2.0, arguments);
        last(Kind::Value, 0)
    });
    check_arguments(|arguments| {
        recorder.record_with(Instant::now(), nanosecond, event, arguments);
        last(Kind::Region, 0)
    });
    check_arguments(|arguments| {
        recorder.record_between_with(recorder.now(), recorder.now(), event, arguments);
        last(Kind::Region, 0)
    });
    check_arguments(|arguments| {
        let mut region = recorder.begin(event);
        for (key, value) in arguments {
            region.argument(*key, *value);
        }
        let shown = running(&path);
        region.finish();
        let last = last(Kind::Region, 0);
        assert_eq!(shown.arguments, last.arguments);
        last
    });
    check_arguments(|arguments| {
        writer.mark_with(event, arguments);
        last(Kind::Mark, 1)
    });
    check_arguments(|arguments| {
        writer.value_with(event, 2.0, arguments);
        last(Kind::Value, 1)
    });
    check_arguments(|arguments| {
        writer.record_with(Instant::now(), nanosecond, event, arguments);
        last(Kind::Region, 1)
    });
    check_arguments(|arguments| {
        writer.record_between_with(writer.now(), writer.now(), event, arguments);
        last(Kind::Region, 1)
    });
    check_arguments(|arguments| {
        let mut region = writer.begin(event);
        for (key, value) in arguments {
            region.argument(*key, *value);
        }
        assert_eq!(running(&path).ring, 1);
        region.finish();
        last(Kind::Region, 1)
    });
}

/// The region that hangs keeps its first five argument records and the latest one, however many records others write.
#[test]
fn a_running_region_keeps_its_arguments() {
    let (_folder, path) = folder();
    let recorder = Recorder::create(&path, 16).unwrap();
    let mut region = recorder.begin(Event::new(0));
    for number in 0..9_u64 {
        region.argument(Key::NONE, number);
    }
    let numbers = |region: &OpenRegion| -> Vec<_> {
        let values = region.arguments.iter();
        values.map(|argument| argument.value.clone()).collect()
    };
    let all: Vec<_> = (0..9).map(ArgumentValue::U64).collect();
    assert_eq!(numbers(&running(&path)), all);
    let flood = || (0..100).for_each(|_| recorder.mark(Event::new(0)));
    flood();
    let kept = running(&path);
    assert_eq!(numbers(&kept), [0, 1, 2, 3, 4, 8].map(ArgumentValue::U64));
    assert_eq!(kept.arguments_lost, 3);
    region.argument(Key::NONE, "a text of more than one record");
    flood();
    let kept = running(&path);
    assert_eq!(numbers(&kept)[..5], all[..5]);
    assert!(kept.arguments[5].incomplete, "only its second part is left");
    region.finish();
    let last = events(&path).pop().unwrap();
    assert!(last.arguments.is_empty() && last.arguments_lost > 0);
}

/// The bug that the rules of the lines prevent: a region that is shown with arguments or a state of the one that had its slot before.
#[test]
fn the_next_region_of_a_slot_has_a_clean_slate() {
    let (_folder, path) = folder();
    let recorder = Options::new(16).open_regions(1).create(&path).unwrap();
    let mut first = recorder.begin(Event::new(1));
    first.argument(Key::NONE, 1);
    first.set_status(3);
    first.waiting();
    first.finish();
    let second = recorder.begin(Event::new(2));
    let shown = running(&path);
    assert_eq!((shown.lane, shown.status, shown.waiting), (2, 0, false));
    assert!(shown.arguments.is_empty() && !shown.amended);
    second.finish();
    let [first, second] = events(&path).try_into().unwrap();
    assert_eq!((first.arguments.len(), first.status), (1, 3));
    assert_eq!((second.arguments.len(), second.arguments_lost), (0, 0));
}

#[test]
fn a_running_region_is_shown_as_it_is_now() {
    let (_folder, path) = folder();
    let recorder = Options::new(32).writers(1).create(&path).unwrap();
    let writer = recorder.writer();
    let label = recorder.label("decode");
    let mut region = writer.begin(Event::new(2).correlation_id(1).copied_bytes(10));
    let mut expected = running(&path);
    assert!(!expected.amended && !expected.waiting);
    region.set_label(label);
    let labelled = running(&path);
    let name = Trace::open(&path).unwrap().name(labelled.label_id);
    assert_eq!(name, "decode");
    (expected.amended, expected.label_id) = (true, labelled.label_id);
    assert_eq!(labelled, expected);
    region.set_correlation_id(2);
    region.set_copied_bytes(20);
    region.set_status(30);
    (expected.correlation_id, expected.copied_bytes) = (2, 20);
    expected.status = 30;
    assert_eq!(running(&path), expected);
    let now = expected.clone();
    region.waiting();
    expected.waiting = true;
    let waits = expected;
    assert_eq!(running(&path), waits);
    // Its amendments are overwritten in the ring: the line keeps the latest.
    (0..100).for_each(|_| writer.mark(Event::new(0)));
    assert_eq!(running(&path), waits);
    region.running();
    assert_eq!(running(&path), now);
    region.waiting();
    region.finish();

    let report = report(&path);
    assert_eq!(report.open_regions, []);
    assert_eq!((report.account.amendments, report.account.orphaned), (2, 0));
    let last = events(&path).pop().unwrap();
    assert_eq!((last.label_id, last.status), (now.label_id, 30));
    assert_eq!((last.correlation_id, last.copied_bytes), (2, 20));
    assert!(!last.failed && !last.cancelled && !last.saturated);
}

#[test]
fn a_hidden_region_has_its_last_state_and_no_arguments() {
    let (_folder, path) = folder();
    let recorder = Options::new(16).open_regions(1).create(&path).unwrap();
    let shown = recorder.begin(Event::new(1));
    let mut hidden = recorder.begin(Event::new(2));
    hidden.argument(Key::NONE, "refused");
    hidden.set_status(5);
    hidden.waiting();
    assert_eq!(running(&path).lane, 1);
    let before = report(&path);
    assert_eq!((before.arguments_refused, before.hidden_now), (3, 1));
    assert_eq!(before.account.claimed, 0);
    hidden.finish();
    shown.finish();
    let [hidden, shown] = events(&path).try_into().unwrap();
    assert_eq!((hidden.lane, hidden.status, hidden.hidden), (2, 5, true));
    assert!(hidden.arguments.is_empty() && hidden.arguments_lost == 0);
    assert!(!shown.hidden);
    assert_eq!(report(&path).arguments_refused, 3);
}

#[test]
fn more_arguments_than_ordinals_are_refused() {
    const MOST: u64 = 65_536;
    let (_folder, path) = folder();
    let recorder = Recorder::create(&path, 8).unwrap();
    let mut region = recorder.begin(Event::new(0));
    for number in 0..MOST + 3 {
        region.argument(Key::NONE, number);
    }
    let latest = running(&path).arguments.pop().unwrap();
    assert_eq!(latest.value, ArgumentValue::U64(MOST - 1));
    assert_eq!(report(&path).arguments_refused, 3);
    region.finish();
    let numbers: Vec<_> = (0..MOST + 2)
        .map(|number| (Key::NONE, number.into()))
        .collect();
    recorder.mark_with(Event::new(0), &numbers);
    let after = report(&path);
    assert_eq!(after.arguments_refused, 5);
    assert_eq!(after.account.claimed, 2 * (MOST + 1));
    let mark = events(&path).pop().unwrap();
    assert_eq!(mark.arguments.len(), 7);
    assert_eq!(mark.arguments_lost, MOST - 7);
}

#[test]
fn a_region_may_have_begun_earlier() {
    let (_folder, path) = folder();
    let before = Instant::now();
    let recorder = Options::new(16).writers(1).create(&path).unwrap();
    let start = Instant::now();
    let moment = recorder.now();
    std::thread::sleep(Duration::from_millis(1));
    let region = recorder.begin_at(start, Event::new(1));
    let shown = running(&path);
    region.finish_at(start + Duration::from_micros(10));
    recorder.record_between(moment, recorder.now(), Event::new(2));
    let [region, other] = events(&path).try_into().unwrap();
    assert_eq!(region.start_ns, shown.start_ns);
    assert_eq!((region.duration_ns, region.saturated), (10_000, false));
    let apart_ns = other.start_ns - region.start_ns;
    assert!(apart_ns < 1_000_000 && other.duration_ns > 1_000_000);

    // Before it began.
    recorder.begin_at(start, Event::new(3)).finish_at(before);
    // Later than 64 bits can say.
    let century = Duration::from_secs(u64::from(u32::MAX));
    let far = (0..5).fold(start, |at, _| at + century);
    let late = recorder.begin_at(far, Event::new(4));
    assert!(running(&path).saturated);
    late.finish();
    recorder.begin_at(start, Event::new(5)).finish_at(far);
    let [none, late, long] = events(&path).split_off(2).try_into().unwrap();
    assert_eq!((none.duration_ns, none.saturated), (0, false));
    assert_eq!((late.start_ns, late.saturated), (u64::MAX, true));
    assert_eq!((long.end_ns(), long.saturated), (u64::MAX, true));

    // Before the capture.
    let claimed = recorder.claimed();
    let mut early = recorder.begin_at(before, Event::new(6));
    early.argument(Key::NONE, 1);
    early.set_status(1);
    assert_eq!(report(&path).open_regions, []);
    early.finish();
    drop(recorder.writer().begin_at(before, Event::new(7)));
    let report = report(&path);
    assert_eq!((report.rejected, report.arguments_refused), (2, 0));
    assert_eq!((report.account.claimed, report.hidden_now), (claimed, 0));
}

#[test]
fn how_regions_end() {
    let (_folder, path) = folder();
    let recorder = Recorder::create(&path, 16).unwrap();
    let begin = || recorder.begin(Event::new(0).status(1));
    begin().finish();
    begin().finish_with(|event| event.copied_bytes(9).correlation_id(8));
    begin().fail(2);
    begin().fail(0);
    recorder.begin(Event::new(0).failed(true)).cancel();
    let mut dropped = begin();
    dropped.set_status(3);
    drop(dropped);
    let at = Instant::now();
    recorder.record(at, Duration::ZERO, Event::new(0).cancelled(true));
    let ends: Vec<_> = events(&path)
        .iter()
        .map(|event| (event.failed, event.cancelled, event.status))
        .collect();
    assert_eq!(
        ends,
        [
            (false, false, 1),
            (false, false, 1),
            (true, false, 2),
            (true, false, 0),
            (false, true, 0),
            (true, false, 3),
            (false, true, 0)
        ]
    );
    let second = &events(&path)[1];
    assert_eq!((second.copied_bytes, second.correlation_id), (9, 8));
}

/// Whichever thread gives a region an argument, its records are in its own ring.
#[test]
fn a_region_passes_from_thread_to_thread() {
    let (_folder, path) = folder();
    let recorder = Options::new(16).rings(4).create(&path).unwrap();
    let mut region = recorder.begin(Event::new(0));
    let begun_by = running(&path);
    for number in 0..4 {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                region.argument(Key::NONE, number);
                region.set_status(number as u32);
            });
        });
    }
    assert_eq!(running(&path).ring, begun_by.ring);
    std::thread::scope(|scope| {
        scope.spawn(|| region.finish());
    });
    let [region] = events(&path).try_into().unwrap();
    assert_eq!((region.ring, region.arguments.len()), (begun_by.ring, 4));
    assert_ne!(region.thread_id, begun_by.thread_id);
}

/// Arguments of two threads' marks lie in one ring, between one another.
#[test]
fn threads_do_not_take_each_others_arguments() {
    const MARKS: u64 = 500;
    let (_folder, path) = folder();
    let recorder = Recorder::create(&path, 16 * MARKS).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let recorder = &recorder;
            scope.spawn(move || {
                for number in (0..MARKS).map(|number| 2 * number + thread) {
                    let arguments = [0, 1, 2].map(|place| (Key::NONE, (number + place).into()));
                    recorder.mark_with(Event::new(0).correlation_id(number), &arguments);
                }
            });
        }
    });
    let marks = events(&path);
    assert_eq!(marks.len() as u64, 2 * MARKS);
    for mark in marks {
        let expected = [0, 1, 2].map(|place| ArgumentValue::U64(mark.correlation_id + place));
        let found = mark.arguments.iter().map(|argument| argument.value.clone());
        assert!(found.eq(expected), "{mark:?}");
    }
    assert_eq!(report(&path).account.joined, 6 * MARKS);
}

/// Once the capture is finished, the file stays as it is, whatever is called.
#[test]
fn nothing_is_written_after_the_end() {
    let (_folder, path) = folder();
    let recorder = Options::new(16).open_regions(1).create(&path).unwrap();
    let mut region = recorder.begin(Event::new(0));
    let mut hidden = recorder.begin(Event::new(1));
    recorder.finish();
    let before = fs::read(&path).unwrap();
    for region in [&mut region, &mut hidden] {
        region.argument(Key::NONE, 1);
        region.set_label(hrx_trace::Label::NONE);
        region.waiting();
    }
    recorder.mark_with(Event::new(0), &[(Key::NONE, 1.into())]);
    recorder.value(hrx_trace::Label::NONE, 1.0);
    recorder
        .begin_at(Instant::now(), Event::new(0))
        .finish_at(Instant::now());
    recorder.record_with(Instant::now(), Duration::ZERO, Event::new(0), &[]);
    region.cancel();
    drop(hidden);
    assert_eq!(fs::read(&path).unwrap(), before);
}

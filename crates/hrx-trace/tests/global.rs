//! The recorder of the whole program. It is set once, so that one test does everything in its order.

use std::panic;

use hrx_trace::{Recorder, global, lane, note_panics, region, set_global};
use hrx_trace_reader::{ArgumentValue, Kind, Name, Trace};

#[test]
fn the_whole_program_has_one_recorder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.hrxt");
    let begin = || region!("gemm", lane::COMPUTE, id = 7, bytes = 4096);

    // Before there is one, all calls do nothing.
    assert!(!global().is_recording());
    begin().finish();
    assert_eq!(region!("sum", lane::HOST, || 1 + 2), 3);
    note_panics();
    assert!(panic::catch_unwind(|| panic!("before")).is_err());

    let recorder = set_global(Recorder::create(&path, 100).unwrap()).unwrap();
    assert!(std::ptr::eq(recorder, global()));
    let second = Recorder::create(folder.path().join("second.hrxt"), 100).unwrap();
    let refused = set_global(second).unwrap_err();
    assert!(refused.is_recording() && std::ptr::eq(recorder, global()));

    let region = begin();
    std::thread::spawn(|| region.finish()).join().unwrap();
    let product = region!("multiply", lane::HOST, |region| {
        region.set_copied_bytes(5);
        2 * 3
    });
    assert_eq!(product, 6);
    // A `return` is the closure's.
    let early = region!("early", lane::HOST, id = 9, || {
        if product == 6 {
            return "early";
        }
        "late"
    });
    assert_eq!(early, "early");
    note_panics();
    let failed =
        panic::catch_unwind(|| region!("launch", lane::COMPUTE, || panic!("no {}", "device")));
    assert!(failed.is_err());

    let trace = Trace::open(&path).unwrap();
    let seen: Vec<_> = trace
        .events()
        .map(|event| {
            let label = trace.name(event.label_id).to_string();
            (
                label,
                event.lane,
                event.correlation_id,
                event.copied_bytes,
                event.failed,
            )
        })
        .collect();
    let expected = [
        ("gemm", 1, 7, 4096, false),
        ("multiply", 4, 0, 5, false),
        ("early", 4, 9, 0, false),
        ("panic", 4, 0, 0, false),
        ("launch", 1, 0, 0, true),
    ];
    let expected = expected
        .map(|(label, lane, id, bytes, failed)| (label.to_owned(), lane, id, bytes, failed));
    assert_eq!(seen, expected);

    let mark = trace
        .events()
        .find(|event| event.kind == Kind::Mark)
        .unwrap();
    let arguments: Vec<(String, String)> = mark
        .arguments
        .iter()
        .map(|argument| {
            let ArgumentValue::Text(text) = &argument.value else {
                panic!("{argument:?}")
            };
            let Name::Known { text: key, .. } = trace.key(argument.key) else {
                panic!("{argument:?}")
            };
            (key.to_string(), text.clone())
        })
        .collect();
    assert_eq!(arguments[0], ("message".to_owned(), "no device".to_owned()));
    assert_eq!(arguments[1].0, "place");
    assert!(
        arguments[1]
            .1
            .starts_with("crates/hrx-trace/tests/global.rs:"),
        "{arguments:?}"
    );
    assert_eq!(arguments.len(), 2);
}

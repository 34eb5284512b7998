//! Proves: each call of the header answers as it says, rightly and wrongly used, in C11 and C++17 with all warnings as errors; valgrind and the address sanitizer have no
//! complaint; regions beyond the table's room are counted; recorders may be closed while threads record into them.
//!
//! How: C and C++ programs that check each answer themselves, against the shared and the static library; the captures tell the rest.

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use hrx_trace_reader::{ArgumentValue, Ending, Event, Kind, Name, Trace};
use hrx_trace_tests::skip::skip;
use support::{Linked, compiled, library, succeed};

fn trace(path: &Path) -> Trace {
    let trace = Trace::open(path).unwrap_or_else(|error| panic!("{error}"));
    let report = trace.report();
    assert!(
        report.account.balances() && report.damages.is_empty(),
        "{report:?}"
    );
    assert_eq!(trace.ending(), Ending::Finished);
    trace
}

fn of_kind(trace: &Trace, kind: Kind) -> Vec<Event> {
    trace.events().filter(|event| event.kind == kind).collect()
}

/// What `each.c` left.
fn assert_each(path: &Path) {
    let trace = trace(path);
    assert_eq!(trace.report().rejected, 1);
    let regions = of_kind(&trace, Kind::Region);
    let [all, sent, failed, cancelled, measured, argued, forked] = &regions[..] else {
        panic!("{regions:?}");
    };
    assert_eq!(
        (all.correlation_id, all.copied_bytes, all.status),
        (8, 4096, 2)
    );
    assert!(matches!(trace.label(all.label_id), Name::Known { text, .. } if text == "gemm"));
    let values: Vec<_> = all
        .arguments
        .iter()
        .map(|argument| &argument.value)
        .collect();
    assert!(
        matches!(
            values[..],
            [
                ArgumentValue::U64(u64::MAX),
                ArgumentValue::I64(i64::MIN),
                ArgumentValue::F64(0.5),
                ArgumentValue::Bool(true),
                ArgumentValue::Text(..)
            ]
        ),
        "{values:?}"
    );
    assert_ne!(sent.thread_id, all.thread_id);
    assert_eq!((failed.failed, failed.status), (true, 42));
    assert_eq!((cancelled.failed, cancelled.cancelled), (false, true));
    assert_eq!((measured.duration_ns, measured.failed), (1234, false));
    assert_eq!((argued.arguments.len(), argued.failed), (1, true));
    assert!(forked.cancelled);
    let marks = of_kind(&trace, Kind::Mark);
    assert_eq!(
        marks
            .iter()
            .map(|mark| mark.arguments.len())
            .collect::<Vec<_>>(),
        [0, 2]
    );
    assert_eq!(of_kind(&trace, Kind::Value).len(), 1);
    assert_eq!(trace.open_regions().len(), 1);
}

#[test]
fn each_call_answers_as_the_header_says() {
    for (linked, options) in [(Linked::Shared, &["-O2"][..]), (Linked::Static, &[])] {
        let folder = tempfile::tempdir().expect("a folder");
        let program = compiled(folder.path(), "tests/programs/each.c", linked, options);
        let path = folder.path().join("t.hrxt");
        succeed(Command::new(program).arg(&path));
        assert_each(&path);
    }
}

#[test]
fn valgrind_has_no_complaint() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        return skip("valgrind is not installed");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compiled(folder.path(), "tests/programs/each.c", Linked::Shared, &[]);
    let path = folder.path().join("t.hrxt");
    succeed(
        Command::new("valgrind")
            .args(["--quiet", "--error-exitcode=9", "--leak-check=full"])
            .arg(program)
            .arg(&path),
    );
    assert_each(&path);
}

#[test]
fn the_address_sanitizer_has_no_complaint() {
    let folder = tempfile::tempdir().expect("a folder");
    let sanitized = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    for program in ["tests/programs/each.c", "tests/programs/full.c"] {
        let program = compiled(folder.path(), program, Linked::Static, &sanitized);
        succeed(Command::new(&program).arg(program.with_extension("hrxt")));
    }
    assert_each(&folder.path().join("each.hrxt"));
}

#[test]
fn regions_beyond_the_room_are_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = compiled(folder.path(), "tests/programs/full.c", Linked::Shared, &[]);
    let path = folder.path().join("t.hrxt");
    succeed(Command::new(program).arg(&path));
    let full = trace(&path);
    let report = full.report();
    assert_eq!((report.account.claimed, report.rejected), (2 * 65_536, 2));
    // Two more than the file can show at a time, twice.
    assert_eq!((report.open_refused, report.hidden_now), (4, 0));
    for round in 0..50 {
        trace(&folder.path().join(format!("t.hrxt.{round}")));
    }
}

#[test]
fn regions_of_cpp_end_with_their_scopes() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = compiled(
        folder.path(),
        "tests/programs/scopes.cpp",
        Linked::Shared,
        &[],
    );
    let path = folder.path().join("t.hrxt");
    succeed(Command::new(program).arg(&path));
    let trace = trace(&path);
    let regions = of_kind(&trace, Kind::Region);
    let said: Vec<_> = regions
        .iter()
        .map(|region| (region.failed, region.cancelled, region.copied_bytes))
        .collect();
    let completed = (false, false, 0);
    let expected = [
        completed,
        (true, false, 0),
        completed,
        (false, true, 0),
        (false, false, 4096),
        completed,
        completed,
        completed,
        completed,
    ];
    assert_eq!(said, expected);
    assert_eq!(regions[1].arguments.len(), 5);
    assert!(trace.open_regions().is_empty());
}

/// The header as C++, in any order, twice; the macros as nothing.
#[test]
fn the_headers_compile_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = compiled(folder.path(), "tests/programs/off.c", Linked::Without, &[]);
    succeed(&mut Command::new(program));
    for (name, compiler, standard) in [("a.c", "cc", "c11"), ("a.cpp", "c++", "c++17")] {
        let file = folder.path().join(name);
        let headers: &[&str] = if name == "a.c" {
            &["hrx_trace.h", "hrx_trace.h"]
        } else {
            &["hrx_trace.hpp", "hrx_trace.h", "hrx_trace.hpp"]
        };
        let text: String = headers
            .iter()
            .map(|header| format!("#include <{header}>\n"))
            .collect();
        fs::write(&file, text).expect("a file");
        succeed(
            Command::new(compiler)
                .arg(format!("-std={standard}"))
                .args(support::WARNINGS)
                .args(["-fsyntax-only", "-I"])
                .arg(support::own("include"))
                .arg(&file),
        );
    }
}

/// The library asks for the C library alone: no program needs more to run with it.
#[test]
fn the_library_needs_the_c_library_alone() {
    let needed = succeed(Command::new("readelf").arg("-d").arg(library("so")));
    assert!(
        needed.contains("[libhrx_trace.so.0]") && needed.contains("NODELETE"),
        "{needed}"
    );
    for line in needed.lines().filter(|line| line.contains("(NEEDED)")) {
        let known = ["libc.so", "libgcc_s.so", "libm.so", "ld-linux"];
        assert!(known.iter().any(|name| line.contains(name)), "{line}");
    }
}

//! Proves: what `tools/install` puts into place is found by pkg-config and by CMake, and the example that is built with it keeps its promise: killed at any moment, its
//! capture is whole and shows what ran.
//!
//! How: the library is put below a temporary folder; `cc` and CMake build the example there, shared and static; SIGKILL at random moments, which a printed seed repeats.

mod support;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use hrx_trace_reader::{Ending, Kind, Name, Trace};
use hrx_trace_tests::scale::repetitions;
use hrx_trace_tests::skip::skip;
use support::{WARNINGS, library, own, succeed};

fn installed(prefix: &Path) {
    let built = library("so").parent().expect("a folder").to_owned();
    assert!(built.join("libhrx_trace_c.a").exists());
    succeed(Command::new(own("install/put")).arg(built).arg(prefix));
}

/// What pkg-config says.
fn flags(prefix: &Path, arguments: &[&str]) -> Vec<String> {
    let said = succeed(
        Command::new("pkg-config")
            .args(arguments)
            .arg("hrx_trace")
            .env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")),
    );
    said.split_whitespace().map(str::to_owned).collect()
}

fn by_cc(prefix: &Path) -> PathBuf {
    let output = prefix.join("pipeline");
    succeed(
        Command::new("cc")
            .args(["-std=c11", "-pthread", "-D_POSIX_C_SOURCE=200809L"])
            .args(WARNINGS)
            .arg(own("examples/pipeline.c"))
            .arg("-o")
            .arg(&output)
            .args(flags(prefix, &["--cflags", "--libs"])),
    );
    output
}

/// The example runs to its end.
fn finishes(program: &Path, folder: &Path, name: &str) {
    let path = folder.join(name);
    succeed(Command::new(program).arg(&path).arg("20"));
    let trace = Trace::open(&path).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(trace.ending(), Ending::Finished);
    let regions = trace.events().filter(|event| event.kind == Kind::Region);
    // Three stages and the batch itself.
    assert_eq!(regions.count(), 4 * 20);
}

#[test]
fn cc_builds_the_example_and_its_captures_survive() {
    if Command::new("pkg-config")
        .arg("--version")
        .output()
        .is_err()
    {
        return skip("pkg-config is not installed");
    }
    let prefix = tempfile::tempdir().expect("a folder");
    installed(prefix.path());
    assert_eq!(
        flags(prefix.path(), &["--modversion"]),
        [env!("CARGO_PKG_VERSION")]
    );
    let program = by_cc(prefix.path());
    finishes(&program, prefix.path(), "finished.hrxt");

    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    for time in 0..repetitions(10, 100) {
        let path = prefix.path().join(format!("{time}.hrxt"));
        let mut child = Command::new(&program)
            .arg(&path)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the example");
        let mut line = String::new();
        let output = child.stdout.take().expect("a pipe");
        BufReader::new(output).read_line(&mut line).expect("a line");
        assert_eq!(line, "begun\n");
        sleep(Duration::from_micros(5_000 + random.u64(..50_000)));
        child.kill().expect("it runs");
        child.wait().expect("its end");
        assert_shows_what_ran(&path);
    }
}

fn assert_shows_what_ran(path: &Path) {
    let trace = Trace::open(path).unwrap_or_else(|error| panic!("{error}"));
    let report = trace.report();
    assert!(
        report.account.balances() && report.damages.is_empty(),
        "{report:?}"
    );
    assert_eq!(
        [
            report.account.overwritten,
            report.rejected,
            report.hidden_now
        ],
        [0; 3]
    );
    // A record of each thread that was inside.
    assert!(
        report.account.torn <= 3 && report.open_torn <= 3,
        "{report:?}"
    );
    assert_ne!(trace.ending(), Ending::Finished);
    let running: Vec<String> = trace
        .open_regions()
        .iter()
        .map(|region| match trace.label(region.label_id) {
            Name::Known { text, .. } => text,
            other => panic!("{other:?}"),
        })
        .collect();
    let count = |label: &str| running.iter().filter(|running| *running == label).count();
    // Each stage is inside at most one batch; some batch is on its way.
    assert!(
        ["upload", "compute", "download"]
            .iter()
            .all(|stage| count(stage) <= 1),
        "{running:?}"
    );
    assert!((1..=12).contains(&count("batch")), "{running:?}");
}

#[test]
fn cmake_builds_the_example() {
    if Command::new("cmake").arg("--version").output().is_err() {
        return skip("cmake is not installed; `tests/run test` installs it");
    }
    let prefix = tempfile::tempdir().expect("a folder");
    installed(prefix.path());
    let build = prefix.path().join("build");
    succeed(
        Command::new("cmake")
            .arg("-S")
            .arg(own("examples"))
            .arg("-B")
            .arg(&build)
            .arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.path().display())),
    );
    succeed(Command::new("cmake").arg("--build").arg(&build));
    finishes(&build.join("pipeline"), prefix.path(), "shared.hrxt");
    finishes(&build.join("pipeline-static"), prefix.path(), "static.hrxt");
}

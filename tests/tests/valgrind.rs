//! Proves: a program that records runs under valgrind, and valgrind has no complaint.
//!
//! The bug: on Linux 6.4 and later, creating a recorder crashed with SIGSEGV under valgrind, at the first reading of a clock. Found by counting the
//! instructions of `record` with callgrind. Users who debug their own crashes run valgrind.

use std::process::Command;

use hrx_trace_reader::Trace;
use hrx_trace_tests::skip::skip;

#[test]
fn a_recording_program_runs_under_valgrind() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        return skip("valgrind is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.hrxt");
    let output = Command::new("valgrind")
        .args(["--quiet", "--error-exitcode=9"])
        .arg(env!("CARGO_BIN_EXE_host"))
        .args(["create", path.to_str().unwrap(), "4"])
        .args(["begin", "record", "10", "end", "finish"])
        .output()
        .unwrap();
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {complaints}", output.status);
    assert_eq!(Trace::open(&path).unwrap().report().account.claimed, 11);
}

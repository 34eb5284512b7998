//! Proves: a program that records runs under valgrind, and valgrind has no complaint. And by callgrind, which counts instructions: a region costs the same
//! however many others run.
//!
//! The bug: on Linux 6.4 and later, creating a recorder crashed with SIGSEGV under valgrind, at the first reading of a clock. Found by counting the
//! instructions of `record` with callgrind. Users who debug their own crashes run valgrind.

use std::fs;
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

/// The bug: the search for a free open slot began at the same slot each time, so that with 1,000 of 1,024 taken a region cost two hundred times as many
/// instructions as alone.
#[test]
fn a_region_costs_the_same_however_many_others_run() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        return skip("valgrind is not installed");
    }
    let [alone, beside_one, beside_many, hidden] = [0, 1, 1_000, 1_024].map(instructions_beside);
    println!(
        "instructions of a region alone: {alone}, beside 1: {beside_one}, beside 1,000: {beside_many}, beside 1,024: {hidden}"
    );
    // A tenth of what taking and freeing a slot costs.
    assert!(beside_one <= alone + 7.0 && beside_many <= alone + 7.0);
    // Found out in one pass over a byte for each slot, of a few instructions each.
    assert!(hidden <= alone + 8.0 * 1_024.0);
}

/// The instructions of a region that begins and ends while `others` run.
fn instructions_beside(others: u32) -> f64 {
    const FEW: u32 = 100;
    const MANY: u32 = 1_100;
    let [few, many] = [FEW, MANY].map(|regions| {
        let folder = tempfile::tempdir().unwrap();
        let [path, counts] = ["t.hrxt", "counts"].map(|name| folder.path().join(name));
        let output = Command::new("valgrind")
            .args(["--quiet", "--tool=callgrind"])
            .arg(format!("--callgrind-out-file={}", counts.display()))
            .arg(env!("CARGO_BIN_EXE_host"))
            .args(["create", path.to_str().unwrap(), "4"])
            .args(["hold", &others.to_string(), "regions", &regions.to_string()])
            .output()
            .unwrap();
        let complaints = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {complaints}", output.status);
        let counts = fs::read_to_string(counts).unwrap();
        let total = counts
            .lines()
            .find_map(|line| line.strip_prefix("totals: "));
        total.unwrap().trim().parse::<f64>().unwrap()
    });
    (many - few) / f64::from(MANY - FEW)
}

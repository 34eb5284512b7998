//! What hrx-run writes into the captures of a program that has ended, and where it writes nothing.

mod support;

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use hrx_trace_format::witness::{CAUSE_EXIT, CAUSE_SIGNAL, WITNESS_BYTES};
use hrx_trace_format::{Checksum, Identity, Witness};
use hrx_trace_tests::programs::PROGRAMS;
use support::ways::{hrx_run, stderr};
use tempfile::TempDir;

/// A run of a shell script with hrx-run, in which `$0` is the program that records; its captures are in `$HRX_TRACE_DIR`.
fn run(folder: &Path, options: &[&str], script: &str) -> Output {
    let mut command = hrx_run();
    command.args(["--summary", "never", "-o"]).arg(folder);
    command.args(options).args(["--", "sh", "-c", script]);
    command.arg(&PROGRAMS.recorder).output().expect("hrx-run")
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn captures(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "hrxt"));
    paths.sort();
    paths
}

fn identity(bytes: &[u8]) -> Identity {
    Identity::parse(bytes, &Checksum::new()).expect("an identity")
}

/// The witness of a capture, which must be believed if there is one.
#[track_caller]
fn witness(path: &Path) -> Option<Witness> {
    let bytes = fs::read(path).expect("a capture");
    let identity = identity(&bytes);
    let place = identity.witness_offset as usize;
    let place: [u8; WITNESS_BYTES] = bytes[place..][..WITNESS_BYTES].try_into().unwrap();
    if place == [0; WITNESS_BYTES] {
        return None;
    }
    let (id, salt) = (identity.capture_id, identity.salt);
    let witness = Witness::believed(place, id, salt, &Checksum::new());
    Some(witness.expect("a witness that is believed"))
}

/// Runs the one program, and gives the witness of its one capture.
#[track_caller]
fn seen(steps: &str) -> (Witness, Identity) {
    let folder = folder();
    let output = run(folder.path(), &[], &format!("exec \"$0\" {steps}"));
    let captures = captures(folder.path());
    assert_eq!(captures.len(), 1, "{}", stderr(&output));
    let witness = witness(&captures[0]).expect("a witness");
    (witness, identity(&fs::read(&captures[0]).unwrap()))
}

#[test]
fn how_a_program_ended() {
    for (steps, cause, status) in [
        ("event=1 kill=9", CAUSE_SIGNAL, 9),
        ("event=1 kill=15", CAUSE_SIGNAL, 15),
        ("event=1 exit=3", CAUSE_EXIT, 3),
        // Without a finish, and with one.
        ("event=1 exit=0", CAUSE_EXIT, 0),
        ("event=1", CAUSE_EXIT, 0),
    ] {
        let (witness, identity) = seen(steps);
        assert_eq!((witness.cause, witness.status), (cause, status), "{steps}");
        assert_eq!(Witness::told(witness.out_of_memory), Some(false));
        assert_eq!(Witness::told(witness.core_dumped), Some(false));
        assert!(witness.peak_resident_bytes > 100_000, "{witness:?}");
        assert!(witness.user_ns + witness.system_ns > 0);
        assert!(witness.time_namespace > 0 && witness.witness_process_id > 0);
        assert_ne!(witness.witness_process_id, identity.process_id);
        for (seen_ns, epoch_ns) in [
            (witness.seen_monotonic_ns, identity.epoch_monotonic_ns),
            (witness.seen_boottime_ns, identity.epoch_boottime_ns),
            (witness.seen_realtime_ns, identity.epoch_realtime_ns),
        ] {
            // The event took a millisecond.
            assert!(seen_ns >= epoch_ns + 1_000_000, "{witness:?}");
        }
    }
}

/// Where core files are written next to the program.
#[test]
fn a_core_file() {
    let folder = folder();
    let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern").expect("/proc");
    if pattern.starts_with(['|', '/']) {
        return eprintln!("not tried: core files go to {pattern}");
    }
    let script = "cd \"$HRX_TRACE_DIR\" && ulimit -c unlimited && exec \"$0\" event=1 kill=6";
    let output = run(folder.path(), &[], script);
    assert_eq!(output.status.signal(), Some(6));
    let witness = witness(&captures(folder.path())[0]).expect("a witness");
    assert_eq!((witness.cause, witness.status), (CAUSE_SIGNAL, 6));
    assert_eq!(Witness::told(witness.core_dumped), Some(true));
}

/// The witness does not ask for the lock, which a child of the program still holds.
#[test]
fn a_descendant_that_holds_the_lock() {
    let folder = folder();
    // Its streams are not those of this test, which would wait for their end.
    let script = "exec \"$0\" event=1 leave-a-child=20000 kill=9 > /dev/null 2>&1";
    let output = run(folder.path(), &[], script);
    assert_eq!(output.status.signal(), Some(9));
    let capture = &captures(folder.path())[0];
    let locked = File::open(capture).expect("a capture").try_lock_shared();
    assert!(locked.is_err(), "the child holds the lock");
    let witness = witness(capture).expect("a witness");
    assert_eq!((witness.cause, witness.status), (CAUSE_SIGNAL, 9));
}

/// The kernel does not tell hrx-run how descendants end.
#[test]
fn captures_of_other_processes_have_no_witness() {
    let folder = folder();
    // The shell is the program, and has no capture.
    let output = run(folder.path(), &[], "\"$0\" event=1 exit=3");
    assert_eq!(output.status.code(), Some(3));
    let captures = captures(folder.path());
    assert_eq!(captures.len(), 1);
    assert_eq!(witness(&captures[0]), None);
}

/// All captures of the program, and no others.
#[test]
fn every_capture_of_the_program() {
    let folder = folder();
    let script = "exec \"$0\" event=1 fork=event=1,exit=1 kill=9";
    let _ = run(folder.path(), &[], script);
    let captures = captures(folder.path());
    assert_eq!(captures.len(), 2);
    let found: Vec<bool> = captures
        .iter()
        .map(|path| witness(path).is_some())
        .collect();
    assert_eq!(found.iter().filter(|found| **found).count(), 1, "{found:?}");
}

/// In the place of the program's capture lies something else when the program has ended.
#[test]
fn where_nothing_is_written() {
    let others = folder();
    let target = others.path().join("target");
    for (what, replace) in [
        ("a link", "mv $capture $target && ln -s $target $capture"),
        (
            "a place that is not empty",
            "printf x | dd of=$capture bs=1 seek=2600 conv=notrunc status=none",
        ),
        (
            "a file that is cut short",
            "truncate -s 2600 $capture.tmp; head -c 2600 $capture > $capture.tmp && mv $capture.tmp $capture",
        ),
        (
            "another capture",
            "mv $capture $target && cp $other $capture",
        ),
    ] {
        let folder = folder();
        let _ = fs::remove_file(&target);
        // Another process's capture.
        let other = others.path().join("other.hrxt");
        if !other.exists() {
            let mut recorder = Command::new(&PROGRAMS.recorder);
            recorder.arg("event=1").env("HRX_TRACE_FILE", &other);
            assert!(recorder.output().expect("it runs").status.success());
        }
        // The replacement is done by a child, while the program runs.
        let script = format!(
            "(while ! ls \"$HRX_TRACE_DIR\"/*.hrxt > /dev/null 2>&1; do sleep 0.01; done; sleep 0.2; \
             capture=$(echo \"$HRX_TRACE_DIR\"/*.hrxt); target={}; other={}; {replace}; cp $capture {}/before) & \
             exec \"$0\" event=1 sleep=1500 kill=9",
            target.display(),
            other.display(),
            others.path().display(),
        );
        let before = others.path().join("before");
        let _ = fs::remove_file(&before);
        let output = run(folder.path(), &[], &script);
        assert_eq!(output.status.signal(), Some(9), "{what}");
        let capture = &captures(folder.path())[0];
        let (before, after) = (
            fs::read(&before).expect(what),
            fs::read(capture).expect(what),
        );
        // Where the program still maps the file, its counters change; the place of the witness does not.
        let place = 2560..2688.min(before.len());
        assert_eq!(before.len(), after.len(), "{what}");
        assert_eq!(before[place.clone()], after[place], "{what}");
        assert_eq!(stderr(&output), "", "{what}");
    }
}

#[test]
fn a_heartbeat_is_asked_for() {
    let folder = folder();
    let output = run(
        folder.path(),
        &["--heartbeat", "20ms"],
        "echo $HRX_TRACE_HEARTBEAT; exec \"$0\" sleep=500 kill=9",
    );
    assert_eq!(support::ways::stdout(&output), "20\nrecording\n");
    let capture = &captures(folder.path())[0];
    let bytes = fs::read(capture).expect("a capture");
    let identity = identity(&bytes);
    let at = identity.counters_offset as usize
        + std::mem::offset_of!(hrx_trace_format::Counters, last_alive_ns);
    let last_alive_ns = u64::from_le_bytes(bytes[at..][..8].try_into().unwrap());
    let witness = witness(capture).expect("a witness");
    let end_ns = witness.seen_monotonic_ns - identity.epoch_monotonic_ns;
    // It slept for half a second, and lived.
    assert!(last_alive_ns >= 400_000_000, "{last_alive_ns}");
    assert!(last_alive_ns <= end_ns);
}

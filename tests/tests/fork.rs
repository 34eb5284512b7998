//! Proves: where it was asked for, a forked child has a capture of its own from the moment at which it is born, and its parent's capture goes on as if the child
//! were not there. By default, a child leaves nothing. Neither waits for what a thread of the parent had locked.
//!
//! How: a program forks children while three of its threads record and intern names; each child records, and dies in the middle of a region.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use hrx_trace_reader::{Ending, Trace};

const CHILDREN: u64 = 30;

/// No working program takes this long.
const PATIENCE: Duration = Duration::from_secs(60);

/// The captures that the program left.
fn captures(mode: &str) -> Vec<Trace> {
    let folder = tempfile::tempdir().unwrap();
    let mut program = Command::new(env!("CARGO_BIN_EXE_forks"))
        .arg(mode)
        .arg(folder.path())
        .arg(CHILDREN.to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let since = Instant::now();
    let status = loop {
        if let Some(status) = program.try_wait().unwrap() {
            break status;
        }
        if since.elapsed() > PATIENCE {
            let _ = program.kill();
            panic!("a child waits for a lock that no thread holds");
        }
        sleep(Duration::from_millis(5));
    };
    assert!(status.success(), "{status}");
    let files = fs::read_dir(folder.path()).unwrap();
    let paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    paths
        .iter()
        .map(|path| Trace::open(path).unwrap())
        .collect()
}

fn each_child_has_its_own(mode: &str) {
    let mut seen = vec![false; CHILDREN as usize];
    let mut parents = 0;
    for trace in captures(mode) {
        let ids: Vec<u64> = trace.events().map(|event| event.correlation_id).collect();
        let report = trace.report();
        let open: Vec<u64> = report
            .open_regions
            .iter()
            .map(|region| region.correlation_id)
            .collect();
        assert!(report.account.balances());
        let Some(number) = ids.first().and_then(|id| id.checked_sub(1000)) else {
            parents += 1;
            assert!(
                ids.iter().all(|id| *id < 1000),
                "the parent has what its child recorded"
            );
            assert!(open.contains(&1));
            assert_eq!(report.ending, Ending::LeftByExit);
            continue;
        };
        assert!(!std::mem::replace(&mut seen[number as usize], true));
        assert_eq!(ids, [1000 + number; 10]);
        assert_eq!(open, [2000 + number]);
        let ending = match number % 3 {
            0 | 1 => Ending::WriterDied,
            _ => Ending::LeftByExit,
        };
        assert_eq!(report.ending, ending, "child {number}");
        assert_eq!(report.names_refused, 0);
    }
    assert_eq!((parents, seen.iter().all(|seen| *seen)), (1, true));
}

#[test]
fn a_child_reopens_the_global_recorder() {
    each_child_has_its_own("global");
}

#[test]
fn a_child_reopens_its_tracer() {
    each_child_has_its_own("tracer");
}

#[test]
fn by_default_a_child_is_mute() {
    let captures = captures("mute");
    let [parents] = &captures[..] else {
        panic!("{} captures", captures.len())
    };
    assert!(parents.events().all(|event| event.correlation_id < 1000));
    assert_eq!(parents.report().ending, Ending::LeftByExit);
}

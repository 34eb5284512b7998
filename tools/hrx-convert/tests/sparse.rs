//! Files that are mostly holes: a few kilobytes of disk can claim to be a capture of exbibytes, and no command may look at every hole of it.
//!
//! The bugs: a dead capture of 2^46 records in each of 1,024 rings, with 132 KB on disk, kept every command busy for ever, with one system call for each
//! chunk of its holes. One of 1 GiB whose lock was held took 20 s, with two reads for each ticket. Found by making files that no recorder makes.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use hrx_trace_format::header::STATE_RECORDING;
use hrx_trace_format::record::slot_of;
use hrx_trace_format::{Area, Checksum, Geometry, Record};
use hrx_trace_tests::capture::region;
use tempfile::TempDir;

/// No command that looks at every hole ends within this time.
const PATIENCE: Duration = Duration::from_secs(60);

/// A capture whose records are these tickets of each ring; all else is holes. None: the file system cannot hold a file of that size.
fn sparse(path: &Path, geometry: Geometry, claimed: u64, tickets: &[u64]) -> Option<File> {
    let checksum = Checksum::new();
    let identity = geometry.layout().expect("a layout").sealed(&checksum);
    let file = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(path)
        .expect("a file");
    file.set_len(identity.file_bytes).ok()?;
    let put = |at, bytes: &[u8]| file.write_all_at(bytes, at).expect("room");
    put(0, bytemuck::bytes_of(&identity));
    put(identity.counters_offset, &STATE_RECORDING.to_le_bytes());
    for ring in 0..identity.ring_count {
        put(identity.control_line(ring), &claimed.to_le_bytes());
        for sequence in tickets {
            let record = Record {
                sequence: *sequence,
                ..region(1, sequence.wrapping_mul(1_000) % (1 << 40), 500)
            };
            let slot = slot_of(*sequence, identity.capacity).expect("a slot");
            let record = record.sealed(&checksum, Area::Ring(ring).salt(identity.salt));
            put(identity.ring_slot(ring, slot), bytemuck::bytes_of(&record));
        }
    }
    Some(file)
}

/// The output of a command that has to end by itself.
fn ended(folder: &TempDir, arguments: &[&str]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_hrx-convert"))
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(File::create(folder.path().join("stdout")).expect("a file"))
        .stderr(File::create(folder.path().join("stderr")).expect("a file"))
        .spawn()
        .expect("the command");
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        if began.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            panic!("{arguments:?} goes on and on");
        }
        sleep(Duration::from_millis(5));
    };
    println!("{:>9.3?} {arguments:?}", began.elapsed());
    let read = |name| fs::read(folder.path().join(name)).expect("its output");
    Output {
        status,
        stdout: read("stdout"),
        stderr: read("stderr"),
    }
}

/// Every command, on a capture of which this much is recovered in all.
fn every_command(folder: &TempDir, live: bool, recovered: u64) {
    let torn = 4;
    let check = ended(folder, &["--check", "s.hrxt"]);
    let verdict = String::from_utf8_lossy(&check.stdout).into_owned();
    // What the writer may still store is in flight, and what a dead one never stored is torn.
    assert_eq!(
        check.status.code(),
        Some(if live { 0 } else { torn }),
        "{verdict}"
    );
    let info = ended(folder, &["--info", "--json", "s.hrxt"]);
    let info: serde_json::Value = serde_json::from_slice(&info.stdout).expect("JSON");
    assert_eq!(info["account"]["recovered"], recovered, "{info}");
    for arguments in [
        &["--summary", "s.hrxt"][..],
        &["s.hrxt", "-o", "s.json"],
        &["s.hrxt", "-o", "s.pftrace"],
        &["s.hrxt", "-o", "s.csv"],
        &["s.hrxt", "-o", "s.jsonl"],
        &["s.hrxt", "-o", "s.html"],
        &["--last", "1s", "s.hrxt", "-o", "last.csv"],
    ] {
        let output = ended(folder, arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}");
    }
    let rows = fs::read_to_string(folder.path().join("s.csv")).expect("the table");
    assert_eq!(rows.lines().count() as u64, 1 + recovered);
}

/// The geometries that a file system can hold, the largest first; on disk or on tmpfs.
fn folders() -> Vec<TempDir> {
    let mut folders = vec![tempfile::tempdir().expect("a folder")];
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        folders.push(tempfile::tempdir_in(memory).expect("a folder"));
    }
    folders
}

#[test]
fn dead_captures_of_every_shape() {
    for folder in folders() {
        let mut made = 0;
        for (capacity, rings) in [
            (1 << 46, 1_024),
            (1 << 40, 1_024),
            (1 << 46, 1),
            (1 << 36, 2),
            (1 << 24, 1),
        ] {
            for (claimed, tickets) in [
                (0, &[][..]),
                (capacity, &[]),
                (capacity, &[1, capacity / 2, capacity]),
                (
                    3 * capacity / 2,
                    &[capacity, capacity + 5, 3 * capacity / 2],
                ),
                // After a power loss the counter is older than the records.
                (1, &[7, 1_000_000]),
            ] {
                let path = folder.path().join("s.hrxt");
                let geometry = Geometry::new(capacity).ring_count(rings);
                if sparse(&path, geometry, claimed, tickets).is_some() {
                    made += 1;
                    let recovered = tickets.len() as u64 * u64::from(rings);
                    if claimed == 0 {
                        ended(&folder, &["--check", "s.hrxt"]);
                    } else {
                        every_command(&folder, false, recovered);
                    }
                }
                fs::remove_file(&path).expect("the file");
            }
        }
        assert!(made > 0);
    }
}

#[test]
fn live_captures_of_every_shape() {
    for folder in folders() {
        for capacity in [1 << 46, 1 << 36, 1 << 24] {
            let path = folder.path().join("s.hrxt");
            let tickets = [1, capacity / 2, capacity];
            if let Some(file) = sparse(&path, Geometry::new(capacity), capacity, &tickets) {
                file.try_lock().expect("the lock");
                every_command(&folder, true, 3);
            }
            fs::remove_file(&path).expect("the file");
        }
    }
}

//! Proves: the file tells when its process last lived, never later than the death, and that the process left by an exit; and neither is to be noticed by the
//! program.
//!
//! How: the programs `host` and `main_leaves` end in every way, and the header's bytes say what is known of it.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use hrx_trace::{Options, Recorder};
use hrx_trace_format::header::{
    COUNTERS_BYTES, STATE_FINISHED, STATE_LEFT_BY_EXIT, STATE_RECORDING,
};
use hrx_trace_format::{Checksum, Counters, Identity};
use hrx_trace_reader::Trace;
use hrx_trace_tests::host::Host;
use nix::libc;
use nix::sys::signal::{Signal, kill};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;
use tempfile::TempDir;

const HOST: &str = env!("CARGO_BIN_EXE_host");
const MAIN_LEAVES: &str = env!("CARGO_BIN_EXE_main_leaves");

/// No step of a working program takes this long.
const PATIENCE: Duration = Duration::from_secs(60);

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.hrxt");
    (folder, path)
}

/// The program `host` with these steps, in which `T` stands for `path`.
fn host(path: &Path, steps: &str) -> Command {
    let mut command = Command::new(HOST);
    for word in steps.split_whitespace() {
        match word {
            "T" => command.arg(path),
            word => command.arg(word),
        };
    }
    command
}

/// The header's identity and counters.
fn header(path: &Path) -> (Identity, Counters) {
    let bytes = fs::read(path).expect("a capture");
    let identity = Identity::parse(&bytes, &Checksum::new()).expect("an identity");
    let counters = &bytes[identity.counters_offset as usize..][..COUNTERS_BYTES];
    (identity, bytemuck::pod_read_unaligned(counters))
}

fn counters(path: &Path) -> Counters {
    header(path).1
}

fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("a clock");
    now.tv_sec().cast_unsigned() * 1_000_000_000 + now.tv_nsec().cast_unsigned()
}

/// Waits until it holds.
#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "never: {what}");
        sleep(Duration::from_millis(1));
    }
}

/// The names of the threads of a process.
fn threads(process: u32) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).expect("a process");
    let names = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.map(|name| name.trim_end().to_owned()).collect()
}

fn heartbeats(process: u32) -> usize {
    let names = threads(process);
    names.iter().filter(|name| *name == "hrx-heartbeat").count()
}

// --- The last sign of life -------------------------------------------------------------------------------------------------------

#[test]
fn every_sign_of_life_is_later_than_the_one_before() {
    let (_folder, path) = folder();
    let recorder = Recorder::create(&path, 16).unwrap();
    assert_eq!(counters(&path).last_alive_ns, 0);
    let epoch_ns = header(&path).0.epoch_monotonic_ns;
    let mut last = 0;
    for call in [
        &(|| recorder.alive()) as &dyn Fn(),
        &|| recorder.writer().alive(),
        &|| recorder.alive(),
    ] {
        let before = monotonic_ns() - epoch_ns;
        call();
        let after = monotonic_ns() - epoch_ns;
        let alive = counters(&path).last_alive_ns;
        assert!(
            before <= alive && alive <= after,
            "{before} {alive} {after}"
        );
        assert!(last < alive);
        last = alive;
    }
    recorder.finish();
    recorder.alive();
    assert_eq!(counters(&path).last_alive_ns, last);
    assert!(last < counters(&path).finished_ns);
}

/// Four threads say it at once; none of them sees the word go back.
#[test]
fn no_sign_of_life_takes_a_later_one_back() {
    let (_folder, path) = folder();
    let recorder = Recorder::create(&path, 16).unwrap();
    let file = fs::File::open(&path).unwrap();
    let last_alive_ns = || {
        let mut word = [0; 8];
        let offset = 2048 + std::mem::offset_of!(Counters, last_alive_ns) as u64;
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut word, offset).unwrap();
        u64::from_le_bytes(word)
    };
    let epoch_ns = header(&path).0.epoch_monotonic_ns;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..2_000 {
                    let before = monotonic_ns() - epoch_ns;
                    recorder.alive();
                    assert!(before <= last_alive_ns());
                }
            });
        }
    });
}

#[test]
fn a_tracer_says_it_too() {
    let (_folder, path) = folder();
    let _ = Host::start(&mut host(&path, "trace T 16 alive")).ends_well();
    assert!(counters(&path).last_alive_ns > 0);
    // No capture runs.
    let _ = Host::start(&mut host(&path, "alive")).ends_well();
}

#[test]
fn the_environment_asks_for_a_heartbeat() {
    let (folder, _) = folder();
    let traced = |period: &str| {
        let folder = folder.path().join(period);
        fs::create_dir_all(&folder).unwrap();
        let mut command = Command::new(HOST);
        command
            .args(["trace-anywhere", "16", "pause"])
            .env_remove("HRX_TRACE_FILE")
            .env("HRX_TRACE_DIR", folder)
            .env("HRX_TRACE_HEARTBEAT", period);
        Host::start(&mut command)
    };
    let mut beats = traced("10");
    let path = PathBuf::from(beats.wait_for("tracing "));
    until("two beats", || counters(&path).last_alive_ns > 5_000_000);
    beats.kill();
    for none in ["0", ""] {
        let mut still = traced(none);
        let path = PathBuf::from(still.wait_for("tracing "));
        still.wait_for("paused");
        assert_eq!(heartbeats(still.id()), 0);
        assert_eq!(counters(&path).last_alive_ns, 0);
    }
    let refused = traced("10ms").wait_for("no trace: ");
    assert_eq!(
        refused,
        "$HRX_TRACE_HEARTBEAT: found \"10ms\", expected the period of a heartbeat in milliseconds, as a number"
    );
}

/// Killed at known moments after a beat.
#[test]
fn a_heartbeat_tells_when_the_process_died() {
    const PERIOD_MS: u64 = 100;
    for after_a_beat_ms in [0, 30, 60, 95, 130] {
        let (_folder, path) = folder();
        let steps = format!("create-beating T 16 {PERIOD_MS} beats pause");
        let mut host = Host::start(&mut host(&path, &steps));
        assert_eq!(host.wait_for("beats "), "Some(true)");
        host.wait_for("paused");
        let epoch_ns = header(&path).0.epoch_monotonic_ns;
        let mut beats = vec![];
        until("eight beats", || {
            let last = counters(&path).last_alive_ns;
            if last > 0 && beats.last() != Some(&last) {
                beats.push(last);
            }
            beats.len() == 8
        });
        sleep(Duration::from_millis(after_a_beat_ms));
        let before_ns = monotonic_ns() - epoch_ns;
        host.kill();
        assert_eq!(host.wait().signal(), Some(libc::SIGKILL));
        let after_ns = monotonic_ns() - epoch_ns;
        let last = counters(&path).last_alive_ns;
        let longest_ns = beats
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .max()
            .unwrap();
        let ms = |ns: u64| ns as f64 / 1e6;
        println!(
            "killed {after_a_beat_ms} ms after a beat was seen: the last sign of life is {:.1} ms before the kill; the longest gap between beats is {:.1} ms",
            ms(before_ns.saturating_sub(last)),
            ms(longest_ns)
        );
        assert!(last <= after_ns, "a sign of life after the death");
        assert!(last >= beats[7]);
        // The gap that the kill cut short is one of a busy machine, as the others are.
        let allowed_ns = longest_ns + PATIENCE.as_nanos() as u64;
        assert!(before_ns.saturating_sub(last) <= allowed_ns);
        assert!(longest_ns >= PERIOD_MS * 1_000_000);
    }
}

#[test]
fn a_heartbeat_ends_with_its_capture_and_is_not_in_a_child() {
    let (_folder, path) = folder();
    let steps =
        "create-beating T 16 3600000 pause fork beats linger parent pause finish beats pause";
    let mut host = Host::start(&mut host(&path, steps));
    host.wait_for("paused");
    // The thread gives itself its name.
    until("a heartbeat", || heartbeats(host.id()) == 1);
    host.go_on();
    let child: u32 = host.wait_for("forked ").parse().unwrap();
    host.wait_for("paused");
    assert_eq!((heartbeats(host.id()), heartbeats(child)), (1, 0));
    let child = Pid::from_raw(child.cast_signed());
    kill(child, Signal::SIGKILL).unwrap();
    // An hour's period, which counts as a minute, is not waited for.
    host.go_on();
    assert_eq!(host.wait_for("beats "), "Some(false)");
    let began = Instant::now();
    until("no heartbeat", || heartbeats(host.id()) == 0);
    assert!(began.elapsed() < PATIENCE / 2);
    host.go_on();
    let _ = host.ends_well();
}

/// So a handler of the program never runs in it. The C library keeps two signals for itself, 32 and 33, and SIGKILL and SIGSTOP cannot be blocked.
#[test]
fn a_heartbeat_blocks_all_signals() {
    let (_folder, path) = folder();
    let mut host = Host::start(&mut host(&path, "create-beating T 16 50 pause"));
    host.wait_for("paused");
    until("a heartbeat", || heartbeats(host.id()) == 1);
    let own_to_the_kernel = [libc::SIGKILL, libc::SIGSTOP, 32, 33];
    let expected = own_to_the_kernel
        .iter()
        .fold(u64::MAX, |mask, signal| mask & !(1 << (signal - 1)));
    let tasks = fs::read_dir(format!("/proc/{}/task", host.id())).unwrap();
    let masks: Vec<u64> = tasks
        .map(|task| fs::read_to_string(task.unwrap().path().join("status")).unwrap())
        .map(|status| {
            let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:"));
            u64::from_str_radix(mask.unwrap().trim(), 16).unwrap()
        })
        .collect();
    // The program's own thread blocks none, as before.
    assert_eq!(masks, [0, expected]);
}

#[test]
fn a_child_does_not_say_that_its_parent_lives() {
    let (_folder, path) = folder();
    let steps = "create T 16 fork alive parent wait";
    let _ = Host::start(&mut host(&path, steps)).ends_well();
    assert_eq!(counters(&path).last_alive_ns, 0);
}

#[test]
fn no_period_is_none_and_a_tiny_one_is_a_millisecond() {
    let (_folder, path) = folder();
    let recorder = Options::new(16)
        .heartbeat(Duration::ZERO)
        .create(&path)
        .unwrap();
    assert!(!recorder.has_heartbeat());
    drop(recorder);
    assert_eq!(counters(&path).last_alive_ns, 0);
    let path = path.with_extension("tiny");
    let recorder = Options::new(16)
        .heartbeat(Duration::from_nanos(1))
        .create(&path)
        .unwrap();
    assert!(recorder.has_heartbeat());
    let mut beats = std::collections::BTreeSet::new();
    until("a hundred beats", || {
        beats.insert(counters(&path).last_alive_ns);
        beats.len() > 100
    });
    let (first, last) = (beats.pop_first().unwrap(), beats.pop_last().unwrap());
    assert!(last - first >= 98 * 1_000_000);
}

/// The kernel gives no thread: the capture begins without it.
#[test]
fn a_heartbeat_that_cannot_be_started_is_no_error() {
    let (_folder, path) = folder();
    let steps = "refuse clone,clone3 11 create-beating T 16 10 beats record 3 finish";
    let lines = Host::start(&mut host(&path, steps)).ends_well();
    assert_eq!(lines, ["created", "beats Some(false)"]);
    assert_eq!(Trace::open(&path).unwrap().account().recovered, 3);
    assert_eq!(counters(&path).last_alive_ns, 0);
}

/// The bug that this prevents: a thread that blocks all signals kept alive a process whose other threads had ended, and SIGTERM did not end it.
#[test]
fn a_process_whose_main_thread_left_ends_with_its_last_thread() {
    let (folder, path) = folder();
    let other = folder.path().join("other.hrxt");
    let mut host = Host::start(
        Command::new(MAIN_LEAVES)
            .args(["100", "50"])
            .args([&path, &other]),
    );
    host.wait_for("works");
    let status = host.wait();
    // As without the heartbeats, the C library exits, and its handlers run.
    assert_eq!(status.code(), Some(0), "{status}");
    for path in [path, other] {
        assert_eq!(counters(&path).state, STATE_LEFT_BY_EXIT);
    }
}

#[test]
fn a_signal_ends_a_process_with_a_heartbeat() {
    let (folder, path) = folder();
    let mut paused = Host::start(&mut host(&path, "create-beating T 16 50 pause"));
    paused.wait_for("paused");
    // The main thread has left, and another works.
    let other = folder.path().join("other.hrxt");
    let mut works = Host::start(Command::new(MAIN_LEAVES).args(["600000", "50"]).arg(&other));
    works.wait_for("works");
    // Only the heartbeat is left, and has not noticed.
    let third = folder.path().join("third.hrxt");
    let mut left = Host::start(Command::new(MAIN_LEAVES).args(["0", "1000"]).arg(&third));
    left.wait_for("works");
    until("no thread but the heartbeat", || {
        threads(left.id()).len() == 2
    });
    for mut host in [paused, works, left] {
        kill(Pid::from_raw(host.id().cast_signed()), Signal::SIGTERM).unwrap();
        assert_eq!(host.wait().signal(), Some(libc::SIGTERM));
    }
    for path in [path, other, third] {
        let counters = counters(&path);
        assert_eq!(counters.state, STATE_RECORDING);
        assert!(counters.last_alive_ns > 0);
    }
}

// --- An exit ---------------------------------------------------------------------------------------------------------------------

/// The state that a program leaves behind.
#[track_caller]
fn state_after(steps: &str) -> (u64, Option<i32>, Option<i32>) {
    let (_folder, path) = folder();
    let mut host = Host::start(&mut host(&path, steps));
    let status = host.wait();
    (counters(&path).state, status.code(), status.signal())
}

#[test]
fn an_exit_is_said() {
    const CREATE: &str = "create-noticing-exit T 16 record 2";
    for (end, state, code) in [
        ("", STATE_LEFT_BY_EXIT, Some(0)),
        ("exit 3", STATE_LEFT_BY_EXIT, Some(3)),
        ("quick-exit 4", STATE_LEFT_BY_EXIT, Some(4)),
        ("_exit 5", STATE_RECORDING, Some(5)),
        ("abort", STATE_RECORDING, None),
        ("finish", STATE_FINISHED, Some(0)),
        ("finish exit 6", STATE_FINISHED, Some(6)),
        ("exec", STATE_RECORDING, Some(0)),
    ] {
        let steps = format!("{CREATE} {end}");
        assert_eq!(state_after(&steps).0, state, "{end}");
        assert_eq!(state_after(&steps).1, code, "{end}");
    }
    assert_eq!(state_after("trace T 16 exit 1").0, STATE_LEFT_BY_EXIT);
    assert_eq!(state_after("trace T 16 untrace").0, STATE_FINISHED);
    // Not asked for.
    assert_eq!(state_after("create T 16 exit 1").0, STATE_RECORDING);
}

#[test]
fn a_signal_is_no_exit() {
    for signal in [Signal::SIGTERM, Signal::SIGABRT, Signal::SIGKILL] {
        let (_folder, path) = folder();
        let mut host = Host::start(&mut host(&path, "create-noticing-exit T 16 pause"));
        host.wait_for("paused");
        kill(Pid::from_raw(host.id().cast_signed()), signal).unwrap();
        assert_eq!(host.wait().signal(), Some(signal as i32));
        assert_eq!(counters(&path).state, STATE_RECORDING);
    }
}

#[test]
fn what_an_exit_says() {
    let (_folder, path) = folder();
    let steps = "create-noticing-exit T 4 record 10 pause exit 0";
    let mut host = Host::start(&mut host(&path, steps));
    host.wait_for("paused");
    assert_eq!(counters(&path).dropped, 0);
    let epoch_ns = header(&path).0.epoch_monotonic_ns;
    let before_ns = monotonic_ns() - epoch_ns;
    host.go_on();
    assert_eq!(host.wait().code(), Some(0));
    let counters = counters(&path);
    assert_eq!(counters.dropped, 6);
    assert!(before_ns <= counters.finished_ns);
    assert!(counters.finished_ns <= monotonic_ns() - epoch_ns);
}

#[test]
fn the_exit_of_a_child_changes_nothing() {
    for end in ["exit 0", "quick-exit 0"] {
        let (_folder, path) = folder();
        let steps = format!("create-noticing-exit T 16 fork {end} parent wait pause");
        let mut host = Host::start(&mut host(&path, &steps));
        host.wait_for("Exited(");
        host.wait_for("paused");
        let at_rest = counters(&path);
        assert_eq!((at_rest.state, at_rest.finished_ns), (STATE_RECORDING, 0));
        host.go_on();
        assert_eq!(host.wait().code(), Some(0));
        assert_eq!(counters(&path).state, STATE_LEFT_BY_EXIT);
    }
}

/// A child that begins a capture of its own says so in that one.
#[test]
fn a_capture_of_the_child() {
    let (folder, path) = folder();
    let own = folder.path().join("own.hrxt");
    let mut command = host(&path, "trace T 16 fork create-noticing-exit");
    command.arg(&own).args(["16", "parent", "wait", "pause"]);
    let mut host = Host::start(&mut command);
    host.wait_for("Exited(");
    host.wait_for("paused");
    assert_eq!(counters(&own).state, STATE_LEFT_BY_EXIT);
    assert_eq!(counters(&path).state, STATE_RECORDING);
}

/// Handlers that were registered before ours run after it.
#[test]
fn later_exit_handlers_record() {
    for end in ["exit 0", "quick-exit 0"] {
        let (_folder, path) = folder();
        let steps = format!("at-exit create-noticing-exit T 16 record 2 begin {end}");
        let mut host = Host::start(&mut host(&path, &steps));
        assert_eq!(host.wait().code(), Some(0));
        assert_eq!(counters(&path).state, STATE_LEFT_BY_EXIT);
        // Two, the one of the handler, and the region that it ended.
        let trace = Trace::open(&path).unwrap();
        assert_eq!(
            (trace.account().recovered, trace.open_regions().len()),
            (4, 0)
        );
    }
    // One that crashes: the file does not know, and a witness would.
    let crash = "crash-at-exit create-noticing-exit T 16 exit 0";
    assert_eq!(
        state_after(crash),
        (STATE_LEFT_BY_EXIT, None, Some(libc::SIGABRT))
    );
}

/// Neither the heartbeat nor the list of the exit handler keeps the mapping of a capture that is over.
#[test]
fn captures_that_come_and_go_leave_nothing_mapped() {
    let (folder, _) = folder();
    let mapped = || {
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let folder = folder.path().to_str().unwrap();
        maps.lines().filter(|line| line.contains(folder)).count()
    };
    for capture in 0..50 {
        let path = folder.path().join(format!("{capture}.hrxt"));
        let options = Options::new(16)
            .finish_at_exit(true)
            .heartbeat(Duration::from_secs(3600));
        let recorder = options.create(path).unwrap();
        assert!(mapped() > 0);
        drop(recorder);
    }
    until("nothing mapped", || mapped() == 0);
}

//! Proves: once a capture is created, `record`, `now`, `record_between`, marks, values, `begin`, and the calls that change or end a region neither allocate nor make system calls, whatever their arguments.
//! The same holds on a writer, with or without its own ring, and for making and dropping a writer.
//!
//! How: a million calls of each kind into a wrapping ring, among them refused events and a full open table. A global allocator counts allocations by
//! thread; a parent that stops the child at each system call (PTRACE_SYSCALL) counts those. Other calls show that both counts work: `label` allocates,
//! `sync` makes system calls, and a thread's first call asks for its id and its name, as the documentation says.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fs;
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hrx_trace::{Options, Tracer};
use hrx_trace_tests::crash::hot::{
    CALLS, OPEN_REGIONS, SECTIONS, Section, hot_path, hot_path_of_writers, word,
};
use hrx_trace_tests::crash::shared_words::SharedWords;
use hrx_trace_tests::crash::tracee::Tracee;

/// The system's allocator, counting its calls.
struct Counting;

thread_local! {
    /// Number of this thread's allocations. Const and without a destructor, so that counting does not allocate.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    ALLOCATIONS.set(ALLOCATIONS.get() + 1);
}

// SAFETY: every call is passed to `System` unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's guarantees are those that `System` requires.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as for `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count();
        // SAFETY: as for `alloc`.
        unsafe { System.realloc(block, layout, new_size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count();
        // SAFETY: as for `alloc`.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Number of allocator calls that `work` makes.
fn allocations(work: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

#[test]
fn the_hot_path_does_not_allocate() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.hrxt");
    let recorder = Options::new(10_000)
        .writers(1)
        .open_regions(OPEN_REGIONS)
        .create(path)
        .unwrap();
    let label = recorder.label("gemm");
    assert_eq!(allocations(|| hot_path(&recorder, label)), 0);
    assert_eq!(allocations(|| hot_path_of_writers(&recorder, label)), 0);
    // A thread's first call does not allocate either.
    let first = std::thread::scope(|scope| {
        let thread = scope.spawn(|| allocations(|| drop(recorder.begin(hrx_trace::Event::new(0)))));
        thread.join().unwrap()
    });
    assert_eq!(first, 0);
    assert!(recorder.claimed() > 3 * 7 * CALLS);

    let interning = allocations(|| {
        recorder.label("a new name");
    });
    assert!(
        interning > 0,
        "`label` allocates, and the allocator counted nothing"
    );
    println!(
        "allocations in {CALLS} calls of each kind, by the recorder and by writers: 0; in a `label`: {interning}"
    );
}

/// Nor does `Tracer::record`, after the very first of a thread: not even when it fetches a share of a new capture.
#[test]
fn a_record_through_a_tracer_does_not_allocate() {
    let folder = tempfile::tempdir().unwrap();
    let tracer = Tracer::new();
    let record = || tracer.record(Instant::now(), Duration::ZERO, 0, 0, false);
    let start = |name| tracer.start_at(folder.path().join(name), 100).unwrap();
    start("first");
    let first = allocations(record);
    tracer.finish().unwrap();
    start("second");
    let later = allocations(|| (0..CALLS).for_each(|_| record()));
    assert_eq!(later, 0, "the very first took {first}");
    let trace = tracer.finish().unwrap();
    assert_eq!(trace.dropped + trace.events.len() as u64, CALLS);
}

#[test]
fn the_hot_path_makes_no_system_call() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.hrxt");
    let words_path = folder.path().join("words");
    let words = SharedWords::map(&words_path, word::COUNT).unwrap();
    let mut child = Tracee::start(
        Command::new(env!("CARGO_BIN_EXE_hot_path_child")).args([&path, &words_path]),
    );
    let thread = child.run_until_thread();
    child.run(thread);
    // Numbers of the system calls, by section. Each stops the thread twice, on entry and on return.
    let mut stops = SECTIONS.map(|_| Vec::new());
    while child.run_until_system_call(thread) {
        let section = words.get(word::SECTION).load(Ordering::SeqCst);
        if let Some(section) = section.checked_sub(1) {
            let now = fs::read_to_string(format!("/proc/{thread}/syscall")).unwrap();
            let number: i64 = now.split(' ').next().unwrap().trim().parse().unwrap();
            stops[section as usize].push(number);
        }
    }
    println!(
        "system calls by section, each twice: {:?}",
        SECTIONS.iter().zip(&stops).collect::<Vec<_>>()
    );
    for (section, stops) in SECTIONS.into_iter().zip(stops) {
        match section {
            Section::FirstCall => {
                let [gettid, prctl] = [nix::libc::SYS_gettid, nix::libc::SYS_prctl];
                assert_eq!(stops, [gettid, gettid, prctl, prctl]);
            }
            Section::HotPath | Section::Writers => assert_eq!(stops, [0i64; 0]),
            Section::Sync => assert!(stops.contains(&nix::libc::SYS_fdatasync)),
        }
    }
}

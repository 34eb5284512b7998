//! The capture of this process: made at its first event, in a file of its own; again in a forked child; concluded at exit.
//!
//! What says which capture runs lies on a page that a forked child finds wiped. So a child, however it was made, begins anew at its first event, and no lock that
//! another thread held at the fork matters. A child of vfork(2) shares the page, and has another process id: it starts no capture.

use std::error::Error as _;
use std::iter::successors;
use std::path::Path;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::{env, ptr, thread, time::Duration};

use hrx_trace::{Key, Options, Recorder};

use crate::guest::{as_guest, is_secure};
use crate::names::{Interner, Names};
use crate::pages;

/// Events of a process, unless `$HRX_TRACE_CAPACITY` says otherwise.
const CAPACITY: u64 = 65_536;
/// 2 MiB: as many regions at a time as 512 threads have with eight levels each.
const OPEN_REGIONS: u32 = 4_096;
/// Room for some 30,000 names.
const NAME_BYTES: u64 = 2 << 20;

/// A capture. It lives as long as its process.
pub struct Capture {
    pub recorder: Recorder,
    /// Tells the captures of a process and its forebears apart. From 1; 31 bits.
    pub serial: u32,
    pub names: Names,
    pub keys: Keys,
    /// How many threads have a lane of their own.
    pub lanes: AtomicU32,
}

/// The names of arguments.
pub struct Keys {
    pub name: Key,
    pub payload: Key,
    pub category: Key,
}

/// What a process knows of its capture.
struct Process {
    capture: AtomicPtr<Capture>,
    state: AtomicU32,
    /// The process that the page belongs to; 0: a forked child that has not come here yet.
    process_id: AtomicU32,
}

/// No one has begun.
const FRESH: u32 = 0;
/// A thread is making the capture.
const BEGUN: u32 = 1;
/// It is there, or there will be none.
const SETTLED: u32 = 2;

static PROCESS: AtomicPtr<Process> = AtomicPtr::new(ptr::null_mut());
static SERIALS: AtomicU32 = AtomicU32::new(1);

/// Prepares this library, before any event. False: it must not listen here. Costs a load once it has.
pub fn prepare() -> bool {
    if !PROCESS.load(Ordering::Relaxed).is_null() {
        return true;
    }
    if is_secure() {
        return false;
    }
    // The loader allocates a library's thread-locals at their first use: better here than in a signal handler.
    as_guest(|| process().is_some()).unwrap_or(false)
}

/// The page of this process, made if there is none.
#[cold]
fn process() -> Option<&'static Process> {
    let mut there = PROCESS.load(Ordering::Acquire);
    if there.is_null() {
        let new: *mut Process = pages::wiped_on_fork(size_of::<Process>())?.cast().as_ptr();
        let set = PROCESS.compare_exchange(there, new, Ordering::AcqRel, Ordering::Acquire);
        there = set.map_or_else(|other| other, |_| new);
    }
    // SAFETY: the page is never unmapped, and zeroes are a `Process` that nothing is known of.
    let process = unsafe { there.as_ref() }?;
    // Fails where it is known.
    let id = std::process::id();
    let _ = process
        .process_id
        .compare_exchange(0, id, Ordering::Relaxed, Ordering::Relaxed);
    Some(process)
}

/// The capture that this process records into, made if this is its first event. None: there is none, or a signal handler has interrupted its making.
#[inline(always)]
pub fn current() -> Option<&'static Capture> {
    // SAFETY: the page is never unmapped.
    if let Some(process) = unsafe { PROCESS.load(Ordering::Acquire).as_ref() } {
        // SAFETY: a capture is never dropped.
        if let Some(capture) = unsafe { process.capture.load(Ordering::Acquire).as_ref() } {
            return Some(capture);
        }
        if process.state.load(Ordering::Relaxed) == SETTLED {
            return None;
        }
    }
    begin()
}

/// The capture that runs, if one does.
pub fn running() -> Option<&'static Capture> {
    // SAFETY: the page is never unmapped.
    let process = unsafe { PROCESS.load(Ordering::Acquire).as_ref() }?;
    // SAFETY: a capture is never dropped.
    unsafe { process.capture.load(Ordering::Acquire).as_ref() }
}

#[cold]
#[inline(never)]
fn begin() -> Option<&'static Capture> {
    as_guest(|| {
        let process = process()?;
        if process.process_id.load(Ordering::Relaxed) != std::process::id() {
            return None;
        }
        let begun =
            process
                .state
                .compare_exchange(FRESH, BEGUN, Ordering::AcqRel, Ordering::Acquire);
        if begun.is_ok() {
            let capture = create().map(|capture| &*Box::leak(Box::new(capture)));
            let pointer =
                capture.map_or(ptr::null_mut(), |capture| ptr::from_ref(capture).cast_mut());
            process.capture.store(pointer, Ordering::Release);
            process.state.store(SETTLED, Ordering::Release);
        }
        // Another thread makes it: some milliseconds.
        while process.state.load(Ordering::Acquire) == BEGUN {
            thread::sleep(Duration::from_micros(100));
        }
        running()
    })
    .flatten()
}

/// None: no file can be had, which is said once if `$HRX_TRACE_VERBOSE` is set.
fn create() -> Option<Capture> {
    match recorder() {
        Ok(recorder) => {
            say(|| format!("host-observed regions go to {}", recorder.path().display()));
            let keys = Keys {
                name: recorder.key("name"),
                payload: recorder.key("payload"),
                category: recorder.key("category"),
            };
            Some(Capture {
                recorder,
                serial: SERIALS.fetch_add(1, Ordering::Relaxed),
                names: Names::new(),
                keys,
                lanes: AtomicU32::new(0),
            })
        }
        Err(error) => {
            let causes = successors(error.source(), |&cause| cause.source());
            say(|| causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}")));
            None
        }
    }
}

fn recorder() -> hrx_trace::Result<Recorder> {
    let asked = env::var("HRX_TRACE_CAPACITY").ok();
    let capacity = asked
        .and_then(|text| text.parse().ok())
        .filter(|&capacity| capacity > 0);
    let options = Options::new(capacity.unwrap_or(CAPACITY))
        .open_regions(OPEN_REGIONS)
        .name_bytes(NAME_BYTES)
        .finish_at_exit(true)
        .attribute(
            "listener",
            concat!("hrx-trace-inject ", env!("CARGO_PKG_VERSION")),
        );
    match options.create_from_environment() {
        // `$HRX_TRACE_FILE` is that of the parent, or of this process before exec: ours goes beside it.
        Err(hrx_trace::Error::Exists { path }) => {
            let folder = path
                .parent()
                .filter(|folder| !folder.as_os_str().is_empty());
            options.create_in(folder.unwrap_or(Path::new(".")))
        }
        created => created,
    }
}

/// Says one line on the standard error, if `$HRX_TRACE_VERBOSE` is set.
pub fn say(line: impl FnOnce() -> String) {
    if env::var_os("HRX_TRACE_VERBOSE").is_some_and(|value| !value.is_empty()) {
        let line = format!("hrx-trace-inject[{}]: {}\n", std::process::id(), line());
        write_to_stderr(line.as_bytes());
    }
}

/// Writes it if it can be written at once: neither a pipe that is full nor one that has lost its reader is to be noticed.
fn write_to_stderr(line: &[u8]) {
    let mut stderr = libc::pollfd {
        fd: libc::STDERR_FILENO,
        events: libc::POLLOUT,
        revents: 0,
    };
    // SAFETY: one struct, which is ours.
    let ready = unsafe { libc::poll(&raw mut stderr, 1, 0) };
    if ready == 1 && stderr.revents == libc::POLLOUT {
        // SAFETY: the bytes are as many. What cannot be written is not said.
        unsafe { libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), line.len()) };
    }
}

impl Capture {
    /// What its names are interned with.
    #[inline(always)]
    pub fn interner(&self) -> Interner<'_> {
        Interner {
            recorder: &self.recorder,
            names: &self.names,
            serial: self.serial,
        }
    }
}

/// At exit the loader runs this after the exit handlers of the program, and after the destructors of C++.
extern "C" fn conclude() {
    if let Some(capture) = running() {
        capture.recorder.conclude();
    }
}

#[used]
// SAFETY: the loader calls what it finds in this section with no arguments that a C function would miss, when the process exits.
#[unsafe(link_section = ".fini_array")]
static CONCLUDE: extern "C" fn() = conclude;

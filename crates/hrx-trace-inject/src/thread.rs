//! The calling thread's lane, named after the thread, and the names that programs give to threads: their own, or another's by its id.
//!
//! Thread-local without a destructor, so that it works while a thread ends and in exit handlers.

use std::cell::Cell;
use std::ffi::CStr;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use hrx_trace::lane;

use crate::capture::Capture;
use crate::guest::as_guest;

/// How many threads of a capture get a lane of their own.
const LANES_MAX: u32 = 1_024;
/// The lane of the others.
const OTHERS: &str = "other threads";
/// How many names of threads wait for their threads.
const WAITING_MAX: usize = 256;
/// How many names are kept in a process's life.
const GIVEN_MAX: u32 = 65_536;

struct Local {
    /// The capture's serial in the upper half, [`CHANGES`] in the lower, as the thread saw them last.
    seen: Cell<u64>,
    lane: Cell<usize>,
    /// The name that the program gave it.
    given: Cell<Option<&'static str>>,
}

thread_local! {
    static LOCAL: Local = const {
        Local { seen: Cell::new(0), lane: Cell::new(lane::HOST), given: Cell::new(None) }
    };
}

/// How often a thread has been named by another.
static CHANGES: AtomicU32 = AtomicU32::new(0);
static GIVEN: AtomicU32 = AtomicU32::new(0);
/// Names whose threads have not come by since.
static WAITING: [AtomicPtr<Waiting>; WAITING_MAX] =
    [const { AtomicPtr::new(ptr::null_mut()) }; WAITING_MAX];

struct Waiting {
    thread_id: u32,
    text: &'static str,
}

/// The calling thread's lane in `capture`.
#[inline(always)]
pub fn lane_in(capture: &'static Capture) -> usize {
    let now = u64::from(capture.serial) << 32 | u64::from(CHANGES.load(Ordering::Relaxed));
    let (seen, lane) = LOCAL.with(|local| (local.seen.get(), local.lane.get()));
    if seen == now {
        return lane;
    }
    LOCAL.with(|local| as_guest(|| introduce(capture, local, now)).unwrap_or(lane::HOST))
}

/// Its first event in the capture, or a thread has been named since its last.
fn introduce(capture: &'static Capture, local: &Local, now: u64) -> usize {
    let thread_id = thread_id();
    let is_new = local.seen.get() >> 32 != now >> 32;
    let before = local.given.get();
    if let Some(text) = take_waiting(thread_id) {
        local.given.set(Some(text));
    }
    let given = local.given.get();
    if is_new || given != before {
        if let Some(text) = given {
            capture.recorder.name_thread(text);
        }
        let has_room = !is_new || capture.lanes.fetch_add(1, Ordering::Relaxed) < LANES_MAX;
        local.lane.set(if has_room {
            with_name(given, |name| {
                capture.recorder.lane(&format!("{name} ({thread_id})"))
            })
        } else {
            capture.recorder.lane(OTHERS)
        });
    }
    local.seen.set(now);
    local.lane.get()
}

/// Names the thread with this id.
pub fn name(thread_id: u32, text: &str) {
    as_guest(|| {
        if GIVEN.fetch_add(1, Ordering::Relaxed) >= GIVEN_MAX {
            return;
        }
        let text: &'static str = Box::leak(Box::from(text));
        let waiting = ptr::from_mut(Box::leak(Box::new(Waiting { thread_id, text })));
        let free = WAITING.iter().find(|place| {
            place
                .compare_exchange(
                    ptr::null_mut(),
                    waiting,
                    Ordering::AcqRel,
                    Ordering::Relaxed,
                )
                .is_ok()
        });
        if free.is_none() {
            WAITING[thread_id as usize % WAITING_MAX].store(waiting, Ordering::Release);
        }
        CHANGES.fetch_add(1, Ordering::Release);
    });
}

/// The last name that waits for the thread with this id.
fn take_waiting(thread_id: u32) -> Option<&'static str> {
    let mut text = None;
    for place in &WAITING {
        let there = place.load(Ordering::Acquire);
        // SAFETY: what a place points to is never freed.
        let Some(waiting) = (unsafe { there.as_ref() }) else {
            continue;
        };
        if waiting.thread_id == thread_id
            && place
                .compare_exchange(there, ptr::null_mut(), Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
        {
            text = Some(waiting.text);
        }
    }
    text
}

/// gettid(2).
pub fn thread_id() -> u32 {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::gettid() }.cast_unsigned()
}

/// Gives `with` the name that the program gave, or else the kernel's.
fn with_name<T>(given: Option<&str>, with: impl FnOnce(&str) -> T) -> T {
    if let Some(given) = given {
        return with(given);
    }
    let mut name = [0u8; 16];
    // SAFETY: PR_GET_NAME writes up to 16 bytes to its argument, a zero at their end, and `name` has 16.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
    with(&name.to_string_lossy())
}

//! ROCTX 4: the functions of `libroctx64.so.4`, whose name this library bears, so that programs that are linked against it, or load it, find this one first.

use std::cell::Cell;
use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::capture;
use crate::event::{self, Message, Said};
use crate::ranges;
use crate::registry::Domain;
use crate::stacks;
use crate::text::{Text, plain};
use crate::thread;

/// `roctx_version_major` and `_minor`, as ROCm 6 has them.
const VERSION: [u32; 2] = [4, 1];
/// Tells the numbers of ROCTX from other keys.
const SPACE: u64 = 5;

/// The address of it is the stack of ROCTX; its names are in no group.
static ROCTX: Domain = Domain::new("");
static RANGES: AtomicU64 = AtomicU64::new(1);

thread_local! {
    /// How deep the thread is, also where nothing is recorded. Without a destructor.
    static LEVEL: Cell<c_int> = const { Cell::new(0) };
}

/// # Safety
/// `message` is null or ends with a zero.
unsafe fn said<'a>(message: *const c_char) -> Said<'a> {
    Said::only(if message.is_null() {
        Message::None
    } else {
        // SAFETY: the caller's promise.
        Message::Text(unsafe { plain(message) })
    })
}

/// The major version.
#[unsafe(no_mangle)]
pub extern "C" fn roctx_version_major() -> u32 {
    VERSION[0]
}

/// The minor version.
#[unsafe(no_mangle)]
pub extern "C" fn roctx_version_minor() -> u32 {
    VERSION[1]
}

/// A mark.
///
/// # Safety
/// `message` is null or ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn roctxMarkA(message: *const c_char) {
    if capture::prepare() {
        // SAFETY: the caller's promise.
        event::mark(&ROCTX, unsafe { said(message) });
    }
}

/// Begins a range that nests, and returns its level, from 0.
///
/// # Safety
/// `message` is null or ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn roctxRangePushA(message: *const c_char) -> c_int {
    let level = LEVEL.get();
    LEVEL.set(level.wrapping_add(1));
    if capture::prepare() {
        // SAFETY: the caller's promise.
        let said = unsafe { said(message) };
        stacks::push(ROCTX.address(), || event::begin(&ROCTX, said));
    }
    level
}

/// Ends the range that the thread began last, and returns the level that is left; −1: there was none.
#[unsafe(no_mangle)]
pub extern "C" fn roctxRangePop() -> c_int {
    let Some(level) = LEVEL.get().checked_sub(1).filter(|level| *level >= 0) else {
        return -1;
    };
    LEVEL.set(level);
    if let Some((Some(region), _)) = stacks::pop(ROCTX.address()) {
        region.finish();
    }
    level
}

/// Begins a range that may end on another thread, and returns its number in the process.
///
/// # Safety
/// `message` is null or ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn roctxRangeStartA(message: *const c_char) -> u64 {
    let id = RANGES.fetch_add(1, Ordering::Relaxed);
    if capture::prepare() {
        // SAFETY: the caller's promise.
        event::keep_range(ranges::key(SPACE, id), &ROCTX, unsafe { said(message) });
    }
    id
}

/// Ends the range with that number.
#[unsafe(no_mangle)]
pub extern "C" fn roctxRangeStop(id: u64) {
    if let Some(region) = ranges::take(ranges::key(SPACE, id)) {
        region.finish();
    }
}

/// Names the calling thread.
///
/// # Safety
/// `name` is null or ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn roctxNameOsThread(name: *const c_char) -> c_int {
    if !name.is_null() {
        // SAFETY: the caller's promise.
        thread::name(
            thread::thread_id(),
            Text::new(unsafe { plain(name) }).as_str(),
        );
    }
    0
}

/// Of devices and queues, no region says which it is of: their names are marks.
///
/// # Safety
/// `name` is null or ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn roctxNameHipDevice(name: *const c_char, _: c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { roctxMarkA(name) };
    0
}

/// As [`roctxNameHipDevice`].
///
/// # Safety
/// `name` is null or ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn roctxNameHsaAgent(name: *const c_char, _: *const c_void) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { roctxMarkA(name) };
    0
}

/// As [`roctxNameHipDevice`].
///
/// # Safety
/// `name` is null or ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn roctxNameHipStream(name: *const c_char, _: *const c_void) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { roctxMarkA(name) };
    0
}

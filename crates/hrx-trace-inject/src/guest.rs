//! How this library behaves as a guest, where it does what may fail or take long: [`as_guest`].

use std::cell::Cell;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

// Not in the `libc` crate for every Linux target.
unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
}

/// `PTHREAD_CANCEL_DISABLE` of glibc and musl.
const CANCEL_DISABLE: c_int = 1;

thread_local! {
    /// Whether the calling thread is in [`as_guest`]. Without a destructor.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`: no cancellation unwinds through it, `errno` is as before, and no panic leaves it. None: the thread is in one already, which a signal handler
/// has interrupted, or `work` panicked.
#[cold]
#[inline(never)]
pub fn as_guest<T>(work: impl FnOnce() -> T) -> Option<T> {
    if INSIDE.replace(true) {
        return None;
    }
    // SAFETY: the location is the calling thread's own, and valid as long as the thread.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let errno_before = unsafe { errno.read() };
    let mut cancel_before = 0;
    // SAFETY: the state is one that the call takes, and the place for the old one is ours.
    unsafe { pthread_setcancelstate(CANCEL_DISABLE, &raw mut cancel_before) };
    let done = catch_unwind(AssertUnwindSafe(work));
    // SAFETY: the state is what the call returned before.
    unsafe { pthread_setcancelstate(cancel_before, &raw mut cancel_before) };
    // SAFETY: as above.
    unsafe { errno.write(errno_before) };
    INSIDE.set(false);
    done.ok()
}

/// Whether the program may do what its caller may not (AT_SECURE, getauxval(3)), so that the environment, which names this library, is a stranger's.
pub fn is_secure() -> bool {
    // SAFETY: the call reads memory that the C library set up before `main`, and takes any number.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

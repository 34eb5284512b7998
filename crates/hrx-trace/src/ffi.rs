//! What the C library does for this crate beside memory: handlers that run as the process exits, and the mask of signals.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ptr;

use libc::{SIG_SETMASK, c_int, pthread_sigmask, sigfillset, sigset_t};

unsafe extern "C" {
    /// C11, 7.22.4.3. The libc crate does not have it for Linux.
    fn at_quick_exit(handler: extern "C" fn()) -> c_int;
}

/// Has `handler` called when the process exits, by `exit`, a return from `main` or `quick_exit`. Not by `_exit`, `abort` or a signal. Where the C library has no
/// room for another handler, it is not called.
pub fn at_exit(handler: extern "C" fn()) {
    // SAFETY: the handler has the type that C expects, and the library that has it is not unloaded, or calls it before.
    let _ = unsafe { libc::atexit(handler) };
    // SAFETY: as above.
    let _ = unsafe { at_quick_exit(handler) };
}

/// Has `handler` called in each child that the process forks by fork(3), in its one thread, before it goes on. False: the C library has no room for it.
pub fn in_forked_children(handler: extern "C" fn()) -> bool {
    // SAFETY: the handler has the type that C expects, and the library that has it is not unloaded.
    (unsafe { libc::pthread_atfork(None, None, Some(handler)) }) == 0
}

/// Which signals a thread blocks.
#[derive(Clone, Copy)]
pub struct SignalMask(sigset_t);

impl SignalMask {
    /// Blocks all signals in the calling thread, and returns what it blocked before. The C library keeps its own signals out of this, and the kernel SIGKILL
    /// and SIGSTOP.
    pub fn block_all() -> Self {
        let mut all = MaybeUninit::<sigset_t>::uninit();
        // SAFETY: the set is ours, and the call fills it.
        let _ = unsafe { sigfillset(all.as_mut_ptr()) };
        // SAFETY: filled by the line above, which cannot fail.
        Self(unsafe { all.assume_init() }).exchange()
    }

    /// Has the calling thread block these and no others.
    pub fn restore(self) {
        let _ = self.exchange();
    }

    fn exchange(self) -> Self {
        let mut before = MaybeUninit::<sigset_t>::zeroed();
        // SAFETY: both sets are ours. The call cannot fail: SIG_SETMASK is a way that it knows.
        let _ =
            unsafe { pthread_sigmask(SIG_SETMASK, ptr::from_ref(&self.0), before.as_mut_ptr()) };
        // SAFETY: a set of zeroes is a set, and the call has filled it.
        Self(unsafe { before.assume_init() })
    }
}

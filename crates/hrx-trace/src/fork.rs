//! What becomes of a capture in a child that the process forks.
//!
//! The child's handler runs before the child goes on, in the one thread that it has. What other threads of the parent held locked stays locked there, so it tries
//! locks and waits for none.

use std::ptr;
use std::sync::{Mutex, PoisonError};

use crate::ffi::in_forked_children;

/// What becomes of a capture in a child that the process forks by fork(3). A child of `vfork`, `posix_spawn` or the bare system call is mute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFork {
    /// Nothing that the child calls is recorded.
    #[default]
    Mute,
    /// The child begins a capture of its own beside its parent's, with the same options, before `fork` returns in it. What ran in the parent does not run in it.
    ///
    /// That takes as long as it takes to create a capture: some 100 µs, and 0.2 to 0.4 s per GiB with [`Options::populate`](crate::Options::populate). Where it fails, the child is mute. A child
    /// that calls `exec` at once leaves an empty capture, which reads "replaced by exec".
    Reopen,
}

/// What has a capture that forked children have one of their own beside.
pub trait Reopens: Sync {
    /// Begins a capture of this process in place of its parent's, if that was running. Waits for no lock.
    fn reopen(&self);
}

type Holder = &'static dyn Reopens;

static HOLDERS: Mutex<Vec<Holder>> = Mutex::new(Vec::new());

/// From now on, forked children do that about the capture of `holder`.
pub fn set(holder: Holder, on_fork: OnFork) {
    let mut holders = HOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
    holders.retain(|known| !ptr::addr_eq(ptr::from_ref(*known), ptr::from_ref(holder)));
    static REGISTERED: Mutex<bool> = Mutex::new(false);
    if on_fork == OnFork::Reopen {
        holders.push(holder);
        let mut registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
        *registered = *registered || in_forked_children(handler);
    }
}

extern "C" fn handler() {
    if let Ok(holders) = HOLDERS.try_lock() {
        holders.iter().for_each(|holder| holder.reopen());
    }
}

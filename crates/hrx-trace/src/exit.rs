//! The captures that say so in their headers when the process exits without having finished them: see [`crate::Options::finish_at_exit`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::ffi::at_exit;
use crate::life::Life;
use crate::memory::{List, Listed};

static CAPTURES: List<Arc<Life>> = List::new();

/// A capture that is in the list until this is dropped, or until the process exits: from then on it stays mapped, for those who record in exit handlers.
pub type LeftByExit = Listed<Arc<Life>>;

/// From now on, an exit is said in the header of that capture.
pub fn notice(life: Arc<Life>) -> LeftByExit {
    static REGISTERED: AtomicBool = AtomicBool::new(false);
    // No `Once`: a thread that was inside at a fork would keep the child waiting.
    if !REGISTERED.swap(true, Ordering::Relaxed) {
        at_exit(handler);
    }
    CAPTURES.add(life)
}

extern "C" fn handler() {
    CAPTURES.take().for_each(|life| life.leave_by_exit());
}

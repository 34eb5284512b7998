//! The capture that runs, which start and finish exchange, and which each recording thread keeps at hand.
//!
//! A thread keeps the capture that it recorded into last, with its number. As long as that is the number of the capture that runs, finding the capture takes
//! a load and a comparison: no locked instruction, and no line that another thread writes to. Invariants:
//! - What a thread keeps, it owns a share of. So nothing is unmapped that a thread may still write to, wherever it was stopped, and `end` waits for no thread.
//! - No number is used twice, and a capture is there before its number. So a thread that sees a number finds the capture of that number or a later one, never
//!   an earlier one: what it would keep under the wrong number would take all its events of the new capture.
//! - Fetching a capture that is not kept takes no lock: a thread that is stopped there stops no other.
//!
//! `tests/loom.rs` compiles this very file against loom's atomics, as it does `slot.rs`.

use std::sync::Arc;

use crate::primitive::{ArcSwapOption, AtomicU64, Ordering, unless_removed};
use crate::site::Site;

/// The number of no capture.
const NONE: u64 = 0;

/// The capture that runs, if one does.
#[derive(Debug)]
pub struct Running<T> {
    /// The number of the capture that runs, or [`NONE`].
    number: AtomicU64,
    capture: ArcSwapOption<T>,
}

/// A thread's share of the capture that it asked for last.
#[derive(Debug)]
pub struct Kept<T> {
    number: u64,
    capture: Option<Arc<T>>,
}

impl<T> Kept<T> {
    /// Nothing.
    pub const NOTHING: Self = Self {
        number: NONE,
        capture: None,
    };

    /// Gives up the share of `capture`, if it is of that.
    pub fn give_up(&mut self, capture: &Arc<T>) {
        if self
            .capture
            .as_ref()
            .is_some_and(|kept| Arc::ptr_eq(kept, capture))
        {
            *self = Self::NOTHING;
        }
    }
}

impl<T> Running<T> {
    /// `number` is [`NONE`], and `capture` empty.
    pub const fn new(number: AtomicU64, capture: ArcSwapOption<T>) -> Self {
        Self { number, capture }
    }

    /// From now on `capture` runs. `number` has never been used, by no `Running` of this type.
    pub fn start(&self, capture: Arc<T>, number: u64) {
        self.capture.store(Some(capture));
        let order = unless_removed(Site::Announce, Ordering::Release);
        self.number.store(number, order);
    }

    /// From now on no capture runs. Returns the one that did.
    pub fn end(&self) -> Option<Arc<T>> {
        self.number.store(NONE, Ordering::Relaxed);
        self.capture.swap(None)
    }

    /// The capture that runs. Costs two locked instructions.
    pub fn share(&self) -> Option<Arc<T>> {
        self.capture.load_full()
    }

    /// The capture that runs, from what the calling thread keeps. Costs a load and a comparison, unless the capture has changed since the thread's last call.
    #[inline]
    pub fn kept<'a>(&self, kept: &'a mut Kept<T>) -> Option<&'a T> {
        let order = unless_removed(Site::Notice, Ordering::Acquire);
        let number = self.number.load(order);
        if kept.number != number {
            self.keep(kept, number);
        }
        kept.capture.as_deref()
    }

    #[cold]
    fn keep(&self, kept: &mut Kept<T>, number: u64) {
        *kept = match number {
            NONE => Kept::NOTHING,
            number => Kept {
                number,
                capture: self.share(),
            },
        };
    }
}

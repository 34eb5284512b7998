//! The atomics that [`crate::slot`] is made of. `tests/loom.rs` puts loom's in their place.

pub use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Whether an ordering of the protocol has been taken away: only ever in a model.
#[inline(always)]
pub fn removed(_: crate::slot::Site) -> bool {
    false
}

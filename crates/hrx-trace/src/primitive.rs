//! The atomics that `slot.rs`, `vacancy.rs` and `running.rs` are built on. `tests/loom.rs` puts loom's in their place.

#[cfg(feature = "tracer")]
pub use arc_swap::ArcSwapOption;
pub use std::sync::atomic::{AtomicU8, AtomicU64, Ordering, fence};

use crate::site::Site;

/// Whether a model has taken the ordering at this site away. Never outside models.
#[inline(always)]
pub fn removed(_: Site) -> bool {
    false
}

/// `order`, unless a model has taken `site` away. Never outside models.
#[inline(always)]
pub fn unless_removed(_: Site, order: Ordering) -> Ordering {
    order
}

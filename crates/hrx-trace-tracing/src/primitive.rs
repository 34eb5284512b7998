//! The atomics that `free_list.rs` is built on. `tests/loom.rs` puts loom's in their place, and takes away one ordering at a time to see its model fail.

pub use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// One ordering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    /// What comes after a free entry is there before the entry is on the list.
    Give,
    /// The thread that sees an entry on the list sees what comes after it.
    See,
}

/// `order`, unless a model has taken `site` away. Never outside models.
#[inline(always)]
pub fn unless_removed(_: Site, order: Ordering) -> Ordering {
    order
}

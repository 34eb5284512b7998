//! What the reader asks the operating system besides the bytes of a file: where its holes are, what time it is, and which processes run.
//!
//! Linux answers all of it. Elsewhere the answer is "unknown", and the file's lock alone tells a live writer from a dead one.

mod answers;

#[cfg(target_os = "linux")]
mod linux;
// Compiled for tests too, so that it is type-checked where the project is developed.
#[cfg(any(test, not(target_os = "linux")))]
mod other;

#[cfg(target_os = "linux")]
use linux as this_system;
#[cfg(not(target_os = "linux"))]
use other as this_system;

pub(crate) use answers::{FileId, Process};
pub use this_system::{boot_id, pid_namespace, stack_start, start_ticks, time_namespace};
pub(crate) use this_system::{
    find, is_mapped, lock_taker, monotonic_ns, next_data, only_here, process,
};

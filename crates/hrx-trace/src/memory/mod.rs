//! The only `unsafe` of this crate: a file mapped into memory, seen as cache lines of atomic words; and the gate that is closed in a forked child.
//!
//! Why it is sound:
//! - Other processes read and write the mapping, so it is accessed through raw pointers and atomics alone: no other reference to it ever exists.
//! - We never shrink the file. If another process truncates it, the kernel answers a store with SIGBUS, which no library can turn into an error.
//! - All [`Lines`] keep their [`Mapping`] alive.
#![allow(unsafe_code)]

mod gate;
mod mapping;

pub use self::gate::Gate;
pub use self::mapping::{Line, Lines, Mapping};

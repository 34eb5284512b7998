//! All `unsafe` of this crate but that of `ffi`: a file mapped into memory, seen as cache lines of atomic words; the gate that is closed in a forked child; a
//! list that takes no lock; a place for the recorder of the whole program; and what the kernel says of the program.
//!
//! Why it is sound:
//! - Other processes read and write the mapping, so it is accessed through raw pointers and atomics alone: no other reference to it ever exists.
//! - We never shrink the file. If another process truncates it, the kernel answers a store with SIGBUS, which no library can turn into an error.
//! - All [`Lines`] keep their [`Mapping`] alive.
#![allow(unsafe_code)]

mod auxiliary;
mod gate;
mod list;
mod mapping;
mod published;
mod thread_name;

pub use self::auxiliary::is_secure;
pub use self::gate::Gate;
pub use self::list::{List, Listed};
pub use self::mapping::{Line, Lines, Mapping};
pub use self::published::Published;
pub use self::thread_name::with_thread_name;

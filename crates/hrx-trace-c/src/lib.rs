//! The C interface of hrx-trace, which `include/hrx_trace.h` declares: libhrx_trace.
//!
//! Invariants:
//! - A program holds numbers, never pointers into this library. A recorder and a region are places in tables of the process, each with a generation. So a number that
//!   is stale, foreign or null is refused, and nothing that it once named is touched.
//! - What is recorded takes no lock, allocates nothing and makes no system call, as in the recorder itself.
//! - Nothing unwinds into C. What can panic is caught (`guarded`). All else is `extern "C"`, which aborts instead.
//!
//! All times are host-observed: driver and scheduling overhead are in them, and they are never device timestamps.
#![allow(
    non_camel_case_types,
    reason = "the names are C's: they are in the header as they are here"
)]

// Each uses only those below it.
mod calls;

mod event;
mod options;

mod regions;

mod recorders;

mod text;

mod sized;
mod stripe;

mod error;

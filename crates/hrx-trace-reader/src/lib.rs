#![doc = include_str!("../README.md")]
//!
//! # Examples
//!
//! Events are an iterator in order of completion, so the standard library's adaptors are the filters:
//!
//! ```
//! use hrx_trace_reader::Trace;
//!
//! const COMPUTE: u32 = 1;
//! let trace = Trace::open("examples/killed.hrxt")?;
//! let slowest = trace.events().filter(|event| event.lane == COMPUTE).max_by_key(|event| event.duration_ns);
//! assert_eq!(slowest.map(|event| event.duration_ns), Some(751));
//! // What failed, and what ran between two moments, in nanoseconds since the capture's start.
//! assert_eq!(trace.events().filter(|event| event.failed).count(), 0);
//! assert_eq!(trace.events().filter(|event| event.is_within(2_500, 4_000)).count(), 1);
//! // By name.
//! assert_eq!(trace.events().filter(|event| trace.name(event.label_id) == "native region").count(), 2);
//! # Ok::<(), hrx_trace_reader::Error>(())
//! ```
//!
//! Without the events, a capture says how it ended, what was running, and what is missing:
//!
//! ```
//! use hrx_trace_reader::{Ending, Trace};
//!
//! let trace = Trace::open("examples/killed.hrxt")?;
//! assert_eq!(trace.ending(), Ending::WriterDied);
//! assert_eq!(trace.open_regions().len(), 3);
//! assert_eq!(trace.account().overwritten, 0);
//! # Ok::<(), hrx_trace_reader::Error>(())
//! ```
//!
//! A [`Follower`] reads on while the writer records, and [`seed`] writes the in-memory tracer's document.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::unwrap_used
    )
)]

// The floors, lowest first. Nothing uses a module further down this list.

// The words of a report.
mod account;
mod alignment;
mod argument;
mod damage;
mod error;
mod event;
mod reading;

// Bytes, and the system they come from.
mod os;

mod source;

// How the capture ended.
mod clock;
mod witness;
mod writer;

mod ending;

mod report;

// The parts of a file.
mod rings;
mod tables;

// A file at one moment.
mod snapshot;

mod capture;

// Events with their arguments.
mod pending;

mod joiner;

// All rings in one order.
mod tally;

mod merge;

// What programs call.
mod events;

mod trace;

mod follow;
pub mod seed;

#[cfg(test)]
mod testing;

pub use account::Account;
pub use alignment::{Distance, distance};
pub use argument::{Argument, ArgumentValue};
pub use damage::Damage;
pub use ending::Ending;
pub use error::Error;
pub use event::{Event, Kind, OpenRegion};
pub use events::Events;
pub use follow::Follower;
pub use reading::Reading;
pub use report::Report;
pub use tables::name::Name;
pub use tables::names::{LaneName, Names, ThreadName};
pub use trace::Trace;
pub use witness::{Cause, Witness};

pub use hrx_trace_format::{Identity, MEASUREMENT};

/// Which process, of which boot, in which PID and time namespaces: what makes a process id and its start mean something.
pub mod process {
    pub use crate::os::{boot_id, pid_namespace, stack_start, start_ticks, time_namespace};
}

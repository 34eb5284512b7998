//! Bytes of a `.hrxt` file back into events, with a verdict for every slot and an account of every loss.
//!
//! A program asks what a person would ask of a capture that outlived its writer. How it ended, what was running, what is missing:
//!
//! ```
//! use hrx_trace_reader::{Ending, Trace};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../spec/vectors/valid/open-regions.hrxt");
//! let trace = Trace::open(path)?;
//! assert_eq!(trace.ending(), Ending::WriterDied);
//! let running = trace.open_regions();
//! assert_eq!(trace.name(running[0].label_id), "the one that hung");
//! let account = trace.account();
//! assert_eq!((account.recovered, account.overwritten, account.torn), (2, 0, 0));
//! # Ok::<(), hrx_trace_reader::Error>(())
//! ```
//!
//! Its events are an iterator, in order of completion, so that the standard library's adaptors are the filters:
//!
//! ```
//! # use hrx_trace_reader::Trace;
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../spec/vectors/valid/labels.hrxt");
//! # let trace = Trace::open(path)?;
//! const COMPUTE: u32 = 1;
//! let slowest = trace.events().filter(|event| event.lane == COMPUTE).max_by_key(|event| event.duration_ns);
//! assert_eq!(slowest.map(|event| event.duration_ns), Some(756));
//! // What failed, and what ran between two moments, each in nanoseconds after the beginning.
//! assert_eq!(trace.events().filter(|event| event.failed).count(), 0);
//! assert_eq!(trace.events().filter(|event| event.is_within(2_500, 4_000)).count(), 2);
//! // By label.
//! assert_eq!(trace.events().filter(|event| trace.name(event.label_id) == "gemm").count(), 1);
//! # Ok::<(), hrx_trace_reader::Error>(())
//! ```
//!
//! Who wants both reads the file once: the report comes with the last event.
//!
//! ```
//! # use hrx_trace_reader::Trace;
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../spec/vectors/valid/open-regions.hrxt");
//! # let trace = Trace::open(path)?;
//! let mut events = trace.events();
//! for event in events.by_ref() {
//!     let name = trace.name(event.label_id);
//!     println!("{name} on lane {} took {} ns, host-observed", event.lane, event.duration_ns);
//! }
//! let report = events.finish();
//! assert_eq!((report.open_regions.len(), report.last_ns), (3, 20_001));
//! # Ok::<(), hrx_trace_reader::Error>(())
//! ```
//!
//! The modules, one idea each: `source` reads bytes, `snapshot` takes what changes under the reader in an order that loses nothing, `ending`
//! tells a live writer from a dead one, `evidence` finds the newest record whatever the counters say, `ring` gives every slot of a window its
//! verdict, `since` finds where a late reading begins, `events` merges the rings and sums up, `follow` reads on while the writer records, and [`seed`] is the in-memory tracer's document.
//!
//! What holds for any bytes whatever: no panic; no event that was not written; every ticket in the account; no loop longer than the file;
//! memory bounded by a chunk for each ring (256 KiB in all, at least 1 KiB each), and a bit for each label there can be.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::unwrap_used
    )
)]

mod account;
mod ending;
mod error;
mod event;
mod events;
mod evidence;
mod follow;
pub mod process;
mod ring;
pub mod seed;
mod since;
mod snapshot;
mod source;
#[cfg(test)]
mod testing;
mod trace;

pub use account::{Account, Damage, Ending, Report};
pub use error::Error;
pub use event::{Event, OpenRegion};
pub use events::Events;
pub use follow::Follower;
pub use trace::{Label, Reading, Trace};

pub use hrx_trace_format::{Identity, MEASUREMENT};

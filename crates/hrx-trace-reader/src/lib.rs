//! Bytes of a `.hrxt` file back into events, with a verdict for every slot and an account of every loss.
//!
//! ```no_run
//! # fn main() -> Result<(), hrx_trace_reader::Error> {
//! let trace = hrx_trace_reader::Trace::open("run.hrxt")?;
//! let mut events = trace.events();
//! for event in events.by_ref() {
//!     println!("{} on lane {}: {} ns", trace.name(event.label_id), event.lane, event.duration_ns);
//! }
//! let report = events.finish();
//! println!("{:?}: {} of {} events", report.ending, report.account.recovered, report.account.claimed);
//! # Ok(())
//! # }
//! ```
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
mod ring;
pub mod seed;
mod snapshot;
mod source;
mod trace;

pub use account::{Account, Damage, Ending, Report};
pub use error::Error;
pub use event::{Event, OpenRegion};
pub use events::Events;
pub use trace::{Label, Trace};

pub use hrx_trace_format::{Identity, MEASUREMENT};

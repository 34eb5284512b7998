//! Bytes of a `.hrxt` file back into events, with a verdict for every slot and an account of every loss.
#![forbid(unsafe_code)]

mod account;
mod event;
pub mod process;

pub use account::{Account, Damage, Ending, Report};
pub use event::{Event, OpenRegion};

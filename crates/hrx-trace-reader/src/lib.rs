//! Bytes of a `.hrxt` file back into events, with a verdict for every slot and an account of every loss.
//!
//! ```
//! # use hrx_trace_format::{Area, Checksum, Geometry, Record, header};
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("run.hrxt");
//! # let identity = Geometry::new(4).layout().unwrap().sealed(&Checksum::new());
//! # let record = Record { sequence: 1, lane: 1, duration_ns: 1500, ..bytemuck::Zeroable::zeroed() };
//! # let record = record.sealed(&Checksum::new(), Area::Ring(0).salt(identity.salt));
//! # let mut bytes = vec![0; identity.file_bytes as usize];
//! # let mut put = |at: u64, part: &[u8]| bytes[at as usize..][..part.len()].copy_from_slice(part);
//! # put(0, bytemuck::bytes_of(&identity));
//! # put(identity.counters_offset, &header::STATE_RECORDING.to_le_bytes());
//! # put(identity.control_line(0), &1u64.to_le_bytes());
//! # put(identity.ring_slot(0, 0), bytemuck::bytes_of(&record));
//! # std::fs::write(&path, bytes)?;
//! use hrx_trace_reader::{Ending, Trace};
//!
//! let trace = Trace::open(&path)?;
//! let mut events = trace.events();
//! for event in events.by_ref() {
//!     let name = trace.name(event.label_id);
//!     println!("{name} on lane {} took {} ns, host-observed", event.lane, event.duration_ns);
//! }
//! let report = events.finish();
//! assert_eq!(report.ending, Ending::WriterDied);
//! assert_eq!((report.account.claimed, report.account.recovered), (1, 1));
//! assert!(report.open_regions.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The modules, one idea each: `source` reads bytes, `snapshot` takes what changes under the reader in an order that loses nothing, `ending`
//! tells a live writer from a dead one, `evidence` finds the newest record whatever the counters say, `ring` gives every slot of a window its
//! verdict, `since` finds where a late reading begins, `events` merges the rings and sums up, `follow` reads on while the writer records, and [`seed`] is the in-memory tracer's document.
//!
//! What holds for any bytes whatever: no panic; no event that was not written; every ticket in the account; no loop longer than the file;
//! memory bounded by a chunk for each ring (256 KiB in all, at least 1 KiB each) and the label table (at most 16 MiB).
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

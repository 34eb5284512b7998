//! What there is to say of a capture besides its events.

use crate::account::Account;
use crate::damage::Damage;
use crate::ending::Ending;
use crate::event::OpenRegion;

/// Everything there is to say of a capture besides its events.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// How the capture ended.
    pub ending: Ending,
    /// All rings together.
    pub account: Account,
    /// Ring by ring.
    pub rings: Vec<Account>,
    /// Events that began before the capture, or that an interface in front of the recorder had no handle for: neither recorded nor dropped.
    pub rejected: u64,
    /// Regions that found the open table full: recorded when they completed, not shown while they ran.
    pub open_refused: u64,
    /// Regions that ran when the file was read, or when its writer ended, and are not shown, because they found the open table full. Never too low; too
    /// high by one for each thread that died as it began or ended such a region.
    pub hidden_now: u64,
    /// Arguments and changes of running regions that could not be recorded: the region was hidden, or had as many as it may have.
    pub arguments_refused: u64,
    /// Names that found no room in the name table.
    pub names_refused: u64,
    /// Names that were longer than 16,384 bytes, and were not recorded.
    pub names_too_long: u64,
    /// Slots of the open table whose content does not verify.
    pub open_torn: u64,
    /// What was running, oldest first.
    pub open_regions: Vec<OpenRegion>,
    /// When the earliest event or open region began, in nanoseconds since the capture's start; None if there is none.
    pub first_ns: Option<u64>,
    /// The last sign of life, in nanoseconds since the capture's start: the latest completion, begin, finish, or moment at which the process said that it
    /// lived. For a live capture: the moment it was read. It is not the moment of death: a process that hung for a minute gave no sign in it.
    pub last_ns: u64,
    /// From this moment on every ring is complete: nothing that completed later was overwritten. 0: from the start.
    pub complete_since_ns: u64,
    /// Damage outside the records.
    pub damages: Vec<Damage>,
}

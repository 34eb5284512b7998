//! What became of every event: nothing is lost without being counted.

use std::iter::Sum;
use std::ops::AddAssign;

use crate::OpenRegion;

/// What became of the tickets that a ring gave out, or all rings together.
///
/// The identity holds always: `claimed = recovered + overwritten + torn + skipped + in_flight + overtaken + not_read`.
/// `in_flight` and `overtaken` are 0 unless the writer runs; `not_read` is 0 unless the reading began late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Account {
    /// Tickets given out: every event that `record` took in.
    pub claimed: u64,
    /// Events handed out.
    pub recovered: u64,
    /// Events that newer ones overwrote, as a ring does: `max(0, claimed - capacity)`. The seed calls them dropped.
    pub overwritten: u64,
    /// Tickets of the window without a believable record: a thread died inside `record`, or the file is damaged or cut short.
    pub torn: u64,
    /// Believable records of a kind this reader does not know (a newer writer's).
    pub skipped: u64,
    /// While the writer runs: tickets whose records were being written as the file was read.
    pub in_flight: u64,
    /// While the writer runs: records that the writer overwrote while the file was read.
    pub overtaken: u64,
    /// Tickets of the window before the place where the reading began, see [`crate::Reading::since_ns`]: nobody looked at their records.
    pub not_read: u64,
}

impl Account {
    /// Whether the identity holds.
    #[must_use]
    pub fn balances(&self) -> bool {
        [
            self.recovered,
            self.overwritten,
            self.torn,
            self.skipped,
            self.in_flight,
            self.overtaken,
            self.not_read,
        ]
        .into_iter()
        .try_fold(0u64, u64::checked_add)
            == Some(self.claimed)
    }
}

impl AddAssign for Account {
    fn add_assign(&mut self, other: Self) {
        for (sum, more) in [
            (&mut self.claimed, other.claimed),
            (&mut self.recovered, other.recovered),
            (&mut self.overwritten, other.overwritten),
            (&mut self.torn, other.torn),
            (&mut self.skipped, other.skipped),
            (&mut self.in_flight, other.in_flight),
            (&mut self.overtaken, other.overtaken),
            (&mut self.not_read, other.not_read),
        ] {
            *sum = sum.saturating_add(more);
        }
    }
}

impl Sum for Account {
    fn sum<I: Iterator<Item = Self>>(accounts: I) -> Self {
        accounts.fold(Self::default(), |mut sum, account| {
            sum.add_assign(account);
            sum
        })
    }
}

/// How the capture ended, as far as the file and the operating system can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// The writer runs: it holds the file's lock.
    Live,
    /// The writer finished the capture.
    Finished,
    /// The writer is gone and never finished.
    WriterDied,
}

/// Damage outside the records, in words: what was found, where, and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Damage {
    /// Where it lies in the file, in bytes.
    pub offset: u64,
    /// What was found and what was expected.
    pub what: String,
}

/// Everything there is to say of a capture besides its events.
#[derive(Clone, Debug)]
pub struct Report {
    /// How it ended.
    pub ending: Ending,
    /// All rings together.
    pub account: Account,
    /// Ring by ring.
    pub rings: Vec<Account>,
    /// Events that began before the capture: neither recorded nor dropped.
    pub rejected: u64,
    /// Regions that found the open table full: recorded when they completed, not shown while they ran.
    pub open_refused: u64,
    /// Labels that found no room.
    pub labels_refused: u64,
    /// Slots of the open table that hold something that cannot be believed.
    pub open_torn: u64,
    /// What was running, from the oldest to the newest.
    pub open_regions: Vec<OpenRegion>,
    /// The beginning of the earliest event or open region, in nanoseconds since the capture's start; None if there is none.
    pub first_ns: Option<u64>,
    /// The last moment the file knows of, in nanoseconds since the capture's start: the latest completion, begin or finish;
    /// of a live capture: the moment it was read.
    pub last_ns: u64,
    /// From this moment on every ring is complete: nothing that completed later was overwritten. 0: from the start.
    pub complete_since_ns: u64,
    /// Damage outside the records.
    pub damages: Vec<Damage>,
}

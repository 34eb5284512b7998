//! What became of every event: nothing is lost without being counted.

use std::iter::Sum;
use std::ops::AddAssign;

/// What became of the tickets given out by one ring, or by all rings together.
///
/// This always holds: `claimed = recovered + overwritten + torn + skipped + in_flight + overtaken + not_read`.
/// `in_flight` and `overtaken` are 0 unless the writer runs; `not_read` is 0 unless reading began later than the capture or was interrupted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Account {
    /// Tickets given out: one for every event that `record` accepted.
    pub claimed: u64,
    /// Events handed out.
    pub recovered: u64,
    /// Events that newer ones overwrote, as a ring does: `max(0, claimed - capacity)`. The in-memory tracer calls them dropped.
    pub overwritten: u64,
    /// Tickets of the window without a record that verifies: a thread died inside `record`, or the file is damaged or cut short.
    pub torn: u64,
    /// Records that verify, of a kind that this reader does not know (a newer writer's).
    pub skipped: u64,
    /// While the writer runs: tickets whose records were being written when the file was read.
    pub in_flight: u64,
    /// While the writer runs: records that it overwrote before they could be read.
    pub overtaken: u64,
    /// Tickets of the window that [`Reading::since_ns`](crate::Reading::since_ns) passed over, or that were left when
    /// [`Trace::interrupt_when`](crate::Trace::interrupt_when) ended the reading: their records were not looked at.
    pub not_read: u64,
}

impl Account {
    /// Whether the sum holds.
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

//! What became of every event: nothing is lost without being counted.

use std::iter::Sum;
use std::ops::AddAssign;

/// What became of the tickets given out by one ring, or by all rings together.
///
/// These always hold:
/// - `claimed = recovered + overwritten + torn + skipped + in_flight + overtaken + not_read`.
///   `in_flight` and `overtaken` are 0 unless the writer runs; `not_read` is 0 unless reading began later than the capture or was interrupted.
/// - `recovered = regions + marks + values + arguments + amendments`.
/// - `arguments = joined + orphaned + evicted`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Account {
    /// Tickets given out: one for every record of an event, an argument or an amendment that was accepted.
    pub claimed: u64,
    /// Records that were found: of events, all of which are handed out, of arguments and of amendments.
    pub recovered: u64,
    /// Records of any kind that newer ones overwrote, as a ring does: `max(0, claimed - capacity)`. The in-memory tracer calls them dropped.
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
    /// Of the recovered records: completed regions.
    pub regions: u64,
    /// Of the recovered records: marks.
    pub marks: u64,
    /// Of the recovered records: values.
    pub values: u64,
    /// Of the recovered records: those of arguments. A long text takes up to ten.
    pub arguments: u64,
    /// Of the recovered records: amendments, which say what changed about a running region.
    pub amendments: u64,
    /// Of the arguments' records: those that belong to an event or an open region that is handed out.
    pub joined: u64,
    /// Of the arguments' records: those that belong to nothing that was found.
    pub orphaned: u64,
    /// Of the arguments' records: those whose event had not come when the reader's memory for them was full.
    pub evicted: u64,
}

impl Account {
    /// Whether the sums hold.
    #[must_use]
    pub fn balances(&self) -> bool {
        let tickets = [
            self.recovered,
            self.overwritten,
            self.torn,
            self.skipped,
            self.in_flight,
            self.overtaken,
            self.not_read,
        ];
        let kinds = [
            self.regions,
            self.marks,
            self.values,
            self.arguments,
            self.amendments,
        ];
        let fates = [self.joined, self.orphaned, self.evicted];
        is_sum(&tickets, self.claimed)
            && is_sum(&kinds, self.recovered)
            && is_sum(&fates, self.arguments)
    }

    /// Events that were recovered: regions, marks and values.
    #[must_use]
    pub fn events(&self) -> u64 {
        [self.regions, self.marks, self.values]
            .into_iter()
            .fold(0, u64::saturating_add)
    }
}

fn is_sum(parts: &[u64], whole: u64) -> bool {
    parts
        .iter()
        .try_fold(0u64, |sum, part| sum.checked_add(*part))
        == Some(whole)
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
            (&mut self.regions, other.regions),
            (&mut self.marks, other.marks),
            (&mut self.values, other.values),
            (&mut self.arguments, other.arguments),
            (&mut self.amendments, other.amendments),
            (&mut self.joined, other.joined),
            (&mut self.orphaned, other.orphaned),
            (&mut self.evicted, other.evicted),
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

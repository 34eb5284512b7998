//! One ring's events with their arguments, and what the ring knows about the regions that are still running.
//!
//! An argument comes before its event in the ring, so one pass suffices: arguments are pending until the next event of their holder, or the next owner
//! among its arguments, settles them. Those that no event takes may be of a region that is running; the others belong to nothing.
//!
//! Invariants:
//! - Every argument is joined to one event or one open region, orphaned, or evicted, so the account balances.
//! - Memory has a bound, whatever the file says: [`Pending`] has, and of a region only its latest amendment and completion are kept.
//! - Only a region's record ends an open region: arguments and amendments of a running region carry its slot and later tickets as well.

use std::collections::HashMap;

use hrx_trace_format::record::KIND_REGION;
use hrx_trace_format::{Amendment, Argument, Holder, Item, Record};

use crate::account::Account;
use crate::argument;
use crate::event::{Event, OpenRegion};
use crate::pending::{Owner, Pending};
use crate::rings::window::Window;
use crate::source::Source;
use crate::tables::open_table::{OpenTable, Tenant};

/// What a ring knows about a slot.
#[derive(Clone, Copy, Debug, Default)]
struct Latest {
    /// The latest ticket of a region that ran in it and completed; 0: none.
    completed: u64,
    amendment: Option<Amendment>,
}

impl Latest {
    fn ticket(&self) -> u64 {
        let amended = self.amendment.map(|amendment| amendment.sequence);
        self.completed.max(amended.unwrap_or_default())
    }
}

/// Reads one ring.
#[derive(Debug)]
pub(crate) struct Joiner {
    window: Window,
    ring: u32,
    pending: Pending,
    /// Those of the event that was lent last, if it has any.
    joined: Vec<Argument>,
    joined_count: u64,
    orphaned: u64,
    /// By slot. Unless the capture is followed: of the slots whose region is of this ring.
    latest: HashMap<u32, Latest>,
    /// Of a capture that is followed: of how many slots the latest is kept, since what will be open at the end is not known yet.
    followed: Option<usize>,
}

impl Joiner {
    /// `pending_bytes` bounds the memory for arguments whose event has not come.
    pub(crate) fn new(window: Window, ring: u32, pending_bytes: usize) -> Self {
        Self {
            window,
            ring,
            pending: Pending::new(pending_bytes),
            joined: Vec::new(),
            joined_count: 0,
            orphaned: 0,
            latest: HashMap::new(),
            followed: None,
        }
    }

    /// The same ring, read on while it is written: what it says about `slots_max` slots is kept, the latest.
    pub(crate) fn following(self, slots_max: usize) -> Self {
        Self {
            window: self.window.following(),
            followed: Some(slots_max.max(1)),
            ..self
        }
    }

    /// Extends the window to the tickets given out since. To be called when everything before them has been read.
    pub(crate) fn extend(&mut self, claimed: u64, writer_runs: bool) {
        self.window.extend(claimed, writer_runs);
    }

    pub(crate) fn window(&self) -> &Window {
        &self.window
    }

    /// The record of the next event, of any kind. Lent rather than returned, so that it is copied once, by the caller that keeps it.
    #[inline]
    pub(crate) fn next(&mut self, source: &Source, open: &OpenTable) -> Option<&Record> {
        let index = loop {
            let index = self.window.next(source)?;
            let record = self.window.record(index)?;
            if self.is_plain(record, open) {
                break index;
            }
            let record = *record;
            if self.takes_in(record, open) {
                break index;
            }
        };
        self.window.record(index)
    }

    /// Whether `record` is a region that has no arguments, settles none, and ends no region that is shown as open.
    #[inline]
    fn is_plain(&self, record: &Record, open: &OpenTable) -> bool {
        let is_in_slot = || record.slot().is_some_and(|slot| self.minds(slot, open));
        record.kind == KIND_REGION
            && self.pending.is_empty()
            && !record.has_arguments()
            && !is_in_slot()
    }

    /// Whether it matters what becomes of the regions in `slot`.
    #[inline]
    fn minds(&self, slot: u32, open: &OpenTable) -> bool {
        self.followed.is_some() || self.tenant(slot, open).is_some()
    }

    /// The region that `slot` shows, if its records go to this ring.
    #[inline]
    fn tenant<'table>(&self, slot: u32, open: &'table OpenTable) -> Option<&'table Tenant> {
        open.tenant(slot)
            .filter(|tenant| tenant.record.ring == self.ring)
    }

    /// Takes in what `record` says. Whether it is an event.
    fn takes_in(&mut self, record: Record, open: &OpenTable) -> bool {
        match Item::of(bytemuck::cast(record)) {
            Some(Item::Argument(argument)) => self.note_argument(argument, open),
            Some(Item::Amendment(amendment)) => self.note_amendment(amendment, open),
            // An event of a kind that this version knows: others are not handed out by the window.
            Some(event) => {
                if let Some(slot) = record.slot().filter(|_| record.kind == KIND_REGION)
                    && self.minds(slot, open)
                {
                    let latest = self.latest_of(slot);
                    latest.completed = latest.completed.max(record.sequence);
                }
                if let Some(holder) = event.holder() {
                    self.settle(holder, &record, open);
                }
                return true;
            }
            None => {}
        }
        false
    }

    /// The holder's arguments are the event's, or nobody's but an open region's.
    fn settle(&mut self, holder: Holder, event: &Record, open: &OpenTable) {
        let owner = Owner::Next(holder);
        let is_its_own = |last: &Argument| event.has_arguments() && last.start_ns == event.start_ns;
        self.joined.clear();
        if self.pending.last(owner).is_some_and(is_its_own) {
            self.joined.extend(self.pending.take(owner));
            let count = self.joined.len() as u64;
            self.joined_count = self.joined_count.saturating_add(count);
        } else {
            self.let_go(holder, open);
        }
    }

    /// No event takes what is pending for `holder`.
    fn let_go(&mut self, holder: Holder, open: &OpenTable) {
        let owner = Owner::Next(holder);
        let tenant = match holder {
            Holder::Slot(slot) => self.tenant(slot, open),
            _ => None,
        };
        let orphans = match tenant {
            Some(tenant) => self
                .pending
                .give(owner, tenant.slot, |argument| owns(tenant, argument)),
            None => self.pending.take(owner).count() as u64,
        };
        self.orphaned = self.orphaned.saturating_add(orphans);
    }

    fn note_argument(&mut self, argument: Argument, open: &OpenTable) {
        let holder = match Item::Argument(argument).holder() {
            Some(Holder::Slot(slot)) if !open.has(slot) => None,
            holder => holder,
        };
        let Some(holder) = holder else {
            self.orphaned = self.orphaned.saturating_add(1);
            return;
        };
        let owner = Owner::Next(holder);
        let goes_on = |last: &Argument| {
            last.start_ns == argument.start_ns
                && match holder {
                    Holder::Slot(_) => last.owner == argument.owner,
                    _ => (last.ordinal, last.part) < (argument.ordinal, argument.part),
                }
        };
        if self.pending.last(owner).is_some_and(|last| !goes_on(last)) {
            self.let_go(holder, open);
        }
        self.pending.push(owner, argument);
    }

    fn note_amendment(&mut self, amendment: Amendment, open: &OpenTable) {
        let Some(Holder::Slot(slot)) = Item::Amendment(amendment).holder() else {
            return;
        };
        let holder = Holder::Slot(slot);
        let is_others =
            |last: &Argument| (last.owner, last.start_ns) != (amendment.owner, amendment.start_ns);
        if self
            .pending
            .last(Owner::Next(holder))
            .is_some_and(is_others)
        {
            self.let_go(holder, open);
        }
        let is_shown = self
            .tenant(slot, open)
            .is_some_and(|tenant| amends(tenant, &amendment));
        if !is_shown && (self.followed.is_none() || !open.has(slot)) {
            return;
        }
        let latest = self.latest_of(slot);
        if latest
            .amendment
            .is_none_or(|known| known.sequence < amendment.sequence)
        {
            latest.amendment = Some(amendment);
        }
    }

    /// What is known about `slot`.
    fn latest_of(&mut self, slot: u32) -> &mut Latest {
        if let Some(slots_max) = self.followed
            && self.latest.len() >= slots_max
            && !self.latest.contains_key(&slot)
        {
            let mut tickets: Vec<u64> = self.latest.values().map(Latest::ticket).collect();
            let middle = tickets.len().div_euclid(2);
            let (_, median, _) = tickets.select_nth_unstable(middle);
            let median = *median;
            self.latest.retain(|_, latest| latest.ticket() > median);
        }
        self.latest.entry(slot).or_default()
    }

    /// Adds the arguments of the event that was lent last, which has some.
    #[cold]
    pub(crate) fn add_arguments(&self, event: &mut Event) {
        if !self.joined.is_empty() {
            event.arguments = argument::joined(&self.joined);
            event.arguments_lost = argument::lost(&self.joined, None);
        }
    }

    /// What is known of a region of this ring that the open table shows. None: it has completed.
    pub(crate) fn running(&self, tenant: &Tenant) -> Option<OpenRegion> {
        let latest = self.latest.get(&tenant.slot).copied().unwrap_or_default();
        if latest.completed > tenant.record.claimed_at_begin {
            return None;
        }
        let mut region = OpenRegion::new(tenant.slot, &tenant.record);
        let of_ring = latest
            .amendment
            .filter(|amendment| amends(tenant, amendment));
        let amendments = [tenant.amendment, of_ring].into_iter().flatten();
        if let Some(amendment) = amendments.max_by_key(|amendment| amendment.sequence) {
            region.amend(&amendment);
        }
        // Of the same ticket, the ring's record counts, and otherwise that of the last line.
        let mut parts: Vec<Argument> = self.arguments_of(tenant).copied().collect();
        parts.extend(tenant.arguments.iter().rev());
        parts.sort_by_key(|part| part.sequence);
        parts.dedup_by_key(|part| part.sequence);
        region.arguments = argument::joined(&parts);
        region.arguments_lost = argument::lost(&parts, tenant.not_kept);
        Some(region)
    }

    /// The arguments in the ring of a region that the open table shows.
    fn arguments_of(&self, tenant: &Tenant) -> impl Iterator<Item = &Argument> {
        let slot = tenant.slot;
        [Owner::Open(slot), Owner::Next(Holder::Slot(slot))]
            .into_iter()
            .flat_map(|owner| self.pending.of(owner))
            .filter(|argument| owns(tenant, argument))
    }

    /// What became of the tickets so far, if what is pending now stays so. `open` shows the regions of all rings.
    pub(crate) fn account(&self, open: &OpenTable) -> Account {
        let of_ring = |tenant: &&Tenant| tenant.record.ring == self.ring;
        let tenants = open.tenants.iter().filter(of_ring);
        let running = tenants.filter(|tenant| {
            let latest = self.latest.get(&tenant.slot);
            latest.is_none_or(|latest| latest.completed <= tenant.record.claimed_at_begin)
        });
        let of_running = match self.pending.is_empty() {
            true => 0,
            false => running
                .map(|tenant| self.arguments_of(tenant).count() as u64)
                .fold(0, u64::saturating_add),
        };
        let others = self.pending.count().saturating_sub(of_running);
        Account {
            joined: self.joined_count.saturating_add(of_running),
            orphaned: self.orphaned.saturating_add(others),
            evicted: self.pending.evicted(),
            ..self.window.account()
        }
    }
}

/// Whether an argument of its ring and slot is the tenant's.
fn owns(tenant: &Tenant, argument: &Argument) -> bool {
    let record = &tenant.record;
    record.owns(argument.sequence, argument.owner, argument.start_ns)
}

/// Whether an amendment of its ring and slot is the tenant's.
fn amends(tenant: &Tenant, amendment: &Amendment) -> bool {
    let record = &tenant.record;
    record.owns(amendment.sequence, amendment.owner, amendment.start_ns)
}
#[cfg(test)]
mod tests {
    use crate::argument::Argument;
    use crate::ending::Ending;
    use crate::event::{Event, Kind, OpenRegion};
    use crate::joiner::Joiner;
    use crate::report::Report;
    use crate::rings::ring::Ring;
    use crate::rings::window::Window;
    use crate::testing::{Image, from_slot, live, open_since, read, region};
    use bytemuck::Zeroable;
    use hrx_trace_format::record::{FLAG_ARGUMENTS, FLAG_SATURATED, FLAG_WAITING};
    use hrx_trace_format::{
        Amendment, ArgumentValue, ArgumentsOf, Checksum, Mark, OpenRecord, Record, Value,
    };

    #[test]
    fn what_was_running() {
        let mut image = Image::new(4, 1);
        image.record_some(0, 2);
        image.open(
            1,
            OpenRecord {
                start_ns: 700,
                claimed_at_begin: 2,
                copied_bytes: 11,
                correlation_id: 12,
                lane: 3,
                label_id: 0,
                thread_id: 13,
                flags: FLAG_SATURATED,
                ..OpenRecord::zeroed()
            },
        );
        image.open(0, open_since(800, 2));
        let (_, report) = image.read();
        assert_eq!(report.ending, Ending::NotFinished);
        assert_eq!(report.open_torn, 0);
        assert_eq!(
            report.open_regions[0],
            OpenRegion {
                slot: 1,
                start_ns: 700,
                copied_bytes: 11,
                correlation_id: 12,
                lane: 3,
                label_id: 0,
                thread_id: 13,
                saturated: true,
                ..OpenRegion::default()
            }
        );
        assert_eq!(report.open_regions[1].slot, 0);
        assert_eq!(report.open_regions.len(), 2);
        // A region that never ended is shown after a finish too.
        image.finish(9000);
        assert_eq!(image.read().1.open_regions.len(), 2);
    }

    #[test]
    fn an_open_region_with_a_completed_record_is_not_running() {
        let mut image = Image::new(4, 2);
        image.record_some(0, 3);
        image.open(0, open_since(3100, 3));
        image.record(0, from_slot(0, 3100, 3500));
        let (events, report) = image.read();
        assert_eq!(events.len(), 4);
        assert_eq!(report.open_regions, []);
        assert_eq!(report.open_torn, 0);
    }

    #[test]
    fn an_earlier_occupant_of_the_slot_proves_nothing() {
        let mut image = Image::new(8, 2);
        image.record(0, from_slot(0, 100, 200));
        image.record(0, from_slot(0, 300, 400));
        // Began at the same clock tick as the one before: tickets are compared, not times.
        image.open(0, open_since(300, 2));
        // Other slots, other rings and regions recorded whole prove nothing either.
        image.record(0, from_slot(1, 300, 500));
        image.record_some(1, 2);
        image.record(1, from_slot(0, 300, 500));
        image.record(0, region(700));
        let (_, report) = image.read();
        assert_eq!(report.open_regions.len(), 1);
        assert_eq!(report.open_regions[0].start_ns, 300);
        // Nor does a torn record.
        let completed = image.record(0, from_slot(0, 300, 800));
        image.tear(0, completed);
        assert_eq!(image.read().1.open_regions.len(), 1);
        image.record(0, from_slot(0, 300, 800));
        assert_eq!(image.read().1.open_regions, []);
    }

    fn number(value: u64) -> ArgumentValue<'static> {
        ArgumentValue::U64(value)
    }

    /// Keys and numbers, and at least how many are lost.
    fn numbers(arguments: &[Argument], lost: u64) -> (Vec<(u32, u64)>, u64) {
        let numbers = arguments.iter().map(|argument| match argument.value {
            crate::argument::ArgumentValue::U64(value) => (argument.key, value),
            ref other => panic!("{other:?}"),
        });
        (numbers.collect(), lost)
    }

    fn of_event(event: &Event) -> (Vec<(u32, u64)>, u64) {
        numbers(&event.arguments, event.arguments_lost)
    }

    fn of_open(region: &OpenRegion) -> (Vec<(u32, u64)>, u64) {
        numbers(&region.arguments, region.arguments_lost)
    }

    fn fates(report: &Report) -> [u64; 3] {
        let account = report.account;
        [account.joined, account.orphaned, account.evicted]
    }

    #[test]
    fn each_kind_of_event_gets_its_arguments() {
        let mut image = Image::with_lines(32, 1);
        let mut running = image.begin(0, 0, 100);
        image.argument(&mut running, 1, number(11));
        image.mark(0, 150, &[5, 6]);
        image.argument(&mut running, 2, number(12));
        // A value of the same thread, and a region in one call of another one, whose argument lies before it.
        image.mark(0, 160, &[]);
        let of = ArgumentsOf::event(170, 7);
        let argument = of.records(0, 9, number(90)).next().unwrap();
        image.record(0, argument);
        let value = Value {
            thread_id: 42,
            correlation_id: 3,
            label_id: 4,
            flags: FLAG_SATURATED,
            ..Value::at(170, -0.5)
        };
        image.record(0, value);
        let whole = Record {
            start_ns: 170,
            duration_ns: 5,
            thread_id: 7,
            flags: FLAG_ARGUMENTS,
            ..Record::zeroed()
        };
        image.record(0, whole);
        image.end(&running, 300);
        let (events, report) = image.read();
        let found: Vec<_> = events
            .iter()
            .map(|event| (event.kind, event.end_ns(), of_event(event)))
            .collect();
        assert_eq!(
            found,
            [
                (Kind::Mark, 150, (vec![(5, 50), (6, 60)], 0)),
                (Kind::Mark, 160, (vec![], 0)),
                (Kind::Value, 170, (vec![], 0)),
                (Kind::Region, 175, (vec![(9, 90)], 0)),
                (Kind::Region, 300, (vec![(1, 11), (2, 12)], 0)),
            ]
        );
        assert_eq!(
            events[2],
            Event {
                kind: Kind::Value,
                sequence: 8,
                start_ns: 170,
                value: -0.5,
                correlation_id: 3,
                label_id: 4,
                thread_id: 42,
                saturated: true,
                ..Event::default()
            }
        );
        assert_eq!(fates(&report), [5, 0, 0]);
        let account = report.account;
        assert_eq!((account.regions, account.marks, account.values), (2, 2, 1));
        assert_eq!(report.open_regions, []);
    }

    /// The bug that the format warns of: a running region's own arguments and amendments name its slot, and have tickets above its `claimed_at_begin`.
    #[test]
    fn only_a_regions_record_drops_an_open_one() {
        let mut image = Image::new(32, 1);
        image.record_some(0, 3);
        let mut running = image.begin(1, 0, 4000);
        image.argument(&mut running, 1, number(11));
        image.relabel(&running, 2);
        // Nor does a mark, whatever it has where a region has its slot.
        let odd = Mark {
            open_slot: 2,
            ..Mark::at(4100)
        };
        image.record(0, odd);
        let (_, report) = image.read();
        let region = &report.open_regions[0];
        assert_eq!((region.label_id, region.amended, region.ring), (2, true, 0));
        assert_eq!(of_open(region), (vec![(1, 11)], 0));
        assert_eq!(fates(&report), [1, 0, 0]);
        // It completes, and its writer dies before it clears the slot.
        image.complete(&running, 5000);
        let (events, report) = image.read();
        assert_eq!(report.open_regions, []);
        assert_eq!(of_event(events.last().unwrap()), (vec![(1, 11)], 0));
        assert_eq!(fates(&report), [1, 0, 0]);
    }

    /// Two tenants of a slot that began in the same nanosecond, the completed record of the first one lost. Only `owner` tells their arguments apart.
    #[test]
    fn a_tenant_does_not_get_the_arguments_of_the_one_before() {
        for is_completed in [true, false] {
            let mut image = Image::new(32, 1);
            let mut first = image.begin(0, 0, 500);
            image.argument(&mut first, 1, number(11));
            image.argument(&mut first, 2, number(12));
            let lost = image.end(&first, 600);
            image.tear(0, lost);
            let mut second = image.begin(0, 0, 500);
            image.argument(&mut second, 3, number(13));
            if is_completed {
                image.end(&second, 700);
            }
            let (events, report) = image.read();
            let found = match is_completed {
                true => of_event(&events[0]),
                false => of_open(&report.open_regions[0]),
            };
            assert_eq!(found, (vec![(3, 13)], 0), "{is_completed}");
            assert_eq!(fates(&report), [1, 2, 0], "{is_completed}");
        }
    }

    /// The same where the second one has none: its flag says so, or it began later.
    #[test]
    fn a_tenant_without_arguments_gets_none() {
        for (start_ns, flags, lost) in [(500, 0, 0), (501, FLAG_ARGUMENTS, 1)] {
            let mut image = Image::new(32, 1);
            let mut first = image.begin(0, 0, 500);
            image.argument(&mut first, 1, number(11));
            let second = Record {
                flags,
                ..from_slot(0, start_ns, 700)
            };
            image.record(0, second);
            let (events, report) = image.read();
            assert_eq!(of_event(&events[0]), (vec![], lost));
            // The open table shows the first one, and the second one's record drops it: a slot has one tenant at a time.
            assert_eq!((report.open_regions.len(), fates(&report)), (0, [0, 1, 0]));
        }
    }

    /// An amendment of another tenant between an argument and a region parts them as well.
    #[test]
    fn an_amendment_of_another_tenant_parts_an_argument_from_a_region() {
        let mut image = Image::new(32, 1);
        let mut first = image.begin(0, 0, 500);
        image.argument(&mut first, 1, number(11));
        let second = image.begin(0, 0, 500);
        image.relabel(&second, 2);
        image.record(
            0,
            Record {
                flags: FLAG_ARGUMENTS,
                ..from_slot(0, 500, 700)
            },
        );
        let (events, report) = image.read();
        assert_eq!(of_event(&events[0]), (vec![], 1));
        assert_eq!(fates(&report), [0, 1, 0]);
    }

    #[test]
    fn events_of_a_thread_at_one_moment_are_told_apart_by_ordinals() {
        let mut image = Image::new(32, 1);
        let lost = image.mark(0, 500, &[1, 2]);
        image.tear(0, lost);
        image.mark(0, 500, &[3]);
        image.mark(0, 500, &[4]);
        let (events, report) = image.read();
        let found: Vec<_> = events.iter().map(of_event).collect();
        assert_eq!(found, [(vec![(3, 30)], 0), (vec![(4, 40)], 0)]);
        assert_eq!(fates(&report), [2, 2, 0]);
    }

    #[test]
    fn arguments_that_name_no_holder_belong_to_nothing() {
        for open_slot in [0, 3, u16::MAX - 1] {
            let mut image = Image::new(8, 1);
            let of = ArgumentsOf::event(500, 42);
            let argument = of.records(0, 1, number(1)).next().unwrap();
            image.record(
                0,
                hrx_trace_format::Argument {
                    open_slot,
                    ..argument
                },
            );
            let event = Record {
                start_ns: 500,
                thread_id: 42,
                flags: FLAG_ARGUMENTS,
                open_slot,
                ..Record::zeroed()
            };
            image.record(0, event);
            let (events, report) = image.read();
            assert_eq!(of_event(&events[0]), (vec![], 1), "{open_slot}");
            assert_eq!(fates(&report), [0, 1, 0], "{open_slot}");
        }
    }

    /// A region hangs while others go round the ring. Its slot keeps the first five of its arguments' records and the latest one.
    #[test]
    fn what_the_ring_has_lost_is_in_the_lines() {
        let mut image = Image::with_lines(8, 1);
        let mut running = image.begin(0, 0, 500);
        for key in 0..8 {
            image.argument(&mut running, key, number(key.into()));
        }
        image.relabel(&running, 3);
        let keys = |image: &Image| {
            let (_, report) = image.read();
            let (found, lost) = of_open(&report.open_regions[0]);
            let keys: Vec<u32> = found.into_iter().map(|(key, _)| key).collect();
            assert_eq!(report.open_regions[0].label_id, 3);
            (keys, lost, report.account.joined)
        };
        // The amendment has taken the place of the first one in the ring.
        assert_eq!(keys(&image), ((0..8).collect(), 0, 7));
        // What the slot alone tells, before the ring is read.
        let perhaps = &image.trace().perhaps_running()[0];
        assert_eq!((perhaps.label_id, perhaps.amended), (3, true));
        let (of_slot, lost) = of_open(perhaps);
        assert_eq!((of_slot.len(), lost), (6, 2));
        image.record_some(0, 6);
        assert_eq!(keys(&image), (vec![0, 1, 2, 3, 4, 7], 2, 1));
        image.record_some(0, 60);
        assert_eq!(keys(&image), (vec![0, 1, 2, 3, 4, 7], 2, 0));
        // The latest line is damaged: that there were more is not known any more.
        image.bytes[image.identity.open_line(0, 7) as usize + 20] ^= 1;
        assert_eq!(keys(&image), (vec![0, 1, 2, 3, 4], 0, 0));
    }

    /// Lines are not cleared: those of an earlier tenant have its tickets, or those of its ring.
    #[test]
    fn lines_of_earlier_tenants_are_not_shown() {
        for ring in 0..2 {
            let mut image = Image::with_lines(8, 2);
            let mut first = image.begin(0, ring, 500);
            image.argument(&mut first, 1, number(1));
            image.relabel(&first, 3);
            image.end(&first, 600);
            if ring == 0 {
                // With the same `owner` in a ring that has given out 2^32 more tickets.
                image.set_claimed(0, 1 << 32);
            }
            image.begin(0, 0, 500);
            let (_, report) = image.read();
            let region = &report.open_regions[0];
            assert_eq!(of_open(region), (vec![], 0));
            assert_eq!((region.amended, region.label_id), (false, 0));
        }
    }

    #[test]
    fn the_latest_amendment_counts_wherever_it_is() {
        let mut image = Image::with_lines(8, 1);
        let running = image.begin(0, 0, 500);
        let of_line = image.relabel(&running, 1);
        let label = |image: &Image| image.read().1.open_regions[0].label_id;
        // The writer dies between the record and its line.
        let newer = Amendment {
            label_id: 2,
            ..Amendment::of(&running.open)
        };
        image.record(0, newer);
        assert_eq!(label(&image), 2);
        // The older one is in the ring, the newer one in the line.
        image.line(0, 1, 0, of_line + 1, newer);
        image.tear(0, of_line + 1);
        assert_eq!(label(&image), 2);
        image.record_some(0, 100);
        assert_eq!(label(&image), 2);
        image.put(image.identity.open_line(0, 1), &[0; 8]);
        assert_eq!(label(&image), 0);
    }

    #[test]
    fn an_amendment_says_everything_that_can_change() {
        let mut image = Image::new(8, 1);
        let running = image.begin(0, 0, 500);
        let amendment = Amendment {
            copied_bytes: 1,
            correlation_id: 2,
            lane: 3,
            label_id: 0,
            status: 4,
            flags: FLAG_WAITING | FLAG_SATURATED,
            ..Amendment::of(&running.open)
        };
        image.record(0, amendment);
        assert_eq!(
            image.read().1.open_regions,
            [OpenRegion {
                slot: 0,
                ring: 0,
                start_ns: 500,
                copied_bytes: 1,
                correlation_id: 2,
                lane: 3,
                label_id: 0,
                thread_id: 42,
                status: 4,
                waiting: true,
                saturated: true,
                amended: true,
                arguments: Vec::new(),
                arguments_lost: 0,
            }]
        );
    }

    /// Neither an argument nor an amendment moves the moment from which on the capture is complete, or the order of the rings.
    #[test]
    fn arguments_have_no_place_in_the_order() {
        let mut image = Image::new(4, 2);
        image.record(0, region(9000));
        let mut running = image.begin(0, 0, 500);
        image.argument(&mut running, 1, number(1));
        image.relabel(&running, 0);
        image.mark(0, 2000, &[]);
        image.end(&running, 3000);
        image.record(1, region(1000));
        image.record(1, region(4000));
        let (events, report) = image.read();
        let ends: Vec<u64> = events.iter().map(Event::end_ns).collect();
        assert_eq!(ends, [1000, 2000, 3000, 4000]);
        assert_eq!(
            (report.complete_since_ns, report.first_ns),
            (2000, Some(100))
        );
    }

    /// More arguments than there is memory for: the oldest go, and are counted.
    #[test]
    fn arguments_beyond_the_bound_are_evicted() {
        let mut image = Image::new(8_000, 1);
        let mut running = image.begin(0, 0, 500);
        for key in 0..4_000 {
            image.argument(&mut running, key, number(key.into()));
        }
        image.mark(0, 600, &[1]);
        for is_completed in [false, true] {
            if is_completed {
                image.end(&running, 700);
            }
            let (events, report) = image.read();
            let (found, lost) = match is_completed {
                true => of_event(&events[1]),
                false => of_open(&report.open_regions[0]),
            };
            let [joined, orphaned, evicted] = fates(&report);
            assert_eq!((joined + evicted, orphaned), (4_001, 0));
            assert!((200..1_000).contains(&joined), "{joined}");
            assert_eq!((found.len() as u64 + 1, lost), (joined, evicted));
            assert!(
                found
                    .iter()
                    .map(|(key, _)| u64::from(*key))
                    .eq(evicted..4_000)
            );
            assert_eq!(of_event(&events[0]), (vec![(1, 10)], 0));
        }
    }

    /// Of a hostile capture that is followed, each ring may name each slot.
    #[test]
    fn what_is_kept_about_slots_is_bounded_and_the_latest() {
        let image = Image::new(4, 1);
        let ring = Ring::new(&image.identity, 0, 0, &Checksum::new());
        let window = Window::new(ring, 0, true, 1);
        let mut joiner = Joiner::new(window, 0, 0).following(64);
        for ticket in 1..100_000u32 {
            let latest = joiner.latest_of(ticket * 7 % 60_000);
            latest.completed = ticket.into();
            assert!(joiner.latest.len() <= 64);
        }
        for ticket in 100_000 - 32..100_000 {
            let latest = joiner.latest.get(&(ticket * 7 % 60_000));
            assert_eq!(latest.unwrap().completed, u64::from(ticket));
        }
    }

    /// A region begins after the open table was read. It is not shown, and its arguments belong to nothing, this time.
    #[test]
    fn live_a_region_that_begins_after_the_open_table_was_read() {
        let mut image = Image::new(8, 1);
        let control = image.identity.control_line(0);
        let mut once = true;
        let trace = live(image.clone(), move |image, offset, _| {
            if offset == control && std::mem::take(&mut once) {
                let mut running = image.begin(0, 0, 500);
                image.argument(&mut running, 1, number(1));
                image.relabel(&running, 2);
            }
        });
        let (_, report) = read(&trace);
        assert_eq!((report.open_regions.len(), fates(&report)), (0, [0, 1, 0]));
        let mut running = image.begin(0, 0, 500);
        image.argument(&mut running, 1, number(1));
        assert_eq!(fates(&image.read().1), [1, 0, 0]);
    }

    /// The writer laps the reader among an event's arguments.
    #[test]
    fn live_arguments_that_are_overtaken_are_lost() {
        let mut image = Image::new(8, 1);
        image.mark(0, 500, &[1, 2, 3, 4]);
        let ring = image.offset_of(0, 1);
        let trace = live(image, move |image, offset, count| {
            if (offset, count) == (ring, 5 * 64) {
                image.record_some(0, 5);
            }
        });
        let (events, report) = read(&trace);
        assert_eq!(of_event(&events[0]), (vec![(3, 30), (4, 40)], 2));
        assert_eq!((report.account.overtaken, fates(&report)), (2, [2, 0, 0]));
    }

    /// After a power loss the open table can be older than the ring: it shows a tenant whose record is lost, and the ring has what a later one said, which
    /// began in the same nanosecond.
    #[test]
    fn a_tenant_does_not_get_what_a_later_one_said() {
        let mut image = Image::new(32, 1);
        let first = image.begin(0, 0, 500);
        let older = image.clone();
        let lost = image.end(&first, 600);
        image.tear(0, lost);
        let mut second = image.begin(0, 0, 500);
        image.argument(&mut second, 1, number(1));
        image.relabel(&second, 2);
        let slot = image.identity.open_slot(0) as usize;
        image.put(slot as u64, &older.bytes[slot..][..64]);
        let (_, report) = image.read();
        let region = &report.open_regions[0];
        assert_eq!((of_open(region), region.amended), ((vec![], 0), false));
        assert_eq!(fates(&report), [0, 1, 0]);
    }
}

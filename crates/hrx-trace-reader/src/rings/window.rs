//! One ring's window (its latest `capacity` tickets) in ticket order, with a verdict for every ticket.
//!
//! Invariants:
//! - Every ticket of the window gets exactly one verdict, so the account balances by construction.
//! - A record is handed out only if its checksum and its sequence are those of the ticket.
//! - No loop runs longer than the file is: slots past its end are counted, never visited.
//! - While the writer runs, a slot that does not verify is read again, but not where thousands in a row do not; the waits have a bound.

use bytemuck::Zeroable;
use hrx_trace_format::record::{KIND_REGION, slot_of};
use hrx_trace_format::{Item, Record};

use crate::account::Account;
use crate::damage::Damage;
use crate::rings::late::{LATE_MAX, Late};
use crate::rings::recheck::{Recheck, Verdict};
use crate::rings::ring::Ring;
use crate::source::Source;

/// Reads one ring's window.
#[derive(Debug)]
pub(crate) struct Window {
    ring: Ring,
    writer_runs: bool,
    /// The ticket that is judged next.
    expected: u64,
    /// Tickets of the window that come after the chunk.
    unread: u64,
    /// The slot that the next chunk begins with.
    slot: u64,
    chunk: Vec<Record>,
    /// Records of the chunk that have been judged.
    judged: usize,
    chunk_records: usize,
    account: Account,
    /// Records recovered before the chunk.
    recovered_before: u64,
    /// When the oldest event after the last overwritten or overtaken record was complete.
    complete_since_ns: Option<u64>,
    read_failed: Option<Damage>,
    recheck: Recheck,
    /// Of a running writer: tickets without a record since the last one that was recovered.
    barren: Barren,
    /// Of a window that is followed: tickets to ask for again. None: a ticket without a record gets its verdict at once.
    late: Option<Late>,
}

impl Window {
    /// `claimed` is the number of tickets given out, at most [`SEQUENCE_MAX`](hrx_trace_format::record::SEQUENCE_MAX).
    pub(crate) fn new(ring: Ring, claimed: u64, writer_runs: bool, chunk_records: usize) -> Self {
        let overwritten = claimed.saturating_sub(ring.capacity);
        let expected = overwritten.saturating_add(1);
        Self {
            writer_runs,
            expected,
            unread: claimed.saturating_sub(overwritten),
            slot: slot_of(expected, ring.capacity).unwrap_or_default(),
            chunk: Vec::new(),
            judged: 0,
            chunk_records: chunk_records.max(1),
            account: Account {
                claimed,
                overwritten,
                ..Account::default()
            },
            recovered_before: 0,
            complete_since_ns: None,
            read_failed: None,
            recheck: Recheck::new(),
            barren: Barren::default(),
            late: None,
            ring,
        }
    }

    /// The same window, read on while it is written: see [`Window::extend`].
    pub(crate) fn following(mut self) -> Self {
        self.late = Some(Late::default());
        self.recheck.begin_round();
        self
    }

    /// Leaves out the tickets before `first`. To be called before the first record is read.
    pub(crate) fn begin_at(&mut self, first: u64) {
        self.leave_out(first.saturating_sub(self.expected).min(self.unread));
    }

    /// Counts the next tickets as not read.
    fn leave_out(&mut self, count: u64) {
        self.account.not_read = self.account.not_read.saturating_add(count);
        self.pass_over(count);
    }

    /// Extends the window to the tickets given out since. To be called when everything before them has been read.
    pub(crate) fn extend(&mut self, claimed: u64, writer_runs: bool) {
        let more = claimed.saturating_sub(self.account.claimed);
        self.account.claimed = self.account.claimed.saturating_add(more);
        self.unread = self.unread.saturating_add(more);
        self.writer_runs = writer_runs;
        let lost = self
            .recheck
            .note_claimed(&self.ring, claimed)
            .saturating_add(1)
            .saturating_sub(self.expected)
            .min(self.unread);
        if lost > 0 {
            self.account.overtaken = self.account.overtaken.saturating_add(lost);
            self.complete_since_ns = None;
            self.pass_over(lost);
        }
        self.recheck.begin_round();
        if let Some(late) = &mut self.late {
            late.begin_round();
        }
    }

    fn pass_over(&mut self, count: u64) {
        self.expected = self.expected.saturating_add(count);
        self.unread = self.unread.saturating_sub(count);
        self.slot = slot_of(self.expected, self.ring.capacity).unwrap_or_default();
    }

    /// Where the next record that verifies, of an event or of anything else that this version knows, lies until the next call: see [`Window::record`].
    #[inline]
    pub(crate) fn next(&mut self, source: &Source) -> Option<usize> {
        loop {
            let Some(record) = self.chunk.get(self.judged) else {
                // Late ones first: what their threads recorded after them is to come after them.
                if let Some(late) = self.next_late(source) {
                    self.chunk.clear();
                    self.chunk.push(late);
                    self.judged = 1;
                    return Some(0);
                }
                if self.fill(source) {
                    continue;
                }
                return None;
            };
            let index = self.judged;
            let expected = self.expected;
            self.judged = index.wrapping_add(1);
            self.expected = expected.wrapping_add(1);
            if self.ring.is_record_of(record, expected) {
                // A copy of the record would be slower.
                let accepted = match record.kind {
                    KIND_REGION => {
                        let end_ns = record.end_ns();
                        self.accept(end_ns);
                        true
                    }
                    _ => {
                        let record = *record;
                        self.accepts(&record)
                    }
                };
                if accepted {
                    return Some(index);
                }
            } else if let found = *record
                && let Some(believed) = self.judge(source, expected, Some(&found))
                && self.accepts(&believed)
            {
                *self.chunk.get_mut(index)? = believed;
                return Some(index);
            }
        }
    }

    /// The record at a place that [`Window::next`] has returned. Lent rather than returned, so that it is copied once, by the caller that keeps it.
    #[inline]
    pub(crate) fn record(&self, index: usize) -> Option<&Record> {
        self.chunk.get(index)
    }

    /// Counts an event, which was complete at `end_ns`.
    #[inline]
    fn accept(&mut self, end_ns: u64) {
        self.account.recovered = self.account.recovered.wrapping_add(1);
        if self.complete_since_ns.is_none() {
            self.complete_since_ns = Some(end_ns);
        }
    }

    /// Counts a record that verifies. Whether it is handed out.
    #[inline(never)]
    fn accepts(&mut self, record: &Record) -> bool {
        let Some(item) = Item::of(bytemuck::cast(*record)) else {
            self.account.skipped = self.account.skipped.wrapping_add(1);
            return false;
        };
        match item.end_ns() {
            Some(end_ns) => self.accept(end_ns),
            // It has no place of its own in time.
            None => self.account.recovered = self.account.recovered.wrapping_add(1),
        }
        let count = match item {
            Item::Mark(_) => &mut self.account.marks,
            Item::Value(_) => &mut self.account.values,
            Item::Argument(_) => &mut self.account.arguments,
            Item::Amendment(_) => &mut self.account.amendments,
            // Regions are all others.
            _ => return true,
        };
        *count = count.wrapping_add(1);
        true
    }

    /// A record that was being written in an earlier round.
    #[cold]
    fn next_late(&mut self, source: &Source) -> Option<Record> {
        while let Some(expected) = self.late.as_mut()?.pop() {
            if let Some(believed) = self.judge(source, expected, None)
                && self.accepts(&believed)
            {
                return Some(believed);
            }
        }
        None
    }

    /// Tickets that have no verdict yet.
    pub(crate) fn remaining(&self) -> u64 {
        let in_chunk = self.chunk.len().saturating_sub(self.judged);
        self.unread.saturating_add(in_chunk as u64)
    }

    /// What became of the tickets so far. Late ones are in flight while the writer runs, and torn once it is dead.
    pub(crate) fn account(&self) -> Account {
        let mut account = self.account;
        let late = self.late.as_ref().map(Late::count).unwrap_or_default();
        let missing = if self.writer_runs {
            &mut account.in_flight
        } else {
            &mut account.torn
        };
        *missing = missing.saturating_add(late);
        let others = [
            account.marks,
            account.values,
            account.arguments,
            account.amendments,
        ];
        account.regions = others
            .into_iter()
            .fold(account.recovered, u64::saturating_sub);
        account
    }

    /// The first read that failed.
    pub(crate) fn read_failed(&self) -> Option<&Damage> {
        self.read_failed.as_ref()
    }

    /// From when on nothing of this ring was overwritten: 0 if nothing was. None: nothing is left of what came later.
    pub(crate) fn complete_since_ns(&self) -> Option<u64> {
        if self.account.overwritten == 0 && self.account.overtaken == 0 {
            return Some(0);
        }
        self.complete_since_ns
    }

    /// Reads the next chunk. False: the window is at its end.
    #[cold]
    fn fill(&mut self, source: &Source) -> bool {
        loop {
            if self.unread == 0 {
                return false;
            }
            if source.is_interrupted() {
                self.leave_out(self.unread);
                return false;
            }
            if self.slot >= self.ring.capacity {
                self.slot = 0;
            }
            let in_file = self.ring.present.saturating_sub(self.slot);
            if in_file == 0 {
                // The file ends before this slot: nothing is there up to the ring's end.
                let to_end = self.ring.capacity.saturating_sub(self.slot);
                self.count_torn(self.unread.min(to_end));
                continue;
            }
            if self.is_barren() {
                let end = self.slot.saturating_add(self.unread.min(in_file));
                let data = self.ring.next_data(source, self.slot, end);
                let hole = data.saturating_sub(self.slot);
                if hole > 0 && self.writer_runs {
                    self.count_unwritten(source, hole);
                    continue;
                }
                if hole > 0 {
                    self.count_torn(hole);
                    continue;
                }
            }
            self.recovered_before = self.account.recovered;
            let count = self.unread.min(in_file).min(self.chunk_records as u64);
            self.chunk.resize(count as usize, Record::zeroed());
            self.judged = 0;
            let failed = self.ring.read(source, self.slot, &mut self.chunk);
            self.read_failed = self.read_failed.take().or(failed);
            self.go_past(count);
            return true;
        }
    }

    /// Whether the last chunk held nothing, so that there may be a hole. A running writer's threads can each be about to store one record, and so of its
    /// slots many more have to hold nothing.
    fn is_barren(&self) -> bool {
        match self.writer_runs {
            true => self.barren.is_beyond_threads(self.account.recovered),
            false => !self.chunk.is_empty() && self.account.recovered == self.recovered_before,
        }
    }

    /// Counts the next slots, a hole in the file of a running writer, as in flight, or as overtaken if newer tickets have been given out for them.
    fn count_unwritten(&mut self, source: &Source, count: u64) {
        let (claimed, _) = self.ring.read_claimed(source);
        let overtaken = self
            .recheck
            .note_claimed(&self.ring, claimed)
            .saturating_add(1)
            .saturating_sub(self.expected)
            .min(count);
        if overtaken > 0 {
            self.account.overtaken = self.account.overtaken.saturating_add(overtaken);
            self.complete_since_ns = None;
        }
        let in_flight = count.saturating_sub(overtaken);
        self.account.in_flight = self.account.in_flight.saturating_add(in_flight);
        self.expected = self.expected.saturating_add(count);
        self.go_past(count);
    }

    /// Counts the next slots as torn without reading them.
    fn count_torn(&mut self, count: u64) {
        self.account.torn = self.account.torn.saturating_add(count);
        self.expected = self.expected.saturating_add(count);
        self.go_past(count);
    }

    fn go_past(&mut self, count: u64) {
        self.slot = self.slot.saturating_add(count);
        self.unread = self.unread.saturating_sub(count);
    }

    /// Decides on a ticket whose slot did not verify, and held `found` a moment ago. Counts it, unless it verifies now or will be asked for again.
    #[cold]
    fn judge(&mut self, source: &Source, expected: u64, found: Option<&Record>) -> Option<Record> {
        let is_barren = self.barren.add(self.account.recovered);
        let verdict = if let Some(found) = found
            && self.writer_runs
            && is_barren
            && expected > self.recheck.overtaken()
        {
            // This many tickets without a record are no threads inside `record`: they are not worth a read each.
            Verdict::without_record(&self.ring, found, expected)
        } else if self.writer_runs || self.late.is_some() {
            // A late one will be asked for again: it is not worth waiting for.
            let waits = found.is_some();
            self.recheck
                .verdict(source, &self.ring, expected, self.writer_runs, waits)
        } else {
            Verdict::Torn
        };
        if let (Some(late), true, Verdict::InFlight | Verdict::Torn) =
            (&mut self.late, self.writer_runs, &verdict)
            && late.push(expected)
        {
            return None;
        }
        let count = match verdict {
            Verdict::Believed(record) => return Some(record),
            Verdict::Torn => &mut self.account.torn,
            Verdict::InFlight => &mut self.account.in_flight,
            Verdict::Overtaken => {
                self.complete_since_ns = None;
                &mut self.account.overtaken
            }
        };
        *count = count.saturating_add(1);
        None
    }
}

/// Tickets in a row that have no record.
#[derive(Debug, Default)]
struct Barren {
    count: u64,
    /// How many records had been recovered when the row began.
    recovered: u64,
}

impl Barren {
    /// A ticket has no record. Whether there are more than threads can hold back.
    fn add(&mut self, recovered: u64) -> bool {
        if self.recovered != recovered {
            *self = Self {
                count: 0,
                recovered,
            };
        }
        self.count = self.count.saturating_add(1);
        self.count > LATE_MAX as u64
    }

    fn is_beyond_threads(&self, recovered: u64) -> bool {
        self.recovered == recovered && self.count >= LATE_MAX as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Event, Kind};
    use crate::rings::claimed::Evidence;
    use crate::source::Lock;
    use crate::source::fake::{self, Fake};
    use crate::testing::{Image, read, region, sequences};
    use crate::trace::Trace;
    use std::io;

    #[test]
    fn an_empty_ring() {
        let (events, report) = Image::new(4, 1).read();
        assert_eq!(events, []);
        assert_eq!(report.account, Account::default());
        assert_eq!(report.damages, []);
    }

    #[test]
    fn a_ring_that_is_not_full() {
        let mut image = Image::new(4, 1);
        image.record_some(0, 3);
        let (events, report) = image.read();
        assert_eq!(sequences(&events), [1, 2, 3]);
        assert_eq!(
            report.account,
            Account {
                claimed: 3,
                recovered: 3,
                regions: 3,
                ..Account::default()
            }
        );
        assert_eq!(
            events[1],
            Event {
                ring: 0,
                sequence: 2,
                start_ns: 1100,
                duration_ns: 900,
                copied_bytes: 6000,
                correlation_id: 2007,
                lane: 0,
                label_id: 0,
                thread_id: 42,
                ..Event::default()
            }
        );
    }

    #[test]
    fn every_field_arrives() {
        let mut image = Image::new(1, 1);
        image.record(
            0,
            Record {
                sequence: 0,
                start_ns: 2,
                duration_ns: 3,
                copied_bytes: 4,
                correlation_id: 5,
                lane: 6,
                label_id: 7,
                thread_id: 8,
                status: 9,
                flags: 15,
                open_slot: u16::MAX,
                kind: KIND_REGION,
                crc32: 0,
            },
        );
        assert_eq!(
            image.read().0,
            [Event {
                kind: Kind::Region,
                value: 0.0,
                ring: 0,
                sequence: 1,
                start_ns: 2,
                duration_ns: 3,
                copied_bytes: 4,
                correlation_id: 5,
                lane: 6,
                label_id: 7,
                thread_id: 8,
                status: 9,
                failed: true,
                cancelled: true,
                hidden: true,
                saturated: true,
                arguments: Vec::new(),
                arguments_lost: 1,
            }]
        );
    }

    #[test]
    fn wrapped_rings_of_every_phase() {
        for capacity in 1..6 {
            for claimed in 0..20 {
                let mut image = Image::new(capacity, 1);
                image.record_some(0, claimed);
                let (events, report) = image.read();
                let overwritten = claimed.saturating_sub(capacity);
                let window: Vec<u64> = (overwritten + 1..=claimed).collect();
                assert_eq!(sequences(&events), window);
                assert_eq!(report.account.overwritten, overwritten);
                assert_eq!(report.account.torn, 0);
            }
        }
    }

    #[test]
    fn a_torn_slot_costs_one_event() {
        let mut image = Image::new(4, 1);
        image.record_some(0, 6);
        image.tear(0, 4);
        let (events, report) = image.read();
        assert_eq!(sequences(&events), [3, 5, 6]);
        assert_eq!((report.account.torn, report.account.overwritten), (1, 2));
    }

    #[test]
    fn a_record_of_the_lap_before_is_torn_and_not_believed() {
        let mut image = Image::new(4, 1);
        image.record_some(0, 5);
        // Ticket 6 was taken; its writer died before the first store.
        image.set_claimed(0, 6);
        let (events, report) = image.read();
        assert_eq!(sequences(&events), [3, 4, 5]);
        assert_eq!((report.account.torn, report.account.overwritten), (1, 2));
    }

    #[test]
    fn a_record_of_another_ring_or_capture_is_not_believed() {
        let mut image = Image::new(2, 2);
        image.record_some(0, 2);
        image.record_some(1, 2);
        let moved = image.bytes[image.offset_of(0, 1) as usize..][..64].to_vec();
        image.put(image.offset_of(1, 1), &moved);
        let mut other = Image::new(2, 2);
        other.identity.salt ^= 1;
        other.record_some(0, 2);
        image.put(
            image.offset_of(0, 2),
            &other.bytes[other.offset_of(0, 2) as usize..][..64],
        );
        let (events, report) = image.read();
        assert_eq!(
            events
                .iter()
                .map(|event| (event.ring, event.sequence))
                .collect::<Vec<_>>(),
            [(0, 1), (1, 2)]
        );
        assert_eq!(report.account.torn, 2);
    }

    #[test]
    fn unknown_kinds_are_skipped_and_counted() {
        let mut image = Image::new(4, 1);
        image.record_some(0, 1);
        image.record(
            0,
            Record {
                kind: 9,
                ..region(2000)
            },
        );
        image.record_some(0, 1);
        let (events, report) = image.read();
        assert_eq!(sequences(&events), [1, 3]);
        assert_eq!((report.account.skipped, report.account.torn), (1, 0));
    }

    #[test]
    fn more_than_a_chunk() {
        // Three chunks and a bit, from the middle of the ring on.
        let mut image = Image::new(13_000, 1);
        image.record_some(0, 20_000);
        image.tear(0, 7001);
        image.tear(0, 20_000);
        let (events, report) = image.read();
        assert!(sequences(&events).into_iter().eq(7002..20_000));
        assert_eq!((report.account.torn, report.account.overwritten), (2, 7000));
    }

    #[test]
    fn slots_past_the_end_of_the_file_are_torn() {
        let mut image = Image::new(8, 1);
        image.record_some(0, 13);
        // Slots 0 to 4 hold 9 to 13, slots 5 to 7 hold 6 to 8. Slots 0, 1, 2 and a part of 3 are left.
        image.bytes.truncate(image.offset_of(0, 12) as usize + 63);
        let (events, report) = image.read();
        assert_eq!(sequences(&events), [9, 10, 11]);
        assert_eq!((report.account.torn, report.account.overwritten), (5, 5));
        assert_eq!(report.damages.len(), 1);
        assert!(report.damages[0].what.starts_with("cut short: found "));
    }

    #[test]
    fn an_unreadable_page_costs_only_its_own_slots() {
        let mut image = Image::new(1000, 1);
        image.record_some(0, 1000);
        let bad = image.offset_of(0, 500).next_multiple_of(4096);
        let length = image.bytes.len() as u64;
        let bytes = image.bytes;
        let fake = Fake {
            length,
            lock: Lock::Free,
            read_at: fake::each(move |offset, buffer| {
                if (bad..bad + 4096).contains(&offset) {
                    return Err(io::Error::other("medium error"));
                }
                // A short read up to the bad page, as the kernel does it.
                let end = if offset < bad { bad } else { length };
                let there = &bytes[offset as usize..end.max(offset) as usize];
                let count = there.len().min(buffer.len());
                buffer[..count].copy_from_slice(&there[..count]);
                Ok(count)
            }),
        };
        let (events, report) =
            read(&Trace::from_source(fake.into(), Evidence::EveryRecord).unwrap());
        assert_eq!((events.len(), report.account.torn), (936, 64));
        assert_eq!(
            report.damages,
            [Damage {
                offset: bad,
                what: "cannot be read: medium error".into()
            }]
        );
    }
}

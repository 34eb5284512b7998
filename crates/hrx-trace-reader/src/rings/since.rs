//! Where in a ring to begin, if only what completed since a moment is wanted: found without reading what lies before it.
//!
//! Tickets are nearly in order of completion: a record's ticket is taken after its region has ended. So if every record of a whole [`RUN`] of tickets
//! ended more than [`RECORDED_WITHIN_NS`] before the moment, all earlier tickets belong to regions that had ended before it too, unless the program
//! took longer than this to record all of that run. The last such run is found by halving, which reads sixteen runs of a ring of millions.
//! Arguments and amendments have no place of their own in time: a run without an event that verifies proves nothing. Where a run lies in a hole of the file, the run after the hole is looked at instead.

use bytemuck::Zeroable;
use hrx_trace_format::record::slot_of;
use hrx_trace_format::{Item, Record};

use crate::rings::ring::Ring;
use crate::source::Source;

/// Tickets that are judged together.
const RUN: u64 = 1024;
/// How long after its end a region may be recorded: a program that collects regions and records them together has this much time.
const RECORDED_WITHIN_NS: u64 = 1_000_000_000;

/// The first ticket to read, so that no event that ended at `since_ns` or later is missed.
pub(crate) fn first_ticket(source: &Source, ring: &Ring, claimed: u64, since_ns: u64) -> u64 {
    let oldest = claimed.saturating_sub(ring.capacity).saturating_add(1);
    let Some(ended_before_ns @ 1..) = since_ns.checked_sub(RECORDED_WITHIN_NS) else {
        return oldest;
    };
    let first_of = |run: u64| oldest.saturating_add(run.saturating_mul(RUN));
    // All runs before `low` had ended. Nothing is known of those from `high` on.
    let mut low = 0u64;
    let mut high = claimed
        .saturating_add(1)
        .saturating_sub(oldest)
        .div_ceil(RUN);
    while low < high {
        let middle = low.midpoint(high);
        let run = after_hole(source, ring, first_of(middle), claimed)
            .map(|ticket| ticket.saturating_sub(oldest).div_euclid(RUN))
            .filter(|run| *run < high);
        let ended = run.is_some_and(|run| {
            let last = first_of(run.saturating_add(1))
                .saturating_sub(1)
                .min(claimed);
            latest_end_ns(source, ring, first_of(run), last)
                .is_some_and(|end_ns| end_ns < ended_before_ns)
        });
        match run {
            Some(run) if ended => low = run.saturating_add(1),
            _ => high = middle,
        }
    }
    first_of(low).min(claimed.saturating_add(1))
}

/// The first ticket from `ticket` on whose slot lies in no hole of the file.
fn after_hole(source: &Source, ring: &Ring, ticket: u64, claimed: u64) -> Option<u64> {
    let mut ticket = ticket;
    // Up to the ring's end, then from its start.
    for _ in 0..2 {
        let slot = slot_of(ticket, ring.capacity)?;
        let data = ring.next_data(source, slot, ring.capacity);
        ticket = ticket.saturating_add(data.saturating_sub(slot));
        if ticket > claimed {
            return None;
        }
        if data < ring.capacity {
            return Some(ticket);
        }
    }
    None
}

/// Gives `note` the ends of the events within the newest run of tickets.
pub(crate) fn newest_ends(source: &Source, ring: &Ring, claimed: u64, note: impl FnMut(u64)) {
    let oldest = claimed
        .saturating_sub(ring.capacity.min(RUN))
        .saturating_add(1);
    ends(source, ring, oldest, claimed, note);
}

/// The latest end of the tickets from `first` to `last`, at most [`RUN`] of them. None: none of their records verifies and is an event's.
fn latest_end_ns(source: &Source, ring: &Ring, first: u64, last: u64) -> Option<u64> {
    let mut latest = None;
    ends(source, ring, first, last, |end_ns| {
        latest = latest.max(Some(end_ns));
    });
    latest
}

/// Gives `note` the ends of the events with the tickets from `first` to `last`, at most [`RUN`] of them, as far as their records verify.
fn ends(source: &Source, ring: &Ring, first: u64, last: u64, mut note: impl FnMut(u64)) {
    let mut records = [Record::zeroed(); RUN as usize];
    let mut next = first;
    while next <= last {
        let Some(slot) = slot_of(next, ring.capacity) else {
            return;
        };
        let count = last
            .saturating_sub(next)
            .saturating_add(1)
            .min(ring.capacity.saturating_sub(slot))
            .min(RUN);
        let Some(records) = records.get_mut(..count as usize) else {
            return;
        };
        ring.read(source, slot, records);
        for (ticket, record) in (next..).zip(records.iter()) {
            if ring.is_record_of(record, ticket)
                && let Some(event) = Item::of(bytemuck::cast(*record))
            {
                event.end_ns().into_iter().for_each(&mut note);
            }
        }
        next = next.saturating_add(count);
    }
}

#[cfg(test)]
mod tests {
    use crate::event::Event;
    use crate::reading::Reading;
    use crate::report::Report;
    use crate::testing::{Image, region};
    use crate::trace::Trace;
    use hrx_trace_format::header::STATE_RECORDING;
    use hrx_trace_format::record::slot_of;
    use hrx_trace_format::{Area, Checksum, Record};
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    const SECOND: u64 = 1_000_000_000;

    fn since(trace: &Trace, since_ns: u64) -> (Vec<Event>, Report) {
        let mut events = trace.read(Reading {
            since_ns,
            ..Reading::default()
        });
        let all = events.by_ref().collect();
        let report = events.finish();
        assert!(report.account.balances(), "{report:?}");
        (all, report)
    }

    /// A ring that wrapped: ten events a millisecond, and one in a hundred recorded late.
    fn ring_with_stragglers(capacity: u64, claimed: u64) -> Image {
        let mut image = Image::new(capacity, 1);
        for i in 1..=claimed {
            let late_ns = if i % 100 == 7 { SECOND / 2 } else { 0 };
            image.record(0, region((i * 100_000).saturating_sub(late_ns)));
        }
        image
    }

    #[test]
    fn no_event_since_then_is_missed_and_most_before_are_not_read() {
        for (capacity, claimed) in [(50_000, 70_007), (60_000, 59_000), (1_500, 30_000)] {
            let trace = ring_with_stragglers(capacity, claimed).trace();
            let all: Vec<Event> = trace.events().collect();
            for since_ns in [
                0,
                SECOND,
                3 * SECOND,
                9 * SECOND,
                14 * SECOND,
                15 * SECOND,
                u64::MAX,
            ] {
                let (events, report) = since(&trace, since_ns);
                let wanted = |events: &[Event]| -> Vec<u64> {
                    let wanted = events.iter().filter(|event| event.end_ns() >= since_ns);
                    wanted.map(|event| event.sequence).collect()
                };
                assert_eq!(wanted(&events), wanted(&all), "{capacity} {since_ns}");
                assert_eq!(
                    report.account.recovered + report.account.not_read,
                    claimed.min(capacity)
                );
                // Two seconds' worth: a run, and the time within which events are recorded.
                let before = events.len() - wanted(&events).len();
                assert!(
                    since_ns == u64::MAX || before <= 2 * 10_000 + 2048,
                    "{before}"
                );
            }
        }
    }

    /// A sparse file that holds only the newest records: its holes are never read.
    #[test]
    fn holes_are_passed_over() {
        let (capacity, claimed, there) = (4_000_000, 7_000_000, 30_000);
        let identity = hrx_trace_format::Geometry::new(capacity).layout().unwrap();
        let checksum = Checksum::new();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sparse.hrxt");
        let file = File::create(&path).unwrap();
        file.set_len(identity.file_bytes).unwrap();
        let put = |at, bytes: &[u8]| file.write_all_at(bytes, at).unwrap();
        let identity = identity.sealed(&checksum);
        put(0, bytemuck::bytes_of(&identity));
        put(identity.counters_offset, &STATE_RECORDING.to_le_bytes());
        put(identity.control_line(0), &u64::to_le_bytes(claimed));
        for sequence in claimed - there + 1..=claimed {
            let record = Record {
                sequence,
                ..region(sequence * 100_000)
            };
            let record = record.sealed(&checksum, Area::Ring(0).salt(identity.salt));
            let slot = slot_of(sequence, capacity).unwrap();
            put(identity.ring_slot(0, slot), bytemuck::bytes_of(&record));
        }
        let trace = Trace::open_for_newest(&path).unwrap();
        let end_ns = trace.latest_ns();
        assert_eq!(end_ns, claimed * 100_000);
        let (events, report) = since(&trace, end_ns - SECOND);
        assert!((10_000..22_000).contains(&events.len()), "{}", events.len());
        assert_eq!((report.account.claimed, report.account.torn), (claimed, 0));
        // From the start: the holes are torn, and counted without being read.
        let (events, report) = since(&Trace::open(&path).unwrap(), 0);
        assert_eq!(
            (events.len() as u64, report.account.torn),
            (there, capacity - there)
        );
    }

    #[test]
    fn torn_runs_are_not_passed_over() {
        let mut image = ring_with_stragglers(20_000, 20_000);
        for sequence in 1..=20_000 {
            image.tear(0, sequence);
        }
        let (events, report) = since(&image.trace(), 2 * SECOND);
        assert_eq!(
            (events.len(), report.account.torn, report.account.not_read),
            (0, 20_000, 0)
        );
    }

    #[test]
    fn the_latest_moment_is_that_of_the_newest() {
        assert_eq!(Image::new(4, 1).trace().latest_ns(), 0);
        let mut image = ring_with_stragglers(1_500, 30_000);
        assert_eq!(image.trace().latest_ns(), 3 * SECOND);
        image.finish(4 * SECOND);
        assert_eq!(image.trace().latest_ns(), 4 * SECOND);
    }
}

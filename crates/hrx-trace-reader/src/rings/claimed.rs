//! How many tickets a ring has given out, by its counter and by its records.
//!
//! After a power loss the counter's page can be older than the ring's, or newer, and either can be damaged. A record proves by itself that its
//! ticket was given out. So where no writer runs, the newest record is looked for before the window is laid.

use hrx_trace_format::record::SEQUENCE_MAX;

use crate::damage::Damage;
use crate::rings::newest::newest_sequence;
use crate::rings::ring::Ring;
use crate::rings::sample::is_confirmed;
use crate::source::Source;

/// How much of a capture without a running writer is read to make sure of its counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Evidence {
    EveryRecord,
    /// A sample, and every record only if the sample does not confirm the counter.
    Sample,
}

/// The tickets that `ring` has given out, at most [`SEQUENCE_MAX`]. `chunk_records` bounds the memory that a search for the newest record takes.
///
/// A running writer's counter is right, because reader and writer see the same memory. Otherwise the records decide.
pub(crate) fn read_claimed(
    source: &Source,
    ring: &Ring,
    writer_runs: bool,
    chunk_records: usize,
    evidence: Evidence,
    damages: &mut Vec<Damage>,
) -> u64 {
    let (claimed, failed) = ring.read_claimed(source);
    damages.extend(failed);
    if writer_runs && claimed <= SEQUENCE_MAX {
        return claimed;
    }
    if evidence == Evidence::Sample && is_confirmed(source, ring, claimed) {
        return claimed;
    }
    let newest = newest_sequence(source, ring, claimed, chunk_records);
    let effective = match source.is_interrupted() {
        // Not every record was looked at: those that were prove only what they hold.
        true if claimed <= SEQUENCE_MAX => claimed.max(newest),
        _ => effective_claimed(claimed, newest, ring.capacity),
    };
    if effective != claimed {
        damages.push(Damage {
            offset: ring.control_offset(),
            what: format!(
                "claimed of ring {}: found {claimed}, expected {newest}, the sequence of the newest record",
                ring.index
            ),
        });
    }
    effective
}

/// The record is right if it lies above the counter, or below the counter's whole window, which then holds nothing.
fn effective_claimed(claimed: u64, newest: u64, capacity: u64) -> u64 {
    let below_window = newest > 0 && newest <= claimed.saturating_sub(capacity);
    if newest > claimed || below_window || claimed > SEQUENCE_MAX {
        newest
    } else {
        claimed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Image, live, read, region};
    use hrx_trace_format::Record;

    #[test]
    fn a_counter_behind_the_newest_record() {
        for claimed in 0..13 {
            let mut image = Image::new(4, 1);
            image.record_some(0, 13);
            image.set_claimed(0, claimed);
            let (events, report) = image.read();
            let sequences: Vec<u64> = events.iter().map(|event| event.sequence).collect();
            assert_eq!(sequences, [10, 11, 12, 13], "claimed {claimed}");
            assert_eq!(
                (report.account.claimed, report.account.overwritten),
                (13, 9)
            );
            assert_eq!(report.damages.len(), 1);
            assert_eq!(report.damages[0].offset, image.identity.control_line(0));
            assert_eq!(
                report.damages[0].what,
                format!(
                    "claimed of ring 0: found {claimed}, expected 13, the sequence of the newest record"
                )
            );
        }
    }

    #[test]
    fn a_counter_a_little_ahead_is_right() {
        let mut image = Image::new(4, 1);
        image.record_some(0, 13);
        for ahead in 0..4 {
            image.set_claimed(0, 13 + ahead);
            let (events, report) = image.read();
            assert_eq!(events.len() as u64, 4 - ahead);
            assert_eq!(
                (report.account.claimed, report.account.torn),
                (13 + ahead, ahead)
            );
            assert_eq!(report.damages, []);
        }
    }

    #[test]
    fn a_counter_whose_window_holds_nothing_gives_way_to_the_records() {
        let mut image = Image::new(4, 1);
        image.record_some(0, 6);
        for claimed in [10, 1000, 6 + (1 << 40), SEQUENCE_MAX + 1, u64::MAX] {
            image.set_claimed(0, claimed);
            assert_eq!(image.sequences(), [3, 4, 5, 6], "claimed {claimed}");
            let (_, report) = image.read();
            assert_eq!((report.account.claimed, report.account.torn), (6, 0));
            assert_eq!(report.damages.len(), 1);
        }
    }

    #[test]
    fn without_any_record_the_counter_stands() {
        let mut image = Image::new(4, 2);
        image.set_claimed(0, 1000);
        let (_, report) = image.read();
        assert_eq!((report.account.torn, report.account.overwritten), (4, 996));
        // Unless it is impossible.
        image.set_claimed(1, u64::MAX);
        let (_, report) = image.read();
        assert_eq!(report.rings[1].claimed, 0);
        assert_eq!(report.damages.len(), 1);
    }

    #[test]
    fn forged_sequences_do_not_raise_the_counter() {
        let mut image = Image::new(4, 1);
        image.record_some(0, 2);
        // A huge one whose checksum fails;
        image.put(image.offset_of(0, 2), &u64::to_le_bytes(1 << 30 | 2));
        // one in a slot that is not its own;
        image.put_record(
            0,
            Record {
                sequence: 400,
                ..region(1)
            },
        );
        let record = image.bytes[image.offset_of(0, 400) as usize..][..64].to_vec();
        image.put(image.offset_of(0, 3), &record);
        // and one above the largest there can be.
        image.put_record(
            0,
            Record {
                sequence: SEQUENCE_MAX + 1,
                ..region(1)
            },
        );
        assert_eq!(
            image.offset_of(0, 400),
            image.offset_of(0, SEQUENCE_MAX + 1)
        );
        let (events, report) = image.read();
        assert_eq!(events.len(), 1);
        assert_eq!((report.account.claimed, report.account.torn), (2, 1));
        assert_eq!(report.damages, []);
    }

    #[test]
    fn each_ring_by_itself() {
        let mut image = Image::new(4, 3);
        for ring in 0..3 {
            image.record_some(ring, 6);
        }
        image.set_claimed(1, 0);
        let (events, report) = image.read();
        assert_eq!(events.len(), 12);
        assert_eq!(report.damages[0].offset, image.identity.control_line(1));
    }

    #[test]
    fn a_running_writers_counter_is_right() {
        let mut image = Image::new(4, 1);
        image.record_some(0, 6);
        // The counter goes up before the record is written, so a record above the counter belongs to a later snapshot.
        image.put_record(
            0,
            Record {
                sequence: 7,
                ..region(7000)
            },
        );
        let (_, report) = read(&live(image, |_, _, _| {}));
        assert_eq!((report.account.claimed, report.damages.len()), (6, 0));
    }
}

//! A second look at a slot whose record did not verify: the writer may be storing it at this moment, or may have lapped it.

use std::slice;
use std::thread::sleep;
use std::time::Duration;

use bytemuck::Zeroable;
use hrx_trace_format::Record;
use hrx_trace_format::record::{SEQUENCE_MAX, slot_of};

use crate::rings::ring::Ring;
use crate::source::Source;

/// How many further looks one ring's slots get beyond the first: a writer may have lost its processor in the middle of a `record`. All slots of a
/// ring share them, so that a ring of nothing but damage does not make the reader wait for every slot.
const PATIENCE: u32 = 16;
/// How often a slot is read again without waiting: a `record` takes less time than a read.
const RETRIES_AT_ONCE: u32 = 3;
/// How long to wait before each further read.
const WAIT: Duration = Duration::from_micros(50);

/// What a slot turned out to hold.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// The ticket's record.
    Believed(Record),
    /// Damage, or what a dead thread left.
    Torn,
    /// The writer has yet to store it.
    InFlight,
    /// The writer has given out a newer ticket for the slot.
    Overtaken,
}

impl Verdict {
    /// On a ticket of a running writer whose slot holds `found` instead of its record: what was there before the writer's first store, or something else.
    pub(crate) fn without_record(ring: &Ring, found: &Record, ticket: u64) -> Self {
        let lap_before = ticket.checked_sub(ring.capacity);
        match found.sequence == 0 || Some(found.sequence) == lap_before {
            true => Self::InFlight,
            false => Self::Torn,
        }
    }
}

/// Rechecks the slots of one ring.
#[derive(Debug)]
pub(crate) struct Recheck {
    /// Up to this ticket, newer ones have been given out for the same slots.
    overtaken: u64,
    /// Further looks that are left.
    patience: u32,
}

impl Recheck {
    pub(crate) fn new() -> Self {
        Self {
            overtaken: 0,
            patience: PATIENCE,
        }
    }

    /// For a follower's next round. It waits less: what is in flight is asked for again in the round after.
    pub(crate) fn begin_round(&mut self) {
        self.patience = RETRIES_AT_ONCE;
    }

    /// The last ticket that the writer is known to have overtaken.
    pub(crate) fn overtaken(&self) -> u64 {
        self.overtaken
    }

    /// Takes note of the ring's counter, and returns the last ticket that the writer has overtaken.
    pub(crate) fn note_claimed(&mut self, ring: &Ring, claimed: u64) -> u64 {
        if claimed <= SEQUENCE_MAX {
            let overtaken = claimed.saturating_sub(ring.capacity);
            self.overtaken = self.overtaken.max(overtaken);
        }
        self.overtaken
    }

    /// Reads the slot of `ticket` until there is a verdict: again and again, if it `waits`.
    pub(crate) fn verdict(
        &mut self,
        source: &Source,
        ring: &Ring,
        ticket: u64,
        writer_runs: bool,
        waits: bool,
    ) -> Verdict {
        let Some(slot) = slot_of(ticket, ring.capacity) else {
            return Verdict::Torn;
        };
        if ticket <= self.overtaken {
            return Verdict::Overtaken;
        }
        let mut attempts = 0u32;
        loop {
            let mut record = Record::zeroed();
            let failed = ring.read(source, slot, slice::from_mut(&mut record));
            if failed.is_some() {
                return Verdict::Torn;
            }
            if ring.is_record_of(&record, ticket) {
                return Verdict::Believed(record);
            }
            // Read after the slot: a ticket is given out before its slot is written.
            let (claimed, _) = ring.read_claimed(source);
            if ticket <= self.note_claimed(ring, claimed) {
                return Verdict::Overtaken;
            }
            if self.patience == 0 || !waits {
                return match writer_runs {
                    true => Verdict::without_record(ring, &record, ticket),
                    false => Verdict::Torn,
                };
            }
            self.patience = self.patience.saturating_sub(1);
            attempts = attempts.saturating_add(1);
            if attempts > RETRIES_AT_ONCE {
                sleep(WAIT);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ending::Ending;
    use crate::testing::{Image, live, read, region, sequences};

    #[test]
    fn live_the_reader_waits_for_a_slot_that_is_being_written() {
        let mut image = Image::new(4, 1);
        image.record_some(0, 2);
        image.set_claimed(0, 3);
        let slot = image.offset_of(0, 3);
        let trace = live(image, move |image, offset, count| {
            if (offset, count) == (slot, 64) {
                image.put_record(
                    0,
                    Record {
                        sequence: 3,
                        ..region(3000)
                    },
                );
            }
        });
        assert_eq!(trace.ending(), Ending::Live);
        let (events, report) = read(&trace);
        assert_eq!(sequences(&events), [1, 2, 3]);
        assert_eq!(report.account.recovered, 3);
    }

    #[test]
    fn live_patience_is_shared_by_all_slots() {
        for (reads, recovered) in [(1, 1), (PATIENCE, 1), (PATIENCE + 1, 1), (PATIENCE + 2, 0)] {
            let mut image = Image::new(4, 1);
            image.set_claimed(0, 2);
            let (first, second) = (image.offset_of(0, 1), image.offset_of(0, 2));
            let mut reads_of_first = 0;
            let trace = live(image, move |image, offset, count| {
                reads_of_first += u32::from((offset, count) == (first, 64));
                if (offset, count) == (first, 64) && reads_of_first == reads {
                    image.put_record(
                        0,
                        Record {
                            sequence: 1,
                            ..region(1000)
                        },
                    );
                }
                // However often the first was read, the second is read once more.
                if (offset, count) == (second, 64) {
                    image.put_record(
                        0,
                        Record {
                            sequence: 2,
                            ..region(2000)
                        },
                    );
                }
            });
            let (_, report) = read(&trace);
            assert_eq!(report.account.recovered, recovered + 1, "{reads} reads");
            assert_eq!(report.account.in_flight, 1 - recovered);
        }
    }

    #[test]
    fn live_a_slot_that_stays_unwritten_is_in_flight() {
        let mut image = Image::new(4, 1);
        image.record_some(0, 5);
        // One slot holds a zero sequence, the other the lap before.
        image.put(image.offset_of(0, 4), &[0; 8]);
        image.set_claimed(0, 6);
        let (events, report) = read(&live(image, |_, _, _| {}));
        assert_eq!(sequences(&events), [3, 5]);
        assert_eq!((report.account.in_flight, report.account.torn), (2, 0));
        assert_eq!(report.account.overwritten, 2);
    }

    /// The bug: `Tracer::finish` reads back at once, and a thread was still inside `record` when the capture was finished. Its ticket was counted
    /// as torn; or its record, newer than the counter read before it, was reported as damage of the counter.
    #[test]
    fn finished_by_a_writer_that_still_runs() {
        let mut image = Image::new(4, 1);
        image.record_some(0, 1);
        image.set_claimed(0, 2);
        image.finish(100);
        let (_, report) = read(&live(image, |_, _, _| {}));
        assert_eq!(report.ending, Ending::Finished);
        assert_eq!((report.account.in_flight, report.account.torn), (1, 0));

        let mut image = Image::new(4, 1);
        image.record_some(0, 2);
        image.set_claimed(0, 1);
        image.finish(100);
        let (_, report) = read(&live(image, |_, _, _| {}));
        assert_eq!((report.account.claimed, report.damages.len()), (1, 0));
    }

    #[test]
    fn live_damage_is_torn_and_not_in_flight() {
        let mut image = Image::new(4, 1);
        image.record_some(0, 4);
        image.tear(0, 2);
        let (_, report) = read(&live(image, |_, _, _| {}));
        assert_eq!((report.account.in_flight, report.account.torn), (0, 1));
    }

    #[test]
    fn live_an_impossible_counter_overtakes_nothing() {
        let mut image = Image::new(4, 1);
        image.record_some(0, 6);
        image.tear(0, 5);
        image.set_claimed(0, u64::MAX);
        let (events, report) = read(&live(image, |_, _, _| {}));
        assert_eq!(sequences(&events), [3, 4, 6]);
        assert_eq!((report.account.torn, report.account.overtaken), (1, 0));
        assert_eq!(report.damages.len(), 1);
    }

    #[test]
    fn live_records_overwritten_before_they_are_read_are_overtaken() {
        let mut image = Image::new(10_000, 1);
        image.record_some(0, 10_000);
        let chunk_2 = image.offset_of(0, 4097);
        let mut once = true;
        // By the time the second chunk is read, the writer is 6000 tickets further.
        let trace = live(image, move |image, offset, _| {
            if offset == chunk_2 && std::mem::take(&mut once) {
                image.record_some(0, 6000);
            }
        });
        let (events, report) = read(&trace);
        assert!(
            sequences(&events)
                .into_iter()
                .eq((1..=4096).chain(6001..=10_000))
        );
        assert_eq!(report.account.overtaken, 6000 - 4096);
        assert_eq!(report.account.claimed, 10_000);
        assert_eq!(report.complete_since_ns, 6_001_000);
    }

    #[test]
    fn live_a_whole_lap_ahead() {
        let mut image = Image::new(8, 1);
        image.record_some(0, 8);
        let ring = image.offset_of(0, 1);
        let trace = live(image, move |image, offset, count| {
            if (offset, count) == (ring, 8 * 64) {
                image.record_some(0, 100);
            }
        });
        let (events, report) = read(&trace);
        assert_eq!(events, []);
        assert_eq!(report.account.overtaken, 8);
        assert_eq!(report.complete_since_ns, report.last_ns);
    }
}

//! A capture read on while it is written: each event once, and an account that is exact whenever the reading ends.
//!
//! Rounds: [`Follower::next`] until it has nothing for now, then [`Follower::advance`], which takes the counters again. At the end
//! [`Follower::conclude`] takes the whole snapshot, and the events that it brings are the last.
//!
//! Invariants:
//! - A ticket whose record is being written when its turn comes is asked for again in every round until it is there or overtaken; so it may
//!   come behind tickets given out after it.
//! - What the writer overwrote before it could be read is `overtaken`; `overwritten` is what was gone before the first round.
//! - A region that was open in any round comes out once at the end: as an event if it completed, as an open region if not.

use crate::events::Merge;
use crate::{Ending, Event, Reading, Report, Trace};

/// Reads on in a capture. The [`Trace`] is handed in at each call, so that it can be asked in between.
#[derive(Debug)]
pub struct Follower {
    merge: Merge,
}

impl Follower {
    /// Begins with the events that are there.
    #[must_use]
    pub fn new(trace: &Trace, reading: Reading) -> Self {
        let rings = trace.ring_readers(reading);
        let rings = rings.into_iter().map(|ring| ring.following()).collect();
        Self {
            merge: Merge::new(trace, rings),
        }
    }

    /// The next event in order of completion. None: there is none for now.
    #[inline]
    pub fn next(&mut self, trace: &Trace) -> Option<Event> {
        self.merge.next(trace)
    }

    /// Looks for new events, once [`Follower::next`] has none.
    pub fn advance(&mut self, trace: &mut Trace) -> Ending {
        trace.advance();
        self.merge.extend(trace);
        trace.ending()
    }

    /// Takes the last look, at everything there is. The events that it brings are still to be read.
    pub fn conclude(&mut self, trace: &mut Trace) -> Ending {
        trace.refresh();
        self.merge.extend(trace);
        trace.ending()
    }

    /// What became of every ticket, and what is running, as of [`Follower::conclude`]. Reads what is left.
    #[must_use]
    pub fn finish(mut self, trace: &Trace) -> Report {
        while self.merge.next(trace).is_some() {}
        self.merge.end_following();
        self.merge.report(trace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Account;
    use crate::testing::{Image, region};
    use hrx_trace_format::header::RING_COUNT_MAX;
    use hrx_trace_format::{OpenRecord, Record};
    use proptest::prelude::*;
    use std::fs::{self, File};
    use std::path::PathBuf;

    /// A capture whose writer lives as long as this does: it holds the lock of a real file.
    struct Live {
        image: Image,
        path: PathBuf,
        lock: File,
        _folder: tempfile::TempDir,
    }

    impl Live {
        fn new(image: Image) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("run.hrxt");
            fs::write(&path, &image.bytes).unwrap();
            let lock = File::open(&path).unwrap();
            lock.try_lock().unwrap();
            Self {
                image,
                path,
                lock,
                _folder: folder,
            }
        }

        fn follow(&self) -> (Trace, Follower) {
            let trace = Trace::open_for_newest(&self.path).unwrap();
            let follower = Follower::new(&trace, Reading::default());
            (trace, follower)
        }

        /// What the image says now, the file says.
        fn write(&self) {
            fs::write(&self.path, &self.image.bytes).unwrap();
        }

        fn die(&self) {
            self.write();
            self.lock.unlock().unwrap();
        }
    }

    fn drain(follower: &mut Follower, trace: &Trace) -> Vec<u64> {
        std::iter::from_fn(|| follower.next(trace))
            .map(|event| event.sequence)
            .collect()
    }

    fn end(mut follower: Follower, trace: &mut Trace) -> (Vec<u64>, Report) {
        follower.conclude(trace);
        let last = drain(&mut follower, trace);
        let report = follower.finish(trace);
        assert!(report.account.balances(), "{report:?}");
        (last, report)
    }

    #[test]
    fn each_event_once_in_every_round() {
        let mut live = Live::new(Image::new(4, 1));
        live.image.record_some(0, 6);
        live.write();
        let (mut trace, mut follower) = live.follow();
        assert_eq!(drain(&mut follower, &trace), [3, 4, 5, 6]);
        assert_eq!(follower.advance(&mut trace), Ending::Live);
        assert!(drain(&mut follower, &trace).is_empty());
        live.image.record_some(0, 3);
        live.write();
        assert!(drain(&mut follower, &trace).is_empty());
        follower.advance(&mut trace);
        assert_eq!(drain(&mut follower, &trace), [7, 8, 9]);
        // Two laps and one: the last four are left.
        live.image.record_some(0, 9);
        live.write();
        follower.advance(&mut trace);
        assert_eq!(drain(&mut follower, &trace), [15, 16, 17, 18]);
        live.image.record_some(0, 1);
        live.image.finish(20_000);
        live.die();
        assert_eq!(follower.advance(&mut trace), Ending::Finished);
        let (last, report) = end(follower, &mut trace);
        assert_eq!(
            (last.as_slice(), report.ending),
            (&[19][..], Ending::Finished)
        );
        assert_eq!(
            report.account,
            Account {
                claimed: 19,
                recovered: 12,
                overwritten: 2,
                overtaken: 5,
                ..Account::default()
            }
        );
        assert_eq!((report.first_ns, report.last_ns), (Some(2100), 20_000));
    }

    #[test]
    fn a_record_in_flight_comes_late_and_holds_nobody_up() {
        let mut live = Live::new(Image::new(8, 1));
        let (mut trace, mut follower) = live.follow();
        live.image.set_claimed(0, 2);
        live.image.record_some(0, 2);
        live.write();
        follower.advance(&mut trace);
        assert_eq!(drain(&mut follower, &trace), [3, 4]);
        follower.advance(&mut trace);
        assert!(drain(&mut follower, &trace).is_empty());
        live.image.put_record(
            0,
            Record {
                sequence: 2,
                ..region(2000)
            },
        );
        live.image.record_some(0, 1);
        live.write();
        follower.advance(&mut trace);
        assert_eq!(drain(&mut follower, &trace), [5, 2]);
        // Whoever asks now is told that ticket 1 is being written; once its writer is dead, that it is torn.
        let (_, report) = end(follower, &mut trace);
        assert_eq!((report.account.in_flight, report.account.torn), (1, 0));

        let (mut trace, mut follower) = live.follow();
        assert_eq!(drain(&mut follower, &trace), [2, 3, 4, 5]);
        live.die();
        assert_eq!(follower.advance(&mut trace), Ending::WriterDied);
        let (last, report) = end(follower, &mut trace);
        assert_eq!(
            (
                last.as_slice(),
                report.account.torn,
                report.account.in_flight
            ),
            (&[][..], 1, 0)
        );
    }

    #[test]
    fn a_record_in_flight_that_a_lap_overtakes() {
        let mut live = Live::new(Image::new(4, 1));
        let (mut trace, mut follower) = live.follow();
        live.image.set_claimed(0, 1);
        live.write();
        follower.advance(&mut trace);
        assert!(drain(&mut follower, &trace).is_empty());
        live.image.record_some(0, 4);
        live.write();
        follower.advance(&mut trace);
        assert_eq!(drain(&mut follower, &trace), [2, 3, 4, 5]);
        let (_, report) = end(follower, &mut trace);
        assert_eq!((report.account.overtaken, report.account.in_flight), (1, 0));
    }

    /// A region is open in one round, and in the next it has completed, or its writer died between record and slot.
    #[test]
    fn an_open_region_comes_out_once() {
        for cleared in [true, false] {
            let mut live = Live::new(Image::new(4, 2));
            let open = OpenRecord {
                start_ns: 500,
                ring: 1,
                ..bytemuck::Zeroable::zeroed()
            };
            live.image.open(0, open);
            live.image.open(1, OpenRecord { ring: 0, ..open });
            live.write();
            let (mut trace, mut follower) = live.follow();
            assert_eq!(follower.next(&trace), None);
            live.image.record(
                1,
                Record {
                    open_slot: 1,
                    ..region(2000)
                },
            );
            if cleared {
                let slot = live.image.identity.open_slot(0);
                live.image.put(slot, &[0; 8]);
            }
            live.write();
            follower.advance(&mut trace);
            assert_eq!(drain(&mut follower, &trace), [1]);
            // Many laps later: what dropped the open region is long gone from the ring.
            live.image.record_some(1, 9);
            live.die();
            let (_, report) = end(follower, &mut trace);
            let slots: Vec<u32> = report
                .open_regions
                .iter()
                .map(|region| region.slot)
                .collect();
            assert_eq!(slots, [1], "cleared: {cleared}");
        }
    }

    #[test]
    fn labels_that_are_interned_while_following() {
        let mut live = Live::new(Image::new(4, 1));
        live.image.label(1, "one");
        live.write();
        let (mut trace, mut follower) = live.follow();
        // Two blocks, the second of which comes later.
        let long = "a name that takes two blocks of the table, because it is long";
        live.image.label(2, long);
        let second_block = live.image.identity.label_offset + 128;
        let bytes = live.image.bytes[second_block as usize..][..64].to_vec();
        live.image.put(second_block, &[0; 64]);
        live.write();
        follower.advance(&mut trace);
        assert_eq!(trace.name(1), "one");
        assert_eq!(trace.name(2), "label 2 (unreadable)");
        live.image.put(second_block, &bytes);
        live.write();
        follower.advance(&mut trace);
        assert_eq!(trace.name(2), long);
    }

    #[test]
    fn the_most_rings_there_can_be() {
        let mut live = Live::new(Image::new(1, RING_COUNT_MAX));
        let (mut trace, mut follower) = live.follow();
        for ring in 0..RING_COUNT_MAX {
            live.image.record_some(ring, 1);
        }
        live.write();
        follower.advance(&mut trace);
        assert_eq!(drain(&mut follower, &trace).len(), RING_COUNT_MAX as usize);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        /// Whatever is recorded between two rounds: what comes out is what was in the rings at each, once and in order.
        #[test]
        fn as_if_each_round_had_been_read_by_itself(rounds in prop::collection::vec((0u64..12, 0u64..12, 0usize..3), 0..12)) {
            let mut live = Live::new(Image::new(5, 2));
            let (mut trace, mut follower) = live.follow();
            let mut seen = [Vec::new(), Vec::new()];
            for (first, second, reads) in rounds {
                live.image.record_some(0, first);
                live.image.record_some(1, second);
                live.write();
                for _ in 0..reads {
                    follower.advance(&mut trace);
                    while let Some(event) = follower.next(&trace) {
                        seen[event.ring as usize].push(event.sequence);
                    }
                }
            }
            live.die();
            follower.conclude(&mut trace);
            while let Some(event) = follower.next(&trace) {
                seen[event.ring as usize].push(event.sequence);
            }
            let report = follower.finish(&trace);
            prop_assert!(report.account.balances());
            for (ring, seen) in seen.iter().enumerate() {
                prop_assert!(seen.is_sorted_by(|one, next| one < next));
                let account = report.rings[ring];
                prop_assert_eq!(account.claimed, live.image.claimed(ring as u32));
                prop_assert_eq!(account.recovered, seen.len() as u64);
                prop_assert_eq!(account.recovered + account.overtaken, account.claimed);
                let window: Vec<u64> = live.image.trace().events().filter(|event| event.ring as usize == ring).map(|event| event.sequence).collect();
                prop_assert!(seen.ends_with(&window));
            }
        }
    }
}

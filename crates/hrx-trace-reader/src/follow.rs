//! A capture read on while it is written: each event once, and an account that is exact whenever the reading ends.
//!
//! Invariants:
//! - A ticket whose record is being written when its turn comes is asked for again in every round, until it is there or overtaken. So it may
//!   come after tickets that were given out later.
//! - What the writer overwrote before it could be read is `overtaken`; `overwritten` is what was gone before the first round.
//! - A region that was open in any round comes out once at the end: as an event if it completed, as an open region if not.
//! - Arguments wait for their event from round to round, also those of a region that began after the first.

use crate::ending::Ending;
use crate::event::Event;
use crate::merge::Merge;
use crate::reading::Reading;
use crate::report::Report;
use crate::trace::Trace;

/// Reads on in a capture while it is recorded.
///
/// It works in rounds: take events until there are none for now, then [`advance`](Follower::advance). After
/// [`conclude`](Follower::conclude), take the last events, and then the [`report`](Follower::report).
///
/// ```
/// use hrx_trace_reader::{Ending, Follower, Reading, Trace};
///
/// let trace = Trace::open_for_newest("examples/killed.hrxt")?;
/// let mut follower = Follower::new(trace, Reading::default());
/// loop {
///     for event in &mut follower {
///         println!("lane {}: {} ns, host-observed", event.lane, event.duration_ns);
///     }
///     if follower.advance() != Ending::Live {
///         break;
///     }
///     std::thread::sleep(std::time::Duration::from_millis(50));
/// }
/// follower.conclude();
/// let last = follower.by_ref().count();
/// let report = follower.report();
/// assert_eq!((last, report.account.recovered, report.open_regions.len()), (0, 2, 3));
/// # Ok::<(), hrx_trace_reader::Error>(())
/// ```
#[derive(Debug)]
pub struct Follower {
    trace: Trace,
    merge: Merge,
}

impl Follower {
    /// Begins with the events that are there.
    #[must_use]
    pub fn new(trace: Trace, reading: Reading) -> Self {
        Self {
            merge: Merge::following(trace.capture(), reading),
            trace,
        }
    }

    /// The capture, as of the last look at it.
    #[must_use]
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// The capture, as of the last look at it.
    #[must_use]
    pub fn into_trace(self) -> Trace {
        self.trace
    }

    /// Looks for new events. To be called once the iterator has none.
    pub fn advance(&mut self) -> Ending {
        self.trace.advance();
        self.merge.extend(self.trace.capture());
        self.trace.ending()
    }

    /// Takes the last look, at everything there is: events, open regions, counters. The events that it brings are still to be taken.
    pub fn conclude(&mut self) -> Ending {
        self.trace.refresh();
        self.merge.extend(self.trace.capture());
        self.trace.ending()
    }

    /// What became of every ticket as of the last look, and what is running as of [`Follower::conclude`]. Drops the events that have not been taken.
    #[must_use]
    pub fn report(&mut self) -> Report {
        self.merge.report(self.trace.capture())
    }
}

/// The next event in order of completion. None: there is none for now; there may be after [`Follower::advance`].
impl Iterator for Follower {
    type Item = Event;

    #[inline]
    fn next(&mut self) -> Option<Event> {
        self.merge.next(self.trace.capture())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::Account;
    use crate::testing::{Image, region};
    use hrx_trace_format::header::RING_COUNT_MAX;
    use hrx_trace_format::record::FLAG_ARGUMENTS;
    use hrx_trace_format::{ArgumentValue, ArgumentsOf, Mark, OpenRecord, Record};
    use proptest::prelude::*;
    use std::fs::{self, File};
    use std::path::PathBuf;
    use std::sync::atomic::AtomicU64;
    use std::sync::atomic::Ordering::Relaxed;

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

        fn follow(&self) -> Follower {
            let trace = Trace::open_for_newest(&self.path).unwrap();
            Follower::new(trace, Reading::default())
        }

        /// Brings the file up to the image.
        fn write(&self) {
            fs::write(&self.path, &self.image.bytes).unwrap();
        }

        /// As one that a signal killed, which a witness saw.
        fn die(&mut self) {
            self.image.killed();
            self.write();
            self.lock.unlock().unwrap();
        }
    }

    /// A condition that becomes true when it is asked for the time after `calls`.
    fn after(calls: u64) -> impl Fn() -> bool + Send + Sync + 'static {
        let left = AtomicU64::new(calls);
        move || {
            left.try_update(Relaxed, Relaxed, |left| left.checked_sub(1))
                .is_err()
        }
    }

    /// The bug: a follower heard no signal while a round gave no event: in a ring full of garbage, for as long as it took to read it all. Found by
    /// interrupting `--follow` on a large file that no recorder made.
    #[test]
    fn what_yields_no_event_can_be_interrupted() {
        const RING: u64 = 20_000;
        for (rings, is_live) in [(1, true), (1, false), (3, true), (3, false)] {
            let mut image = Image::new(RING, rings);
            let from = image.identity.ring_offset as usize;
            image.bytes[from..].fill(0xA5);
            (0..rings).for_each(|ring| image.set_claimed(ring, RING));
            let mut live = Live::new(image);
            if !is_live {
                live.die();
            }
            for calls in [0, 1, 10] {
                let mut trace = Trace::open_for_newest(&live.path).unwrap();
                trace.interrupt_when(after(calls));
                // 16 records of each ring at once.
                let reading = Reading {
                    chunk_bytes: 1 << 10,
                    ..Reading::default()
                };
                // Nothing but the looks at the chunks can end these loops early.
                let mut follower = Follower::new(trace.clone(), reading);
                assert_eq!(drain(&mut follower), [0u64; 0]);
                let (_, report) = end(&mut follower);
                let looked_at = 16 * calls;
                let expected = RING * u64::from(rings) - looked_at;
                assert_eq!(report.account.not_read, expected, "{report:?}");
                // The search for the newest record is given up, and proves nothing.
                trace.refresh();
                let report = trace.report();
                assert_eq!(report.account.claimed, RING * u64::from(rings));
                assert_eq!((report.account.torn, report.damages), (0, Vec::new()));
            }
        }
    }

    /// What a search found before it was interrupted was given out.
    #[test]
    fn an_interrupted_search_believes_what_it_has_seen() {
        let mut image = Image::new(100_000, 1);
        image.set_claimed(0, 7);
        image.put_record(
            0,
            Record {
                sequence: 5,
                ..region(9_000)
            },
        );
        image.put_record(
            0,
            Record {
                sequence: 90_000,
                ..region(9_000)
            },
        );
        let mut trace = image.trace();
        assert_eq!(trace.report().account.claimed, 90_000);
        trace.interrupt_when(|| true);
        trace.refresh();
        let report = trace.report();
        assert_eq!((report.account.claimed, report.account.not_read), (7, 7));
        assert!(report.account.balances());
    }

    fn drain(follower: &mut Follower) -> Vec<u64> {
        follower.map(|event| event.sequence).collect()
    }

    fn end(follower: &mut Follower) -> (Vec<u64>, Report) {
        follower.conclude();
        let last = drain(follower);
        let report = follower.report();
        assert!(report.account.balances(), "{report:?}");
        (last, report)
    }

    #[test]
    fn each_event_once_in_every_round() {
        let mut live = Live::new(Image::new(4, 1));
        live.image.record_some(0, 6);
        live.write();
        let mut follower = live.follow();
        assert_eq!(drain(&mut follower), [3, 4, 5, 6]);
        assert_eq!(follower.advance(), Ending::Live);
        assert!(drain(&mut follower).is_empty());
        live.image.record_some(0, 3);
        live.write();
        assert!(drain(&mut follower).is_empty());
        follower.advance();
        assert_eq!(drain(&mut follower), [7, 8, 9]);
        // Two laps and one more: the last four are left.
        live.image.record_some(0, 9);
        live.write();
        follower.advance();
        assert_eq!(drain(&mut follower), [15, 16, 17, 18]);
        live.image.record_some(0, 1);
        live.image.finish(20_000);
        live.die();
        assert_eq!(follower.advance(), Ending::Finished);
        let (last, report) = end(&mut follower);
        assert_eq!(
            (last.as_slice(), report.ending),
            (&[19][..], Ending::Finished)
        );
        assert_eq!(
            report.account,
            Account {
                claimed: 19,
                recovered: 12,
                regions: 12,
                overwritten: 2,
                overtaken: 5,
                ..Account::default()
            }
        );
        assert_eq!((report.first_ns, report.last_ns), (Some(2100), 20_000));
    }

    #[test]
    fn a_record_in_flight_comes_late_and_delays_no_other() {
        let mut live = Live::new(Image::new(8, 1));
        let mut follower = live.follow();
        live.image.set_claimed(0, 2);
        live.image.record_some(0, 2);
        live.write();
        follower.advance();
        assert_eq!(drain(&mut follower), [3, 4]);
        follower.advance();
        assert!(drain(&mut follower).is_empty());
        live.image.put_record(
            0,
            Record {
                sequence: 2,
                ..region(2000)
            },
        );
        live.image.record_some(0, 1);
        live.write();
        follower.advance();
        assert_eq!(drain(&mut follower), [2, 5]);
        // Ticket 1 is being written; once its writer is dead, it is torn.
        let (_, report) = end(&mut follower);
        assert_eq!((report.account.in_flight, report.account.torn), (1, 0));

        let mut follower = live.follow();
        assert_eq!(drain(&mut follower), [2, 3, 4, 5]);
        live.die();
        assert_eq!(follower.advance(), Ending::WriterDied);
        let (last, report) = end(&mut follower);
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
    fn a_report_between_two_rounds_changes_nothing() {
        let mut live = Live::new(Image::new(8, 1));
        let mut follower = live.follow();
        live.image.set_claimed(0, 1);
        live.image.record_some(0, 1);
        live.write();
        follower.advance();
        assert_eq!(drain(&mut follower), [2]);
        for _ in 0..2 {
            let account = follower.report().account;
            assert_eq!((account.recovered, account.in_flight), (1, 1));
            assert!(account.balances());
        }
        live.image.put_record(
            0,
            Record {
                sequence: 1,
                ..region(1000)
            },
        );
        live.write();
        follower.advance();
        assert_eq!(drain(&mut follower), [1]);
        let (_, report) = end(&mut follower);
        assert_eq!((report.account.recovered, report.account.in_flight), (2, 0));
        assert_eq!(follower.into_trace().account().recovered, 2);
    }

    #[test]
    fn a_record_in_flight_that_a_lap_overtakes() {
        let mut live = Live::new(Image::new(4, 1));
        let mut follower = live.follow();
        live.image.set_claimed(0, 1);
        live.write();
        follower.advance();
        assert!(drain(&mut follower).is_empty());
        live.image.record_some(0, 4);
        live.write();
        follower.advance();
        assert_eq!(drain(&mut follower), [2, 3, 4, 5]);
        let (_, report) = end(&mut follower);
        assert_eq!((report.account.overtaken, report.account.in_flight), (1, 0));
    }

    /// A region is open in one round. In the next it has completed, or its writer died after the record and before it cleared the slot.
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
            let mut follower = live.follow();
            assert_eq!(follower.next(), None);
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
            follower.advance();
            assert_eq!(drain(&mut follower), [1]);
            // Many laps later, the record that proves the end is long gone from the ring.
            live.image.record_some(1, 9);
            live.die();
            let (_, report) = end(&mut follower);
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
        let mut follower = live.follow();
        // Two blocks; the second one comes later.
        let long = "a name that takes two blocks of the table, because it is long";
        live.image.label(2, long);
        let second_block = live.image.identity.name_offset + 128;
        let bytes = live.image.bytes[second_block as usize..][..64].to_vec();
        live.image.put(second_block, &[0; 64]);
        live.write();
        follower.advance();
        assert_eq!(follower.trace().name(1), "one");
        assert_eq!(follower.trace().name(2), "label 2 (unreadable)");
        live.image.put(second_block, &bytes);
        live.write();
        follower.advance();
        assert_eq!(follower.trace().name(2), long);
    }

    #[test]
    fn the_most_rings_there_can_be() {
        let mut live = Live::new(Image::new(1, RING_COUNT_MAX));
        let mut follower = live.follow();
        for ring in 0..RING_COUNT_MAX {
            live.image.record_some(ring, 1);
        }
        live.write();
        follower.advance();
        assert_eq!(drain(&mut follower).len(), RING_COUNT_MAX as usize);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        /// Whatever is recorded between two rounds, every event that was in a ring in any round comes out once and in order.
        #[test]
        fn as_if_each_round_had_been_read_by_itself(rounds in prop::collection::vec((0u64..12, 0u64..12, 0usize..3), 0..12)) {
            let mut live = Live::new(Image::new(5, 2));
            let mut follower = live.follow();
            let mut seen = [Vec::new(), Vec::new()];
            for (first, second, reads) in rounds {
                live.image.record_some(0, first);
                live.image.record_some(1, second);
                live.write();
                for _ in 0..reads {
                    follower.advance();
                    for event in follower.by_ref() {
                        seen[event.ring as usize].push(event.sequence);
                    }
                }
            }
            live.die();
            follower.conclude();
            for event in follower.by_ref() {
                seen[event.ring as usize].push(event.sequence);
            }
            let report = follower.report();
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

    /// Keys of arguments, and at least how many are lost.
    fn keys(arguments: &[crate::Argument], lost: u64) -> (Vec<u32>, u64) {
        (
            arguments.iter().map(|argument| argument.key).collect(),
            lost,
        )
    }

    fn fates(report: &Report) -> [u64; 3] {
        let account = report.account;
        [account.joined, account.orphaned, account.evicted]
    }

    /// A region begins after the open table was read, and its arguments come in one round and it completes in another.
    #[test]
    fn arguments_wait_for_the_region_that_completes_in_a_later_round() {
        let mut live = Live::new(Image::with_lines(16, 1));
        let mut follower = live.follow();
        let mut running = live.image.begin(0, 0, 500);
        live.image.argument(&mut running, 1, ArgumentValue::U64(1));
        live.write();
        follower.advance();
        assert_eq!(follower.next(), None);
        // As of now they belong to nothing. That is not final.
        for _ in 0..2 {
            assert_eq!(fates(&follower.report()), [0, 1, 0]);
        }
        live.image.argument(&mut running, 2, ArgumentValue::U64(2));
        live.write();
        follower.advance();
        assert_eq!(follower.next(), None);
        live.image.end(&running, 900);
        live.image.mark(0, 950, &[7]);
        live.write();
        follower.advance();
        let found: Vec<_> = follower
            .by_ref()
            .map(|event| keys(&event.arguments, event.arguments_lost))
            .collect();
        assert_eq!(found, [(vec![1, 2], 0), (vec![7], 0)]);
        let (_, report) = end(&mut follower);
        assert_eq!((fates(&report), report.open_regions.len()), ([3, 0, 0], 0));
    }

    /// A region begins after the first look and is still running at the last one. What the ring said about it rounds ago is known.
    #[test]
    fn a_region_that_begins_later_and_never_ends_has_its_arguments() {
        // Slots of one line: nothing is in the open table but the open record.
        let mut live = Live::new(Image::new(8, 2));
        let mut follower = live.follow();
        let mut first = live.image.begin(0, 1, 500);
        live.image.argument(&mut first, 1, ArgumentValue::U64(1));
        live.image.relabel(&first, 1);
        live.image.end(&first, 600);
        let mut second = live.image.begin(0, 1, 700);
        live.image.argument(&mut second, 2, ArgumentValue::U64(2));
        live.image.relabel(&second, 2);
        live.write();
        follower.advance();
        let event = follower.next().unwrap();
        assert_eq!(keys(&event.arguments, event.arguments_lost), (vec![1], 0));
        assert_eq!(follower.next(), None);
        for _ in 0..9 {
            live.image.record_some(1, 4);
            live.write();
            follower.advance();
            drain(&mut follower);
        }
        live.die();
        let (_, report) = end(&mut follower);
        let region = &report.open_regions[0];
        assert_eq!((region.start_ns, region.label_id), (700, 2));
        assert_eq!(keys(&region.arguments, region.arguments_lost), (vec![2], 0));
        assert_eq!(fates(&report), [2, 0, 0]);
        assert_eq!(report.account.amendments, 2);
        // The ring alone does not know any more.
        assert_eq!(follower.into_trace().open_regions()[0].label_id, 0);
    }

    /// The bug: what was late came last in the next round, so that an argument came after its event, which was handed out without it. One thread writes
    /// both, one after the other: where the event is there, the argument is there too.
    #[test]
    fn an_argument_in_flight_is_there_before_its_event() {
        let mut live = Live::new(Image::new(8, 1));
        let mut follower = live.follow();
        let of = ArgumentsOf::event(500, 7);
        let parts: Vec<_> = (0..2)
            .flat_map(|ordinal| of.records(ordinal, 5 + u32::from(ordinal), ArgumentValue::U64(1)))
            .collect();
        live.image.record(0, parts[0]);
        live.image.set_claimed(0, 2);
        live.image.record_some(0, 1);
        live.write();
        follower.advance();
        assert_eq!(drain(&mut follower), [3]);
        let second = hrx_trace_format::Argument {
            sequence: 2,
            ..parts[1]
        };
        live.image.put_record(0, second);
        let mark = Mark {
            thread_id: 7,
            flags: FLAG_ARGUMENTS,
            ..Mark::at(500)
        };
        live.image.record(0, mark);
        live.write();
        follower.advance();
        let event = follower.next().unwrap();
        assert_eq!(
            keys(&event.arguments, event.arguments_lost),
            (vec![5, 6], 0)
        );
        assert_eq!(fates(&end(&mut follower).1), [2, 0, 0]);
    }

    #[test]
    fn arguments_that_a_lap_overtakes_are_lost_and_counted() {
        let mut live = Live::new(Image::new(4, 1));
        let mut follower = live.follow();
        live.image.mark(0, 500, &[1, 2, 3, 4, 5]);
        live.write();
        follower.advance();
        let event = follower.next().unwrap();
        assert_eq!(
            keys(&event.arguments, event.arguments_lost),
            (vec![3, 4, 5], 2)
        );
        let (_, report) = end(&mut follower);
        assert_eq!((fates(&report), report.account.overtaken), ([3, 0, 0], 2));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        /// Regions begin, get arguments, change and end between rounds. If nothing is overtaken, a follower ends with what a reader of the whole finds.
        #[test]
        fn as_if_the_whole_had_been_read_at_once(
            steps in prop::collection::vec((0u32..2, 0u32..2, 0u8..6, any::<bool>()), 0..60), with_lines: bool,
        ) {
            let image = if with_lines { Image::with_lines(256, 2) } else { Image::new(256, 2) };
            let mut live = Live::new(image);
            let mut follower = live.follow();
            let mut slots = [None, None];
            let mut events = Vec::new();
            for (moment, (slot, ring, step, is_round)) in (1000..).step_by(100).zip(steps) {
                let running = &mut slots[slot as usize];
                match (step, running.as_mut()) {
                    (0, _) => {
                        live.image.mark(ring, moment, &[1, 2]);
                    }
                    (_, None) => *running = Some(live.image.begin(slot, ring, moment)),
                    (1, Some(region)) => {
                        live.image.end(region, moment);
                        *running = None;
                    }
                    (2, Some(region)) => {
                        live.image.relabel(region, ring + 1);
                    }
                    (3, Some(region)) => {
                        let text = "a text of more than one part, which takes two records";
                        live.image.argument(region, 3, ArgumentValue::Text(text.as_bytes()));
                    }
                    (key, Some(region)) => {
                        live.image.argument(region, key.into(), ArgumentValue::U64(moment));
                    }
                }
                if is_round {
                    live.write();
                    follower.advance();
                    events.extend(follower.by_ref());
                }
            }
            live.die();
            follower.conclude();
            events.extend(follower.by_ref());
            let report = follower.report();
            prop_assert!(report.account.balances());
            let (mut whole, expected) = crate::testing::read(&Trace::open(&live.path).unwrap());
            prop_assert_eq!(report.account, expected.account);
            prop_assert_eq!(report.open_regions, expected.open_regions);
            prop_assert_eq!(report.last_ns, expected.last_ns);
            // Rounds come one after the other, whatever the rings.
            let key = |event: &Event| (event.ring, event.sequence);
            events.sort_by_key(key);
            whole.sort_by_key(key);
            prop_assert_eq!(events, whole);
        }
    }
}

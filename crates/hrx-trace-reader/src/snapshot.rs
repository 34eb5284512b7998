//! The moment at which a capture is read: everything that changes under the reader, taken once and in an order that loses nothing.
//!
//! The order: the witness, the writer's lock and process, the counters, the open table, each ring's `claimed`, the clock.
//! - The lock and the process before the state word: a writer that finishes and exits between the two has finished, and did not die.
//! - The open table before `claimed`: a region that completes between the two is seen in both, and the ring's record wins; it is never in neither.
//!
//! Names are not part of it: a name is in the table before a record uses it, and never changes.

use bytemuck::Zeroable;
use hrx_trace_format::header::{STATE_FINISHED, STATE_LEFT_BY_EXIT, STATE_RECORDING};
use hrx_trace_format::record::SEQUENCE_MAX;
use hrx_trace_format::{Checksum, Counters, Identity};

use crate::clock::{LastSign, now_ns};
use crate::damage::Damage;
use crate::ending::Ending;
use crate::rings::claimed::{Evidence, read_claimed};
use crate::rings::ring::Ring;
use crate::source::Source;
use crate::tables::name::NameTable;
use crate::tables::open_table::OpenTable;
use crate::witness::Witness;
use crate::writer::Writer;

#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) file_bytes: u64,
    pub(crate) ending: Ending,
    pub(crate) witness: Option<Witness>,
    /// Whether the writer may still write.
    pub(crate) writer_runs: bool,
    pub(crate) counters: Counters,
    pub(crate) open: OpenTable,
    /// Tickets given out, ring by ring, at most [`SEQUENCE_MAX`] each.
    pub(crate) claimed: Vec<u64>,
    pub(crate) names: NameTable,
    /// Live: now.
    pub(crate) now_ns: Option<u64>,
    pub(crate) damages: Vec<Damage>,
}

impl Snapshot {
    /// `chunk_records` bounds the memory of the search for the newest records.
    pub(crate) fn take(
        source: &Source,
        identity: &Identity,
        checksum: &Checksum,
        chunk_records: usize,
        evidence: Evidence,
    ) -> Self {
        let mut damages = Vec::new();
        let file_bytes = source.length().unwrap_or_else(|error| {
            damages.push(Damage {
                offset: 0,
                what: format!("the file's size is unknown: {error}"),
            });
            0
        });
        if file_bytes < identity.file_bytes {
            damages.push(Damage {
                offset: file_bytes,
                what: format!(
                    "cut short: found {file_bytes} bytes, expected {}",
                    identity.file_bytes
                ),
            });
        }
        let witness = Witness::read(source, identity, checksum, &mut damages);
        let writer = Writer::look(source, identity);
        let counters = read_counters(source, identity, &mut damages);
        let ending = Ending::new(counters.state, witness.map(|seen| seen.cause), &writer);
        let mut snapshot = Self {
            file_bytes,
            ending,
            witness,
            writer_runs: runs(ending, witness, &writer),
            counters,
            open: OpenTable::default(),
            claimed: Vec::new(),
            names: NameTable::new(identity, file_bytes, checksum),
            now_ns: None,
            damages,
        };
        let rules = (checksum, chunk_records, evidence);
        if ending == Ending::CannotTell {
            let before = Pulse::feel(source, identity);
            let still = snapshot.clone();
            snapshot.take_areas(source, identity, rules);
            if before != Pulse::feel(source, identity) {
                snapshot = still;
                snapshot.writer_runs = true;
                snapshot.take_areas(source, identity, rules);
            }
        } else {
            snapshot.take_areas(source, identity, rules);
        }
        snapshot
    }

    /// What follows the counters.
    fn take_areas(
        &mut self,
        source: &Source,
        identity: &Identity,
        (checksum, chunk_records, evidence): (&Checksum, usize, Evidence),
    ) {
        let runs = self.writer_runs;
        self.open = OpenTable::read(source, identity, checksum, runs, &mut self.damages);
        self.claimed = (0..identity.ring_count)
            .map(|index| {
                let ring = Ring::new(identity, index, self.file_bytes, checksum);
                let damages = &mut self.damages;
                read_claimed(source, &ring, runs, chunk_records, evidence, damages)
            })
            .collect();
        self.look_at_the_clock(identity);
    }

    fn look_at_the_clock(&mut self, identity: &Identity) {
        let live = self.ending == Ending::Live;
        self.now_ns = live.then(|| now_ns(identity)).flatten();
    }

    /// Takes again only what new events change: the witness, whether the writer runs, the counters, each ring's `claimed`, and the clock, in this order.
    pub(crate) fn advance(&mut self, source: &Source, identity: &Identity, checksum: &Checksum) {
        // What is damaged, the next whole snapshot reports.
        self.witness = Witness::read(source, identity, checksum, &mut Vec::new());
        let writer = Writer::look(source, identity);
        let before = self.counters;
        source.read(
            identity.counters_offset,
            bytemuck::bytes_of_mut(&mut self.counters),
        );
        let witnessed = self.witness.map(|seen| seen.cause);
        let could_not_tell = self.ending == Ending::CannotTell && self.writer_runs;
        self.ending = Ending::new(self.counters.state, witnessed, &writer);
        self.writer_runs = runs(self.ending, self.witness, &writer);
        let mut changed = self.counters != before;
        for (index, known) in (0..).zip(&mut self.claimed) {
            let ring = Ring::new(identity, index, self.file_bytes, checksum);
            let (claimed, _) = ring.read_claimed(source);
            if claimed <= SEQUENCE_MAX {
                changed |= claimed > *known;
                *known = claimed.max(*known);
            }
        }
        self.writer_runs |= self.ending == Ending::CannotTell && (changed || could_not_tell);
        self.look_at_the_clock(identity);
    }

    /// When a witness learnt of the end, if that is known exactly.
    pub(crate) fn limit_ns(&self) -> Option<u64> {
        self.witness.and_then(|seen| seen.limit_ns())
    }

    /// The last sign of life, as far as the counters tell.
    pub(crate) fn last_sign(&self, identity: &Identity) -> LastSign {
        let mut last = LastSign::new(identity, self.limit_ns());
        last.note(self.counters.last_alive_ns);
        // Anything else there means nothing: the counters have no checksum that would show it.
        if [STATE_FINISHED, STATE_LEFT_BY_EXIT].contains(&self.counters.state) {
            last.note(self.counters.finished_ns);
        }
        last
    }
}

/// Whether the writer may still write. It may even after a finish: a thread that was inside `record` then completes it.
fn runs(ending: Ending, witness: Option<Witness>, writer: &Writer) -> bool {
    match ending {
        Ending::Live | Ending::Ending => true,
        Ending::Finished | Ending::LeftByExit => witness.is_none() && writer.may_write(),
        _ => false,
    }
}

/// What a writer changes as it goes on.
#[derive(PartialEq, Eq)]
struct Pulse {
    counters: Counters,
    claimed: Vec<u64>,
}

impl Pulse {
    fn feel(source: &Source, identity: &Identity) -> Self {
        let mut counters = Counters::zeroed();
        source.read(
            identity.counters_offset,
            bytemuck::bytes_of_mut(&mut counters),
        );
        let claimed = (0..identity.ring_count).map(|ring| {
            let mut claimed = 0u64;
            source.read(
                identity.control_line(ring),
                bytemuck::bytes_of_mut(&mut claimed),
            );
            claimed
        });
        Self {
            counters,
            claimed: claimed.collect(),
        }
    }
}

fn read_counters(source: &Source, identity: &Identity, damages: &mut Vec<Damage>) -> Counters {
    let mut counters = Counters::zeroed();
    damages.extend(source.read(
        identity.counters_offset,
        bytemuck::bytes_of_mut(&mut counters),
    ));
    if ![STATE_RECORDING, STATE_FINISHED, STATE_LEFT_BY_EXIT].contains(&counters.state) {
        damages.push(Damage {
            offset: identity.counters_offset,
            what: format!(
                "state: found {:#018x}, expected {STATE_RECORDING:#018x} (recording), {STATE_FINISHED:#018x} (finished) or {STATE_LEFT_BY_EXIT:#018x} (left by exit)",
                counters.state
            ),
        });
    }
    counters
}

#[cfg(test)]
mod tests {
    use crate::ending::Ending;
    use crate::testing::{Image, from_slot, live, open_since, ours, read, region};
    use crate::trace::Trace;
    use hrx_trace_format::header::{STATE_FINISHED, STATE_LEFT_BY_EXIT, STATE_RECORDING};
    use hrx_trace_format::{Identity, Record};
    use std::fs;
    use std::os::unix::fs::FileExt;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn live_a_region_that_completes_during_the_snapshot_is_shown_once() {
        let mut image = Image::new(4, 1);
        image.open(0, open_since(300, 0));
        let control = image.identity.control_line(0);
        let mut once = true;
        // It completes after the open table is read and before `claimed` is.
        let trace = live(image, move |image, offset, _| {
            if offset == control && std::mem::take(&mut once) {
                image.record(0, from_slot(0, 300, 800));
                image.put(image.identity.open_slot(0), &0u64.to_le_bytes());
            }
        });
        let (events, report) = read(&trace);
        assert_eq!((events.len(), report.open_regions.len()), (1, 0));
    }

    /// The latest of all that the file knows of.
    #[test]
    fn the_last_sign_of_life() {
        let mut image = Image::new(4, 1);
        image.record(0, region(3000));
        let put = |image: &mut Image, at: u64, ns: u64| {
            let offset = image.identity.counters_offset + at;
            image.put(offset, &ns.to_le_bytes());
        };
        let last = |image: &Image| {
            assert_eq!(image.trace().latest_ns(), image.read().1.last_ns);
            image.read().1.last_ns
        };
        assert_eq!(last(&image), 3000);
        put(&mut image, 48, 3500);
        assert_eq!(last(&image), 3500);
        image.open(0, open_since(3600, 1));
        assert_eq!(last(&image), 3600);
        // `finished_ns` means nothing while it records.
        put(&mut image, 8, 4000);
        assert_eq!(last(&image), 3600);
        for (state, expected) in [
            (STATE_LEFT_BY_EXIT, 4000),
            (STATE_RECORDING, 3600),
            (STATE_FINISHED, 4000),
            (7, 3600),
        ] {
            image.set_state(state);
            assert_eq!(last(&image), expected);
        }
    }

    /// The bug: a stray store into a counter, or one event of the future, made a capture end in the far future.
    #[test]
    fn no_sign_of_life_is_later_than_the_reading() {
        let forged = |identity| {
            let mut image = Image::from_identity(identity);
            image.record(0, region(3000));
            image.record(0, region(1 << 60));
            image.put(image.identity.counters_offset + 48, &[0xFF; 8]);
            image.open(0, open_since(u64::MAX - 1, 2));
            image
        };
        let here = Identity {
            epoch_monotonic_ns: 0,
            ..ours()
        };
        let (events, report) = forged(here).read();
        assert_eq!((events.len(), report.open_regions.len()), (2, 1));
        assert_eq!(report.last_ns, 3000);
        assert_eq!(forged(here).trace().latest_ns(), 3000);
        // Elsewhere it cannot be told.
        let elsewhere = Identity {
            boot_id: [7; 16],
            ..here
        };
        assert_eq!(forged(elsewhere).read().1.last_ns, u64::MAX);
    }

    #[test]
    fn counts_are_reported() {
        let mut image = Image::new(4, 1);
        for (at, count) in [(24, 1u64), (32, 2), (40, 3), (56, 4), (64, 5), (72, 6)] {
            image.put(image.identity.counters_offset + at, &count.to_le_bytes());
        }
        let report = image.read().1;
        assert_eq!(
            [
                report.rejected,
                report.open_refused,
                report.names_refused,
                report.hidden_now,
                report.arguments_refused,
                report.names_too_long
            ],
            [1, 2, 3, 4, 5, 6]
        );
    }

    /// In ascending order of offset, whatever was read first.
    #[test]
    fn damages_are_in_the_order_of_the_file() {
        let mut image = Image::new(4, 2);
        image.record_some(1, 1);
        image.record(
            1,
            Record {
                label_id: 900,
                ..region(2000)
            },
        );
        image.set_claimed(0, u64::MAX);
        image.set_claimed(1, u64::MAX);
        image.set_state(7);
        image.put(image.identity.witness_offset, &[1]);
        let identity = image.identity;
        let cut = image.bytes.len() - 1;
        let report = read(&Trace::from_bytes(&image.bytes[..cut]).unwrap()).1;
        let offsets: Vec<u64> = report.damages.iter().map(|damage| damage.offset).collect();
        let expected = [
            identity.counters_offset,
            identity.witness_offset,
            identity.control_line(0),
            identity.control_line(1),
            cut as u64,
            identity.name_entry(900),
        ];
        assert_eq!(offsets, expected);
    }

    /// Where it cannot be told whether the writer runs, it does if a counter changes while the file is read.
    #[test]
    fn a_writer_that_cannot_be_told_of_runs_if_something_changes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.hrxt");
        let mut image = Image::new(4, 1);
        image.set_claimed(0, 2);
        fs::write(&path, &image.bytes).unwrap();
        let trace = Trace::open(&path).unwrap();
        assert_eq!(trace.ending(), Ending::CannotTell);
        assert_eq!(read(&trace).1.account.torn, 2);

        let file = fs::File::options().write(true).open(&path).unwrap();
        let alive = image.identity.counters_offset + 48;
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for ns in 1u64.. {
                    file.write_all_at(&ns.to_le_bytes(), alive).unwrap();
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                }
            });
            // That thread may lose its processor for a whole reading.
            let seen = (0..10_000).any(|_| {
                let trace = Trace::open(&path).unwrap();
                assert_eq!(trace.ending(), Ending::CannotTell);
                read(&trace).1.account.in_flight == 2
            });
            stop.store(true, Ordering::Relaxed);
            assert!(seen);
        });
    }
}

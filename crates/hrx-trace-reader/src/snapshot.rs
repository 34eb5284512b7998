//! The moment at which a capture is read: everything that changes under the reader, taken once and in an order that loses nothing.
//!
//! The order: the writer's lock, the counters, the open table, each ring's `claimed`, the clock.
//! - The lock before the state word: a writer that finishes and exits between the two has finished, and did not die.
//! - The open table before `claimed`: a region that completes between the two is seen in both, and the ring's record wins; it is never in neither.
//!
//! Names are not part of it: a name is in the table before a record uses it, and never changes.

use bytemuck::Zeroable;
use hrx_trace_format::header::{STATE_FINISHED, STATE_RECORDING};
use hrx_trace_format::record::SEQUENCE_MAX;
use hrx_trace_format::{Checksum, Counters, Identity};

use crate::damage::Damage;
use crate::ending::{Ending, now_ns, writer_runs};
use crate::rings::claimed::{Evidence, read_claimed};
use crate::rings::ring::Ring;
use crate::source::Source;
use crate::tables::label::LabelTable;
use crate::tables::open_table::OpenTable;

#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) file_bytes: u64,
    pub(crate) ending: Ending,
    /// Whether the writer may still write. It may even after a finish: a thread that was inside `record` then completes it.
    pub(crate) writer_runs: bool,
    pub(crate) counters: Counters,
    pub(crate) open: OpenTable,
    /// Tickets given out, ring by ring, at most [`SEQUENCE_MAX`] each.
    pub(crate) claimed: Vec<u64>,
    pub(crate) labels: LabelTable,
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
        let runs = writer_runs(source.lock(), identity);
        let counters = read_counters(source, identity, &mut damages);
        let ending = Ending::new(counters.state, runs);
        let open = OpenTable::read(source, identity, checksum, runs, &mut damages);
        let claimed = (0..identity.ring_count)
            .map(|index| {
                let ring = Ring::new(identity, index, file_bytes, checksum);
                read_claimed(source, &ring, runs, chunk_records, evidence, &mut damages)
            })
            .collect();
        Self {
            file_bytes,
            ending,
            writer_runs: runs,
            counters,
            open,
            claimed,
            labels: LabelTable::new(identity, file_bytes, checksum),
            now_ns: (ending == Ending::Live).then(|| now_ns(identity)).flatten(),
            damages,
        }
    }

    /// Takes again only what new events change: the state and each ring's `claimed`, in this order.
    pub(crate) fn advance(&mut self, source: &Source, identity: &Identity, checksum: &Checksum) {
        self.writer_runs = writer_runs(source.lock(), identity);
        let mut state = 0u64;
        source.read(identity.counters_offset, bytemuck::bytes_of_mut(&mut state));
        self.ending = Ending::new(state, self.writer_runs);
        for (index, known) in (0..).zip(&mut self.claimed) {
            let ring = Ring::new(identity, index, self.file_bytes, checksum);
            let (claimed, _) = ring.read_claimed(source);
            if claimed <= SEQUENCE_MAX {
                *known = claimed.max(*known);
            }
        }
    }

    /// 0 unless the capture was finished: anything else there is damage, and the counters have no checksum that would show it.
    pub(crate) fn finished_ns(&self) -> u64 {
        match self.ending {
            Ending::Finished => self.counters.finished_ns,
            Ending::Live | Ending::WriterDied => 0,
        }
    }
}

fn read_counters(source: &Source, identity: &Identity, damages: &mut Vec<Damage>) -> Counters {
    let mut counters = Counters::zeroed();
    damages.extend(source.read(
        identity.counters_offset,
        bytemuck::bytes_of_mut(&mut counters),
    ));
    if counters.state != STATE_FINISHED && counters.state != STATE_RECORDING {
        damages.push(Damage {
            offset: identity.counters_offset,
            what: format!(
                "state: found {:#018x}, expected {STATE_RECORDING:#018x} (recording) or {STATE_FINISHED:#018x} (finished)",
                counters.state
            ),
        });
    }
    counters
}

#[cfg(test)]
mod tests {
    use crate::testing::{Image, from_slot, live, open_since, read};

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
}

//! The moment at which a capture is read: everything that changes under the reader, taken once and in an order that loses nothing.
//!
//! The order: the writer's lock, the counters, the open table, each ring's `claimed`, the clock.
//! - The lock before the state word: a writer that finishes and exits in between counts as finished.
//! - The open table before `claimed`: a region that completes in between is seen in both, and the ring's record tells; never in neither.
//!
//! The labels are read one by one when somebody asks: a name is in the table before a record uses it, and never changes.

use bytemuck::Zeroable;
use hrx_trace_format::header::{STATE_FINISHED, STATE_RECORDING};
use hrx_trace_format::open::{KIND_OPEN, SEQUENCE_TAKEN};
use hrx_trace_format::record::SEQUENCE_MAX;
use hrx_trace_format::{Area, Checksum, Counters, Identity, OpenRecord};

use crate::ending::{now_ns, writer_runs};
use crate::evidence::{effective_claimed, is_confirmed, newest_sequence};
use crate::ring::Place;
use crate::source::Source;
use crate::{Damage, Ending};

/// How often a slot of the open table that a live writer is just changing is read again.
const RETRIES: u32 = 8;

#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) file_bytes: u64,
    pub(crate) ending: Ending,
    /// Whether the writer may still write. So it may after a finish: a thread that was inside `record` then completes it.
    pub(crate) writer_runs: bool,
    pub(crate) counters: Counters,
    /// Slot by slot; None: nothing that runs.
    pub(crate) open: Vec<Option<OpenRecord>>,
    pub(crate) open_torn: u64,
    /// Tickets given out, ring by ring, at most [`SEQUENCE_MAX`] each.
    pub(crate) claimed: Vec<u64>,
    /// Bytes of the label table that there are.
    pub(crate) label_bytes: u64,
    /// Live: now.
    pub(crate) now_ns: Option<u64>,
    pub(crate) damages: Vec<Damage>,
}

/// How much of a capture that nobody writes any more is read to make sure of its counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Evidence {
    EveryRecord,
    /// A sample, and every record only if the sample does not confirm the counter.
    Sample,
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
                what: format!("the file's size cannot be asked for: {error}"),
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
        let ending = match (counters.state, runs) {
            (STATE_FINISHED, _) => Ending::Finished,
            (_, true) => Ending::Live,
            (_, false) => Ending::WriterDied,
        };
        let (open, open_torn) = read_open_table(source, identity, checksum, runs, &mut damages);
        let claimed = (0..identity.ring_count)
            .map(|ring| {
                let place = Place::new(identity, ring, file_bytes, checksum);
                read_claimed(source, &place, runs, chunk_records, evidence, &mut damages)
            })
            .collect();
        let label_bytes = file_bytes
            .saturating_sub(identity.label_offset)
            .min(identity.label_bytes);
        Self {
            file_bytes,
            ending,
            writer_runs: runs,
            counters,
            open,
            open_torn,
            claimed,
            label_bytes,
            now_ns: (ending == Ending::Live).then(|| now_ns(identity)).flatten(),
            damages,
        }
    }

    /// Takes again only what tells of new events: the state and each ring's `claimed`, in this order.
    pub(crate) fn advance(&mut self, source: &Source, identity: &Identity, checksum: &Checksum) {
        self.writer_runs = writer_runs(source.lock(), identity);
        let mut state = 0u64;
        source.read(identity.counters_offset, bytemuck::bytes_of_mut(&mut state));
        self.ending = match (state, self.writer_runs) {
            (STATE_FINISHED, _) => Ending::Finished,
            (_, true) => Ending::Live,
            (_, false) => Ending::WriterDied,
        };
        for (ring, known) in (0..).zip(&mut self.claimed) {
            let place = Place::new(identity, ring, self.file_bytes, checksum);
            let (claimed, _) = place.read_claimed(source);
            if claimed <= SEQUENCE_MAX {
                *known = claimed.max(*known);
            }
        }
    }

    /// 0 unless the capture was finished: what else stands there is damage, which no checksum would tell.
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

/// The regions that run, by slot, and how many slots hold something that cannot be believed.
fn read_open_table(
    source: &Source,
    identity: &Identity,
    checksum: &Checksum,
    writer_runs: bool,
    damages: &mut Vec<Damage>,
) -> (Vec<Option<OpenRecord>>, u64) {
    let mut records = vec![OpenRecord::zeroed(); identity.open_slots as usize];
    damages.extend(source.read(identity.open_offset, bytemuck::cast_slice_mut(&mut records)));
    let salt = Area::OpenTable.salt(identity.salt);
    let mut torn = 0u64;
    let open = (0..)
        .zip(records)
        .map(|(slot, mut record)| {
            let mut retries = if writer_runs { RETRIES } else { 0 };
            loop {
                if record.sequence == 0 || record.sequence == SEQUENCE_TAKEN {
                    return None;
                }
                if record.runs_in(slot)
                    && record.verifies(checksum, salt)
                    && record.kind == KIND_OPEN
                    && record.ring < identity.ring_count
                {
                    return Some(record);
                }
                if retries == 0 {
                    torn = torn.saturating_add(1);
                    return None;
                }
                retries = retries.saturating_sub(1);
                source.read(
                    identity.open_slot(slot),
                    bytemuck::bytes_of_mut(&mut record),
                );
            }
        })
        .collect();
    (open, torn)
}

/// A running writer's counter is right, for both see the same memory; else the records are the witnesses.
fn read_claimed(
    source: &Source,
    place: &Place,
    writer_runs: bool,
    chunk_records: usize,
    evidence: Evidence,
    damages: &mut Vec<Damage>,
) -> u64 {
    let (claimed, failed) = place.read_claimed(source);
    damages.extend(failed);
    if writer_runs && claimed <= SEQUENCE_MAX {
        return claimed;
    }
    if evidence == Evidence::Sample && is_confirmed(source, place, claimed) {
        return claimed;
    }
    let newest = newest_sequence(source, place, claimed, chunk_records);
    let effective = effective_claimed(claimed, newest, place.capacity);
    if effective != claimed {
        damages.push(Damage {
            offset: place.control_offset(),
            what: format!(
                "claimed of ring {}: found {claimed}, expected {newest}, the sequence of the newest record that is there",
                place.ring
            ),
        });
    }
    effective
}

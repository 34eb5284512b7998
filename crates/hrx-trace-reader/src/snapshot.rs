//! The moment at which a capture is read: everything that changes under the reader, taken once and in an order that loses nothing.
//!
//! The order: the writer's lock, the counters, the open table, each ring's `claimed`, the labels, the clock.
//! - The lock before the state word: a writer that finishes and exits in between counts as finished.
//! - The open table before `claimed`: a region that completes in between is seen in both, and the ring's record tells; never in neither.
//! - The labels behind `claimed`: every name that the window's records use is in the table by then.

use bytemuck::Zeroable;
use hrx_trace_format::header::{STATE_FINISHED, STATE_RECORDING};
use hrx_trace_format::label::{self, BLOCK_BYTES, TEXT_BYTES_MAX, blocks_of};
use hrx_trace_format::open::{KIND_OPEN, SEQUENCE_TAKEN};
use hrx_trace_format::record::SEQUENCE_MAX;
use hrx_trace_format::{Area, Checksum, Counters, Identity, OpenRecord};

use crate::ending::{now_ns, writer_runs};
use crate::evidence::{effective_claimed, is_confirmed, newest_sequence};
use crate::ring::Place;
use crate::source::Source;
use crate::{Damage, Ending};

/// More than the longest label takes.
const LABEL_BYTES_AT_ONCE: usize = 2 * TEXT_BYTES_MAX;
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
    /// The label table, or what there is of it.
    pub(crate) labels: Vec<u8>,
    /// Live: now.
    pub(crate) now_ns: Option<u64>,
    pub(crate) damages: Vec<Damage>,
    /// Bytes at the start of the label table that hold whole entries.
    label_bytes_known: usize,
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
        let labels_there = file_bytes
            .saturating_sub(identity.label_offset)
            .min(identity.label_bytes);
        let mut labels = vec![0; labels_there as usize];
        damages.extend(source.read(identity.label_offset, &mut labels));
        Self {
            file_bytes,
            ending,
            writer_runs: runs,
            counters,
            open,
            open_torn,
            claimed,
            labels,
            now_ns: (ending == Ending::Live).then(|| now_ns(identity)).flatten(),
            damages,
            label_bytes_known: 0,
        }
    }

    /// Takes again only what tells of new events: the state, each ring's `claimed`, the labels that are new, in this order.
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
        self.advance_labels(source, identity, checksum);
    }

    /// Entries lie one behind the other and never change, so only what is behind the last whole one is read.
    fn advance_labels(&mut self, source: &Source, identity: &Identity, checksum: &Checksum) {
        let salt = Area::LabelTable.salt(identity.salt);
        loop {
            let label_id = self
                .label_bytes_known
                .div_euclid(BLOCK_BYTES)
                .saturating_add(1);
            let label_id = u32::try_from(label_id).unwrap_or(u32::MAX);
            if let Some(text) = label::decode(&self.labels, label_id, checksum, salt) {
                let bytes = blocks_of(text.len()).saturating_mul(BLOCK_BYTES);
                self.label_bytes_known = self.label_bytes_known.saturating_add(bytes);
                continue;
            }
            let offset = identity
                .label_offset
                .saturating_add(self.label_bytes_known as u64);
            let Some(unknown) = self.labels.get_mut(self.label_bytes_known..) else {
                return;
            };
            let count = unknown.len().min(LABEL_BYTES_AT_ONCE);
            let Some(unknown) = unknown.get_mut(..count) else {
                return;
            };
            source.read(offset, unknown);
            if label::decode(&self.labels, label_id, checksum, salt).is_none() {
                return;
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

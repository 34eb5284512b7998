//! One ring's window, in ticket order, with a verdict for every slot.
//!
//! Invariants:
//! - Every ticket of the window gets exactly one verdict, so the account balances by construction.
//! - A record is handed out only if its checksum and its sequence are those of the ticket.
//! - No loop runs longer than the file is: slots behind its end are counted, never visited.
//! - While the writer runs, a slot that cannot be believed is read again; the waits have a bound.

use std::thread::sleep;
use std::time::Duration;

use bytemuck::Zeroable;
use hrx_trace_format::record::{KIND_REGION, RECORD_BYTES, slot_of};
use hrx_trace_format::{Area, Checksum, Identity, Record};

use crate::source::Source;
use crate::{Account, Damage};

/// The most tickets that a ring can have given out: so many that 1024 rings' sum still fits a u64, and 57 years of ten million a second. More is damage.
pub(crate) const SEQUENCE_MAX: u64 = u64::MAX / 1024;

/// How often a slot is read again at once. A `record` takes less time than a read.
const RETRIES: u32 = 3;
/// How often one ring is waited for: its writer lost its processor in the middle of a `record`.
const PATIENCE: u32 = 8;
/// How long each time.
const WAIT: Duration = Duration::from_micros(50);

/// Where one ring lies, and what makes its records believable.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) ring: u32,
    pub(crate) capacity: u64,
    /// Slots that lie whole inside the file.
    pub(crate) present: u64,
    /// Offset of slot 0.
    offset: u64,
    control_offset: u64,
    salt: u32,
    checksum: Checksum,
}

impl Place {
    pub(crate) fn new(
        identity: &Identity,
        ring: u32,
        file_bytes: u64,
        checksum: &Checksum,
    ) -> Self {
        let offset = identity.ring_slot(ring, 0);
        Self {
            ring,
            capacity: identity.capacity,
            present: file_bytes
                .saturating_sub(offset)
                .div_euclid(RECORD_BYTES as u64)
                .min(identity.capacity),
            offset,
            control_offset: identity.control_line(ring),
            salt: Area::Ring(ring).salt(identity.salt),
            checksum: checksum.clone(),
        }
    }

    pub(crate) fn offset_of(&self, slot: u64) -> u64 {
        self.offset
            .saturating_add(slot.saturating_mul(RECORD_BYTES as u64))
    }

    /// Reads the slots from `slot` on.
    pub(crate) fn read(
        &self,
        source: &Source,
        slot: u64,
        records: &mut [Record],
    ) -> Option<Damage> {
        source.read(self.offset_of(slot), bytemuck::cast_slice_mut(records))
    }

    /// The ring's counter. A read that fails gives 0.
    pub(crate) fn read_claimed(&self, source: &Source) -> (u64, Option<Damage>) {
        let mut claimed = 0u64;
        let failed = source.read(self.control_offset, bytemuck::bytes_of_mut(&mut claimed));
        (claimed, failed)
    }

    pub(crate) fn control_offset(&self) -> u64 {
        self.control_offset
    }

    #[inline]
    pub(crate) fn verifies(&self, record: &Record) -> bool {
        record.verifies(&self.checksum, self.salt)
    }
}

/// What a slot that could not be believed at first turned out to be.
enum Verdict {
    Believed(Record),
    Torn,
    InFlight,
    Overtaken,
}

/// Reads one ring's window.
#[derive(Debug)]
pub(crate) struct RingReader {
    place: Place,
    live: bool,
    /// The ticket that is judged next.
    expected: u64,
    /// Tickets of the window behind the chunk.
    unread: u64,
    /// The slot that the next chunk begins with.
    slot: u64,
    chunk: Vec<Record>,
    /// Records of the chunk that have been judged.
    judged: usize,
    chunk_records: usize,
    account: Account,
    /// When the oldest record behind the last gap that an overwriting made was complete.
    complete_since_ns: Option<u64>,
    read_failed: Option<Damage>,
    /// Up to this ticket, newer ones have been given out for the same slots.
    overtaken: u64,
    patience: u32,
}

impl RingReader {
    /// `claimed` is the number of tickets given out, at most [`SEQUENCE_MAX`].
    pub(crate) fn new(place: Place, claimed: u64, live: bool, chunk_records: usize) -> Self {
        let overwritten = claimed.saturating_sub(place.capacity);
        let expected = overwritten.saturating_add(1);
        Self {
            live,
            expected,
            unread: claimed.saturating_sub(overwritten),
            slot: slot_of(expected, place.capacity).unwrap_or_default(),
            chunk: Vec::new(),
            judged: 0,
            chunk_records: chunk_records.max(1),
            account: Account {
                claimed,
                overwritten,
                ..Account::default()
            },
            complete_since_ns: None,
            read_failed: None,
            overtaken: 0,
            patience: PATIENCE,
            place,
        }
    }

    /// The next record that can be believed.
    #[inline]
    pub(crate) fn next(&mut self, source: &Source) -> Option<Record> {
        loop {
            let Some(&record) = self.chunk.get(self.judged) else {
                if self.fill(source) {
                    continue;
                }
                return None;
            };
            let expected = self.expected;
            self.judged = self.judged.wrapping_add(1);
            self.expected = expected.wrapping_add(1);
            let believed = if record.sequence == expected && self.place.verifies(&record) {
                record
            } else if let Some(record) = self.judge(source, expected) {
                record
            } else {
                continue;
            };
            if believed.kind != KIND_REGION {
                self.account.skipped = self.account.skipped.wrapping_add(1);
                continue;
            }
            self.account.recovered = self.account.recovered.wrapping_add(1);
            if self.complete_since_ns.is_none() {
                self.complete_since_ns = Some(believed.end_ns());
            }
            return Some(believed);
        }
    }

    /// Tickets that have no verdict yet.
    pub(crate) fn remaining(&self) -> u64 {
        let in_chunk = self.chunk.len().saturating_sub(self.judged);
        self.unread.saturating_add(in_chunk as u64)
    }

    /// What became of the tickets so far.
    pub(crate) fn account(&self) -> Account {
        self.account
    }

    pub(crate) fn read_failed(&self) -> Option<&Damage> {
        self.read_failed.as_ref()
    }

    /// From when on nothing of this ring was overwritten: 0 if nothing was. None: nothing is left of what came after.
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
            if self.slot >= self.place.capacity {
                self.slot = 0;
            }
            let in_file = self.place.present.saturating_sub(self.slot);
            if in_file > 0 {
                let count = self.unread.min(in_file).min(self.chunk_records as u64);
                self.chunk.resize(count as usize, Record::zeroed());
                self.judged = 0;
                let failed = self.place.read(source, self.slot, &mut self.chunk);
                self.read_failed = self.read_failed.take().or(failed);
                self.advance(count);
                return true;
            }
            // The file ends before this slot: nothing up to the ring's end is there.
            let missing = self
                .unread
                .min(self.place.capacity.saturating_sub(self.slot));
            self.account.torn = self.account.torn.saturating_add(missing);
            self.expected = self.expected.saturating_add(missing);
            self.advance(missing);
        }
    }

    fn advance(&mut self, count: u64) {
        self.slot = self.slot.saturating_add(count);
        self.unread = self.unread.saturating_sub(count);
    }

    /// Decides on a ticket whose slot could not be believed, and counts it unless it can be believed now.
    #[cold]
    fn judge(&mut self, source: &Source, expected: u64) -> Option<Record> {
        let verdict = if self.live {
            self.read_again(source, expected)
        } else {
            Verdict::Torn
        };
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

    fn read_again(&mut self, source: &Source, expected: u64) -> Verdict {
        let Some(slot) = slot_of(expected, self.place.capacity) else {
            return Verdict::Torn;
        };
        let mut attempts = 0u32;
        loop {
            if expected <= self.overtaken {
                return Verdict::Overtaken;
            }
            let mut record = Record::zeroed();
            let failed = self
                .place
                .read(source, slot, std::slice::from_mut(&mut record));
            if failed.is_some() {
                return Verdict::Torn;
            }
            if record.sequence == expected && self.place.verifies(&record) {
                return Verdict::Believed(record);
            }
            // Behind the slot: a ticket is given out before its slot is written.
            let (claimed, _) = self.place.read_claimed(source);
            if claimed <= SEQUENCE_MAX {
                let overtaken = claimed.saturating_sub(self.place.capacity);
                self.overtaken = self.overtaken.max(overtaken);
            }
            if expected <= self.overtaken {
                return Verdict::Overtaken;
            }
            if attempts < RETRIES {
                attempts = attempts.saturating_add(1);
            } else if self.patience > 0 {
                self.patience = self.patience.saturating_sub(1);
                sleep(WAIT);
            } else {
                let lap_before = expected.checked_sub(self.place.capacity);
                let unwritten = record.sequence == 0 || Some(record.sequence) == lap_before;
                return if unwritten {
                    Verdict::InFlight
                } else {
                    Verdict::Torn
                };
            }
        }
    }
}

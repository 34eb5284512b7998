//! One ring in the file: where its slots and its counter lie, and what makes a record of it believable.

use hrx_trace_format::record::{RECORD_BYTES, SEQUENCE_MAX, slot_of};
use hrx_trace_format::{Area, Checksum, Identity, Record};

use crate::damage::Damage;
use crate::source::Source;

/// One ring of a file.
#[derive(Clone, Debug)]
pub(crate) struct Ring {
    /// Its place among the rings.
    pub(crate) index: u32,
    pub(crate) capacity: u64,
    /// Slots that lie whole inside the file.
    pub(crate) present: u64,
    /// Offset of slot 0.
    offset: u64,
    control_offset: u64,
    salt: u32,
    checksum: Checksum,
}

impl Ring {
    pub(crate) fn new(
        identity: &Identity,
        index: u32,
        file_bytes: u64,
        checksum: &Checksum,
    ) -> Self {
        let offset = identity.ring_slot(index, 0);
        Self {
            index,
            capacity: identity.capacity,
            present: file_bytes
                .saturating_sub(offset)
                .div_euclid(RECORD_BYTES as u64)
                .min(identity.capacity),
            offset,
            control_offset: identity.control_line(index),
            salt: Area::Ring(index).salt(identity.salt),
            checksum: checksum.clone(),
        }
    }

    fn offset_of(&self, slot: u64) -> u64 {
        self.offset
            .saturating_add(slot.saturating_mul(RECORD_BYTES as u64))
    }

    /// The first slot from `slot` on, at most `end`, that may hold anything but zeroes.
    pub(crate) fn next_data(&self, source: &Source, slot: u64, end: u64) -> u64 {
        let data = source.next_data(self.offset_of(slot), self.offset_of(end));
        let into_ring = data.saturating_sub(self.offset);
        into_ring
            .div_euclid(RECORD_BYTES as u64)
            .clamp(slot, end.max(slot))
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

    /// The ring's counter. 0 if it cannot be read.
    pub(crate) fn read_claimed(&self, source: &Source) -> (u64, Option<Damage>) {
        let mut claimed = 0u64;
        let failed = source.read(self.control_offset, bytemuck::bytes_of_mut(&mut claimed));
        (claimed, failed)
    }

    /// Where the counter lies.
    pub(crate) fn control_offset(&self) -> u64 {
        self.control_offset
    }

    /// Whether `record`, from any slot, is the record of `ticket`.
    #[inline]
    pub(crate) fn is_record_of(&self, record: &Record, ticket: u64) -> bool {
        record.sequence == ticket && record.verifies(&self.checksum, self.salt)
    }

    /// Whether `record` is what a writer may have stored in `slot`.
    pub(crate) fn belongs_in(&self, record: &Record, slot: u64) -> bool {
        record.sequence <= SEQUENCE_MAX
            && slot_of(record.sequence, self.capacity) == Some(slot)
            && record.verifies(&self.checksum, self.salt)
    }
}

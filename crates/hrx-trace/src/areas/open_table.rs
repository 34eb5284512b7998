//! The open table: what was running when the process died.

use hrx_trace_format::open::OPEN_STRIDE;
use hrx_trace_format::{Checksum, OpenRecord};

use crate::memory::{Line, Lines};
use crate::slot;
use crate::vacancy::{Hints, Vacancies};

/// Lines of a slot in every file that we create. The open record is the first.
pub const LINES: u32 = (OPEN_STRIDE / 64) as u32;

/// From this many slots on, a search that fails leaves a memo. Below, it costs at most 3 µs.
const MEMO_SLOTS_MIN: u16 = 4097;

/// The slots of the regions that are running now.
#[derive(Debug)]
pub struct OpenTable {
    slots: Lines,
    salt: u32,
    vacancies: Vacancies,
}

/// A slot that the calling thread has taken and not yet filled.
#[derive(Debug)]
pub struct TakenSlot<'a> {
    slot: &'a Line,
    /// 1 + its index.
    number: u16,
    salt: u32,
}

impl OpenTable {
    /// An empty table. `salt` is its area salt.
    pub fn new(slots: Lines, salt: u32) -> Self {
        let count = (slots.count() / LINES as usize) as u16;
        Self {
            slots,
            salt,
            vacancies: Vacancies::new(count, count >= MEMO_SLOTS_MIN),
        }
    }

    /// Takes a free slot for the thread with this ordinal, whose hints these are. None: the table is full. Costs the same however many are taken, unless
    /// hardly any are free.
    #[inline(always)]
    pub fn take(&self, hints: &impl Hints, ordinal: u32) -> Option<TakenSlot<'_>> {
        let open_record = |number| self.line(number, 0);
        let (number, slot) = self.vacancies.take(hints, ordinal, open_record)?;
        Some(TakenSlot {
            slot,
            number,
            salt: self.salt,
        })
    }

    /// Frees the slot with this number, which is 1 + its index. None: there is no such slot.
    #[inline(always)]
    pub fn clear(&self, hints: &impl Hints, number: u16) -> Option<()> {
        let slot = self.line(number, 0)?;
        self.vacancies.free(hints, number, slot);
        Some(())
    }

    /// Writes `record` with `word` as its first word over line `line` of the slot with this number. The calling thread must have the slot.
    #[inline]
    pub fn write_line(
        &self,
        open_slot: u16,
        line: u32,
        checksum: &Checksum,
        word: u64,
        record: [u64; 8],
    ) {
        let [_, others @ ..] = record;
        let copy = checksum.unsealed(self.salt, others).seal(word);
        if let Some(line) = self.line(open_slot, line) {
            slot::publish(line, &copy);
        }
    }

    /// Line `line` of the slot with this number, if there is such a slot.
    #[inline(always)]
    fn line(&self, number: u16, line: u32) -> Option<&Line> {
        let first_line = usize::from(number)
            .wrapping_sub(1)
            .wrapping_mul(LINES as usize);
        self.slots.find(first_line.wrapping_add(line as usize))
    }
}

impl TakenSlot<'_> {
    /// Shows `open` in the slot. Returns the slot's number, 1 + its index.
    #[inline]
    pub fn fill(self, checksum: &Checksum, open: OpenRecord) -> u16 {
        let open_slot = self.number;
        let open = OpenRecord { open_slot, ..open }.sealed(checksum, self.salt);
        slot::fill(self.slot, &bytemuck::cast(open));
        open_slot
    }
}

//! The open table: what was running when the process died.

use hrx_trace_format::open::{OPEN_SLOTS_DEFAULT, OPEN_STRIDE};
use hrx_trace_format::{Checksum, OpenRecord};

use crate::memory::{Line, Lines};
use crate::slot;

/// Lines of a slot in every file that we create. The open record is the first.
const LINES: usize = (OPEN_STRIDE / 64) as usize;

/// The slots of the regions that are running now.
#[derive(Debug)]
pub struct OpenTable {
    slots: Lines,
    salt: u32,
}

/// A slot that the calling thread has taken and not yet filled.
#[derive(Debug)]
pub struct TakenSlot<'a> {
    slot: &'a Line,
    index: usize,
    salt: u32,
}

impl OpenTable {
    /// An empty table. `salt` is its area salt.
    pub fn new(slots: Lines, salt: u32) -> Self {
        Self { slots, salt }
    }

    /// Takes a free slot for the thread with this ordinal: its favourite if that is free, so that threads do not share lines. None: the table is full.
    #[inline]
    pub fn take(&self, ordinal: u32) -> Option<TakenSlot<'_>> {
        // The number of slots in every file that we create; as a constant it leaves no division.
        const SLOTS: usize = OPEN_SLOTS_DEFAULT as usize;
        // Favourites lie eight apart: room for nested regions before the next thread's.
        let favourite = ordinal.wrapping_mul(8).wrapping_add(ordinal / 8) as usize % SLOTS;
        let try_take = |index| {
            let slot = self.slots.get(index * LINES);
            let salt = self.salt;
            slot::take(slot).then_some(TakenSlot { slot, index, salt })
        };
        try_take(favourite)
            .or_else(|| (1..SLOTS).find_map(|next| try_take((favourite + next) % SLOTS)))
    }

    /// Frees the slot with this number, which is 1 + its index. 0: there is none to free.
    #[inline]
    pub fn clear(&self, open_slot: u16) {
        if let Some(index) = open_slot.checked_sub(1) {
            slot::clear(self.slots.get(usize::from(index) * LINES));
        }
    }
}

impl TakenSlot<'_> {
    /// Shows `open` in the slot. Returns the slot's number, 1 + its index.
    #[inline]
    pub fn fill(self, checksum: &Checksum, open: OpenRecord) -> u16 {
        let open_slot = self.index as u16 + 1;
        let open = OpenRecord { open_slot, ..open }.sealed(checksum, self.salt);
        slot::fill(self.slot, &bytemuck::cast(open));
        open_slot
    }
}

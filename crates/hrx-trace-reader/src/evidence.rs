//! The newest record that can be believed, whatever the ring's counter says.
//!
//! After a power loss the counter's page can be older than the ring's, or newer, and either can be damaged. A record proves by itself that its
//! ticket was given out, so of a capture that nobody writes any more the newest one is looked for before the window is laid.

use bytemuck::Zeroable;
use hrx_trace_format::Record;
use hrx_trace_format::record::slot_of;

use crate::ring::{Place, SEQUENCE_MAX};
use crate::source::Source;

/// The sequence of the newest believable record of a ring whose counter says `claimed`; 0 if there is none.
///
/// Goes backwards from the slot of `claimed`, where the newest record should be: then one checksum is all that has to be computed.
/// A read that fails is passed over: whoever reads the window meets it again, and tells.
pub(crate) fn newest_sequence(
    source: &Source,
    place: &Place,
    claimed: u64,
    chunk_records: usize,
) -> u64 {
    let from_start = slot_of(claimed, place.capacity)
        .map_or(0, |slot| slot.saturating_add(1))
        .min(place.present);
    let mut chunk = Vec::new();
    let mut newest = 0;
    for (first, mut behind) in [(0, from_start), (from_start, place.present)] {
        while behind > first {
            let count = behind
                .saturating_sub(first)
                .min(chunk_records.max(1) as u64);
            behind = behind.saturating_sub(count);
            chunk.resize(count as usize, Record::zeroed());
            place.read(source, behind, &mut chunk);
            for (index, record) in chunk.iter().enumerate().rev() {
                if record.sequence > newest
                    && record.sequence <= SEQUENCE_MAX
                    && slot_of(record.sequence, place.capacity) == behind.checked_add(index as u64)
                    && place.verifies(record)
                {
                    newest = record.sequence;
                }
            }
        }
    }
    newest
}

/// How many tickets the ring has given out, by its counter and its newest record.
///
/// The record is right if it lies above the counter, or if it lies below the counter's whole window: then the window holds nothing.
pub(crate) fn effective_claimed(claimed: u64, newest: u64, capacity: u64) -> u64 {
    let below_window = newest > 0 && newest <= claimed.saturating_sub(capacity);
    if newest > claimed || below_window || claimed > SEQUENCE_MAX {
        newest
    } else {
        claimed
    }
}

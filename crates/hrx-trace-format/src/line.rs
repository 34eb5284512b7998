//! The lines of an open slot after its open record: copies of a running region's records, next to the region that they say something about.
//!
//! A region that hangs does so while others go on, and their records overwrite its own in the ring. What is copied here stays as long as it runs.
//! Invariants:
//! - A record is in the ring before it is in a line. So a line never says more than the account knows.
//! - A line names its record by ring and ticket, in one word. It differs from record to record, so words of two records never verify together.
//! - Lines are not cleared. A line of an earlier tenant of the slot is not believed: on the same ring, its ticket is not above the `claimed_at_begin` of
//!   the later one.

use crate::amendment::Amendment;
use crate::argument::Argument;
use crate::checksum::Checksum;
use crate::constants::{KIND_AMENDMENT, KIND_ARGUMENT, RECORD_BYTES, SEQUENCE_MAX};
use crate::open::OpenRecord;

/// The line of a slot that holds the region's latest amendment.
pub const LINE_AMENDMENT: u32 = 1;

/// The first line of a slot that holds an argument.
pub const LINE_ARGUMENTS: u32 = 2;

/// Bits of a ticket in the first word of a line; a ring's number takes the others.
const TICKET_BITS: u32 = SEQUENCE_MAX.count_ones();

/// The first word of the line that copies the record with ticket `sequence` of ring `ring`.
#[inline]
#[must_use]
pub const fn word(ring: u32, sequence: u64) -> u64 {
    (ring as u64) << TICKET_BITS | sequence & SEQUENCE_MAX
}

/// The ring and the ticket that the first word of a line names.
#[inline]
#[must_use]
pub const fn ring_and_sequence(word: u64) -> (u32, u64) {
    ((word >> TICKET_BITS) as u32, word & SEQUENCE_MAX)
}

/// The line for a region's argument record number `index`, from 0, in a slot of `lines` lines: the first ones have a line each, the last line is for the
/// latest of all others. None: the slot has no line for arguments.
#[inline]
#[must_use]
pub fn of_argument(index: u32, lines: u32) -> Option<u32> {
    let last = lines
        .checked_sub(1)
        .filter(|last| *last >= LINE_ARGUMENTS)?;
    Some(LINE_ARGUMENTS.saturating_add(index).min(last))
}

/// The amendment in a line of `region`'s slot, with its ticket as its sequence; None if the line is not believed. `salt` is the open table's area salt.
#[must_use]
pub fn amendment(
    line: [u8; RECORD_BYTES],
    region: &OpenRecord,
    checksum: &Checksum,
    salt: u32,
) -> Option<Amendment> {
    let copy = Amendment::from_bytes(line);
    let (ring, sequence) = ring_and_sequence(copy.sequence);
    let believed = copy.kind == KIND_AMENDMENT
        && ring == region.ring
        && copy.open_slot == region.open_slot
        && region.owns(sequence, copy.owner, copy.start_ns)
        && copy.verifies(checksum, salt);
    believed.then_some(Amendment { sequence, ..copy })
}

/// The argument in a line of `region`'s slot, with its ticket as its sequence; None if the line is not believed. `salt` is the open table's area salt.
#[must_use]
pub fn argument(
    line: [u8; RECORD_BYTES],
    region: &OpenRecord,
    checksum: &Checksum,
    salt: u32,
) -> Option<Argument> {
    let copy = Argument::from_bytes(line);
    let (ring, sequence) = ring_and_sequence(copy.sequence);
    let believed = copy.kind == KIND_ARGUMENT
        && copy.is_known()
        && ring == region.ring
        && copy.open_slot == region.open_slot
        && region.owns(sequence, copy.owner, copy.start_ns)
        && copy.verifies(checksum, salt);
    believed.then_some(Argument { sequence, ..copy })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argument::{ArgumentValue, ArgumentsOf};
    use crate::checksum::Area;
    use crate::constants::{KIND_OPEN, RING_COUNT_MAX};
    use bytemuck::Zeroable;
    use proptest::prelude::*;

    const SALT: u32 = 7;

    fn region(ring: u32, claimed_at_begin: u64) -> OpenRecord {
        OpenRecord {
            start_ns: 1_500,
            claimed_at_begin,
            ring,
            kind: KIND_OPEN,
            open_slot: 3,
            ..OpenRecord::zeroed()
        }
    }

    /// The line of the record with ticket `sequence`.
    fn argument_line(region: &OpenRecord, sequence: u64) -> Argument {
        let record = ArgumentsOf::region(region)
            .records(0, 1, ArgumentValue::U64(5))
            .next()
            .unwrap();
        Argument {
            sequence: word(region.ring, sequence),
            ..record
        }
    }

    fn reads(line: Argument, region: &OpenRecord) -> Option<u64> {
        let checksum = Checksum::new();
        let line = bytemuck::cast(line.sealed(&checksum, SALT));
        argument(line, region, &checksum, SALT).map(|argument| argument.sequence)
    }

    #[test]
    fn lines_of_arguments() {
        let lines = |count| {
            (0..8)
                .map(|index| of_argument(index, count))
                .collect::<Vec<_>>()
        };
        assert_eq!(lines(8), [2, 3, 4, 5, 6, 7, 7, 7].map(Some));
        assert_eq!(lines(3), [Some(2); 8]);
        assert_eq!(lines(2), [None; 8]);
        assert_eq!(lines(1), [None; 8]);
        assert_eq!(lines(0), [None; 8]);
        assert_eq!(of_argument(u32::MAX, 64), Some(63));
    }

    /// A tenant is never shown with the arguments of the one before it.
    #[test]
    fn only_the_tenants_own_lines_are_believed() {
        let ours = region(2, 100);
        assert_eq!(reads(argument_line(&ours, 101), &ours), Some(101));
        // An earlier tenant on the same ring: all its tickets are at most our `claimed_at_begin`.
        assert_eq!(reads(argument_line(&region(2, 90), 95), &ours), None);
        assert_eq!(reads(argument_line(&ours, 100), &ours), None);
        // Earlier tenants on other rings, of which one had the same number of tickets.
        assert_eq!(reads(argument_line(&region(1, 100), 101), &ours), None);
        let line = argument_line(&ours, 101);
        for wrong in [
            Argument { owner: 99, ..line },
            Argument {
                start_ns: 1_501,
                ..line
            },
            Argument {
                open_slot: 4,
                ..line
            },
            Argument { r#type: 9, ..line },
            Argument {
                kind: KIND_AMENDMENT,
                ..line
            },
            Argument {
                sequence: 0,
                ..line
            },
        ] {
            assert_eq!(reads(wrong, &ours), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_record_of_the_ring_is_no_line() {
        let ours = region(0, 0);
        let checksum = Checksum::new();
        let record = argument_line(&ours, 1).sealed(&checksum, Area::Ring(0).salt(SALT));
        let salt = Area::OpenTable.salt(SALT);
        assert_eq!(
            argument(bytemuck::cast(record), &ours, &checksum, salt),
            None
        );
    }

    #[test]
    fn amendments_are_believed_as_arguments_are() {
        let ours = region(2, 100);
        let checksum = Checksum::new();
        let read = |amendment: Amendment, region: &OpenRecord| {
            let line = bytemuck::cast(amendment.sealed(&checksum, SALT));
            super::amendment(line, region, &checksum, SALT)
        };
        let line = Amendment {
            sequence: word(2, 105),
            label_id: 9,
            ..Amendment::of(&ours)
        };
        let read_back = read(line, &ours).unwrap();
        assert_eq!((read_back.sequence, read_back.label_id), (105, 9));
        assert_eq!(read(line, &region(2, 105)), None);
        assert_eq!(read(line, &region(1, 100)), None);
        assert_eq!(
            read(
                Amendment {
                    kind: KIND_ARGUMENT,
                    ..line
                },
                &ours
            ),
            None
        );
    }

    proptest! {
        #[test]
        fn words_come_apart(ring in 0..RING_COUNT_MAX, sequence in 1..=SEQUENCE_MAX) {
            prop_assert_eq!(ring_and_sequence(word(ring, sequence)), (ring, sequence));
            prop_assert_ne!(word(ring, sequence), 0);
        }

        #[test]
        fn any_bytes_are_survived(line: [[u8; 32]; 2], ring: u32, claimed_at_begin: u64) {
            let region = region(ring, claimed_at_begin);
            let line = bytemuck::cast(line);
            prop_assert_eq!(argument(line, &region, &Checksum::new(), SALT), None);
            prop_assert_eq!(amendment(line, &region, &Checksum::new(), SALT), None);
        }
    }
}

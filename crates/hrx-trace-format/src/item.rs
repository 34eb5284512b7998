//! A ring's record of any kind.

use crate::amendment::Amendment;
use crate::argument::Argument;
use crate::constants::{
    KIND_AMENDMENT, KIND_ARGUMENT, KIND_MARK, KIND_REGION, KIND_VALUE, OPEN_SLOT_NONE, RECORD_BYTES,
};
use crate::mark::Mark;
use crate::record::{Record, slot_index};
use crate::value::Value;

/// A record of a kind that this version knows.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// A completed region.
    Region(Record),
    /// Something happened at a moment.
    Mark(Mark),
    /// A sample of a number.
    Value(Value),
    /// A key and a value of an event.
    Argument(Argument),
    /// What changed about a running region.
    Amendment(Amendment),
}

/// Whose records an argument or amendment is one of.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Holder {
    /// A tenant of the open slot with this index.
    Slot(u32),
    /// An event without a slot, of the thread with this id.
    Thread(u32),
}

impl Item {
    /// The record that the file's `bytes` make, whose checksum was verified. None if its kind, or what it says, is not known to this version: it is
    /// skipped and counted.
    #[must_use]
    pub fn of(bytes: [u8; RECORD_BYTES]) -> Option<Self> {
        let record = Record::from_bytes(bytes);
        match record.kind {
            KIND_REGION => Some(Self::Region(record)),
            KIND_MARK => Some(Self::Mark(Mark::from_bytes(bytes))),
            KIND_VALUE => Some(Self::Value(Value::from_bytes(bytes))),
            KIND_ARGUMENT => {
                let argument = Argument::from_bytes(bytes);
                argument.is_known().then_some(Self::Argument(argument))
            }
            KIND_AMENDMENT => Some(Self::Amendment(Amendment::from_bytes(bytes))),
            _ => None,
        }
    }

    /// When the event ended: a region at its end, marks and values at their moment. None of the others, which have no place of their own in time.
    #[inline]
    #[must_use]
    pub fn end_ns(&self) -> Option<u64> {
        match self {
            Self::Region(region) => Some(region.end_ns()),
            Self::Mark(mark) => Some(mark.start_ns),
            Self::Value(value) => Some(value.start_ns),
            Self::Argument(_) | Self::Amendment(_) => None,
        }
    }

    /// Whose arguments it takes, or is one of. None: its `open_slot` names nothing. Whether the table has such a slot is not looked at.
    #[inline]
    #[must_use]
    pub fn holder(&self) -> Option<Holder> {
        let slot = |open_slot| slot_index(open_slot).map(Holder::Slot);
        match self {
            Self::Region(region) => {
                slot(region.open_slot).or(Some(Holder::Thread(region.thread_id)))
            }
            Self::Mark(mark) => Some(Holder::Thread(mark.thread_id)),
            Self::Value(value) => Some(Holder::Thread(value.thread_id)),
            Self::Argument(argument) if argument.open_slot == OPEN_SLOT_NONE => {
                Some(Holder::Thread(argument.owner))
            }
            Self::Argument(argument) => slot(argument.open_slot),
            Self::Amendment(amendment) => slot(amendment.open_slot),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argument::{ArgumentValue, ArgumentsOf};
    use crate::constants::KIND_OPEN;
    use proptest::prelude::*;

    #[test]
    fn kinds() {
        let of = |kind| {
            let mut bytes = [0; RECORD_BYTES];
            bytes[57] = kind;
            // The type of an argument.
            bytes[55] = 1;
            Item::of(bytes)
        };
        assert!(matches!(of(0), Some(Item::Region(_))));
        assert_eq!(of(KIND_OPEN), None);
        assert!(matches!(of(2), Some(Item::Mark(_))));
        assert!(matches!(of(3), Some(Item::Value(_))));
        assert!(matches!(of(4), Some(Item::Argument(_))));
        assert!(matches!(of(5), Some(Item::Amendment(_))));
        for unknown in 6..=u8::MAX {
            assert_eq!(of(unknown), None);
        }
    }

    #[test]
    fn holders() {
        let region = |open_slot| {
            Item::Region(Record {
                open_slot,
                thread_id: 9,
                ..bytemuck::Zeroable::zeroed()
            })
        };
        assert_eq!(region(3).holder(), Some(Holder::Slot(2)));
        assert_eq!(region(0).holder(), Some(Holder::Thread(9)));
        assert_eq!(region(OPEN_SLOT_NONE).holder(), Some(Holder::Thread(9)));
        let argument = ArgumentsOf::event(5, 9)
            .records(0, 0, ArgumentValue::U64(1))
            .next()
            .unwrap();
        assert_eq!(Item::Argument(argument).holder(), Some(Holder::Thread(9)));
        let nowhere = Argument {
            open_slot: 0,
            ..argument
        };
        assert_eq!(Item::Argument(nowhere).holder(), None);
        let amendment = Amendment {
            open_slot: OPEN_SLOT_NONE,
            ..bytemuck::Zeroable::zeroed()
        };
        assert_eq!(Item::Amendment(amendment).holder(), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(halves: [[u8; 32]; 2]) {
            let item = Item::of(bytemuck::cast(halves));
            let _ = item.and_then(|item| item.holder());
            let _ = item.and_then(|item| item.end_ns());
        }
    }
}

//! Arguments whose event has not come yet: as many as the memory for them holds, and a count of those that it did not.
//!
//! A file can hold as many as it likes, of as many events as it likes. Invariant: what is held takes no more than the bound, whatever the file says;
//! the arguments that have been held longest make room.

use std::collections::{BTreeMap, HashMap, VecDeque};

use hrx_trace_format::{Argument, Holder};

/// What an argument is charged for: it can have twice its place in a queue that grows.
const ARGUMENT_BYTES: usize = 2 * size_of::<(u64, Argument)>();
/// What the first argument of an owner is charged for besides: the least room of a queue, and places in a table and a tree that grow.
const OWNER_BYTES: usize = 4 * size_of::<(u64, Argument)>() + 4 * size_of::<(Owner, Group)>();

/// Whose arguments are held together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Owner {
    /// What the next event of this holder is to settle.
    Next(Holder),
    /// The region that the open table shows in this slot: no event took them.
    Open(u32),
}

/// Arguments in the order in which they came, each with its number among all.
type Group = VecDeque<(u64, Argument)>;

/// The arguments of one ring that are held.
#[derive(Debug)]
pub(crate) struct Pending {
    groups: HashMap<Owner, Group>,
    /// By the number of its first argument: the owners that have any.
    oldest: BTreeMap<u64, Owner>,
    /// The number of the next argument.
    next: u64,
    bytes: usize,
    bytes_max: usize,
    evicted: u64,
}

impl Pending {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self {
            groups: HashMap::new(),
            oldest: BTreeMap::new(),
            next: 0,
            bytes: 0,
            bytes_max,
            evicted: 0,
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// How many made room for others.
    pub(crate) fn evicted(&self) -> u64 {
        self.evicted
    }

    /// The argument that came last for `owner`.
    pub(crate) fn last(&self, owner: Owner) -> Option<&Argument> {
        self.groups
            .get(&owner)?
            .back()
            .map(|(_, argument)| argument)
    }

    /// Holds `argument` for `owner`, and lets go of the oldest ones for which there is no room any more.
    pub(crate) fn push(&mut self, owner: Owner, argument: Argument) {
        let number = self.next;
        self.next = self.next.saturating_add(1);
        self.insert(owner, number, argument);
        while self.bytes > self.bytes_max && self.evict().is_some() {}
    }

    fn insert(&mut self, owner: Owner, number: u64, argument: Argument) {
        let group = self.groups.entry(owner).or_default();
        if group.is_empty() {
            self.oldest.insert(number, owner);
            self.bytes = self.bytes.saturating_add(OWNER_BYTES);
        }
        group.push_back((number, argument));
        self.bytes = self.bytes.saturating_add(ARGUMENT_BYTES);
    }

    /// Lets go of the oldest argument. None: there is none.
    fn evict(&mut self) -> Option<()> {
        let (_, owner) = self.oldest.pop_first()?;
        let group = self.groups.get_mut(&owner)?;
        group.pop_front();
        self.evicted = self.evicted.saturating_add(1);
        self.bytes = self.bytes.saturating_sub(ARGUMENT_BYTES);
        if group.capacity() > group.len().saturating_mul(4) {
            group.shrink_to(group.len().saturating_mul(2));
        }
        match group.front() {
            Some((number, _)) => {
                self.oldest.insert(*number, owner);
            }
            None => {
                self.groups.remove(&owner);
                self.bytes = self.bytes.saturating_sub(OWNER_BYTES);
            }
        }
        Some(())
    }

    /// What is held for `owner`, which is not held any more.
    pub(crate) fn take(&mut self, owner: Owner) -> impl Iterator<Item = Argument> + use<> {
        self.remove(owner).into_iter().map(|(_, argument)| argument)
    }

    fn remove(&mut self, owner: Owner) -> Group {
        let Some(group) = self.groups.remove(&owner) else {
            return Group::new();
        };
        if let Some((number, _)) = group.front() {
            self.oldest.remove(number);
        }
        let bytes = group
            .len()
            .saturating_mul(ARGUMENT_BYTES)
            .saturating_add(OWNER_BYTES);
        self.bytes = self.bytes.saturating_sub(bytes);
        group
    }

    /// Holds what is held for `owner` for the region open in `slot` instead, if `belongs` says so. Returns how many do not belong to it, and are not held any
    /// more.
    pub(crate) fn give(
        &mut self,
        owner: Owner,
        slot: u32,
        belongs: impl Fn(&Argument) -> bool,
    ) -> u64 {
        let mut others = 0u64;
        for (number, argument) in self.remove(owner) {
            if belongs(&argument) {
                self.insert(Owner::Open(slot), number, argument);
            } else {
                others = others.saturating_add(1);
            }
        }
        others
    }

    /// All that is held for `owner`, in the order in which it came.
    pub(crate) fn of(&self, owner: Owner) -> impl Iterator<Item = &Argument> {
        let group = self.groups.get(&owner).into_iter().flatten();
        group.map(|(_, argument)| argument)
    }

    /// How many are held.
    pub(crate) fn count(&self) -> u64 {
        let counts = self.groups.values().map(|group| group.len() as u64);
        counts.fold(0, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hrx_trace_format::{ArgumentValue, ArgumentsOf};
    use proptest::prelude::*;

    fn argument(start_ns: u64) -> Argument {
        let of = ArgumentsOf::event(start_ns, 1);
        let mut records = of.records(0, 0, ArgumentValue::Bool(true));
        records.next().unwrap()
    }

    fn owner(number: u32) -> Owner {
        Owner::Next(Holder::Thread(number))
    }

    fn starts(arguments: impl Iterator<Item = Argument>) -> Vec<u64> {
        arguments.map(|argument| argument.start_ns).collect()
    }

    impl Pending {
        /// The memory that the containers have taken, at least.
        fn bytes_taken(&self) -> usize {
            let queues = self.groups.values().map(Group::capacity).sum::<usize>();
            queues * size_of::<(u64, Argument)>()
                + self.groups.capacity() * size_of::<(Owner, Group)>()
                + self.oldest.len() * size_of::<(u64, Owner)>()
        }
    }

    #[test]
    fn the_oldest_goes_first_whoever_it_is_held_for() {
        let mut pending = Pending::new(2 * OWNER_BYTES + 4 * ARGUMENT_BYTES);
        for (number, held_for) in (0..).zip([1, 2, 2, 1]) {
            pending.push(owner(held_for), argument(number));
        }
        assert_eq!((pending.count(), pending.evicted()), (4, 0));
        pending.push(owner(2), argument(4));
        assert_eq!((pending.count(), pending.evicted()), (4, 1));
        pending.push(owner(1), argument(5));
        assert_eq!(starts(pending.take(owner(2))), [2, 4]);
        assert_eq!(starts(pending.take(owner(2))), [0; 0]);
        assert_eq!(starts(pending.take(owner(1))), [3, 5]);
        assert!(pending.is_empty() && pending.bytes == 0 && pending.oldest.is_empty());
        assert_eq!(pending.evicted(), 2);
    }

    #[test]
    fn what_is_given_to_an_open_region_keeps_its_age() {
        let mut pending = Pending::new(usize::MAX);
        for number in 0..3 {
            pending.push(Owner::Next(Holder::Slot(5)), argument(number));
            pending.push(owner(1), argument(10 + number));
        }
        let others = pending.give(Owner::Next(Holder::Slot(5)), 5, |argument| {
            argument.start_ns != 1
        });
        assert_eq!((others, pending.count()), (1, 5));
        assert_eq!(starts(pending.of(Owner::Open(5)).copied()), [0, 2]);
        pending.evict();
        assert_eq!(starts(pending.of(Owner::Open(5)).copied()), [2]);
    }

    /// A hostile file holds an argument of another owner in every slot, or all of one, or makes them come and go.
    #[test]
    fn memory_is_bounded_whatever_comes() {
        let bytes_max = 1 << 16;
        for owners in [1, 2, 3, 100, 1_000, 1_000_000] {
            let mut pending = Pending::new(bytes_max);
            let mut most = 0;
            for number in 0..100_000 {
                pending.push(owner(number as u32 * 7 % owners), argument(number));
                most = most.max(pending.bytes_taken());
                assert!(pending.bytes <= bytes_max);
            }
            assert!(pending.evicted() > 90_000);
            assert!(most <= 2 * bytes_max, "{owners} owners: {most} bytes");
        }
    }

    proptest! {
        /// Against a plain list, whatever is pushed, given and taken.
        #[test]
        fn nothing_is_forgotten(steps in prop::collection::vec((0u32..4, 0u8..8), 0..200), room in 1usize..20) {
            let mut pending = Pending::new(room * ARGUMENT_BYTES + 3 * OWNER_BYTES);
            let mut list: Vec<(Owner, u64)> = Vec::new();
            let mut evicted = 0;
            for (number, (held_for, step)) in (0..).zip(steps) {
                let slot = Owner::Next(Holder::Slot(held_for));
                match step {
                    0 => {
                        let taken = starts(pending.take(slot));
                        let (of_slot, rest) = list.into_iter().partition(|(held_for, _)| *held_for == slot);
                        let of_slot: Vec<(Owner, u64)> = of_slot;
                        list = rest;
                        prop_assert!(of_slot.into_iter().map(|(_, start_ns)| start_ns).eq(taken));
                    }
                    1 => {
                        let others = pending.give(slot, held_for, |argument| argument.start_ns % 2 == 0);
                        let before = list.len();
                        list.retain(|(held_for, start_ns)| *held_for != slot || start_ns % 2 == 0);
                        prop_assert_eq!((before - list.len()) as u64, others);
                        for (place, _) in &mut list {
                            if *place == slot {
                                *place = Owner::Open(held_for);
                            }
                        }
                    }
                    _ => {
                        pending.push(slot, argument(number));
                        list.push((slot, number));
                    }
                }
                let gone = pending.evicted() - evicted;
                evicted += gone;
                list.drain(..gone as usize);
                prop_assert_eq!(pending.count(), list.len() as u64);
                for owner in list.iter().map(|(owner, _)| *owner) {
                    let held = list.iter().filter(|(held_for, _)| *held_for == owner);
                    prop_assert!(held.map(|(_, start_ns)| *start_ns).eq(starts(pending.of(owner).copied())));
                }
                prop_assert!(pending.bytes <= pending.bytes_max);
            }
        }
    }
}

//! A table of what lives, by the id that the subscriber gave it: all its room is there from the start, and a look-up takes no lock.
//!
//! An index, open addressing with twice as many places as entries, says where an id's entry is. Entries that are free are on a list. An id is of one span at a time,
//! so no two threads put in or take out the same id at once.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::free_list::FreeList;

/// Where the entry of each id is.
#[derive(Debug)]
pub struct Table {
    /// 0: free.
    ids: Box<[AtomicU64]>,
    entries: Box<[AtomicU32]>,
    /// How far from its first place an id ever was.
    reach: AtomicUsize,
    free: FreeList,
}

impl Table {
    /// Room for `capacity` ids.
    pub fn new(capacity: u32) -> Self {
        let places = (capacity.max(1) as usize * 2).next_power_of_two();
        Self {
            ids: bytemuck::zeroed_slice_box(places),
            entries: bytemuck::zeroed_slice_box(places),
            reach: AtomicUsize::new(0),
            free: FreeList::new(capacity),
        }
    }

    /// A free entry, for [`Table::insert`].
    pub fn take(&self) -> Option<usize> {
        self.free.take()
    }

    /// `id` has the entry from now on. There is a free place, since there are more places than entries.
    pub fn insert(&self, id: u64, entry: usize) {
        for (distance, place) in self.places(id).enumerate() {
            if self.ids[place].load(Ordering::Relaxed) == 0
                && self.ids[place]
                    .compare_exchange(0, id, Ordering::AcqRel, Ordering::Relaxed)
                    .is_ok()
            {
                self.entries[place].store(entry as u32, Ordering::Release);
                self.reach.fetch_max(distance, Ordering::Release);
                return;
            }
        }
    }

    /// The entry of `id`.
    #[inline(always)]
    pub fn find(&self, id: u64) -> Option<usize> {
        let place = self.place_of(id)?;
        Some(self.entries[place].load(Ordering::Acquire) as usize)
    }

    /// Takes `id` out, if it is there, after `end` was called with its entry.
    pub fn remove(&self, id: u64, end: impl FnOnce(usize)) {
        if let Some(place) = self.place_of(id) {
            let entry = self.entries[place].load(Ordering::Acquire) as usize;
            end(entry);
            self.ids[place].store(0, Ordering::Release);
            self.free.give_back(entry);
        }
    }

    #[inline(always)]
    fn place_of(&self, id: u64) -> Option<usize> {
        let mut places = self.places(id);
        // Most often.
        let first = places.next()?;
        if self.ids[first].load(Ordering::Acquire) == id {
            return Some(first);
        }
        let reach = self.reach.load(Ordering::Acquire);
        let mut further = places.take(reach);
        further.find(|&place| self.ids[place].load(Ordering::Acquire) == id)
    }

    /// Each place in which `id` may be, the likeliest first.
    #[inline(always)]
    fn places(&self, id: u64) -> impl Iterator<Item = usize> {
        let mask = self.ids.len() - 1;
        let first = (id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize;
        (0..=mask).map(move |distance| (first + distance) & mask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_id_has_its_entry() {
        let table = Table::new(1_000);
        let mut entries = vec![None; 1_000];
        for round in 0..20_u64 {
            for index in 0..1_000_u64 {
                let id = round << 51 | (index + 1);
                let entry = table.take().expect("room");
                assert_eq!(entries[entry].replace(id), None);
                table.insert(id, entry);
            }
            assert_eq!(table.take(), None);
            for index in 0..1_000_u64 {
                let id = round << 51 | (index + 1);
                let entry = table.find(id).expect("it is there");
                assert_eq!(entries[entry].take(), Some(id));
                table.remove(id, |removed| assert_eq!(removed, entry));
                assert_eq!(table.find(id), None);
            }
        }
    }

    #[test]
    fn threads_take_different_entries() {
        let table = Table::new(64);
        let owners: Vec<AtomicU64> = (0..64).map(|_| AtomicU64::new(0)).collect();
        std::thread::scope(|scope| {
            for thread in 1..=4_u64 {
                let (table, owners) = (&table, &owners);
                scope.spawn(move || {
                    for turn in 1..=20_000_u64 {
                        let id = thread << 32 | turn;
                        let entry = table.take().expect("room");
                        assert_eq!(owners[entry].swap(id, Ordering::Relaxed), 0);
                        table.insert(id, entry);
                        assert_eq!(table.find(id), Some(entry));
                        table.remove(id, |entry| {
                            assert_eq!(owners[entry].swap(0, Ordering::Relaxed), id);
                        });
                    }
                });
            }
        });
    }

    #[test]
    fn a_table_without_room_holds_nothing() {
        let table = Table::new(0);
        assert_eq!(table.take(), None);
        assert_eq!(table.find(1), None);
        table.remove(1, |_| panic!("it holds nothing"));
    }
}

//! A map by lane, with a fast path for the lanes that programs use: nearly all of them have small numbers, and every event looks one up.

use std::collections::BTreeMap;

/// Lanes below this are found by index.
const INDEXED_LANES: usize = 64;

/// An item for each lane that has one.
pub struct ByLane<Item> {
    /// By lane.
    indexed: Vec<Option<Item>>,
    others: BTreeMap<u32, Item>,
}

impl<Item> Default for ByLane<Item> {
    fn default() -> Self {
        Self {
            indexed: Vec::new(),
            others: BTreeMap::new(),
        }
    }
}

impl<Item> ByLane<Item> {
    #[inline]
    pub fn get_mut(&mut self, lane: u32) -> Option<&mut Item> {
        match self.indexed.get_mut(lane as usize) {
            Some(item) => item.as_mut(),
            None => self.others.get_mut(&lane),
        }
    }

    #[inline]
    pub fn get_or_insert_with(&mut self, lane: u32, new: impl FnOnce() -> Item) -> &mut Item {
        let index = lane as usize;
        if index >= INDEXED_LANES {
            return self.others.entry(lane).or_insert_with(new);
        }
        if index >= self.indexed.len() {
            self.indexed.resize_with(index + 1, || None);
        }
        self.indexed[index].get_or_insert_with(new)
    }

    /// The items, in the order of their lanes.
    pub fn into_iter(self) -> impl Iterator<Item = (u32, Item)> {
        let indexed = (0..).zip(self.indexed);
        indexed
            .filter_map(|(lane, item)| Some((lane, item?)))
            .chain(self.others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lane_has_its_own_item() {
        let mut counts = ByLane::default();
        for lane in [70, 3, u32::MAX, 0, 63, 64, 3, 70] {
            *counts.get_or_insert_with(lane, || 0) += 1;
        }
        assert_eq!(
            [3, 2, 64, 65].map(|lane| counts.get_mut(lane).copied()),
            [Some(2), None, Some(1), None]
        );
        let counted: Vec<_> = counts.into_iter().collect();
        assert_eq!(
            counted,
            [(0, 1), (3, 2), (63, 1), (64, 1), (70, 2), (u32::MAX, 1)]
        );
    }
}

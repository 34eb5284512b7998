//! Something for each lane, found at once for the lanes that programs use: nearly all lanes have small numbers, and every event asks.

use std::collections::BTreeMap;

/// Lanes with a place of their own.
const SMALL: usize = 64;

/// What there is of each lane.
pub struct ByLane<Item> {
    /// By lane.
    small: Vec<Option<Item>>,
    others: BTreeMap<u32, Item>,
}

impl<Item> Default for ByLane<Item> {
    fn default() -> Self {
        Self {
            small: Vec::new(),
            others: BTreeMap::new(),
        }
    }
}

impl<Item> ByLane<Item> {
    #[inline]
    pub fn get_mut(&mut self, lane: u32) -> Option<&mut Item> {
        match self.small.get_mut(lane as usize) {
            Some(item) => item.as_mut(),
            None => self.others.get_mut(&lane),
        }
    }

    #[inline]
    pub fn get_or_insert_with(&mut self, lane: u32, new: impl FnOnce() -> Item) -> &mut Item {
        let index = lane as usize;
        if index >= SMALL {
            return self.others.entry(lane).or_insert_with(new);
        }
        if index >= self.small.len() {
            self.small.resize_with(index + 1, || None);
        }
        self.small[index].get_or_insert_with(new)
    }

    /// In the order of the lanes.
    pub fn into_iter(self) -> impl Iterator<Item = (u32, Item)> {
        let small = (0..).zip(self.small);
        small
            .filter_map(|(lane, item)| Some((lane, item?)))
            .chain(self.others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lane_has_its_own() {
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

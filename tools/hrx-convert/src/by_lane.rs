//! Something for each lane, found at once for the lanes that programs use: nearly all lanes have small numbers, and every event asks.

use std::collections::BTreeMap;

/// Lanes with a place of their own.
const SMALL: usize = 64;

/// What there is of each lane.
pub struct ByLane<Item> {
    /// By lane.
    small: Vec<Item>,
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

impl<Item: Default> ByLane<Item> {
    /// What there is already; a small lane may have a default that nobody asked for.
    #[inline]
    pub fn get_mut(&mut self, lane: u32) -> Option<&mut Item> {
        match self.small.get_mut(lane as usize) {
            None => self.others.get_mut(&lane),
            small => small,
        }
    }

    #[inline]
    pub fn of(&mut self, lane: u32) -> &mut Item {
        let index = lane as usize;
        if index < self.small.len() {
            return &mut self.small[index];
        }
        self.of_other(lane)
    }

    #[cold]
    fn of_other(&mut self, lane: u32) -> &mut Item {
        let index = lane as usize;
        if index >= SMALL {
            return self.others.entry(lane).or_default();
        }
        self.small.resize_with(index + 1, Item::default);
        &mut self.small[index]
    }

    /// In the order of the lanes.
    pub fn into_iter(self) -> impl Iterator<Item = (u32, Item)> {
        (0..).zip(self.small).chain(self.others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lane_has_its_own() {
        let mut counts = ByLane::<u32>::default();
        let lanes = [70, 3, u32::MAX, 0, 63, 64, 3, 70];
        for lane in lanes {
            *counts.of(lane) += 1;
        }
        let counted: Vec<_> = counts.into_iter().filter(|(_, count)| *count > 0).collect();
        assert_eq!(
            counted,
            [(0, 1), (3, 2), (63, 1), (64, 1), (70, 2), (u32::MAX, 1)]
        );
    }
}

//! Lanes that share one place in an output because it has no room for each: how many they are, in bounded memory.

use std::collections::HashSet;

use serde::Serialize;

/// Lanes that are told apart in all captures together; further ones are not counted.
const COUNTED_OF_CAPTURES: usize = 1 << 20;

/// Counts the lanes of one capture that share a place.
#[derive(Debug)]
pub struct OtherLanes {
    lanes: HashSet<u32>,
    counted_max: usize,
    has_more: bool,
}

/// How many lanes share a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LaneCount {
    pub count: u64,
    /// There are more, which were not counted.
    pub has_more: bool,
}

impl OtherLanes {
    /// For one of `captures` captures that are counted at once.
    pub fn new(captures: usize) -> Self {
        Self {
            lanes: HashSet::new(),
            counted_max: COUNTED_OF_CAPTURES / captures.max(1),
            has_more: false,
        }
    }

    pub fn note(&mut self, lane: u32) {
        if self.lanes.len() < self.counted_max {
            self.lanes.insert(lane);
        } else if !self.has_more {
            self.has_more = !self.lanes.contains(&lane);
        }
    }

    /// None: no lane shares it.
    pub fn count(&self) -> Option<LaneCount> {
        let count = self.lanes.len() as u64;
        (count > 0 || self.has_more).then_some(LaneCount {
            count,
            has_more: self.has_more,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lane_counts_once_and_no_more_than_memory_has_room_for() {
        let mut lanes = OtherLanes::new(1 << 17);
        assert_eq!(lanes.count(), None);
        let counted = |count, has_more| Some(LaneCount { count, has_more });
        for lane in [0, 7, u32::MAX, 7, 1, 2, 3, 4, 5] {
            lanes.note(lane);
        }
        assert_eq!(lanes.count(), counted(8, false));
        lanes.note(5);
        assert_eq!(lanes.count(), counted(8, false));
        lanes.note(6);
        assert_eq!(lanes.count(), counted(8, true));
    }
}

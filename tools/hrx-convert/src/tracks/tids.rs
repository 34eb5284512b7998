//! Thread ids for the tracks of a viewer: unique, above 0, below 2^32, and in the order of the lanes.
//!
//! A lane's first track gets lane + 1, because Perfetto turns a tid of 0 into the pid, and every tid from 2^32 on into 0. Perfetto also orders the
//! tracks of a process by tid and ignores their sort index, so the sub-lanes of each lane get a block of tids. Lanes too high for a block share the
//! tids that are left. The last are those of the lanes that have no track of their own.

use crate::figures::groups::LaneKey;

/// The track of the capture's marks: after the lanes' first tracks, before their sub-lanes.
pub const CAPTURE_TID: u32 = 999_999_999;
/// Where the blocks of sub-lanes begin.
const BLOCKS_FROM: u32 = 1_000_000_000;
/// Tids of a block: 1_001_000_002 is the third track of lane 1.
const BLOCK_TIDS: u32 = 1_000_000;
/// Where the tids without a block begin.
const OTHERS_FROM: u32 = 4_000_000_000;
/// Where those of the lanes without a track of their own begin. Below it there is room for more tracks than a viewer can show.
pub const OTHER_LANES_FROM: u32 = 4_200_000_000;
/// Lanes that have a block.
const BLOCKS: u32 = (OTHERS_FROM - BLOCKS_FROM) / BLOCK_TIDS;

/// Hands out thread ids.
pub struct Tids {
    next_other: u32,
}

impl Tids {
    pub fn new() -> Self {
        Self {
            next_other: OTHERS_FROM,
        }
    }

    /// The tid of a lane's track; the first `sub_lane` is 0. To be called once for each track, because some tids are handed out in sequence.
    pub fn of(&mut self, lane: LaneKey, sub_lane: usize) -> u32 {
        match (lane, u32::try_from(sub_lane)) {
            (LaneKey::Number(lane), Ok(0)) if lane < CAPTURE_TID - 1 => lane + 1,
            (LaneKey::Number(lane), Ok(sub_lane @ 1..BLOCK_TIDS)) if lane < BLOCKS => {
                BLOCKS_FROM + lane * BLOCK_TIDS + sub_lane
            }
            (LaneKey::Others, Ok(sub_lane @ ..BLOCK_TIDS)) => OTHER_LANES_FROM + sub_lane,
            _ => {
                let tid = self.next_other;
                self.next_other += 1;
                tid
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn lanes_come_first_and_sub_lanes_in_their_order() {
        let mut tids = Tids::new();
        let mut of = |lane, sub_lane| tids.of(LaneKey::Number(lane), sub_lane);
        assert_eq!([0, 1, 4].map(|lane| of(lane, 0)), [1, 2, 5]);
        assert_eq!(of(0, 1), 1_000_000_001);
        assert_eq!(of(1, 2), 1_001_000_002);
        assert_eq!(of(u32::MAX, 0), 4_000_000_000);
        assert_eq!(of(u32::MAX, 1), 4_000_000_001);
        assert_eq!(tids.of(LaneKey::Others, 0), 4_200_000_000);
        assert_eq!(tids.of(LaneKey::Others, 1), 4_200_000_001);
    }

    /// Tried around every border between two ways of numbering.
    #[test]
    fn never_the_same_twice() {
        let near = |border: u32| border.saturating_sub(3)..=border.saturating_add(3);
        let borders = [
            0,
            BLOCKS,
            CAPTURE_TID,
            BLOCKS_FROM,
            OTHERS_FROM,
            OTHER_LANES_FROM,
            u32::MAX,
        ];
        let lanes: BTreeSet<LaneKey> = borders
            .into_iter()
            .flat_map(near)
            .map(LaneKey::Number)
            .chain([LaneKey::Others])
            .collect();
        let sub_lanes: BTreeSet<u32> = near(0).chain(near(BLOCK_TIDS)).collect();
        let mut tids = Tids::new();
        let mut given = BTreeSet::from([0, CAPTURE_TID]);
        for lane in lanes {
            for sub_lane in &sub_lanes {
                let tid = tids.of(lane, *sub_lane as usize);
                assert!(given.insert(tid), "{tid} given twice");
            }
        }
    }
}

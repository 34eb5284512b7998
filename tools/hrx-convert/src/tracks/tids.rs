//! Thread ids for the tracks of a viewer: unique, above 0, below 2^32, in the order of the lanes, and those of one lane beside each other.
//!
//! Perfetto orders the tracks of a process by tid and ignores their sort index, turns a tid of 0 into the pid, and every tid from 2^32 on into 0.
//! It shows the tid behind the track's name. So each lane has a block of [`LANE_TIDS`] tids: the numbers that a person sees are round, and
//! 2001 is the second track of the second lane. Tracks for which there is no room in a block share the tids that are left.
//! The last are those of the lanes that have no track of their own.
//!
//! The tid that equals the pid is that of the process's main thread, which Perfetto puts above all others. No track of a lane has it.

use hrx_trace_format::name::LANE_NAMED_FIRST;

use crate::figures::groups::LaneKey;

/// Tids of a lane.
const LANE_TIDS: u32 = 1_000;
/// The first lanes are in the first blocks, from the second one on.
const FIRST_LANES: u32 = 99;
/// The block of the first lane that was given out by name.
const NAMED_FROM: u32 = FIRST_LANES + 1;
/// The block of the first of the other lanes.
const OTHERS_FROM: u32 = 1_000_000;
/// Where the tids of the lanes without a track of their own begin. Below it there is room for more tracks than a viewer can show.
pub const OTHER_LANES_FROM: u32 = 4_200_000_000;
/// Blocks.
const BLOCKS: u32 = 4_000_000;

/// The tid of the capture's marks, above all lanes.
pub fn capture_tid(pid: u32) -> u32 {
    if pid == 1 { 2 } else { 1 }
}

/// Hands out the thread ids of one process.
pub struct Tids {
    pid: u32,
    next_other: u32,
}

impl Tids {
    pub fn new(pid: u32) -> Self {
        Self {
            pid,
            next_other: BLOCKS * LANE_TIDS,
        }
    }

    /// The tid of a lane's track; the first `sub_lane` is 0. To be called once for each track, because some tids are handed out in sequence.
    pub fn of(&mut self, lane: LaneKey, sub_lane: usize) -> u32 {
        // The last one of a block is for what makes way for the pid.
        let in_lane = u32::try_from(sub_lane)
            .ok()
            .filter(|sub_lane| *sub_lane < LANE_TIDS - 1);
        let first = match lane {
            LaneKey::Number(lane) => place_of(lane).map(|block| block * LANE_TIDS),
            LaneKey::Others => Some(OTHER_LANES_FROM),
        };
        if let (Some(first), Some(in_lane)) = (first, in_lane) {
            let tid = first + in_lane;
            return tid + u32::from((first..=tid).contains(&self.pid));
        }
        if self.next_other == self.pid {
            self.next_other += 1;
        }
        let tid = self.next_other;
        self.next_other += 1;
        tid
    }
}

/// The lane's place among all lanes, from 1: that of its block. Lanes that were given out by name come after the first ones. None: there is none left.
pub fn place_of(lane: u32) -> Option<u32> {
    match lane {
        0..FIRST_LANES => Some(lane + 1),
        FIRST_LANES..LANE_NAMED_FIRST => {
            let block = OTHERS_FROM + (lane - FIRST_LANES);
            (block < BLOCKS).then_some(block)
        }
        _ => {
            let block = NAMED_FROM + (lane - LANE_NAMED_FIRST);
            (block < OTHERS_FROM).then_some(block)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The bugs: the sub-tracks of all lanes came after the last lane, and tracks were called "compute (2) 1001000001" and "capture 999999999".
    #[test]
    fn lanes_come_in_their_order_each_with_its_sub_lanes() {
        let mut tids = Tids::new(4_242);
        let tracks = [(0, 0), (0, 1), (1, 0), (1, 2), (2, 0), (98, 0)];
        let named = [(1 << 31, 0), (1 << 31, 1), ((1 << 31) + 1, 0)];
        let others = [(99, 0), (99, 1), (100, 0)];
        let given: Vec<u32> = [&tracks[..], &named, &others]
            .concat()
            .into_iter()
            .map(|(lane, sub_lane)| tids.of(LaneKey::Number(lane), sub_lane))
            .collect();
        assert_eq!(given[..5], [1_000, 1_001, 2_000, 2_002, 3_000]);
        assert_eq!(given[6..9], [100_000, 100_001, 101_000]);
        assert!(
            given.is_sorted() && given[0] > capture_tid(4_242),
            "{given:?}"
        );
        assert_eq!(tids.of(LaneKey::Number(u32::MAX), 0), 4_000_000_000);
        assert_eq!(tids.of(LaneKey::Number(7), 1_000), 4_000_000_001);
        assert_eq!(tids.of(LaneKey::Others, 0), 4_200_000_000);
        assert_eq!(tids.of(LaneKey::Others, 1), 4_200_000_001);
    }

    /// The bug: a track whose tid is the pid is above all others, as the main thread.
    #[test]
    fn no_track_is_the_main_thread() {
        let mut tids = Tids::new(2_001);
        assert_eq!(
            [0, 1, 2].map(|sub_lane| tids.of(LaneKey::Number(1), sub_lane)),
            [2_000, 2_002, 2_003]
        );
        assert_eq!(Tids::new(2_000).of(LaneKey::Number(1), 0), 2_001);
        assert_eq!(capture_tid(1), 2);
    }

    /// Tried around every border between two ways of numbering.
    #[test]
    fn never_the_same_twice() {
        let near = |border: u32| border.saturating_sub(3)..=border.saturating_add(3);
        let named = LANE_NAMED_FIRST;
        let borders = [
            0,
            FIRST_LANES,
            BLOCKS - OTHERS_FROM + FIRST_LANES,
            named,
            named + (OTHERS_FROM - NAMED_FROM),
            u32::MAX,
        ];
        let lanes: BTreeSet<LaneKey> = borders
            .into_iter()
            .flat_map(near)
            .map(LaneKey::Number)
            .chain([LaneKey::Others])
            .collect();
        let sub_lanes: BTreeSet<u32> = near(0).chain(near(LANE_TIDS)).collect();
        for pid in [4_242, 1_001, 100_998, 4_000_000_003] {
            let mut tids = Tids::new(pid);
            let mut given = BTreeSet::from([0, capture_tid(pid), pid]);
            for lane in &lanes {
                for sub_lane in &sub_lanes {
                    let tid = tids.of(*lane, *sub_lane as usize);
                    assert!(given.insert(tid), "{tid} given twice");
                }
            }
        }
    }
}

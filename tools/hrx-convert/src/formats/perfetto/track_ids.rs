//! Which number each track and flow has, and the order in which tracks are shown.

use crate::figures::groups::LaneKey;
use crate::input::captures::Capture;
use crate::tracks::mix::mixed;
use crate::tracks::tids::place_of;

/// Sub-lanes of a lane that have a rank of their own.
const RANKS_PER_LANE: u32 = 1 << 10;
/// Lanes whose tracks have ranks of their own, by their places.
const RANKED_LANES: u32 = 2_000_000;

/// What a track shows.
#[derive(Clone, Copy)]
pub enum TrackOf {
    Process,
    /// The capture's marks.
    Capture,
    /// A lane's copy rate.
    Rate(u32),
    /// The values with a label.
    Value(u32),
    /// A lane's sub-lane.
    Lane(LaneKey, usize),
}

/// The numbers of one capture's tracks and flows. They are as good as random, so no other track has them, in this trace or in one that is appended to
/// it; and they are the same in every conversion.
#[derive(Clone, Copy)]
pub struct TrackIds {
    key: u64,
}

impl TrackIds {
    pub fn new(capture: &Capture) -> Self {
        let identity = capture.trace.identity();
        let (halves, _) = identity.capture_id.as_chunks::<8>();
        let key = |key, half: &[u8; 8]| mixed(key ^ u64::from_le_bytes(*half));
        Self {
            key: halves.iter().fold(capture.index as u64, key),
        }
    }

    pub fn uuid(self, what: TrackOf) -> u64 {
        let number = match what {
            TrackOf::Process => 0,
            TrackOf::Capture => 1,
            TrackOf::Rate(lane) => 1 << 32 | u64::from(lane),
            TrackOf::Value(label_id) => 3 << 32 | u64::from(label_id),
            TrackOf::Lane(LaneKey::Number(lane), sub_lane) => {
                mixed(2 << 32 | u64::from(lane)) ^ sub_lane as u64
            }
            TrackOf::Lane(LaneKey::Others, sub_lane) => mixed(4 << 32) ^ sub_lane as u64,
        };
        mixed(self.key ^ mixed(number)).max(1)
    }

    #[inline]
    pub fn flow(self, chain: u64) -> u64 {
        self.key ^ chain
    }
}

/// The rank of a sub-lane's track among its siblings, which come lane by lane, in the order of [`place_of`]. An i32 has room for a thousand tracks of
/// each of two million lanes; tracks beyond that share ranks, but stay in order.
pub fn rank_of_sub_lane(lane: LaneKey, sub_lane: usize) -> i32 {
    let in_lane = sub_lane.min(RANKS_PER_LANE as usize - 2) as u32;
    match lane {
        LaneKey::Number(lane) => rank(lane, in_lane),
        // After all lanes.
        LaneKey::Others => i32::MAX - RANKS_PER_LANE as i32 + in_lane as i32,
    }
}

/// The rank of a lane's copy rate: after all sub-lanes of the lane.
pub fn rank_of_rate(lane: u32) -> i32 {
    rank(lane, RANKS_PER_LANE - 1)
}

/// The rank of a counter of values: after all lanes.
pub const RANK_OF_VALUE: i32 = i32::MAX;

fn rank(lane: u32, in_lane: u32) -> i32 {
    let rank = match place_of(lane) {
        Some(place @ ..RANKED_LANES) => place * RANKS_PER_LANE + in_lane,
        _ => RANKED_LANES * RANKS_PER_LANE + (lane >> 6),
    };
    rank.min(i32::MAX as u32 - 1) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_in_the_order_of_lanes() {
        // Those that were given out by name come after the first hundred.
        let named = 1 << 31;
        let lanes = [
            0,
            1,
            4,
            5,
            98,
            named,
            named + 1,
            99,
            100,
            1 << 20,
            1 << 30,
            u32::MAX,
        ];
        let ranks: Vec<i32> = lanes
            .iter()
            .flat_map(|lane| {
                [
                    rank_of_sub_lane(LaneKey::Number(*lane), 0),
                    rank_of_rate(*lane),
                ]
            })
            .chain([0, usize::MAX].map(|sub_lane| rank_of_sub_lane(LaneKey::Others, sub_lane)))
            .collect();
        assert!(ranks.is_sorted() && ranks[0] > 0, "{ranks:?}");
        assert!(rank_of_sub_lane(LaneKey::Number(7), usize::MAX) < rank_of_rate(7));
    }
}

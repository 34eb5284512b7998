//! What tracks are called.

use crate::text::names::lane_name;

/// What a track of a lane is called.
pub fn track_name(lane: u32, sub_lane: usize) -> String {
    match sub_lane {
        0 => lane_name(lane),
        _ => format!("{} ({})", lane_name(lane), sub_lane + 1),
    }
}

/// What the counter of a lane is called, without the unit.
pub fn copy_rate_name(lane: u32) -> String {
    format!("{} copy rate (host-observed)", lane_name(lane))
}

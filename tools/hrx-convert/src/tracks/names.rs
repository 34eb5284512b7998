//! The names of tracks, and the categories of what is drawn on them.

use crate::figures::groups::{LaneKey, lane_key_name};
use crate::text::names::lane_name;

/// The category of regions.
pub const REGION_CATEGORY: &str = "hrx.host-observed";
/// The category of marks, which describe the capture, not one of its regions.
pub const MARK_CATEGORY: &str = "hrx.capture.host-observed";

/// The name of a lane's track.
pub fn track_name(lane: LaneKey, sub_lane: usize) -> String {
    match sub_lane {
        0 => lane_key_name(lane),
        _ => format!("{} ({})", lane_key_name(lane), sub_lane + 1),
    }
}

/// The unit of counters. Viewers scale it: 750 MB/s in GB/s they would show as "750m".
pub const COPY_RATE_UNIT: &str = "B/s";

/// The name of a lane's counter, without the unit.
pub fn copy_rate_name(lane: u32) -> String {
    format!("{} copy rate (host-observed)", lane_name(lane))
}

//! The names of tracks, and the categories of what is drawn on them.

use crate::figures::groups::{LaneKey, lane_key_name};
use crate::input::captures::Capture;
use crate::text::names::{label_group, lane_text, shown, without_nul};

/// The category of regions and of marks that the program recorded.
pub const REGION_CATEGORY: &str = "hrx.host-observed";
/// The category of marks that describe the capture, not one of its events.
pub const MARK_CATEGORY: &str = "hrx.capture.host-observed";

/// Follows the name of each track, because Perfetto shows the tid right after it: "lane 7 8" would be two numbers, of which one says nothing.
pub const TRACK_SUFFIX: &str = " · track";

/// The name of a lane's track.
pub fn track_name(capture: &Capture, lane: LaneKey, sub_lane: usize) -> String {
    let lane = match lane {
        LaneKey::Number(lane) => without_nul(lane_text(capture, lane).into()),
        LaneKey::Others => lane_key_name(lane).into(),
    };
    match sub_lane {
        0 => lane.into_owned(),
        _ => format!("{lane} ({})", sub_lane + 1),
    }
}

/// The unit of copy rates. Viewers scale it: 750 MB/s in GB/s they would show as "750m".
pub const COPY_RATE_UNIT: &str = "B/s";

/// The name of a lane's copy rate, without the unit.
pub fn copy_rate_name(capture: &Capture, lane: u32) -> String {
    format!(
        "{} copy rate (host-observed)",
        track_name(capture, LaneKey::Number(lane), 0)
    )
}

/// The name of the counter that shows the values with that label. A counter has no room for a group but in its name.
pub fn value_name(capture: &Capture, label_id: u32) -> String {
    let label = shown(capture, label_id);
    match label_group(&capture.trace, label_id) {
        Some(group) => format!("{}: {label} (host-observed)", without_nul(group.into())),
        None => format!("{label} (host-observed)"),
    }
}

//! Which number each track and flow has.

use crate::figures::groups::LaneKey;
use crate::input::captures::Capture;
use crate::tracks::mix::mixed;

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

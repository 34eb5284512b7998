//! Groups of regions: those of one label on one lane. A bounded number of lanes and labels have figures of their own, in the order in which they
//! appear; the rest is counted together as [`LaneKey::Others`] and [`LabelKey::Others`].

use std::collections::HashMap;

use hrx_trace_reader::Trace;

use crate::input::labels::name_of;
use crate::input::other_lanes::OtherLanes;
use crate::text::names::lane_name;

/// Lanes with figures of their own. Their overlaps are a square of them.
pub const LANES_MAX: usize = 64;
/// Labels with figures of their own, on all lanes together.
pub const GROUPS_MAX: usize = 1024;

/// The name of all labels without figures of their own.
pub const OTHER_LABELS: &str = "other labels";

/// A lane with figures or tracks of its own, or all other lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LaneKey {
    Number(u32),
    Others,
}

/// A label with figures of its own on a lane, or all other labels on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LabelKey {
    Id(u32),
    Others,
}

/// The name of a lane, or of all without figures or tracks of their own.
pub fn lane_key_name(lane: LaneKey) -> String {
    match lane {
        LaneKey::Number(number) => lane_name(number),
        LaneKey::Others => "other lanes".to_owned(),
    }
}

/// The name of a label, or of all without figures of their own.
pub fn label_key_name(trace: &Trace, label: LabelKey) -> String {
    match label {
        LabelKey::Id(label_id) => name_of(trace, label_id).into_owned(),
        LabelKey::Others => OTHER_LABELS.to_owned(),
    }
}

/// A group of regions.
#[derive(Debug)]
pub struct Group<Content> {
    /// The index of its lane.
    pub lane: u32,
    pub label: LabelKey,
    pub content: Content,
}

/// The groups and the lanes, by their indices.
#[derive(Debug)]
pub struct Groups<OfGroup, OfLane> {
    pub groups: Vec<Group<OfGroup>>,
    pub lanes: Vec<(LaneKey, OfLane)>,
    /// Those of [`LaneKey::Others`].
    pub other_lanes: OtherLanes,
    index_of_lane: HashMap<u32, u32>,
    /// By the index of the lane.
    index_of_group: HashMap<(u32, LabelKey), u32>,
    /// The lane, the label and the group of the event before: most events share them with a neighbour.
    before: Option<(u32, u32, u32)>,
}

impl<OfGroup, OfLane> Default for Groups<OfGroup, OfLane> {
    fn default() -> Self {
        Self {
            groups: Vec::new(),
            lanes: Vec::new(),
            // Captures come one after another.
            other_lanes: OtherLanes::new(1),
            index_of_lane: HashMap::new(),
            index_of_group: HashMap::new(),
            before: None,
        }
    }
}

impl<OfGroup: Default, OfLane: Default> Groups<OfGroup, OfLane> {
    /// Groups in which these lanes have figures of their own, whatever comes first.
    pub fn with_lanes(lanes: impl IntoIterator<Item = u32>) -> Self {
        let mut groups = Self::default();
        for lane in lanes {
            groups.lane_index(lane);
        }
        groups
    }

    /// The index of the group of a region.
    #[inline]
    pub fn index(&mut self, lane: u32, label_id: u32) -> u32 {
        match self.before {
            Some((same_lane, same_label, group)) if (same_lane, same_label) == (lane, label_id) => {
                group
            }
            _ => self.find(lane, label_id),
        }
    }

    fn find(&mut self, lane: u32, label_id: u32) -> u32 {
        let lane_index = self.lane_index(lane);
        let known = self
            .index_of_group
            .get(&(lane_index, LabelKey::Id(label_id)));
        let group = match known {
            Some(group) => *group,
            None => self.new_group(lane_index, label_id),
        };
        self.before = Some((lane, label_id, group));
        group
    }

    fn new_group(&mut self, lane_index: u32, label_id: u32) -> u32 {
        let label = match self.groups.len() < GROUPS_MAX {
            true => LabelKey::Id(label_id),
            false => LabelKey::Others,
        };
        let group = self.index_of_group.entry((lane_index, label));
        *group.or_insert_with(|| {
            self.groups.push(Group {
                lane: lane_index,
                label,
                content: OfGroup::default(),
            });
            self.groups.len() as u32 - 1
        })
    }

    fn lane_index(&mut self, lane: u32) -> u32 {
        if let Some(index) = self.index_of_lane.get(&lane) {
            return *index;
        }
        if self.lanes.len() < LANES_MAX {
            let index = self.lanes.len() as u32;
            self.lanes.push((LaneKey::Number(lane), OfLane::default()));
            self.index_of_lane.insert(lane, index);
            return index;
        }
        self.other_lanes.note(lane);
        if self.lanes.len() == LANES_MAX {
            self.lanes.push((LaneKey::Others, OfLane::default()));
        }
        LANES_MAX as u32
    }
}

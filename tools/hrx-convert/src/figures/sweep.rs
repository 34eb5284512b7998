//! How long regions covered time: each group and each lane alone, any two lanes at once, and where a lane lay idle. Exact, for regions in any order.
//!
//! Regions are sorted by their beginnings and swept once. What has begun so far covers, from the sweep's moment on, one stretch of each group
//! and each lane, up to the latest end seen: so a number for each is all the state there is. A stretch that a lane newly covers is
//! compared with what the other lanes are known to cover then; what they come to cover later is compared when they do. So each
//! moment that two lanes share is counted once.
//!
//! Sorting is the only thing that needs the regions themselves. At most [`HELD_MAX`] of them are in memory (12 MiB, and half of it to sort
//! them); beyond that, sorted runs go to a temporary file, 20 bytes a region.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

use crate::figures::spill::{Row, Runs};

/// Regions that are held in memory.
const HELD_MAX: usize = 1 << 19;

/// A region: beginning, end, and the index of its group.
type Region = (u64, u64, u32);

impl Row for Region {
    type Bytes = [u8; 20];
    type Key = Self;

    const ZEROED: Self::Bytes = [0; 20];

    fn to_bytes(&self) -> Self::Bytes {
        let mut bytes = Self::ZEROED;
        bytes[..8].copy_from_slice(&self.0.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.1.to_le_bytes());
        bytes[16..].copy_from_slice(&self.2.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &Self::Bytes) -> Self {
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        let group = u32::from_le_bytes(std::array::from_fn(|byte| bytes[16 + byte]));
        (word(0), word(8), group)
    }

    fn key(&self) -> Self {
        *self
    }
}

/// A stretch of time in which nothing of a lane ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gap {
    pub duration_ns: u64,
    pub start_ns: Reverse<u64>,
}

/// What a sweep finds. Indices are those of groups and lanes.
#[derive(Debug, Default)]
pub struct Coverage {
    /// The time that a group's regions cover.
    pub group_busy_ns: Vec<u64>,
    /// The time that a lane's regions cover.
    pub lane_busy_ns: Vec<u64>,
    /// The time that any region covers.
    pub busy_ns: u64,
    /// The longest gaps of each lane, the longest first, the earlier of equals first.
    pub lane_gaps: Vec<Vec<Gap>>,
    /// The time that two lanes cover at once: [`Coverage::shared_ns`].
    shared_ns: Vec<u64>,
}

impl Coverage {
    /// The time that both lanes were busy.
    pub fn shared_ns(&self, one: usize, other: usize) -> u64 {
        let lanes = self.lane_busy_ns.len();
        self.shared_ns[one * lanes + other] + self.shared_ns[other * lanes + one]
    }
}

/// Takes regions in any order.
#[derive(Debug)]
pub struct Sweep {
    held: Vec<Region>,
    held_max: usize,
    spilled: Option<Runs>,
}

impl Sweep {
    pub fn new() -> Self {
        Self::holding(HELD_MAX)
    }

    fn holding(held_max: usize) -> Self {
        Self {
            held: Vec::new(),
            held_max,
            spilled: None,
        }
    }

    /// Takes the region of a group. An empty one covers nothing.
    #[inline]
    pub fn region(&mut self, start_ns: u64, end_ns: u64, group: u32) -> io::Result<()> {
        if start_ns < end_ns {
            self.held.push((start_ns, end_ns, group));
            if self.held.len() >= self.held_max {
                self.spill()?;
            }
        }
        Ok(())
    }

    /// Sweeps. `lane_of` gives the lane of each group; a lane that never ran again idles until `end_ns`.
    pub fn finish(
        mut self,
        lane_of: &[u32],
        lanes: usize,
        gaps_max: usize,
        end_ns: u64,
    ) -> io::Result<Coverage> {
        let mut state = State::new(lane_of, lanes, gaps_max);
        if self.spilled.is_some() {
            self.spill()?;
        }
        match self.spilled {
            Some(spilled) => spilled.merge(|region| {
                state.step(region);
                Ok(())
            })?,
            None => {
                // Nearly sorted already, which this sort makes use of.
                self.held.sort();
                self.held.into_iter().for_each(|region| state.step(region));
            }
        }
        Ok(state.finish(end_ns))
    }

    #[cold]
    fn spill(&mut self) -> io::Result<()> {
        self.held.sort();
        let spilled = match &mut self.spilled {
            Some(spilled) => spilled,
            none => none.insert(Runs::new()?),
        };
        spilled.add(&self.held)?;
        self.held.clear();
        Ok(())
    }
}

/// Up to where a lane is covered.
#[derive(Clone, Copy, Default)]
struct LaneState {
    covered_ns: u64,
    began: bool,
}

struct State<'groups> {
    lane_of: &'groups [u32],
    gaps_max: usize,
    group_covered_ns: Vec<u64>,
    lanes: Vec<LaneState>,
    covered_ns: u64,
    /// For each lane, the longest gaps so far, the shortest of them on top.
    gaps: Vec<BinaryHeap<Reverse<Gap>>>,
    found: Coverage,
}

impl<'groups> State<'groups> {
    fn new(lane_of: &'groups [u32], lanes: usize, gaps_max: usize) -> Self {
        Self {
            lane_of,
            gaps_max,
            group_covered_ns: vec![0; lane_of.len()],
            lanes: vec![LaneState::default(); lanes],
            covered_ns: 0,
            gaps: vec![BinaryHeap::new(); lanes],
            found: Coverage {
                group_busy_ns: vec![0; lane_of.len()],
                lane_busy_ns: vec![0; lanes],
                busy_ns: 0,
                lane_gaps: Vec::new(),
                shared_ns: vec![0; lanes * lanes],
            },
        }
    }

    fn step(&mut self, (start_ns, end_ns, group): Region) {
        let group = group as usize;
        let covered_ns = &mut self.group_covered_ns[group];
        self.found.group_busy_ns[group] += newly_covered(covered_ns, start_ns, end_ns);
        self.found.busy_ns += newly_covered(&mut self.covered_ns, start_ns, end_ns);

        let index = self.lane_of[group] as usize;
        let lane = &mut self.lanes[index];
        if lane.began && lane.covered_ns < start_ns {
            let gap = Gap {
                duration_ns: start_ns - lane.covered_ns,
                start_ns: Reverse(lane.covered_ns),
            };
            keep(&mut self.gaps[index], self.gaps_max, gap);
        }
        let from_ns = lane.covered_ns.max(start_ns);
        lane.began = true;
        let newly_ns = newly_covered(&mut lane.covered_ns, start_ns, end_ns);
        self.found.lane_busy_ns[index] += newly_ns;
        if newly_ns == 0 {
            return;
        }
        for (other, lane) in self.lanes.iter().enumerate() {
            if other != index && lane.covered_ns > from_ns {
                self.found.shared_ns[index * self.lanes.len() + other] +=
                    lane.covered_ns.min(end_ns) - from_ns;
            }
        }
    }

    fn finish(mut self, end_ns: u64) -> Coverage {
        for (lane, gaps) in self.lanes.iter().zip(&mut self.gaps) {
            if lane.began && lane.covered_ns < end_ns {
                let gap = Gap {
                    duration_ns: end_ns - lane.covered_ns,
                    start_ns: Reverse(lane.covered_ns),
                };
                keep(gaps, self.gaps_max, gap);
            }
        }
        self.found.lane_gaps = self
            .gaps
            .into_iter()
            .map(|gaps| {
                let sorted = gaps.into_sorted_vec();
                sorted.into_iter().map(|Reverse(gap)| gap).collect()
            })
            .collect();
        self.found
    }
}

/// How much of a region lies behind what is covered; covers it.
fn newly_covered(covered_ns: &mut u64, start_ns: u64, end_ns: u64) -> u64 {
    let newly_ns = end_ns.saturating_sub(start_ns.max(*covered_ns));
    *covered_ns = end_ns.max(*covered_ns);
    newly_ns
}

/// Keeps the largest.
pub fn keep<T: Ord>(heap: &mut BinaryHeap<Reverse<T>>, count_max: usize, item: T) {
    if heap.len() < count_max {
        heap.push(Reverse(item));
    } else if let Some(mut least) = heap.peek_mut()
        && item > least.0
    {
        *least = Reverse(item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LANE_OF: [u32; 4] = [0, 0, 1, 2];
    const END_NS: u64 = 64;

    /// Nanosecond by nanosecond: who covers it?
    fn naive(regions: &[Region], who: impl Fn(u32) -> bool) -> Vec<bool> {
        (0..END_NS)
            .map(|at| {
                regions
                    .iter()
                    .any(|&(start, end, group)| who(group) && start <= at && at < end)
            })
            .collect()
    }

    fn count(covered: impl IntoIterator<Item = bool>) -> u64 {
        covered.into_iter().filter(|covered| *covered).count() as u64
    }

    fn naive_gaps(covered: &[bool]) -> Vec<Gap> {
        let mut gaps: Vec<Gap> = Vec::new();
        let mut last_covered = None;
        for at in 0..=END_NS {
            if at == END_NS || covered[at as usize] {
                if let Some(last) = last_covered
                    && at - last > 1
                {
                    gaps.push(Gap {
                        duration_ns: at - last - 1,
                        start_ns: Reverse(last + 1),
                    });
                }
                last_covered = Some(at);
            }
        }
        gaps.sort_by(|one, other| other.cmp(one));
        gaps
    }

    proptest! {
        #[test]
        fn as_counted_by_hand(
            regions in prop::collection::vec((0u64..60, 0u64..20, 0u32..4), 0..40), held_max in 1usize..50,
        ) {
            let regions: Vec<Region> = regions
                .into_iter()
                .map(|(start, duration, group)| (start, (start + duration).min(END_NS), group))
                .collect();
            let mut sweep = Sweep::holding(held_max);
            for (start_ns, end_ns, group) in &regions {
                sweep.region(*start_ns, *end_ns, *group).unwrap();
            }
            let found = sweep.finish(&LANE_OF, 3, 100, END_NS).unwrap();
            for group in 0..4 {
                prop_assert_eq!(found.group_busy_ns[group as usize], count(naive(&regions, |other| other == group)));
            }
            prop_assert_eq!(found.busy_ns, count(naive(&regions, |_| true)));
            let lanes = [0, 1, 2].map(|lane| naive(&regions, |group| LANE_OF[group as usize] == lane));
            for one in 0..3 {
                prop_assert_eq!(found.lane_busy_ns[one], count(lanes[one].clone()));
                let began = lanes[one].contains(&true);
                let gaps = if began { naive_gaps(&lanes[one]) } else { Vec::new() };
                prop_assert_eq!(&found.lane_gaps[one], &gaps);
                for other in 0..3 {
                    if one != other {
                        let both = lanes[one].iter().zip(&lanes[other]).map(|(one, other)| *one && *other);
                        prop_assert_eq!(found.shared_ns(one, other), count(both));
                    }
                }
            }
        }
    }
}

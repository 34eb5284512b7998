//! How regions cover time: how long each group and each lane was busy, how long any two lanes were busy at once, and the gaps in which a lane was
//! idle. Exact, for regions in any order.
//!
//! Regions are sorted by their starts and swept once. From the current moment of the sweep on, the regions that have started cover one stretch of
//! each group and each lane, up to the latest end seen; so one number for each is all the state. A stretch that a lane newly covers is compared with
//! what the other lanes are known to cover by then; what they come to cover later is compared when they do. So each moment that two lanes
//! share is counted once.
//!
//! Only sorting needs the regions themselves. At most [`HELD_MAX`] of them are in memory (12 MiB, and half of that to sort them); beyond that,
//! sorted runs go to a temporary file, 20 bytes for each region.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

use crate::figures::largest::keep_largest;
use crate::figures::spill::{Runs, Spillable};

/// Regions that are held in memory.
const HELD_MAX: usize = 1 << 19;

/// When a region ran: start, end, and the index of its group.
type Interval = (u64, u64, u32);

impl Spillable for Interval {
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

/// A stretch of time in which nothing ran on a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gap {
    pub duration_ns: u64,
    pub start_ns: Reverse<u64>,
}

/// The result of a sweep, by the indices of groups and lanes.
#[derive(Debug, Default)]
pub struct Coverage {
    /// The time that the regions of each group cover.
    pub group_busy_ns: Vec<u64>,
    /// The time that the regions of each lane cover.
    pub lane_busy_ns: Vec<u64>,
    /// The time that any region covers.
    pub busy_ns: u64,
    /// The longest gaps of each lane, the longest first, the earlier of equals first.
    pub lane_gaps: Vec<Vec<Gap>>,
    /// The time that two lanes cover at once: [`Coverage::shared_ns`].
    shared_ns: Vec<u64>,
}

impl Coverage {
    /// The time for which both lanes were busy.
    pub fn shared_ns(&self, one: usize, other: usize) -> u64 {
        let lanes = self.lane_busy_ns.len();
        self.shared_ns[one * lanes + other] + self.shared_ns[other * lanes + one]
    }
}

/// Takes regions in any order.
#[derive(Debug)]
pub struct Sweep {
    held: Vec<Interval>,
    held_max: usize,
    spilled: Option<Runs>,
}

impl Default for Sweep {
    fn default() -> Self {
        Self::holding(HELD_MAX)
    }
}

impl Sweep {
    fn holding(held_max: usize) -> Self {
        Self {
            held: Vec::new(),
            held_max,
            spilled: None,
        }
    }

    /// Adds a region of a group. An empty one covers nothing.
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

    /// Sweeps. `lane_of` has the lane of each group; a lane on which nothing ran again is idle until `end_ns`.
    pub fn finish(
        mut self,
        lane_of: &[u32],
        lanes: usize,
        gaps_max: usize,
        end_ns: u64,
    ) -> io::Result<Coverage> {
        let mut state = SweepState::new(lane_of, lanes, gaps_max);
        if self.spilled.is_some() {
            self.spill()?;
        }
        match self.spilled {
            Some(spilled) => spilled.merge(|region| {
                state.step(region);
                Ok(())
            })?,
            None => {
                // Nearly sorted already, which this sort exploits.
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

/// How far a lane is covered.
#[derive(Clone, Copy, Default)]
struct LaneCoverage {
    covered_ns: u64,
    began: bool,
}

struct SweepState<'groups> {
    lane_of: &'groups [u32],
    gaps_max: usize,
    group_covered_ns: Vec<u64>,
    lanes: Vec<LaneCoverage>,
    covered_ns: u64,
    /// The longest gaps of each lane so far, the shortest of them on top.
    gaps: Vec<BinaryHeap<Reverse<Gap>>>,
    found: Coverage,
}

impl<'groups> SweepState<'groups> {
    fn new(lane_of: &'groups [u32], lanes: usize, gaps_max: usize) -> Self {
        Self {
            lane_of,
            gaps_max,
            group_covered_ns: vec![0; lane_of.len()],
            lanes: vec![LaneCoverage::default(); lanes],
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

    fn step(&mut self, (start_ns, end_ns, group): Interval) {
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
            keep_largest(&mut self.gaps[index], self.gaps_max, gap);
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
                keep_largest(gaps, self.gaps_max, gap);
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

/// Extends what is covered to `end_ns`, and returns by how much the region did that.
fn newly_covered(covered_ns: &mut u64, start_ns: u64, end_ns: u64) -> u64 {
    let newly_ns = end_ns.saturating_sub(start_ns.max(*covered_ns));
    *covered_ns = end_ns.max(*covered_ns);
    newly_ns
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LANE_OF: [u32; 4] = [0, 0, 1, 2];
    const END_NS: u64 = 64;

    /// Tests every nanosecond by itself.
    fn naive(regions: &[Interval], who: impl Fn(u32) -> bool) -> Vec<bool> {
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
        fn agrees_with_testing_every_nanosecond(
            regions in prop::collection::vec((0u64..60, 0u64..20, 0u32..4), 0..40), held_max in 1usize..50,
        ) {
            let regions: Vec<Interval> = regions
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

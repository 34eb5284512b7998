//! What was recorded: made from a seed, and told apart by the bytes that each region copied.
//!
//! The bytes are a region's number, from 1, since every output and every viewer shows them: no region needs to be told by its times, which are
//! what is in question.

use std::collections::BTreeMap;

use fastrand::Rng;
use hrx_trace_format::{LANE_NAMES, OpenRecord, Record};
use hrx_trace_tests::capture::{Capture, region, running};

/// A region.
#[derive(Clone, Copy, Debug, Default)]
pub struct Region {
    pub lane: u32,
    pub start_ns: u64,
    /// None: it was running when its writer died.
    pub duration_ns: Option<u64>,
    /// 0: none.
    pub id: u64,
}

impl Region {
    pub fn new(lane: u32, start_ns: u64, duration_ns: u64, id: u64) -> Self {
        Self {
            lane,
            start_ns,
            duration_ns: Some(duration_ns),
            id,
        }
    }

    pub fn running(lane: u32, start_ns: u64, id: u64) -> Self {
        Self {
            lane,
            start_ns,
            duration_ns: None,
            id,
        }
    }

    pub fn lane_name(&self) -> &'static str {
        LANE_NAMES[self.lane as usize]
    }

    /// One that runs ends after all others.
    pub fn end_ns(&self) -> u64 {
        let end_ns = |duration_ns| self.start_ns + duration_ns;
        self.duration_ns.map_or(u64::MAX, end_ns)
    }

    /// Whether the other may be drawn inside this one.
    pub fn contains(&self, other: &Self) -> bool {
        self.start_ns < other.start_ns && other.end_ns() <= self.end_ns()
    }
}

/// The regions of one capture, in the order of their completion; behind them those that run, in the order of their beginnings.
#[derive(Debug)]
pub struct Recorded {
    pub name: String,
    pub regions: Vec<Region>,
}

impl Recorded {
    pub fn new(name: &str, mut regions: Vec<Region>) -> Self {
        // At one moment, what began last completes first.
        regions.sort_by_key(|region| (region.end_ns(), std::cmp::Reverse(region.start_ns)));
        let completed = regions.partition_point(|region| region.duration_ns.is_some());
        regions[completed..].reverse();
        Self {
            name: name.to_owned(),
            regions,
        }
    }

    /// All of it, so much later.
    pub fn later(&self, by_ns: u64, when: &str) -> Self {
        let later = |region: &Region| Region {
            start_ns: region.start_ns + by_ns,
            ..*region
        };
        Self {
            name: format!("{}, {when}", self.name),
            regions: self.regions.iter().map(later).collect(),
        }
    }

    /// The region with that number.
    pub fn of_number(&self, number: u64) -> Option<&Region> {
        self.regions
            .get(usize::try_from(number.checked_sub(1)?).ok()?)
    }

    /// The last moment that the capture knows of.
    pub fn last_ns(&self) -> u64 {
        let last = |region: &Region| region.start_ns + region.duration_ns.unwrap_or_default();
        self.regions.iter().map(last).max().unwrap_or_default()
    }

    /// Of one writer, which died.
    pub fn capture(&self) -> Capture {
        // Neighbours differ in their names, for there are viewers that take what is called alike for one thing.
        const LABELS: [&str; 5] = ["read", "gemm", "softmax", "gemm 2", "write"];
        let mut capture = Capture::new(self.regions.len().max(1) as u64);
        let labels = LABELS.map(|label| capture.label(label));
        let mut slots = 0..;
        for (number, of) in (1u64..).zip(&self.regions) {
            let label_id = labels[number as usize % labels.len()];
            if let Some(duration_ns) = of.duration_ns {
                capture.record(Record {
                    copied_bytes: number,
                    correlation_id: of.id,
                    label_id,
                    ..region(of.lane, of.start_ns, duration_ns)
                });
            } else if let Some(slot) = slots.next() {
                let open = OpenRecord {
                    copied_bytes: number,
                    correlation_id: of.id,
                    label_id,
                    ..running(of.lane, of.start_ns)
                };
                capture.open(slot, open);
            }
        }
        capture
    }

    /// The arrows: from each region with an id to the next one that completed with it, or that runs, if it began no earlier. By their numbers.
    pub fn arrows(&self) -> Vec<(u64, u64)> {
        let mut latest: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        let mut arrows = Vec::new();
        for (number, region) in (1..).zip(&self.regions) {
            if region.id == 0 {
                continue;
            }
            let before = latest.insert(region.id, (number, region.start_ns));
            if let Some((before, start_ns)) = before
                && start_ns <= region.start_ns
            {
                arrows.push((before, number));
            }
        }
        arrows
    }
}

/// Everything that is shown.
pub fn all(random: &mut Rng) -> Vec<Recorded> {
    const DAY_NS: u64 = 86_400_000_000_000;
    let mut all = vec![
        // Each with the figures of the report that it came from.
        Recorded::new(
            "three that touch",
            vec![
                Region::new(1, 783, 65, 0),
                Region::new(1, 848, 500, 0),
                Region::new(1, 1_348, 500, 0),
            ],
        ),
        Recorded::new(
            "an arrow to where another ends",
            vec![
                Region::new(0, 100, 10, 5),
                Region::new(1, 1_000, 16_595, 1),
                Region::new(1, 17_595, 39_839, 5),
            ],
        ),
        Recorded::new(
            "within a microsecond",
            vec![
                Region::new(1, 1_000, 1, 7),
                Region::new(1, 1_001, 1, 7),
                Region::new(1, 1_002, 50, 7),
            ],
        ),
        Recorded::new(
            "hung at the last moment",
            vec![
                Region::new(0, 100, 10, 5),
                Region::new(1, 110, 4_213, 9),
                Region::running(1, 4_323, 5),
            ],
        ),
        chain(random, "a chain of 1,000", 1_000),
        chain(random, "a chain of 100,000", 100_000),
        one_nanosecond(random),
        nested(random),
        drawn(random, "ties and points", 800, 400, 5),
        drawn(random, "overlaps", 1_000, 1_000_000, 20_000),
        drawn(random, "apart", 1_000, 1_000_000_000, 1_000),
        running_ones(random),
    ];
    let soon = |recorded: &&Recorded| recorded.regions.len() <= 1_000;
    let six_days = all.iter().filter(soon);
    let six_days = six_days.map(|recorded| recorded.later(6 * DAY_NS, "after six days"));
    // On this day the doubles of microseconds no longer hold every nanosecond.
    let fifty_one = all.iter().filter(soon);
    let fifty_one = fifty_one.map(|recorded| recorded.later(51 * DAY_NS, "on the 52nd day"));
    let later: Vec<_> = six_days.chain(fifty_one).collect();
    all.extend(later);
    all
}

/// Regions that touch on two lanes, as in a pipeline: each of the second lane begins where that of the first with its id ends, and so does the
/// next of the first.
fn chain(random: &mut Rng, name: &str, count: u64) -> Recorded {
    let mut at = random.u64(0..5_000);
    let mut borders = vec![at];
    for _ in 0..=count / 2 {
        at += match random.u32(0..4) {
            0 => 1,
            1 => random.u64(1..100),
            _ => random.u64(1..60_000),
        };
        borders.push(at);
    }
    let stages = borders.windows(3).zip(1..).flat_map(|(borders, id)| {
        [0, 1].map(|lane| {
            let [start_ns, end_ns] = [0, 1].map(|border| borders[lane + border]);
            Region::new(lane as u32, start_ns, end_ns - start_ns, id)
        })
    });
    Recorded::new(name, stages.collect())
}

/// Nothing is shorter, and nothing between them.
fn one_nanosecond(random: &mut Rng) -> Recorded {
    let from = random.u64(0..100_000);
    let one = |i: u64| Region::new((i % 2) as u32, from + i / 2, 1, i / 3);
    Recorded::new("one nanosecond each", (0..600).map(one).collect())
}

/// Regions within regions, which touch one another and often end with what they are in.
fn nested(random: &mut Rng) -> Recorded {
    fn inside(random: &mut Rng, of: Region, depth: u32, regions: &mut Vec<Region>) {
        let mut at = of.start_ns + random.u64(1..4);
        while depth < 12 && at < of.end_ns() && regions.len() < 900 {
            let left_ns = of.end_ns() - at;
            let duration_ns = match random.u32(0..3) {
                0 => left_ns,
                _ => random.u64(1..=left_ns),
            };
            let region = Region::new(of.lane, at, duration_ns, random.u64(0..20));
            inside(random, region, depth + 1, regions);
            regions.push(region);
            at += duration_ns + random.u64(0..2) * random.u64(0..50);
        }
    }
    let mut regions = Vec::new();
    let mut at = 0;
    while regions.len() < 900 {
        let outermost = Region::new(1, at, random.u64(1..40_000), random.u64(0..20));
        inside(random, outermost, 0, &mut regions);
        regions.push(outermost);
        at = outermost.end_ns();
    }
    Recorded::new("nested", regions)
}

/// Of any kind: equal, overlapping, of no duration.
fn drawn(random: &mut Rng, name: &str, count: u64, span_ns: u64, longest_ns: u64) -> Recorded {
    let mut draw = |_| {
        let duration_ns = match random.u32(0..6) {
            0 => 0,
            1 => 1,
            _ => random.u64(0..longest_ns),
        };
        let id = random.u64(0..count / 4);
        Region::new(random.u32(0..5), random.u64(0..span_ns), duration_ns, id)
    };
    Recorded::new(name, (0..count).map(&mut draw).collect())
}

/// Some of many run: around completed ones, around one another, from the last moment on.
fn running_ones(random: &mut Rng) -> Recorded {
    let mut regions = drawn(random, "running", 300, 100_000, 900).regions;
    let last_ns = regions.iter().map(Region::end_ns).max().unwrap_or_default();
    for number in 0..20 {
        let start_ns = match number {
            0..3 => last_ns,
            _ => random.u64(0..last_ns),
        };
        let id = random.u64(1..75);
        regions.push(Region::running(random.u32(0..5), start_ns, id));
    }
    Recorded::new("running", regions)
}

//! What was recorded: made from a seed, and told apart by the bytes that each region copied.
//!
//! The bytes are a region's number, from 1, since every output and every viewer shows them: no region needs to be told by its times, which are
//! what is in question.

use std::collections::BTreeMap;

use fastrand::Rng;
use hrx_trace_format::{ArgumentValue, Geometry, LANE_NAMES, Mark, OpenRecord, Record};
use hrx_trace_tests::capture::{Capture, mark, region, running, value};

/// A region.
#[derive(Clone, Copy, Debug, Default)]
pub struct Region {
    pub lane: u32,
    pub start_ns: u64,
    /// None: it was running when its writer died.
    pub duration_ns: Option<u64>,
    /// 0: none.
    pub id: u64,
    pub thread_id: u32,
}

/// What else is recorded: marks by their numbers, from 1, and samples of a number.
#[derive(Clone, Debug, Default)]
pub struct Moments {
    /// Lane and moment.
    pub marks: Vec<(u32, u64)>,
    /// Moment and number.
    pub values: Vec<(u64, f64)>,
}

/// The name of the counter of the values.
pub const VALUES: &str = "queue depth (host-observed)";
/// What every third region has as its argument "note".
pub const NOTE: &str = "é \"n\" \\";

impl Region {
    pub fn new(lane: u32, start_ns: u64, duration_ns: u64, id: u64) -> Self {
        Self {
            lane,
            start_ns,
            duration_ns: Some(duration_ns),
            id,
            thread_id: 1,
        }
    }

    pub fn by(self, thread_id: u32) -> Self {
        Self { thread_id, ..self }
    }

    pub fn running(lane: u32, start_ns: u64, id: u64) -> Self {
        Self {
            lane,
            start_ns,
            duration_ns: None,
            id,
            thread_id: 1,
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

    /// Whether the other may be drawn inside this one: its own thread ran that, and in time.
    pub fn contains(&self, other: &Self) -> bool {
        self.thread_id == other.thread_id
            && self.start_ns < other.start_ns
            && other.end_ns() <= self.end_ns()
    }

    /// Whether it is over before the other begins, or begins when that is over.
    pub fn is_apart_from(&self, other: &Self) -> bool {
        self.end_ns() <= other.start_ns || other.end_ns() <= self.start_ns
    }
}

/// The regions of one capture, in the order of their completion; behind them those that run, in the order of their beginnings.
#[derive(Debug)]
pub struct Recorded {
    pub name: String,
    pub regions: Vec<Region>,
    pub moments: Moments,
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
            moments: Moments::default(),
        }
    }

    fn with(mut self, moments: Moments) -> Self {
        self.moments = moments;
        self
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
            moments: Moments {
                marks: self
                    .moments
                    .marks
                    .iter()
                    .map(|(lane, at_ns)| (*lane, at_ns + by_ns))
                    .collect(),
                values: self
                    .moments
                    .values
                    .iter()
                    .map(|(at_ns, number)| (at_ns + by_ns, *number))
                    .collect(),
            },
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
        let marks = self.moments.marks.iter().map(|(_, at_ns)| *at_ns);
        let values = self.moments.values.iter().map(|(at_ns, _)| *at_ns);
        let regions = self.regions.iter().map(last);
        regions.chain(marks).chain(values).max().unwrap_or_default()
    }

    /// Whether the region of that number has arguments.
    pub fn has_arguments(&self, number: u64) -> bool {
        self.regions.len() <= 1_000 && number.is_multiple_of(3)
    }

    /// Of one writer, which died.
    pub fn capture(&self) -> Capture {
        // Neighbours differ in their names, for there are viewers that take what is called alike for one thing.
        const LABELS: [&str; 5] = ["read", "gemm", "softmax", "gemm 2", "write"];
        let moments = self.moments.marks.len() + self.moments.values.len();
        let records = 3 * self.regions.len() + moments;
        let geometry = Geometry::new(records.max(1) as u64);
        let mut capture = Capture::with(geometry.open_slots(64).name_bytes(64 << 10));
        let labels = LABELS.map(|label| capture.label(label));
        let [number_key, note] = ["number", "note"].map(|key| capture.key(key));
        let values = capture.label(VALUES.trim_end_matches(" (host-observed)"));
        let mut slots = 0..;
        let mut marks = (1u64..).zip(&self.moments.marks).peekable();
        for (number, of) in (1u64..).zip(&self.regions) {
            // Between the regions, in the order of time.
            while let Some((number, (lane, at_ns))) =
                marks.next_if(|(_, (_, at_ns))| *at_ns <= of.end_ns())
            {
                capture.mark(Mark {
                    correlation_id: number,
                    label_id: labels[number as usize % labels.len()],
                    ..mark(*lane, *at_ns)
                });
            }
            let label_id = labels[number as usize % labels.len()];
            let arguments = match self.has_arguments(number) {
                true => vec![
                    (number_key, ArgumentValue::U64(number)),
                    (note, ArgumentValue::Text(NOTE.as_bytes())),
                ],
                false => vec![],
            };
            if let Some(duration_ns) = of.duration_ns {
                let record = Record {
                    copied_bytes: number,
                    correlation_id: of.id,
                    label_id,
                    thread_id: of.thread_id,
                    ..region(of.lane, of.start_ns, duration_ns)
                };
                match arguments.is_empty() {
                    true => capture.record(record),
                    false => capture.record_with(record, &arguments),
                };
            } else if let Some(slot) = slots.next() {
                let open = OpenRecord {
                    copied_bytes: number,
                    correlation_id: of.id,
                    label_id,
                    thread_id: of.thread_id,
                    ..running(of.lane, of.start_ns)
                };
                capture.open_with(slot, open, &arguments);
            }
        }
        for (at_ns, number) in &self.moments.values {
            capture.value(value(values, *at_ns, *number));
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
        side_by_side(random),
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
        let region = Region::new(random.u32(0..5), random.u64(0..span_ns), duration_ns, id);
        region.by(random.u32(1..4))
    };
    let regions = (0..count).map(&mut draw).collect();
    Recorded::new(name, regions).with(moments(random, span_ns))
}

/// Marks and values at any moment, also where regions begin and end, and numbers of any kind.
fn moments(random: &mut Rng, span_ns: u64) -> Moments {
    let mut marks: Vec<(u32, u64)> = (0..100)
        .map(|_| (random.u32(0..5), random.u64(0..span_ns)))
        .collect();
    marks.sort_by_key(|(_, at_ns)| *at_ns);
    let mut numbers = vec![
        0.0,
        0.1,
        -0.1,
        1e300,
        5e-324,
        0.1 + 0.2,
        1e17,
        123_456_789.123,
    ];
    numbers.extend((0..40).map(|_| random.f64() * 1e6));
    numbers.extend(
        (0..40)
            .map(|_| f64::from_bits(random.u64(..)))
            .filter(|number| number.is_finite()),
    );
    let mut values: Vec<(u64, f64)> = numbers
        .into_iter()
        .map(|number| (random.u64(0..span_ns), number))
        .collect();
    // No two at one moment: viewers may show them in any order.
    values.sort_by_key(|(at_ns, _)| *at_ns);
    values.dedup_by_key(|(at_ns, _)| *at_ns);
    Moments { marks, values }
}

/// Three workers on one lane, whose regions touch and hold one another: no call.
fn side_by_side(random: &mut Rng) -> Recorded {
    let mut regions = vec![
        Region::new(1, 1_000, 900, 1).by(1),
        Region::new(1, 1_100, 100, 2).by(2),
        Region::new(1, 1_900, 50, 0).by(2),
    ];
    for thread_id in 1..4 {
        let mut at = 10_000;
        while at < 40_000 {
            let duration_ns = random.u64(1..900);
            regions.push(Region::new(1, at, duration_ns, 0).by(thread_id));
            if duration_ns > 4 {
                regions.push(Region::new(1, at + 1, duration_ns / 2, 0).by(thread_id));
            }
            at += duration_ns;
        }
    }
    Recorded::new("side by side", regions)
}

/// Some of many run: around completed ones, around one another, from the last moment on.
fn running_ones(random: &mut Rng) -> Recorded {
    let Recorded {
        mut regions,
        moments,
        ..
    } = drawn(random, "running", 300, 100_000, 900);
    let last_ns = regions.iter().map(Region::end_ns).max().unwrap_or_default();
    for number in 0..20 {
        let start_ns = match number {
            0..3 => last_ns,
            _ => random.u64(0..last_ns),
        };
        let id = random.u64(1..75);
        let region = Region::running(random.u32(0..5), start_ns, id);
        regions.push(region.by(random.u32(1..3)));
    }
    Recorded::new("running", regions).with(moments)
}

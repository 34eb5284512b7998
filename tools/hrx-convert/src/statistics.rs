//! What the regions of one capture amount to: counts, durations, bytes, by lane and by label; which were slow, which came last.
//!
//! Memory is bounded whatever the capture holds. There are at most [`LANES_MAX`] lanes and [`GROUPS_MAX`] labels with figures of their
//! own, in the order in which they appear; what comes beyond is counted together as [`Lane::Others`] and [`Label::Others`]. A
//! histogram holds durations to three digits, rounded up: a percentile is at most 0.1 % above the exact one, never below. All other
//! figures are exact.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};
use std::io;

use hdrhistogram::Histogram;
use hrx_trace_reader::{Event, OpenRegion};

use crate::sweep::{Coverage, Sweep, keep};

/// Lanes with figures of their own. Their overlaps are a square of them.
const LANES_MAX: usize = 64;
/// Labels with figures of their own, in all lanes together: each has a histogram, of about 80 KiB where durations reach a second, once it has more
/// than a few regions.
const GROUPS_MAX: usize = 1024;
/// The longest regions that are remembered.
const SLOWEST_MAX: usize = 10;
/// The last failed regions that are remembered.
const FAILED_MAX: usize = 10;
/// The last regions of each lane that are remembered.
const LAST_MAX: usize = 3;
/// The longest gaps of each lane that are remembered.
const GAPS_MAX: usize = 3;
/// Durations that are remembered one by one: they take less than a histogram does.
const FEW_MAX: usize = 512;
/// Digits of a duration that a histogram keeps.
const DIGITS: u8 = 3;

/// A lane with figures of its own, or all the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    Number(u32),
    Others,
}

/// A label of a lane with figures of its own, or all the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Label {
    Id(u32),
    Others,
}

/// What some completed regions amount to.
#[derive(Clone, Debug)]
pub struct Measures {
    pub count: u64,
    pub failed: u64,
    pub total_ns: u128,
    pub max_ns: u64,
    pub copied_bytes: u128,
    /// The total of the regions that copied something.
    pub copying_ns: u128,
    durations: Durations,
}

/// Any number of durations. What is asked of a few of them is asked of their histogram, too.
#[derive(Clone, Debug)]
enum Durations {
    Few(Vec<u64>),
    Many(Histogram<u32>),
}

impl Durations {
    fn record(&mut self, duration_ns: u64) {
        match self {
            Self::Few(few) if few.len() < FEW_MAX => few.push(duration_ns),
            Self::Few(_) => {
                let mut many = self.histogram().into_owned();
                record(&mut many, duration_ns);
                *self = Self::Many(many);
            }
            Self::Many(many) => record(many, duration_ns),
        }
    }

    fn add(&mut self, other: &Self) {
        match other {
            Self::Few(few) => few.iter().for_each(|duration_ns| self.record(*duration_ns)),
            Self::Many(others) => {
                let mut many = self.histogram().into_owned();
                many.add(others)
                    .expect("a histogram that grows takes in every other");
                *self = Self::Many(many);
            }
        }
    }

    fn histogram(&self) -> Cow<'_, Histogram<u32>> {
        match self {
            Self::Few(few) => {
                let mut many = Histogram::new(DIGITS).expect("a histogram takes 0 to 5 digits");
                few.iter()
                    .for_each(|duration_ns| record(&mut many, *duration_ns));
                Cow::Owned(many)
            }
            Self::Many(many) => Cow::Borrowed(many),
        }
    }
}

/// It grows to hold any duration there is.
fn record(many: &mut Histogram<u32>, duration_ns: u64) {
    let recorded = many.record(duration_ns);
    debug_assert!(recorded.is_ok(), "{recorded:?}");
}

impl Measures {
    pub fn new() -> Self {
        Self {
            count: 0,
            failed: 0,
            total_ns: 0,
            max_ns: 0,
            copied_bytes: 0,
            copying_ns: 0,
            durations: Durations::Few(Vec::new()),
        }
    }

    fn note(&mut self, event: &Event) {
        self.count += 1;
        self.failed += u64::from(event.failed);
        self.total_ns += u128::from(event.duration_ns);
        self.max_ns = self.max_ns.max(event.duration_ns);
        if event.copied_bytes > 0 {
            self.copied_bytes += u128::from(event.copied_bytes);
            self.copying_ns += u128::from(event.duration_ns);
        }
        self.durations.record(event.duration_ns);
    }

    /// Takes in what others amount to.
    pub fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.failed += other.failed;
        self.total_ns += other.total_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
        self.copied_bytes += other.copied_bytes;
        self.copying_ns += other.copying_ns;
        self.durations.add(&other.durations);
    }

    /// The mean duration, rounded down; None: there are no regions.
    pub fn mean_ns(&self) -> Option<u64> {
        let mean_ns = self.total_ns.checked_div(self.count.into())?;
        u64::try_from(mean_ns).ok()
    }

    /// The duration that so large a share of the regions did not exceed; None: there are no regions.
    pub fn quantile_ns(&self, quantile: f64) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        // The histogram gives the upper end of a range of durations; that of the last range is known exactly.
        let durations = self.durations.histogram();
        match durations.value_at_quantile(quantile) {
            ns if durations.equivalent(ns, self.max_ns) => Some(self.max_ns),
            ns => Some(ns),
        }
    }

    /// Bytes a nanosecond, which is GB/s, while regions that copied something ran; None: no time passed in any.
    pub fn gigabytes_per_second(&self) -> Option<f64> {
        (self.copying_ns > 0).then(|| self.copied_bytes as f64 / self.copying_ns as f64)
    }

    /// How many regions took so long, by steps of `2^(1/steps)`: the upper end of each step, and a count, without empty steps.
    pub fn histogram(&self, steps: u32) -> Vec<(u64, u64)> {
        let mut bars: BTreeMap<u64, u64> = BTreeMap::new();
        for step in self.durations.histogram().iter_recorded() {
            let bar = (step.value_iterated_to().max(1) as f64).log2() * f64::from(steps);
            let upper_ns = ((bar.floor() + 1.0) / f64::from(steps)).exp2() as u64;
            *bars.entry(upper_ns).or_default() += step.count_since_last_iteration();
        }
        bars.into_iter().collect()
    }
}

/// A lane and what it amounts to.
#[derive(Debug)]
pub struct LaneFigures {
    pub lane: Lane,
    pub measures: Measures,
    pub busy_ns: u64,
    pub labels: Vec<LabelFigures>,
    /// The last that completed, in that order.
    pub last: Vec<Event>,
    /// The longest stretches without a region: beginning and duration, the longest first.
    pub gaps: Vec<(u64, u64)>,
}

/// A label of a lane and what it amounts to.
#[derive(Debug)]
pub struct LabelFigures {
    pub label: Label,
    pub measures: Measures,
    pub busy_ns: u64,
}

/// Two lanes and the time they were busy at once.
#[derive(Debug)]
pub struct Overlap {
    pub lanes: [Lane; 2],
    pub shared_ns: u64,
}

/// Everything there is to say of the events.
#[derive(Debug)]
pub struct Figures {
    /// All regions together.
    pub measures: Measures,
    /// The time in which any region ran.
    pub busy_ns: u64,
    /// In the order of their numbers; labels by their total, the largest first.
    pub lanes: Vec<LaneFigures>,
    /// The last moment of any region.
    pub latest_ns: u64,
    /// Any two lanes.
    pub overlaps: Vec<Overlap>,
    /// The last that failed, in the order of their completion.
    pub failed: Vec<Event>,
    /// The longest, the first of equals first.
    pub slowest: Vec<Event>,
}

/// Takes the events of a capture.
#[derive(Debug)]
pub struct Statistics {
    lanes: Vec<Lane>,
    last: Vec<VecDeque<Event>>,
    groups: Vec<(u32, Label, Measures)>,
    index_of_lane: HashMap<u32, u32>,
    index_of_group: HashMap<(u32, u32), u32>,
    /// The lane, the label and the group of the event before: most share them with a neighbour.
    before: Option<(u32, u32, u32)>,
    slowest: BinaryHeap<Reverse<(u64, Reverse<u64>)>>,
    slowest_events: HashMap<u64, Event>,
    failed: VecDeque<Event>,
    seen: u64,
    latest_ns: u64,
    sweep: Sweep,
}

impl Statistics {
    pub fn new() -> Self {
        Self {
            lanes: Vec::new(),
            last: Vec::new(),
            groups: Vec::new(),
            index_of_lane: HashMap::new(),
            index_of_group: HashMap::new(),
            before: None,
            slowest: BinaryHeap::new(),
            slowest_events: HashMap::new(),
            failed: VecDeque::new(),
            seen: 0,
            latest_ns: 0,
            sweep: Sweep::new(),
        }
    }

    /// Takes a completed region.
    pub fn event(&mut self, event: &Event) -> io::Result<()> {
        let group = self.group(event.lane, event.label_id);
        let (lane, _, measures) = &mut self.groups[group as usize];
        measures.note(event);
        remember(&mut self.last[*lane as usize], LAST_MAX, event);
        if event.failed {
            remember(&mut self.failed, FAILED_MAX, event);
        }
        self.note_slow(event);
        self.latest_ns = self.latest_ns.max(event.end_ns());
        self.sweep.region(event.start_ns, event.end_ns(), group)
    }

    /// Takes what was running at the last moment known, and sums up. What ran until `end_ns` or beyond leaves no gap behind it.
    pub fn finish(mut self, open: &[OpenRegion], last_ns: u64, end_ns: u64) -> io::Result<Figures> {
        for region in open {
            let group = self.group(region.lane, region.label_id);
            self.sweep.region(region.start_ns, last_ns, group)?;
            self.latest_ns = self.latest_ns.max(last_ns);
        }
        let lane_of: Vec<u32> = self.groups.iter().map(|(lane, ..)| *lane).collect();
        let coverage = self.sweep.finish(
            &lane_of,
            self.lanes.len(),
            GAPS_MAX,
            end_ns.max(self.latest_ns),
        )?;
        let overlaps = overlaps(&self.lanes, &coverage);
        let mut all = Measures::new();
        let mut lanes: Vec<LaneFigures> = self
            .lanes
            .into_iter()
            .zip(self.last)
            .enumerate()
            .map(|(index, (lane, last))| LaneFigures {
                lane,
                measures: Measures::new(),
                busy_ns: coverage.lane_busy_ns[index],
                labels: Vec::new(),
                last: last.into(),
                gaps: coverage.lane_gaps[index]
                    .iter()
                    .map(|gap| (gap.start_ns.0, gap.duration_ns))
                    .collect(),
            })
            .collect();
        for ((lane, label, measures), busy_ns) in
            self.groups.into_iter().zip(coverage.group_busy_ns)
        {
            all.add(&measures);
            let lane = &mut lanes[lane as usize];
            lane.measures.add(&measures);
            lane.labels.push(LabelFigures {
                label,
                measures,
                busy_ns,
            });
        }
        for lane in &mut lanes {
            lane.labels
                .sort_by_key(|label| (Reverse(label.measures.total_ns), label.label));
        }
        lanes.sort_by_key(|lane| lane.lane);
        let mut slowest = self.slowest.into_vec();
        slowest.sort();
        Ok(Figures {
            measures: all,
            busy_ns: coverage.busy_ns,
            lanes,
            latest_ns: self.latest_ns,
            overlaps,
            failed: self.failed.into(),
            slowest: slowest
                .into_iter()
                .filter_map(|Reverse((_, Reverse(at)))| self.slowest_events.remove(&at))
                .collect(),
        })
    }

    #[inline]
    fn group(&mut self, lane: u32, label_id: u32) -> u32 {
        match self.before {
            Some((same_lane, same_label, group)) if (same_lane, same_label) == (lane, label_id) => {
                group
            }
            _ => self.find_group(lane, label_id),
        }
    }

    fn find_group(&mut self, lane: u32, label_id: u32) -> u32 {
        let group = match self.index_of_group.get(&(lane, label_id)) {
            Some(group) => *group,
            None => self.new_group(lane, label_id),
        };
        self.before = Some((lane, label_id, group));
        group
    }

    fn new_group(&mut self, lane: u32, label_id: u32) -> u32 {
        let lane_index = self.lane(lane);
        let own = self.groups.len() < GROUPS_MAX;
        let label = if own {
            Label::Id(label_id)
        } else {
            Label::Others
        };
        let of_lane =
            |(lane, other, _): &(u32, Label, Measures)| *lane == lane_index && *other == label;
        if let Some(group) = self.groups.iter().position(of_lane) {
            return group as u32;
        }
        let group = self.groups.len() as u32;
        self.groups.push((lane_index, label, Measures::new()));
        if own {
            self.index_of_group.insert((lane, label_id), group);
        }
        group
    }

    fn lane(&mut self, lane: u32) -> u32 {
        if let Some(index) = self.index_of_lane.get(&lane) {
            return *index;
        }
        if self.lanes.len() > LANES_MAX {
            return LANES_MAX as u32;
        }
        let index = self.lanes.len() as u32;
        if self.lanes.len() < LANES_MAX {
            self.lanes.push(Lane::Number(lane));
            self.index_of_lane.insert(lane, index);
        } else {
            self.lanes.push(Lane::Others);
        }
        self.last.push(VecDeque::with_capacity(LAST_MAX));
        index
    }

    #[inline]
    fn note_slow(&mut self, event: &Event) {
        self.seen += 1;
        let least = self.slowest.peek().map_or(0, |Reverse((least, _))| *least);
        if self.slowest.len() == SLOWEST_MAX && event.duration_ns <= least {
            return;
        }
        if self.slowest.len() == SLOWEST_MAX
            && let Some(Reverse((_, Reverse(at)))) = self.slowest.peek()
        {
            self.slowest_events.remove(at);
        }
        self.slowest_events.insert(self.seen, *event);
        keep(
            &mut self.slowest,
            SLOWEST_MAX,
            (event.duration_ns, Reverse(self.seen)),
        );
    }
}

/// Keeps the last.
fn remember(last: &mut VecDeque<Event>, count_max: usize, event: &Event) {
    if last.len() == count_max {
        last.pop_front();
    }
    last.push_back(*event);
}

fn overlaps(lanes: &[Lane], coverage: &Coverage) -> Vec<Overlap> {
    let mut overlaps = Vec::new();
    for (one, lane) in lanes.iter().enumerate() {
        for (other, other_lane) in lanes.iter().enumerate() {
            if lane < other_lane {
                overlaps.push(Overlap {
                    lanes: [*lane, *other_lane],
                    shared_ns: coverage.shared_ns(one, other),
                });
            }
        }
    }
    overlaps.sort_by_key(|overlap| overlap.lanes);
    overlaps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(lane: u32, label_id: u32, duration_ns: u64) -> Event {
        Event {
            ring: 0,
            sequence: 1,
            start_ns: 1_000,
            duration_ns,
            copied_bytes: 0,
            correlation_id: 0,
            lane,
            label_id,
            thread_id: 1,
            status: 0,
            failed: false,
            saturated: false,
        }
    }

    fn figures(events: impl IntoIterator<Item = Event>) -> Figures {
        let mut statistics = Statistics::new();
        for event in events {
            statistics.event(&event).unwrap();
        }
        statistics.finish(&[], 0, 0).unwrap()
    }

    #[test]
    fn quantiles_are_at_most_a_thousandth_above() {
        let durations = (0..20_000u64).map(|i| i * i * 7919 % 1_000_000_007);
        let mut sorted: Vec<u64> = durations.clone().collect();
        sorted.sort_unstable();
        let found = figures(durations.map(|duration_ns| event(1, 2, duration_ns))).measures;
        for (quantile, rank) in [(0.5, 10_000), (0.9, 18_000), (0.99, 19_800), (1.0, 20_000)] {
            let exact = sorted[rank - 1];
            let found = found.quantile_ns(quantile).unwrap();
            assert!(
                exact <= found && found <= exact + exact / 1_000,
                "{quantile}: {exact}, {found}"
            );
        }
    }

    /// The bug: each label of each lane of each capture had a histogram, however few its regions; 500 captures took gigabytes.
    #[test]
    fn a_few_durations_take_no_histogram_and_say_the_same() {
        let of = |count: usize| {
            let mut durations = Durations::Few(Vec::new());
            let mut many = Histogram::<u32>::new(DIGITS).unwrap();
            for i in 0..count as u64 {
                let duration_ns = i * i * 7919 % 1_000_000_007;
                durations.record(duration_ns);
                many.record(duration_ns).unwrap();
            }
            assert_eq!(matches!(durations, Durations::Few(_)), count <= FEW_MAX);
            assert_eq!(*durations.histogram(), many);
            (durations, many)
        };
        let counts = [0, 1, FEW_MAX - 1, FEW_MAX, FEW_MAX + 1, 3 * FEW_MAX];
        for one in counts {
            for other in counts {
                let (mut durations, mut many) = of(one);
                let (others, many_others) = of(other);
                durations.add(&others);
                many.add(many_others).unwrap();
                assert_eq!(*durations.histogram(), many, "{one} and {other}");
            }
        }
    }

    #[test]
    fn the_longest_durations_fit() {
        const LONGEST: u64 = u64::MAX;
        let found = figures([event(1, 1, LONGEST), event(1, 1, 0), event(1, 1, LONGEST)]);
        assert_eq!(found.measures.quantile_ns(0.99), Some(LONGEST));
        assert_eq!(found.measures.quantile_ns(0.3), Some(0));
        assert_eq!(found.measures.total_ns, 2 * u128::from(LONGEST));
        assert_eq!(
            found.measures.mean_ns(),
            Some((2 * u128::from(LONGEST) / 3) as u64)
        );
    }

    #[test]
    fn any_number_of_lanes_and_labels_is_counted_in_bounded_room() {
        let found = figures((0..100_000).map(|i| event(i % 777, i, 10)));
        assert_eq!(found.lanes.len(), LANES_MAX + 1);
        let groups = || found.lanes.iter().flat_map(|lane| &lane.labels);
        assert_eq!(groups().count(), GROUPS_MAX + LANES_MAX + 1);
        assert_eq!(
            groups().map(|label| label.measures.count).sum::<u64>(),
            100_000
        );
        assert_eq!(found.measures.count, 100_000);
        assert_eq!(found.lanes[64].lane, Lane::Others);
        assert_eq!(found.lanes[0].measures.count, 129);
    }

    #[test]
    fn the_slowest_are_the_first_of_equals() {
        let found = figures((0..50).map(|i| event(0, i, u64::from(i % 20))));
        let slowest: Vec<_> = found
            .slowest
            .iter()
            .map(|event| (event.duration_ns, event.label_id))
            .collect();
        let expected = [
            (19, 19),
            (19, 39),
            (18, 18),
            (18, 38),
            (17, 17),
            (17, 37),
            (16, 16),
            (16, 36),
            (15, 15),
            (15, 35),
        ];
        assert_eq!(slowest, expected);
    }

    #[test]
    fn a_histogram_has_every_region_in_one_step() {
        let found = figures((0..1_000).map(|i| event(0, 0, i * i))).measures;
        let bars = found.histogram(4);
        assert_eq!(bars.iter().map(|bar| bar.1).sum::<u64>(), 1_000);
        assert!(bars.is_sorted());
    }
}

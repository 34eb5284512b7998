//! What the regions of one capture amount to: counts, durations, bytes, by lane and by label; which were slow, which came last.
//!
//! Memory is bounded whatever the capture holds. There are at most [`LANES_MAX`] lanes and [`GROUPS_MAX`] labels with figures of their
//! own, in the order in which they appear; what comes beyond is counted together as [`Lane::Others`] and [`Label::Others`]. A
//! histogram holds durations to three digits, rounded up: a percentile is at most 0.1 % above the exact one, never below. All other
//! figures are exact.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};
use std::fs::File;
use std::io;
use std::mem;
use std::os::unix::fs::FileExt;

use hdrhistogram::Histogram;
use hrx_trace_reader::{Event, OpenRegion};

use crate::figures::sweep::{Coverage, Sweep, keep};

/// Lanes with figures of their own. Their overlaps are a square of them.
const LANES_MAX: usize = 64;
/// Labels with figures of their own, in all lanes together.
const GROUPS_MAX: usize = 1024;
/// Labels that have a histogram each, of about 80 KiB where durations reach a second, once they have more than a few regions. The durations of
/// others go to a temporary file, 8 bytes each, until they are summed up, one label after the other.
const HISTOGRAMS_MAX: usize = 128;
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

/// What some completed regions amount to, and their durations, or what is said of those.
#[derive(Clone, Debug, Default)]
pub struct Measures<Said> {
    pub count: u64,
    pub failed: u64,
    pub total_ns: u128,
    pub max_ns: u64,
    pub copied_bytes: u128,
    /// The total of the regions that copied something.
    pub copying_ns: u128,
    pub durations: Said,
}

/// Any number of durations.
#[derive(Debug, Default)]
struct Durations {
    /// One by one, the last of them.
    few: Vec<u64>,
    /// Those before them: places in [`Kept`].
    blocks: Vec<u32>,
    many: Option<Histogram<u32>>,
}

/// Memory for durations, and what it had no room for.
#[derive(Debug, Default)]
struct Kept {
    histograms: usize,
    /// A temporary file without a name: blocks of [`FEW_MAX`] durations.
    file: Option<File>,
    blocks: u32,
}

const BLOCK_BYTES: usize = FEW_MAX * size_of::<u64>();

impl Kept {
    fn put(&mut self, durations_ns: &[u64]) -> io::Result<u32> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        let bytes: Vec<u8> = durations_ns
            .iter()
            .flat_map(|ns| ns.to_le_bytes())
            .collect();
        file.write_all_at(&bytes, u64::from(self.blocks) * BLOCK_BYTES as u64)?;
        self.blocks += 1;
        Ok(self.blocks - 1)
    }

    fn get(&self, block: u32, mut each: impl FnMut(u64)) -> io::Result<()> {
        let mut bytes = [0; BLOCK_BYTES];
        if let Some(file) = &self.file {
            file.read_exact_at(&mut bytes, u64::from(block) * BLOCK_BYTES as u64)?;
        }
        let (words, _) = bytes.as_chunks();
        words
            .iter()
            .for_each(|word| each(u64::from_le_bytes(*word)));
        Ok(())
    }
}

impl Durations {
    #[inline]
    fn record(&mut self, duration_ns: u64, kept: &mut Kept) -> io::Result<()> {
        match &mut self.many {
            Some(many) => record(many, duration_ns),
            None if self.few.len() < FEW_MAX => self.few.push(duration_ns),
            None => self.make_room(duration_ns, kept)?,
        }
        Ok(())
    }

    #[cold]
    fn make_room(&mut self, duration_ns: u64, kept: &mut Kept) -> io::Result<()> {
        if kept.histograms < HISTOGRAMS_MAX {
            kept.histograms += 1;
            let mut many = empty();
            for duration_ns in mem::take(&mut self.few) {
                record(&mut many, duration_ns);
            }
            record(&mut many, duration_ns);
            self.many = Some(many);
        } else {
            self.blocks.push(kept.put(&self.few)?);
            self.few.clear();
            self.few.push(duration_ns);
        }
        Ok(())
    }

    /// Takes in others.
    fn add(&mut self, other: Self, kept: &mut Kept) -> io::Result<()> {
        self.blocks.extend(other.blocks);
        match (&mut self.many, other.many) {
            (Some(many), Some(others)) => add(many, &others),
            (none, others) => *none = none.take().or(others),
        }
        for duration_ns in other.few {
            self.record(duration_ns, kept)?;
        }
        Ok(())
    }

    /// Adds all to a histogram.
    fn add_to(&self, histogram: &mut Histogram<u32>, kept: &Kept) -> io::Result<()> {
        self.few.iter().for_each(|ns| record(histogram, *ns));
        if let Some(many) = &self.many {
            add(histogram, many);
        }
        for block in &self.blocks {
            kept.get(*block, |ns| record(histogram, ns))?;
        }
        Ok(())
    }
}

fn empty() -> Histogram<u32> {
    Histogram::new(DIGITS).expect("a histogram takes 0 to 5 digits")
}

/// It grows to hold any duration there is.
fn record(histogram: &mut Histogram<u32>, duration_ns: u64) {
    let recorded = histogram.record(duration_ns);
    debug_assert!(recorded.is_ok(), "{recorded:?}");
}

fn add(histogram: &mut Histogram<u32>, other: &Histogram<u32>) {
    let added = histogram.add(other);
    debug_assert!(added.is_ok(), "{added:?}");
}

impl<Said> Measures<Said> {
    /// Takes in what others amount to, but for their durations.
    fn add<Others>(&mut self, other: &Measures<Others>) {
        self.count += other.count;
        self.failed += other.failed;
        self.total_ns += other.total_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
        self.copied_bytes += other.copied_bytes;
        self.copying_ns += other.copying_ns;
    }

    /// With something else in the place of the durations.
    fn with<Others>(&self, durations: Others) -> Measures<Others> {
        Measures {
            count: self.count,
            failed: self.failed,
            total_ns: self.total_ns,
            max_ns: self.max_ns,
            copied_bytes: self.copied_bytes,
            copying_ns: self.copying_ns,
            durations,
        }
    }

    /// The mean duration, rounded down; None: there are no regions.
    pub fn mean_ns(&self) -> Option<u64> {
        let mean_ns = self.total_ns.checked_div(self.count.into())?;
        u64::try_from(mean_ns).ok()
    }

    /// Bytes a nanosecond, which is GB/s, while regions that copied something ran; None: no time passed in any.
    pub fn gigabytes_per_second(&self) -> Option<f64> {
        (self.copying_ns > 0).then(|| self.copied_bytes as f64 / self.copying_ns as f64)
    }
}

impl Measures<Durations> {
    fn note(&mut self, event: &Event, kept: &mut Kept) -> io::Result<()> {
        self.count += 1;
        self.failed += u64::from(event.failed);
        self.total_ns += u128::from(event.duration_ns);
        self.max_ns = self.max_ns.max(event.duration_ns);
        if event.copied_bytes > 0 {
            self.copied_bytes += u128::from(event.copied_bytes);
            self.copying_ns += u128::from(event.duration_ns);
        }
        self.durations.record(event.duration_ns, kept)
    }
}

/// How long some regions took. There is one of these at a time.
pub struct Distribution<'histogram> {
    pub count: u64,
    max_ns: u64,
    histogram: &'histogram Histogram<u32>,
}

impl Distribution<'_> {
    /// The duration that so large a share of the regions did not exceed; None: there are no regions.
    pub fn quantile_ns(&self, quantile: f64) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        // The histogram gives the upper end of a range of durations; that of the last range is known exactly.
        match self.histogram.value_at_quantile(quantile) {
            ns if self.histogram.equivalent(ns, self.max_ns) => Some(self.max_ns),
            ns => Some(ns),
        }
    }

    /// How many regions took so long, by steps of `2^(1/steps)`: the upper end of each step, and a count, without empty steps.
    pub fn histogram(&self, steps: u32) -> Vec<(u64, u64)> {
        let mut bars: BTreeMap<u64, u64> = BTreeMap::new();
        for step in self.histogram.iter_recorded() {
            let bar = (step.value_iterated_to().max(1) as f64).log2() * f64::from(steps);
            let upper_ns = ((bar.floor() + 1.0) / f64::from(steps)).exp2() as u64;
            *bars.entry(upper_ns).or_default() += step.count_since_last_iteration();
        }
        bars.into_iter().collect()
    }
}

/// What is asked of the figures.
pub struct Question<'name, Said> {
    /// What is said of durations.
    pub say: fn(&Distribution) -> Said,
    /// With it, labels of one name are one.
    pub name: Option<&'name dyn Fn(Label) -> String>,
}

/// A lane and what it amounts to.
#[derive(Debug)]
pub struct LaneFigures<Said> {
    pub lane: Lane,
    pub measures: Measures<Said>,
    pub busy_ns: u64,
    pub labels: Vec<LabelFigures<Said>>,
    /// The last that completed, in that order.
    pub last: Vec<Event>,
    /// The longest stretches without a region: beginning and duration, the longest first.
    pub gaps: Vec<(u64, u64)>,
}

/// A label of a lane and what it amounts to.
#[derive(Debug)]
pub struct LabelFigures<Said> {
    pub label: Label,
    pub measures: Measures<Said>,
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
pub struct Figures<Said> {
    /// All regions together.
    pub measures: Measures<Said>,
    /// The time in which any region ran.
    pub busy_ns: u64,
    /// In the order of their numbers; labels by their total, the largest first.
    pub lanes: Vec<LaneFigures<Said>>,
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
    groups: Vec<(u32, Label, Measures<Durations>)>,
    kept: Kept,
    index_of_lane: HashMap<u32, u32>,
    /// By the index of the lane.
    index_of_group: HashMap<(u32, Label), u32>,
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
            kept: Kept::default(),
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
        measures.note(event, &mut self.kept)?;
        remember(&mut self.last[*lane as usize], LAST_MAX, event);
        if event.failed {
            remember(&mut self.failed, FAILED_MAX, event);
        }
        self.note_slow(event);
        self.latest_ns = self.latest_ns.max(event.end_ns());
        self.sweep.region(event.start_ns, event.end_ns(), group)
    }

    /// Takes what was running at the last moment known, and sums up. What ran until `end_ns` or beyond leaves no gap behind it.
    pub fn finish<Said>(
        mut self,
        open: &[OpenRegion],
        last_ns: u64,
        end_ns: u64,
        question: &Question<Said>,
    ) -> io::Result<Figures<Said>> {
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
        let mut labels: Vec<Vec<_>> = self.lanes.iter().map(|_| Vec::new()).collect();
        for ((lane, label, measures), busy_ns) in
            self.groups.into_iter().zip(coverage.group_busy_ns)
        {
            labels[lane as usize].push((label, measures, busy_ns));
        }
        let say = |counts: &Measures<()>, histogram: &Histogram<u32>| {
            counts.with((question.say)(&Distribution {
                count: counts.count,
                max_ns: counts.max_ns,
                histogram,
            }))
        };
        let (mut all, mut of_lane, mut of_label) = (empty(), empty(), empty());
        let mut measures = Measures::default();
        let mut lanes = Vec::with_capacity(self.lanes.len());
        for (index, (lane, last)) in self.lanes.into_iter().zip(self.last).enumerate() {
            let mut labels = mem::take(&mut labels[index]);
            if let Some(name) = question.name {
                labels = joined(labels, name, &mut self.kept)?;
            }
            of_lane.reset();
            let mut lane_measures = Measures::default();
            let mut said = Vec::with_capacity(labels.len());
            for (label, measures, busy_ns) in labels {
                of_label.reset();
                measures.durations.add_to(&mut of_label, &self.kept)?;
                match &measures.durations {
                    few if few.blocks.is_empty() => few.add_to(&mut of_lane, &self.kept)?,
                    _ => add(&mut of_lane, &of_label),
                }
                lane_measures.add(&measures);
                said.push(LabelFigures {
                    label,
                    measures: say(&measures.with(()), &of_label),
                    busy_ns,
                });
            }
            said.sort_by_key(|label| (Reverse(label.measures.total_ns), label.label));
            add(&mut all, &of_lane);
            measures.add(&lane_measures);
            lanes.push(LaneFigures {
                lane,
                measures: say(&lane_measures, &of_lane),
                busy_ns: coverage.lane_busy_ns[index],
                labels: said,
                last: last.into(),
                gaps: coverage.lane_gaps[index]
                    .iter()
                    .map(|gap| (gap.start_ns.0, gap.duration_ns))
                    .collect(),
            });
        }
        lanes.sort_by_key(|lane| lane.lane);
        let mut slowest = self.slowest.into_vec();
        slowest.sort();
        Ok(Figures {
            measures: say(&measures, &all),
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
        let lane_index = self.lane(lane);
        let known = self.index_of_group.get(&(lane_index, Label::Id(label_id)));
        let group = match known {
            Some(group) => *group,
            None => self.new_group(lane_index, label_id),
        };
        self.before = Some((lane, label_id, group));
        group
    }

    fn new_group(&mut self, lane_index: u32, label_id: u32) -> u32 {
        let label = match self.groups.len() < GROUPS_MAX {
            true => Label::Id(label_id),
            false => Label::Others,
        };
        let group = self.index_of_group.entry((lane_index, label));
        *group.or_insert_with(|| {
            self.groups.push((lane_index, label, Measures::default()));
            self.groups.len() as u32 - 1
        })
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

/// A label of a lane, what it amounts to, and the time in which it ran.
type Gathered = (Label, Measures<Durations>, u64);

/// Labels of one name as one, whose time is that of the first.
fn joined(
    labels: Vec<Gathered>,
    name: &dyn Fn(Label) -> String,
    kept: &mut Kept,
) -> io::Result<Vec<Gathered>> {
    let mut places = HashMap::new();
    let mut joined: Vec<Gathered> = Vec::new();
    for (label, measures, busy_ns) in labels {
        let place = *places.entry(name(label)).or_insert(joined.len());
        match joined.get_mut(place) {
            Some((_, first, _)) => {
                first.add(&measures);
                first.durations.add(measures.durations, kept)?;
            }
            None => joined.push((label, measures, busy_ns)),
        }
    }
    Ok(joined)
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

    /// Of durations: three quantiles and the histogram.
    struct Said {
        quantiles_ns: [Option<u64>; 4],
        histogram: Vec<(u64, u64)>,
    }

    const QUANTILES: [f64; 4] = [0.3, 0.5, 0.9, 0.99];

    fn figures(events: impl IntoIterator<Item = Event>) -> Figures<Said> {
        let mut statistics = Statistics::new();
        for event in events {
            statistics.event(&event).unwrap();
        }
        let question = Question {
            say: |durations: &Distribution| Said {
                quantiles_ns: QUANTILES.map(|quantile| durations.quantile_ns(quantile)),
                histogram: durations.histogram(4),
            },
            name: None,
        };
        statistics.finish(&[], 0, 0, &question).unwrap()
    }

    #[test]
    fn quantiles_are_at_most_a_thousandth_above() {
        let durations = (0..20_000u64).map(|i| i * i * 7919 % 1_000_000_007);
        let mut sorted: Vec<u64> = durations.clone().collect();
        sorted.sort_unstable();
        let found = figures(durations.map(|duration_ns| event(1, 2, duration_ns))).measures;
        for (found, rank) in found
            .durations
            .quantiles_ns
            .iter()
            .zip([6_000, 10_000, 18_000, 19_800])
        {
            let exact = sorted[rank - 1];
            let found = found.unwrap();
            assert!(
                exact <= found && found <= exact + exact / 1_000,
                "{rank}: {exact}, {found}"
            );
        }
    }

    /// The bug: each label of each lane of each capture had a histogram, however few its regions; 500 captures took gigabytes. Then each with
    /// more than a few regions had: one capture of 1,024 labels took 80 MiB and more.
    #[test]
    fn durations_say_the_same_wherever_they_are() {
        for histograms in [0, HISTOGRAMS_MAX] {
            let mut kept = Kept {
                histograms,
                ..Kept::default()
            };
            let mut of = |count: usize| {
                let mut durations = Durations::default();
                let mut expected = empty();
                for i in 0..count as u64 {
                    let duration_ns = i * i * 7919 % 1_000_000_007;
                    durations.record(duration_ns, &mut kept).unwrap();
                    record(&mut expected, duration_ns);
                }
                let is_many = histograms == 0 && count > FEW_MAX;
                assert_eq!(durations.many.is_some(), is_many);
                (durations, expected)
            };
            let counts = [0, 1, FEW_MAX - 1, FEW_MAX, FEW_MAX + 1, 3 * FEW_MAX];
            let pairs = counts.map(|one| counts.map(|other| (of(one), of(other))));
            for ((mut durations, mut expected), (others, expected_others)) in
                pairs.into_iter().flatten()
            {
                durations.add(others, &mut kept).unwrap();
                add(&mut expected, &expected_others);
                let mut found = empty();
                durations.add_to(&mut found, &kept).unwrap();
                assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn the_longest_durations_fit() {
        const LONGEST: u64 = u64::MAX;
        let found = figures([event(1, 1, LONGEST), event(1, 1, 0), event(1, 1, LONGEST)]);
        let quantiles_ns = [0, LONGEST, LONGEST, LONGEST].map(Some);
        assert_eq!(found.measures.durations.quantiles_ns, quantiles_ns);
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
    fn labels_without_a_histogram_of_their_own_have_the_same_figures() {
        let duration_ns = |i: u64| i * i * 7919 % 1_000_000_007;
        let labels = 2 * HISTOGRAMS_MAX as u64;
        let each = 2 * FEW_MAX as u64 + 7;
        let found =
            figures((0..each).flat_map(|i| {
                (0..labels).map(move |label| event(0, label as u32, duration_ns(i)))
            }));
        let alone = figures((0..each).map(|i| event(0, 0, duration_ns(i))));
        let expected = &alone.measures.durations;
        for label in &found.lanes[0].labels {
            assert_eq!(label.measures.durations.quantiles_ns, expected.quantiles_ns);
            assert_eq!(label.measures.durations.histogram, expected.histogram);
        }
        let all = &found.lanes[0].measures;
        assert_eq!(
            (all.count, all.durations.quantiles_ns),
            (labels * each, expected.quantiles_ns)
        );
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
        let bars = found.durations.histogram;
        assert_eq!(bars.iter().map(|bar| bar.1).sum::<u64>(), 1_000);
        assert!(bars.is_sorted());
    }
}

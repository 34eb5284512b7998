//! The statistics of the regions of one capture: counts, durations, bytes, by lane and by label; which regions were slow, which came last.
//!
//! Memory is bounded whatever the capture holds (see [`crate::figures::groups`] and [`crate::figures::durations`]). Percentiles are rounded up by at
//! most 0.1 %; all other figures are exact.

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::mem;

use hdrhistogram::Histogram;
use hrx_trace_reader::{Event, OpenRegion};

use crate::figures::distribution::{Distribution, add, empty};
use crate::figures::durations::{DurationStore, Durations};
use crate::figures::groups::{Groups, LabelKey, LaneKey};
use crate::figures::measures::Measures;
use crate::figures::slowest::Slowest;
use crate::figures::sweep::{Coverage, Gap, Sweep};
use crate::input::other_lanes::LaneCount;

/// The last failed regions that are remembered.
const FAILED_MAX: usize = 10;
/// The last regions of each lane that are remembered.
const LAST_MAX: usize = 3;
/// The longest gaps of each lane that are remembered.
const GAPS_MAX: usize = 3;

/// What to make of the gathered regions.
pub struct Query<'name, D> {
    /// Describes the durations of a lane or a label.
    pub describe: fn(&Distribution) -> D,
    /// If given, labels of the same name are one label.
    pub name: Option<&'name dyn Fn(LabelKey) -> String>,
}

/// The figures of a lane.
#[derive(Debug)]
pub struct LaneFigures<D> {
    pub lane: LaneKey,
    pub measures: Measures<D>,
    pub busy_ns: u64,
    pub labels: Vec<LabelFigures<D>>,
    /// The last regions that completed, in that order.
    pub last: Vec<Event>,
    /// The longest stretches without a region, the longest first.
    pub gaps: Vec<Gap>,
}

/// The figures of a label on a lane.
#[derive(Debug)]
pub struct LabelFigures<D> {
    pub label: LabelKey,
    pub measures: Measures<D>,
    pub busy_ns: u64,
}

/// How long two lanes were busy at once.
#[derive(Debug)]
pub struct Overlap {
    pub lanes: [LaneKey; 2],
    pub shared_ns: u64,
}

/// The figures of a capture.
#[derive(Debug)]
pub struct Figures<D> {
    /// All regions together.
    pub measures: Measures<D>,
    /// The time in which any region ran.
    pub busy_ns: u64,
    /// In the order of their numbers; labels by their total duration, the largest first.
    pub lanes: Vec<LaneFigures<D>>,
    /// How many lanes [`LaneKey::Others`] stands for.
    pub other_lanes: Option<LaneCount>,
    /// The end of the region that ended last.
    pub latest_ns: u64,
    /// Any two lanes.
    pub overlaps: Vec<Overlap>,
    /// The last regions that failed, in the order of their completion.
    pub failed: Vec<Event>,
    /// The longest regions, the longest first, the first of equals first.
    pub slowest: Vec<Event>,
}

/// Gathers the completed regions of a capture.
#[derive(Debug, Default)]
pub struct Statistics {
    groups: Groups<Measures<Durations>, VecDeque<Event>>,
    store: DurationStore,
    slowest: Slowest,
    failed: VecDeque<Event>,
    latest_ns: u64,
    sweep: Sweep,
}

impl Statistics {
    /// Statistics in which these lanes have figures of their own, so that they can be compared with those of another capture.
    pub fn with_lanes(lanes: impl IntoIterator<Item = u32>) -> Self {
        Self {
            groups: Groups::with_lanes(lanes),
            ..Self::default()
        }
    }

    /// Adds a completed region.
    ///
    /// # Errors
    /// A temporary file cannot be written.
    pub fn event(&mut self, event: &Event) -> io::Result<()> {
        let index = self.groups.index(event.lane, event.label_id);
        let group = &mut self.groups.groups[index as usize];
        group.content.note(event, &mut self.store)?;
        let (_, last) = &mut self.groups.lanes[group.lane as usize];
        keep_last(last, LAST_MAX, event);
        if event.failed {
            keep_last(&mut self.failed, FAILED_MAX, event);
        }
        self.slowest.note(event);
        self.latest_ns = self.latest_ns.max(event.end_ns());
        self.sweep.region(event.start_ns, event.end_ns(), index)
    }

    /// Adds the regions that were still running at the last moment known, `last_ns`, to the time covered, and sums up. A lane that was busy until
    /// `end_ns` or beyond has no gap at its end.
    ///
    /// # Errors
    /// A temporary file cannot be written or read.
    pub fn finish<D>(
        mut self,
        open: &[OpenRegion],
        last_ns: u64,
        end_ns: u64,
        query: &Query<D>,
    ) -> io::Result<Figures<D>> {
        for region in open {
            let group = self.groups.index(region.lane, region.label_id);
            self.sweep.region(region.start_ns, last_ns, group)?;
            self.latest_ns = self.latest_ns.max(last_ns);
        }
        let Groups {
            groups,
            lanes,
            other_lanes,
            ..
        } = self.groups;
        let lane_of: Vec<u32> = groups.iter().map(|group| group.lane).collect();
        let end_ns = end_ns.max(self.latest_ns);
        let mut coverage = self.sweep.finish(&lane_of, lanes.len(), GAPS_MAX, end_ns)?;
        let keys: Vec<LaneKey> = lanes.iter().map(|(lane, _)| *lane).collect();
        let overlaps = overlaps(&keys, &coverage);
        let mut labels: Vec<Vec<GatheredLabel>> = lanes.iter().map(|_| Vec::new()).collect();
        for (group, busy_ns) in groups.into_iter().zip(&coverage.group_busy_ns) {
            labels[group.lane as usize].push(GatheredLabel {
                label: group.label,
                measures: group.content,
                busy_ns: *busy_ns,
            });
        }
        let mut summing = Summing {
            query,
            store: self.store,
            of_all: empty(),
            of_lane: empty(),
            of_label: empty(),
        };
        let mut measures = Measures::default();
        let mut figures = Vec::with_capacity(lanes.len());
        for (index, ((lane, last), labels)) in lanes.into_iter().zip(labels).enumerate() {
            let (lane_measures, labels) = summing.lane(labels)?;
            measures.add(&lane_measures);
            figures.push(LaneFigures {
                lane,
                measures: lane_measures,
                busy_ns: coverage.lane_busy_ns[index],
                labels,
                last: last.into(),
                gaps: mem::take(&mut coverage.lane_gaps[index]),
            });
        }
        figures.sort_by_key(|lane| lane.lane);
        Ok(Figures {
            measures: summing.described(&measures, &summing.of_all),
            busy_ns: coverage.busy_ns,
            lanes: figures,
            other_lanes: other_lanes.count(),
            latest_ns: self.latest_ns,
            overlaps,
            failed: self.failed.into(),
            slowest: self.slowest.into_events(),
        })
    }
}

/// A label on a lane as it was gathered.
struct GatheredLabel {
    label: LabelKey,
    measures: Measures<Durations>,
    busy_ns: u64,
}

/// Sums up lane after lane. The histograms are reused, so that there is one of each at a time.
struct Summing<'query, 'name, D> {
    query: &'query Query<'name, D>,
    store: DurationStore,
    of_all: Histogram<u32>,
    of_lane: Histogram<u32>,
    of_label: Histogram<u32>,
}

impl<D> Summing<'_, '_, D> {
    fn lane(
        &mut self,
        mut labels: Vec<GatheredLabel>,
    ) -> io::Result<(Measures<D>, Vec<LabelFigures<D>>)> {
        if let Some(name) = self.query.name {
            labels = joined_by_name(labels, name, &mut self.store)?;
        }
        self.of_lane.reset();
        let mut lane_measures = Measures::default();
        let mut figures = Vec::with_capacity(labels.len());
        for gathered in labels {
            let measures = &gathered.measures;
            self.of_label.reset();
            measures.durations.add_to(&mut self.of_label, &self.store)?;
            // Adding few durations is cheaper than adding a histogram; reading them from the file again is not.
            match measures.durations.are_stored() {
                false => measures.durations.add_to(&mut self.of_lane, &self.store)?,
                true => add(&mut self.of_lane, &self.of_label),
            }
            lane_measures.add(measures);
            figures.push(LabelFigures {
                label: gathered.label,
                measures: self.described(&measures.with(()), &self.of_label),
                busy_ns: gathered.busy_ns,
            });
        }
        figures.sort_by_key(|label| (Reverse(label.measures.total_ns), label.label));
        add(&mut self.of_all, &self.of_lane);
        Ok((self.described(&lane_measures, &self.of_lane), figures))
    }

    fn described(&self, counts: &Measures<()>, histogram: &Histogram<u32>) -> Measures<D> {
        counts.with((self.query.describe)(&Distribution {
            count: counts.count,
            max_ns: counts.max_ns,
            histogram,
        }))
    }
}

/// Joins labels of the same name into one, which keeps the busy time of the first.
fn joined_by_name(
    labels: Vec<GatheredLabel>,
    name: &dyn Fn(LabelKey) -> String,
    store: &mut DurationStore,
) -> io::Result<Vec<GatheredLabel>> {
    let mut places = HashMap::new();
    let mut joined: Vec<GatheredLabel> = Vec::new();
    for gathered in labels {
        let place = *places.entry(name(gathered.label)).or_insert(joined.len());
        match joined.get_mut(place) {
            Some(first) => {
                first.measures.add(&gathered.measures);
                let durations = gathered.measures.durations;
                first.measures.durations.add(durations, store)?;
            }
            None => joined.push(gathered),
        }
    }
    Ok(joined)
}

/// Keeps the last events.
fn keep_last(last: &mut VecDeque<Event>, count_max: usize, event: &Event) {
    if last.len() == count_max {
        last.pop_front();
    }
    last.push_back(event.clone());
}

fn overlaps(lanes: &[LaneKey], coverage: &Coverage) -> Vec<Overlap> {
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
    use crate::figures::durations::{FEW_MAX, HISTOGRAMS_MAX};
    use crate::figures::groups::{GROUPS_MAX, LANES_MAX};

    fn event(lane: u32, label_id: u32, duration_ns: u64) -> Event {
        let mut event = Event::default();
        event.sequence = 1;
        event.start_ns = 1_000;
        event.duration_ns = duration_ns;
        event.lane = lane;
        event.label_id = label_id;
        event.thread_id = 1;
        event
    }

    /// Four quantiles and the histogram.
    struct Described {
        quantiles_ns: [Option<u64>; 4],
        histogram: Vec<(u64, u64)>,
    }

    const QUANTILES: [f64; 4] = [0.3, 0.5, 0.9, 0.99];

    fn figures(events: impl IntoIterator<Item = Event>) -> Figures<Described> {
        let mut statistics = Statistics::default();
        for event in events {
            statistics.event(&event).unwrap();
        }
        let query = Query {
            describe: |durations: &Distribution| Described {
                quantiles_ns: QUANTILES.map(|quantile| durations.quantile_ns(quantile)),
                histogram: durations.histogram(4),
            },
            name: None,
        };
        statistics.finish(&[], 0, 0, &query).unwrap()
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
        assert_eq!(found.lanes[64].lane, LaneKey::Others);
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

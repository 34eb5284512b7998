//! How fast each lane copied: bytes per second over time, for counters in viewers.
//!
//! A region's bytes are spread evenly over its duration. Time is divided into at most [`BINS`] bins per lane, or fewer if many captures share
//! [`BINS_OF_CAPTURES`]. The width of the bins doubles whenever a region does not fit into them. So memory is bounded, an event costs the same
//! however long it is, and every event counts, in whatever order they come.
//! A sample is the mean of a bin. Only the first [`COUNTERS_MAX`] lanes that copy have a counter.

use std::mem;

use crate::tracks::by_lane::ByLane;

/// Bins of a lane, at most: about as many as a screen has columns.
const BINS: usize = 2_048;
/// Bins of a lane in all captures together.
const BINS_OF_CAPTURES: usize = 1 << 15;
/// Bins that a lane gets however many captures there are.
const BINS_MIN: usize = 64;
/// The narrowest bin: 2^10 ns.
const SHIFT_MIN: u32 = 10;
/// Lanes that have a counter.
const COUNTERS_MAX: usize = 64;

/// The copy rates of the lanes of one capture.
pub struct CopyRates {
    lanes: ByLane<Bins>,
    /// The number of lanes.
    copying: usize,
    bins_max: usize,
}

/// A lane's rate from a moment onwards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    pub at_ns: u64,
    pub gigabytes_per_second: f64,
}

impl CopyRates {
    /// The rates of one of `captures` captures.
    pub fn new(captures: usize) -> Self {
        let share = BINS_OF_CAPTURES / captures.max(1);
        Self {
            lanes: ByLane::default(),
            copying: 0,
            bins_max: share.clamp(BINS_MIN, BINS),
        }
    }

    /// Adds a completed region.
    #[inline]
    pub fn add(&mut self, lane: u32, start_ns: u64, end_ns: u64, copied_bytes: u64) {
        if copied_bytes > 0 {
            match self.lanes.get_mut(lane) {
                Some(bins) => bins.add(start_ns, end_ns, copied_bytes as f64),
                None if self.copying < COUNTERS_MAX => {
                    self.copying += 1;
                    let new = || Bins::new(self.bins_max);
                    let bins = self.lanes.get_or_insert_with(lane, new);
                    bins.add(start_ns, end_ns, copied_bytes as f64);
                }
                None => {}
            }
        }
    }

    /// Takes the rates out: lane by lane, the moments at which the rate changes. The last sample of a lane is 0.
    pub fn samples(&mut self) -> impl Iterator<Item = (u32, Vec<Sample>)> + use<> {
        let samples = |(lane, bins): (u32, Bins)| (lane, bins.samples());
        self.copying = 0;
        mem::take(&mut self.lanes).into_iter().map(samples)
    }
}

/// The bytes of one lane, in bins of 2^`shift` nanoseconds.
struct Bins {
    max: usize,
    shift: u32,
    /// The number of the first bin, counted from time 0 in the current width.
    first: u64,
    /// Bytes copied in each bin by regions that begin or end in it.
    bytes: Vec<f64>,
    /// How much more each bin has than the one before it, from regions that cover whole bins.
    steps: Vec<f64>,
}

impl Bins {
    fn new(max: usize) -> Self {
        Self {
            max,
            shift: SHIFT_MIN,
            first: u64::MAX,
            bytes: Vec::new(),
            steps: Vec::new(),
        }
    }

    fn add(&mut self, start_ns: u64, end_ns: u64, bytes: f64) {
        let last_ns = end_ns.saturating_sub(1).max(start_ns);
        self.make_room(start_ns, last_ns);
        let bin = |at_ns: u64| ((at_ns >> self.shift) - self.first) as usize;
        let (first, last) = (bin(start_ns), bin(last_ns));
        if first == last {
            self.bytes[first] += bytes;
            return;
        }
        let per_ns = bytes / (end_ns - start_ns) as f64;
        let width_ns = 1u64 << self.shift;
        let in_first_ns = width_ns - (start_ns & (width_ns - 1));
        let in_last_ns = ((last_ns & (width_ns - 1)) + 1).min(end_ns - start_ns);
        self.bytes[first] += per_ns * in_first_ns as f64;
        self.bytes[last] += per_ns * in_last_ns as f64;
        let whole = per_ns * width_ns as f64;
        self.steps[first + 1] += whole;
        self.steps[last] -= whole;
    }

    /// Widens the bins until they include both moments.
    fn make_room(&mut self, start_ns: u64, last_ns: u64) {
        if self.bytes.is_empty() {
            self.first = start_ns >> self.shift;
        }
        loop {
            let first = self.first.min(start_ns >> self.shift);
            let end = (self.first + self.bytes.len() as u64).max((last_ns >> self.shift) + 1);
            if end - first <= self.max as u64 {
                let bins = (end - first) as usize;
                let before = (self.first - first) as usize;
                if bins > self.bytes.len() {
                    for list in [&mut self.bytes, &mut self.steps] {
                        list.resize(bins, 0.0);
                        list.rotate_right(before);
                    }
                    self.first = first;
                }
                return;
            }
            self.widen();
        }
    }

    /// Doubles the width of the bins.
    fn widen(&mut self) {
        let totals = self.totals();
        let odd = (self.first & 1) as usize;
        let mut bytes = vec![0.0; (totals.len() + odd).div_ceil(2)];
        for (index, total) in totals.into_iter().enumerate() {
            bytes[(index + odd) / 2] += total;
        }
        self.steps = vec![0.0; bytes.len()];
        self.bytes = bytes;
        self.first >>= 1;
        self.shift += 1;
    }

    /// The bytes copied in each bin.
    fn totals(&self) -> Vec<f64> {
        let mut whole = 0.0;
        let total = |(bytes, step): (&f64, &f64)| {
            whole += step;
            bytes + whole
        };
        self.bytes.iter().zip(&self.steps).map(total).collect()
    }

    fn samples(&self) -> Vec<Sample> {
        let mut samples: Vec<Sample> = Vec::new();
        for (bin, total) in (self.first..).zip(self.totals().into_iter().chain([0.0])) {
            let at_ns = u64::try_from(u128::from(bin) << self.shift).unwrap_or(u64::MAX);
            // In bytes per nanosecond. Less than a byte per second is rounding error of the sums.
            let rate = total / (1u64 << self.shift) as f64;
            let gigabytes_per_second = (rate * 1e9).round().max(0.0) / 1e9;
            let last = samples.last().map(|last| last.gigabytes_per_second);
            if last.unwrap_or_default() != gigabytes_per_second || samples.is_empty() {
                samples.push(Sample {
                    at_ns,
                    gigabytes_per_second,
                });
            }
        }
        samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(regions: &[(u64, u64, u64)], max: usize) -> Bins {
        let mut bins = Bins::new(max);
        for (start_ns, duration_ns, bytes) in regions {
            bins.add(*start_ns, start_ns + duration_ns, *bytes as f64);
        }
        bins
    }

    /// The naive computation: each region's share of each bin.
    fn naively(bins: &Bins, regions: &[(u64, u64, u64)]) -> Vec<f64> {
        let share = |from: u64, to: u64| {
            let of = |&(start, duration, bytes): &(u64, u64, u64)| match duration {
                0 => f64::from(u8::from(from <= start && start < to)) * bytes as f64,
                _ => {
                    let inside = (start + duration).min(to).saturating_sub(start.max(from));
                    bytes as f64 * inside as f64 / duration as f64
                }
            };
            regions.iter().map(of).sum()
        };
        let bin = |bin: u64| share(bin << bins.shift, (bin + 1) << bins.shift);
        (bins.first..).take(bins.bytes.len()).map(bin).collect()
    }

    proptest! {
        #[test]
        fn every_byte_lies_where_it_was_copied(
            regions in prop::collection::vec((0u64..50_000_000, prop_oneof![0u64..3_000, 0u64..20_000_000], 1u64..1 << 30), 1..60),
            max in BINS_MIN..=BINS
        ) {
            let bins = of(&regions, max);
            prop_assert!(bins.bytes.len() <= max);
            let copied: u64 = regions.iter().map(|region| region.2).sum();
            for (total, naive) in bins.totals().iter().zip(naively(&bins, &regions)) {
                prop_assert!((total - naive).abs() <= 1e-9 * copied as f64, "{total} {naive}");
            }
            let total: f64 = bins.totals().iter().sum();
            prop_assert!((total - copied as f64).abs() <= 1e-9 * copied as f64);
            prop_assert_eq!(bins.samples().last().map(|last| last.gigabytes_per_second), Some(0.0));
        }
    }

    #[test]
    fn one_copy_is_a_rate_and_an_end() {
        let mut rates = CopyRates::new(1);
        rates.add(2, 4 << 10, 8 << 10, 8 << 10);
        rates.add(1, 0, 5, 0);
        let samples: Vec<_> = rates.samples().collect();
        let sample = |at_ns, gigabytes_per_second| Sample {
            at_ns,
            gigabytes_per_second,
        };
        assert_eq!(
            samples,
            [(2, vec![sample(4 << 10, 2.0), sample(8 << 10, 0.0)])]
        );
    }

    #[test]
    fn the_ends_of_time_and_of_memory() {
        let mut rates = CopyRates::new(1);
        for lane in 0..100 {
            rates.add(lane, 0, 0, u64::MAX);
            rates.add(lane, u64::MAX, u64::MAX, u64::MAX);
            rates.add(lane, 0, u64::MAX, 1);
        }
        let samples: Vec<_> = rates.samples().collect();
        assert_eq!(samples.len(), COUNTERS_MAX);
        assert!(samples.iter().all(|(_, samples)| samples.len() <= BINS + 1));
        assert_eq!(CopyRates::new(16).bins_max, BINS);
        assert_eq!(CopyRates::new(500).bins_max, 65);
        assert_eq!(CopyRates::new(10_000).bins_max, BINS_MIN);
    }
}

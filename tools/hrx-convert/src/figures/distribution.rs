//! The distribution of durations: histograms, and what is read from them.
//!
//! A histogram holds durations to three digits, rounded up: a percentile is at most 0.1 % above the exact one, never below.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

/// Digits of a duration that a histogram keeps.
const DIGITS: u8 = 3;

/// How long some regions took. It borrows a histogram that is reused for other regions afterwards.
pub struct Distribution<'histogram> {
    /// The number of regions.
    pub count: u64,
    /// The longest duration, exactly.
    pub max_ns: u64,
    pub histogram: &'histogram Histogram<u32>,
}

impl Distribution<'_> {
    /// The duration that this share of the regions did not exceed; None without regions.
    pub fn quantile_ns(&self, quantile: f64) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        // The histogram returns the upper end of a range of durations; that of the last range is known exactly.
        match self.histogram.value_at_quantile(quantile) {
            ns if self.histogram.equivalent(ns, self.max_ns) => Some(self.max_ns),
            ns => Some(ns),
        }
    }

    /// The numbers of regions by duration, in steps of a factor of `2^(1/steps)`: the upper end of each step that is not empty, and its count.
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

/// An empty histogram. It grows to hold any duration.
pub fn empty() -> Histogram<u32> {
    Histogram::new(DIGITS).expect("a histogram takes 0 to 5 digits")
}

/// Records a duration.
pub fn record(histogram: &mut Histogram<u32>, duration_ns: u64) {
    let recorded = histogram.record(duration_ns);
    debug_assert!(recorded.is_ok(), "{recorded:?}");
}

/// Adds another histogram.
pub fn add(histogram: &mut Histogram<u32>, other: &Histogram<u32>) {
    let added = histogram.add(other);
    debug_assert!(added.is_ok(), "{added:?}");
}

//! Percentiles of two samples, compared.
//!
//! A percentile of a sample is uncertain, and more so the fewer regions there are. Each is compared by its 95 % confidence interval, taken from the
//! ranks around it: binomial, by its normal approximation; nothing is assumed about the distribution of durations except that the regions are
//! independent. Intervals that lie apart are a change; a difference between intervals that overlap may be chance; and where so few regions ran that
//! an interval would reach beyond the longest or the shortest, nothing is claimed.

use serde::Serialize;

use crate::figures::distribution::Distribution;

/// Half the width of a 95 % interval, in standard deviations.
const DEVIATIONS: f64 = 1.96;

/// What a percentile in B is, compared with that in A.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Comparison {
    Faster,
    Slower,
    /// The intervals overlap: any difference may be chance.
    Unclear,
    /// Too few regions for an interval.
    TooFew,
}

/// A percentile, and the interval in which the true one lies with 95 % confidence. `ns` is None without regions, `interval_ns` if there are too
/// few.
#[derive(Clone, Copy, Debug, Default)]
pub struct Percentile {
    pub ns: Option<u64>,
    interval_ns: Option<(u64, u64)>,
}

impl Percentile {
    pub fn new(durations: &Distribution, quantile: f64) -> Self {
        Self {
            ns: durations.quantile_ns(quantile),
            interval_ns: interval_ns(durations, quantile),
        }
    }
}

impl Comparison {
    pub fn new(a: Percentile, b: Percentile) -> Self {
        let Some((a, b)) = a.interval_ns.zip(b.interval_ns) else {
            return Self::TooFew;
        };
        match () {
            () if b.0 > a.1 => Self::Slower,
            () if b.1 < a.0 => Self::Faster,
            () => Self::Unclear,
        }
    }

    /// The word for it.
    pub fn text(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Unclear => "unclear",
            Self::TooFew => "too few",
        }
    }
}

fn interval_ns(durations: &Distribution, quantile: f64) -> Option<(u64, u64)> {
    let count = durations.count as f64;
    let rank = count * quantile;
    let half = DEVIATIONS * (rank * (1.0 - quantile)).sqrt();
    let (low, high) = (rank - half, rank + half + 1.0);
    if low < 1.0 || high > count {
        return None;
    }
    let low_ns = durations.quantile_ns(low.floor() / count)?;
    Some((low_ns, durations.quantile_ns(high.ceil() / count)?))
}

//! What is computed from samples. Other work on the machine makes some samples larger and none smaller, so tables show medians and minima, never means.
//! Contenders are compared by the ratio of their samples in the same round, which had the same neighbours.

/// The middle of `values`; between the two middle ones if their number is even. NaN if there are none.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

/// The smallest of `values`. NaN if there are none.
#[must_use]
pub fn minimum(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NAN, f64::min)
}

/// The median of sample / baseline over the rounds.
#[must_use]
pub fn ratio(samples: &[f64], baseline: &[f64]) -> f64 {
    let ratios: Vec<f64> = samples.iter().zip(baseline).map(|(s, b)| s / b).collect();
    median(&ratios)
}

/// The slope of the straight line through `points`, by least squares. NaN for fewer than two.
#[must_use]
pub fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / count;
    let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / count;
    let covariance: f64 = points
        .iter()
        .map(|(x, y)| (x - mean_x) * (y - mean_y))
        .sum();
    let variance: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    covariance / variance
}

#[cfg(test)]
mod tests {
    use super::{median, minimum, ratio, slope};

    #[test]
    fn the_median_is_the_middle_whatever_the_order() {
        assert_eq!(median(&[9.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 100.0]), 3.0);
        assert_eq!(median(&[7.0]), 7.0);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn the_minimum_is_one_of_the_values() {
        assert_eq!(minimum(&[3.0, 2.0, 5.0]), 2.0);
        assert!(minimum(&[]).is_nan());
    }

    #[test]
    fn a_ratio_compares_within_a_round() {
        // Other work slows both in the second round; the ratio of the medians would be 20 / 10.
        assert_eq!(ratio(&[15.0, 60.0, 20.0], &[10.0, 40.0, 10.0]), 1.5);
    }

    #[test]
    fn a_slope_is_that_of_the_line() {
        assert_eq!(slope(&[(0.0, 5.0), (10.0, 25.0), (20.0, 45.0)]), 2.0);
        assert!(slope(&[(1.0, 1.0)]).is_nan());
    }
}

//! Quantities for people: counts with their thousands grouped, durations, shares, rates.

use indicatif::HumanCount;

/// "1 event", "2 events".
pub fn counted(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {what}{plural}", HumanCount(count))
}

/// A duration in a suitable unit: with three decimals, from two minutes on as a clock shows it, from a day on with the days before it.
pub fn duration_text(ns: u64) -> String {
    let seconds = ns / 1_000_000_000;
    let thousandths =
        |unit_ns: u64| format!("{}.{:03}", ns / unit_ns, ns % unit_ns / (unit_ns / 1_000));
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => thousandths(1_000) + " µs",
        1_000_000..1_000_000_000 => thousandths(1_000_000) + " ms",
        1_000_000_000..120_000_000_000 => thousandths(1_000_000_000) + " s",
        120_000_000_000..86_400_000_000_000 => format!(
            "{}:{:02}:{:02}",
            seconds / 3_600,
            seconds / 60 % 60,
            seconds % 60
        ),
        _ => format!(
            "{} d {}:{:02}:{:02}",
            HumanCount(seconds / 86_400),
            seconds / 3_600 % 24,
            seconds / 60 % 60,
            seconds % 60
        ),
    }
}

/// A duration with three digits, in at most seven columns.
pub fn short_text(ns: u64) -> String {
    const DAY_NS: f64 = 86_400e9;
    const YEAR_NS: f64 = 365.25 * DAY_NS;
    let value = ns as f64;
    let units = [
        (1e3, "µs"),
        (1e6, "ms"),
        (1e9, "s"),
        (3_600e9, "h"),
        (DAY_NS, "d"),
        (YEAR_NS, "y"),
    ];
    if ns < 1_000 {
        return format!("{ns} ns");
    }
    for (index, (unit, name)) in units.iter().enumerate() {
        // The next unit takes over where this one would need more than three digits.
        let limit = match units.get(index + 1) {
            Some((next, _)) if *next / unit == 1e3 => 999.5,
            Some((next, _)) => (next / unit) - 0.5,
            None => f64::INFINITY,
        };
        let amount = value / unit;
        if amount < limit {
            return format!("{} {name}", three_digits(amount));
        }
    }
    String::new()
}

/// A count in at most that many columns, at least 6.
pub fn count_text(count: u64, columns: usize) -> String {
    let whole = HumanCount(count).to_string();
    if whole.len() <= columns {
        return whole;
    }
    let amount = count as f64;
    let (unit, name) = [
        (1e6, "M"),
        (1e9, "G"),
        (1e12, "T"),
        (1e15, "P"),
        (1e18, "E"),
    ]
    .into_iter()
    .find(|(unit, _)| amount / unit < 999.5)
    .unwrap_or((1e18, "E"));
    format!("{} {name}", three_digits(amount / unit))
}

/// GB/s with three digits.
pub fn bandwidth_text(gigabytes_per_second: f64) -> String {
    match gigabytes_per_second {
        amount if amount > 0.0 && amount < 0.005 => "<0.01".to_owned(),
        amount if amount >= 1e6 => format!("{amount:.2e}"),
        amount => three_digits(amount),
    }
}

/// A share, in at most six columns.
pub fn percent_text(share: f64) -> String {
    match share * 100.0 {
        percent if percent > 0.0 && percent < 0.05 => "<0.1 %".to_owned(),
        percent => format!("{percent:.1}%").replace('%', " %"),
    }
}

/// 1.23, 12.3, 123, 1,234.
fn three_digits(amount: f64) -> String {
    let decimals = match amount {
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    match amount {
        ..999.5 => format!("{amount:.decimals$}"),
        _ => HumanCount(amount.round() as u64).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bug: a capture of 89 days lasted "89 d 23:46:29 h", and one of hours "1:02:03 h", as if the clock form still needed a unit. Found by
    /// reading the messages of long captures aloud.
    #[test]
    fn durations() {
        assert_eq!(duration_text(0), "0 ns");
        assert_eq!(duration_text(999), "999 ns");
        assert_eq!(duration_text(1_000), "1.000 µs");
        assert_eq!(duration_text(12_345_678), "12.345 ms");
        assert_eq!(duration_text(119_999_999_999), "119.999 s");
        assert_eq!(duration_text(3_723_000_000_000), "1:02:03");
        assert_eq!(duration_text(200 * 86_400_000_000_000), "200 d 0:00:00");
        assert_eq!(duration_text(u64::MAX), "213,503 d 23:34:33");
    }

    /// The bug: "3599 s" stood next to counts such as "1,234": thousands were not grouped everywhere.
    #[test]
    fn short_durations() {
        for (ns, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.00 µs"),
            (9_994, "9.99 µs"),
            (9_996, "10.0 µs"),
            (999_499, "999 µs"),
            (999_500, "1.00 ms"),
            (59_900_000_000, "59.9 s"),
            (3_599_000_000_000, "3,599 s"),
            (3_600_000_000_000, "1.00 h"),
            (86_400_000_000_000, "1.00 d"),
            (u64::MAX, "585 y"),
        ] {
            assert_eq!(short_text(ns), text);
        }
    }

    #[test]
    fn short_counts_and_shares() {
        assert_eq!(count_text(1_234_567, 10), "1,234,567");
        assert_eq!(count_text(12_345_678_901, 10), "12.3 G");
        assert_eq!(count_text(u64::MAX, 7), "18.4 E");
        assert_eq!(bandwidth_text(0.001), "<0.01");
        assert_eq!(bandwidth_text(999.4), "999");
        assert_eq!(bandwidth_text(999.5), "1,000");
        assert_eq!(bandwidth_text(54_321.6), "54,322");
        assert_eq!(bandwidth_text(1e6), "1.00e6");
        assert_eq!(percent_text(0.0), "0.0 %");
        assert_eq!(percent_text(0.0001), "<0.1 %");
        assert_eq!(percent_text(0.12345), "12.3 %");
        assert_eq!(percent_text(1.0), "100.0 %");
    }

    #[test]
    fn counts() {
        assert_eq!(counted(1, "event"), "1 event");
        assert_eq!(counted(4_000_000, "event"), "4,000,000 events");
    }
}

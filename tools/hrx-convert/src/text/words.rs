//! What is said of a capture to people, in words: how it ended, what is missing, how long; the line that ends a conversion.

use hrx_trace_reader::{Account, Ending, Report};
use indicatif::HumanCount;

use crate::input::captures::{Alignment, Captures};
use crate::input::conversion::Outcome;

/// How a capture ended, said at its last moment.
pub fn ending_text(ending: Ending) -> &'static str {
    match ending {
        Ending::Live => "still recording when it was read",
        Ending::Finished => "finished by its writer",
        Ending::WriterDied => "the writer died; this is the last moment known",
    }
}

/// How a capture ended, said beside other things.
pub fn ending_words(ending: Ending) -> &'static str {
    match ending {
        Ending::Live => "still recording",
        Ending::Finished => "finished",
        Ending::WriterDied => "the writer died",
    }
}

/// Everything that was lost besides the overwritten, which are a ring's way of life. None: nothing was.
pub fn losses_text(report: &Report) -> Option<String> {
    losses_with(report, report.account.torn)
}

/// The same where `torn` is what is to be said of torn records: 0 where it is said already.
fn losses_with(report: &Report, torn: u64) -> Option<String> {
    let account = &report.account;
    let losses: Vec<String> = [
        (torn, "torn"),
        (account.skipped, "of a kind unknown to this version"),
        (account.in_flight, "being written as the file was read"),
        (
            account.overtaken,
            "overtaken by the writer as the file was read",
        ),
        (report.rejected, "rejected, begun before the capture"),
        (
            report.open_refused,
            "not shown while running, the open table being full",
        ),
        (report.open_torn, "torn in the open table"),
        (
            report.labels_refused,
            "without its label, the label table being full",
        ),
        (report.damages.len() as u64, "damaged outside the records"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{} {what}", HumanCount(count)))
    .collect();
    (!losses.is_empty()).then(|| losses.join("; "))
}

/// One line: events, time span, what is left out, overwritten, torn, open regions, how the capture ended.
pub fn summary(outcome: &Outcome) -> String {
    let report = &outcome.report;
    let account = &report.account;
    let open = report.open_regions.len();
    let mut line = format!(
        "{} over {} (host-observed), {} overwritten, {} torn, {}; {}",
        counted(outcome.shown(), "event"),
        duration_text(span_ns(report)),
        HumanCount(account.overwritten),
        HumanCount(account.torn),
        counted(open as u64, "open region"),
        ending_words(report.ending),
    );
    if let Some(left_out) = left_out_text(outcome) {
        line.push_str("; ");
        line.push_str(&left_out);
    }
    if let Some(losses) = losses_with(report, 0) {
        line.push_str("; besides: ");
        line.push_str(&losses);
    }
    line
}

/// What a filter left out; None: there is none.
pub fn left_out_text(outcome: &Outcome) -> Option<String> {
    let mut text = format!("filtered out: {}", counted(outcome.filtered_out, "event"));
    if outcome.open_filtered_out > 0 {
        text += &format!(", {}", counted(outcome.open_filtered_out, "open region"));
    }
    if outcome.report.account.not_read > 0 {
        text += &format!(
            "; not read: {}",
            counted(outcome.report.account.not_read, "event")
        );
    }
    outcome.is_filtered.then_some(text)
}

/// One line for several captures together.
pub fn total(captures: &Captures, outcomes: &[Outcome]) -> String {
    let sum = |of: fn(&Outcome) -> u64| outcomes.iter().map(of).fold(0, u64::saturating_add);
    let first_ns = outcomes
        .iter()
        .filter_map(|outcome| outcome.report.first_ns)
        .min();
    let last_ns = outcomes.iter().map(|outcome| outcome.report.last_ns).max();
    let span_ns = last_ns
        .unwrap_or_default()
        .saturating_sub(first_ns.unwrap_or_default());
    let mut line = format!(
        "total: {} of {} over {} (host-observed), {} overwritten, {} torn, {}",
        counted(sum(Outcome::shown), "event"),
        counted(captures.len() as u64, "capture"),
        duration_text(span_ns),
        HumanCount(sum(|outcome| outcome.report.account.overwritten)),
        HumanCount(sum(|outcome| outcome.report.account.torn)),
        counted(
            sum(|outcome| outcome.report.open_regions.len() as u64),
            "open region"
        ),
    );
    if outcomes.iter().any(|outcome| outcome.is_filtered) {
        let filtered_out = sum(|outcome| outcome.filtered_out);
        line += &format!("; filtered out: {}", counted(filtered_out, "event"));
    }
    line + match captures.alignment {
        Alignment::Single => "",
        Alignment::MonotonicClock => "; aligned by CLOCK_MONOTONIC, for all are of one boot",
        Alignment::WallTime => {
            "; aligned by wall time, which may be off: they are not all of one boot"
        }
    }
}

/// Whether nothing older than what is there was overwritten. The moment since when that holds does not tell: it may be the very first.
pub fn is_complete(report: &Report) -> bool {
    (report.account.overwritten, report.account.overtaken) == (0, 0)
}

/// From the first beginning to the last moment known.
pub fn span_ns(report: &Report) -> u64 {
    report
        .first_ns
        .map_or(0, |first_ns| report.last_ns.saturating_sub(first_ns))
}

/// "1 event", "2 events".
pub fn counted(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {what}{plural}", HumanCount(count))
}

/// A duration in the unit that suits it, with the digits that a person reads.
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
            "{}:{:02}:{:02} h",
            seconds / 3_600,
            seconds / 60 % 60,
            seconds % 60
        ),
        _ => format!(
            "{} d {}:{:02}:{:02} h",
            HumanCount(seconds / 86_400),
            seconds / 3_600 % 24,
            seconds / 60 % 60,
            seconds % 60
        ),
    }
}

/// The identity of the account in words.
pub fn account_text(account: &Account) -> String {
    let mut identity = format!(
        "{} claimed = {} recovered + {} overwritten + {} torn",
        HumanCount(account.claimed),
        HumanCount(account.recovered),
        HumanCount(account.overwritten),
        HumanCount(account.torn)
    );
    for (count, what) in [
        (account.skipped, "of an unknown kind"),
        (account.in_flight, "being written"),
        (account.overtaken, "overtaken"),
        (account.not_read, "not read"),
    ] {
        if count > 0 {
            identity += &format!(" + {} {what}", HumanCount(count));
        }
    }
    identity
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
        // The next unit's turn comes where this one's three digits end.
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

/// A count in at most so many columns.
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

/// 1.23, 12.3, 123, 1234.
fn three_digits(amount: f64) -> String {
    let decimals = match amount {
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    format!("{amount:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        assert_eq!(duration_text(0), "0 ns");
        assert_eq!(duration_text(999), "999 ns");
        assert_eq!(duration_text(1_000), "1.000 µs");
        assert_eq!(duration_text(12_345_678), "12.345 ms");
        assert_eq!(duration_text(119_999_999_999), "119.999 s");
        assert_eq!(duration_text(3_723_000_000_000), "1:02:03 h");
        assert_eq!(duration_text(200 * 86_400_000_000_000), "200 d 0:00:00 h");
        assert_eq!(duration_text(u64::MAX), "213,503 d 23:34:33 h");
    }

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
            (3_599_000_000_000, "3599 s"),
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

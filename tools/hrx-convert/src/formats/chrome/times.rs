//! Times as viewers have to find them: microseconds in decimals, which they read as doubles, and add.
//!
//! Three decimals say a nanosecond, and the doubles of three such times still need not add up: `ts + dur` can exceed the `ts` at which the next
//! region begins, and speedscope then takes the next region for a child of this one. So a region ends 0.4 ns early, and one that ends with
//! a region inside it 0.2 ns early, in a fourth decimal. Viewers that count in nanoseconds round that away.
//!
//! A moment within a region is found likewise: chrome://tracing looks an arrow up among closed intervals, and where one region ends and the next
//! begins it takes either. So arrows point 0.1 ns into their regions, and a region without a duration has 0.3 ns for that.
//!
//! All of this holds up to [`EXACT_NS_MAX`]. Later times have three decimals, and regions keep off each other (see [`crate::tracks::lanes`]).
//! Perfetto's trace processor goes on reading them to the nanosecond up to 2^43 µs, 101.8 days. It multiplies the double by 1,000 and rounds;
//! between 2^42 µs and 2^52 ns that double resolves only halves, and what is 0.3 too late becomes 0.5. There, times are written 0.25 ns early.

use std::ops::RangeInclusive;

use indicatif::HumanCount;

use crate::formats::chrome::json::push_integer;
use crate::tracks::lanes::Precision;

/// The latest time that is exact in every viewer: 2^39 µs, 6.4 days, where a double is 0.03 ns off. Four such errors are less than any
/// distance of 0.2 ns.
pub const EXACT_NS_MAX: u64 = (1 << 39) * 1_000;

/// A tie is 0.2 ns of the 0.4 that regions end early.
pub const PRECISION: Precision = Precision {
    exact_ns_max: EXACT_NS_MAX,
    ties_max: 1,
};

/// The warning that a document needs which reaches to that moment.
pub fn imprecision(last_ns: u64) -> Option<String> {
    const DAY_NS: f64 = 86_400e9;
    let [exact, reached] = [EXACT_NS_MAX, last_ns].map(|ns| ns as f64 / DAY_NS);
    (last_ns > EXACT_NS_MAX).then(|| {
        let reached = HumanCount(reached.round() as u64);
        format!(
            "warning: the JSON reaches to day {reached}, and its viewers tell every nanosecond apart up to day {exact:.1} only: -o x.pftrace is exact at any time"
        )
    })
}

/// Where the trace processor's own double rounds up what is late by more than a quarter: from 2^42 µs to 2^52 ns.
const ROUNDED_UP_NS: RangeInclusive<u64> = (1 << 42) * 1_000 + 1..=1 << 52;

/// A moment.
#[inline]
pub fn push_ts(line: &mut Vec<u8>, ns: u64) {
    match ROUNDED_UP_NS.contains(&ns) {
        true => {
            push_thousandths(line, ns - 1);
            line.extend_from_slice(b"75");
        }
        false => push_thousandths(line, ns),
    }
}

/// A moment that lies within the region which begins there: this many tenths of a nanosecond later, where viewers can tell.
#[inline]
pub fn push_ts_within(line: &mut Vec<u8>, ns: u64, tenths: u8) {
    push_ts(line, ns);
    if ns <= EXACT_NS_MAX {
        line.push(b'0' + tenths);
    }
}

/// How long a region is that ends with this many of those inside it.
#[inline]
pub fn push_duration(line: &mut Vec<u8>, ns: u64, ties: u8) {
    match ns {
        0 => line.extend_from_slice(b"0.0003"),
        1..=EXACT_NS_MAX => {
            push_thousandths(line, ns - 1);
            line.push(b'6' + 2 * ties.min(PRECISION.ties_max));
        }
        _ => push_ts(line, ns),
    }
}

/// Nanoseconds as microseconds with three decimals.
#[inline]
fn push_thousandths(line: &mut Vec<u8>, ns: u64) {
    let decimals = (ns % 1_000) as u16;
    let digit = |value: u16| b'0' + (value % 10) as u8;
    push_integer(line, ns / 1_000);
    line.extend_from_slice(&[
        b'.',
        digit(decimals / 100),
        digit(decimals / 10),
        digit(decimals),
    ]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tracks::lanes::SHOWN_NS_MAX;

    fn text(push: impl Fn(&mut Vec<u8>)) -> String {
        let mut text = Vec::new();
        push(&mut text);
        String::from_utf8(text).expect("digits")
    }

    fn read(push: impl Fn(&mut Vec<u8>)) -> f64 {
        text(push).parse().expect("a number")
    }

    /// What Perfetto's trace processor makes of a double of microseconds.
    fn in_ns(microseconds: f64) -> u64 {
        (microseconds * 1e3).round() as u64
    }

    #[test]
    fn moments_have_three_decimals() {
        for ns in [
            0,
            1,
            10,
            999,
            1_000,
            1_001,
            123_456_789,
            (1 << 53) + 1,
            SHOWN_NS_MAX,
            u64::MAX,
        ] {
            let plain = format!("{}.{:03}", ns / 1_000, ns % 1_000);
            assert_eq!(text(|line| push_ts(line, ns)), plain);
        }
        assert_eq!(text(|line| push_ts_within(line, 1_234, 2)), "1.2342");
        assert_eq!(text(|line| push_ts(line, 1 << 52)), "4503599627370.49575");
    }

    /// The bug to exclude: a shortened duration that becomes negative.
    #[test]
    fn durations_are_shorter_and_never_negative() {
        let of = |ns, ties| text(|line| push_duration(line, ns, ties));
        assert_eq!(of(0, 0), "0.0003");
        assert_eq!(of(1, 0), "0.0006");
        assert_eq!(of(1, 1), "0.0008");
        assert_eq!(of(65, 0), "0.0646");
        assert_eq!(of(1_000, 1), "0.9998");
        assert_eq!(of(EXACT_NS_MAX, 0), "549755813887.9996");
        assert_eq!(of(EXACT_NS_MAX + 1, 0), "549755813888.001");
    }

    /// The bug: a machine whose clock said 1970, merged with one of today, was 244 ns off and split over six tracks, without a word.
    #[test]
    fn documents_that_lose_nanoseconds_are_warned_of() {
        assert_eq!(imprecision(EXACT_NS_MAX), None);
        let warning = imprecision(1_795_996_800_123_456_789).expect("a warning");
        assert_eq!(
            warning,
            "warning: the JSON reaches to day 20,787, and its viewers tell every nanosecond apart up to day 6.4 only: -o x.pftrace is exact at any time"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_096))]

        /// Three touching regions, seen in a chain of which a viewer showed 25 ms for 25 µs.
        #[test]
        fn what_touches_adds_up(start_ns in 0..EXACT_NS_MAX, part in 0u32..40, long in any::<u64>(), ties in 0u8..2) {
            let duration_ns = (1 + long % (1 << part)).min(EXACT_NS_MAX - start_ns).max(1);
            let next_ns = start_ns + duration_ns;
            let start = read(|line| push_ts(line, start_ns));
            let duration = read(|line| push_duration(line, duration_ns, ties));
            let next = read(|line| push_ts(line, next_ns));
            prop_assert!(duration > 0.0);
            prop_assert_eq!((in_ns(start), in_ns(duration)), (start_ns, duration_ns));
            let end = start + duration;
            prop_assert!(end < next);
            // An inner one that ends with it has ended before, wherever it began.
            let inner_ns = start_ns + long % duration_ns;
            let inner = read(|line| push_ts(line, inner_ns)) + read(|line| push_duration(line, next_ns - inner_ns, 0));
            if ties == 1 {
                prop_assert!(inner < end);
            }
            // Arrows lie behind what ends there, and before the end of the shortest region.
            let arrow = read(|line| push_ts_within(line, next_ns, 1));
            prop_assert!(end < arrow && arrow < next + read(|line| push_duration(line, 1, 0)));
            prop_assert_eq!(in_ns(arrow), next_ns);
            // In milliseconds too, where chrome://tracing rounds to nanoseconds as well.
            prop_assert!(start / 1e3 + duration / 1e3 < arrow / 1e3);
            let point = next / 1e3 + read(|line| push_duration(line, 0, 0)) / 1e3;
            prop_assert!(next / 1e3 <= arrow / 1e3 && arrow / 1e3 <= point);
            prop_assert_eq!(in_ns(point * 1e3), next_ns);
        }

        /// Days 50.9 to 52.1: a quarter of all times were a nanosecond late.
        #[test]
        fn the_trace_processor_reads_every_nanosecond(ns in 0u64..(1 << 43) * 1_000, near in 0u64..1 << 50) {
            for ns in [ns, *ROUNDED_UP_NS.start() - 2 + near.min(1 << 46), (1 << 52) + 2 - near.min(1 << 46)] {
                prop_assert_eq!(in_ns(read(|line| push_ts(line, ns))), ns);
                prop_assert_eq!(in_ns(read(|line| push_duration(line, ns, 0))), ns);
                prop_assert_eq!(in_ns(read(|line| push_ts_within(line, ns, 1))), ns);
            }
        }
    }
}

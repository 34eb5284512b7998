//! A moment of the capture's clock, CLOCK_MONOTONIC: one call into the vDSO, and its result as one number.
//!
//! std's `Instant` reads the same clock, takes it apart and keeps its number to itself; this module finds that number, so that a capture's start is known in
//! both, to the nanosecond.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// A reading of the clock that captures are timed by: see [`crate::Recorder::now`].
///
/// Nanoseconds of CLOCK_MONOTONIC, in 8 bytes. It belongs to no recorder: moments of one process may be given to any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment {
    monotonic_ns: u64,
}

impl Moment {
    /// This moment: see [`crate::Recorder::now`].
    #[inline(always)]
    #[must_use]
    pub fn now() -> Self {
        let monotonic_ns = match cfg!(hrx_trace_off) {
            true => 0,
            false => clock_ns(ClockId::Monotonic),
        };
        Self { monotonic_ns }
    }

    /// A moment that another reading of CLOCK_MONOTONIC gave, in nanoseconds: of a driver, of a library in another language.
    #[inline(always)]
    #[must_use]
    pub const fn from_monotonic_ns(monotonic_ns: u64) -> Self {
        Self { monotonic_ns }
    }

    /// Nanoseconds since the clock's zero, which is near the start of the machine.
    #[inline(always)]
    #[must_use]
    pub const fn monotonic_ns(self) -> u64 {
        self.monotonic_ns
    }

    /// The moment that `instant` is, if it was read between `earliest` and `latest`.
    ///
    /// `Instant` is documented to be CLOCK_MONOTONIC, and its `checked_sub` to refuse what it cannot represent, which is anything before -2^63 seconds. So
    /// 2^63 seconds and the longest further duration that can be subtracted are its number. If a future std represents more, the result is an end of the
    /// range given.
    fn of(instant: Instant, earliest: Self, latest: Self) -> Self {
        const TO_ZERO: Duration = Duration::from_secs(1 << 63);
        let is_at_or_after = |monotonic_ns| {
            let since_zero = Duration::from_nanos(monotonic_ns);
            instant.checked_sub(TO_ZERO + since_zero).is_some()
        };
        let (mut low, mut high) = (earliest.monotonic_ns, latest.monotonic_ns);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if is_at_or_after(middle) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        Self { monotonic_ns: low }
    }
}

/// The same moment twice: as std has it, and as a [`Moment`].
#[derive(Clone, Copy, Debug)]
pub struct Epoch {
    pub instant: Instant,
    pub moment: Moment,
}

impl Epoch {
    /// This moment.
    pub fn now() -> Self {
        let earliest = Moment::now();
        let instant = Instant::now();
        let moment = Moment::of(instant, earliest, Moment::now());
        Self { instant, moment }
    }
}

/// What `clock` shows now, in nanoseconds.
#[inline(always)]
pub fn clock_ns(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    // Neither is negative: the clocks began in 1970 or at boot.
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An instant that lies between two moments by the processor's order does so by its number, and two instants are as far apart as their moments.
    #[test]
    fn an_instant_and_a_moment_of_the_same_time_are_the_same() {
        let first = Epoch::now();
        for _ in 0..10_000 {
            let earliest = Moment::now();
            let epoch = Epoch::now();
            let latest = Moment::now();
            assert!(earliest <= epoch.moment && epoch.moment <= latest);
            let since_first = epoch.moment.monotonic_ns - first.moment.monotonic_ns;
            assert_eq!(
                u128::from(since_first),
                (epoch.instant - first.instant).as_nanos()
            );
        }
    }

    /// The number is found wherever it lies in the range, its ends included, and at whole seconds too.
    #[test]
    fn the_moment_of_an_instant_does_not_depend_on_the_range() {
        let Epoch { instant, moment } = Epoch::now();
        let to_second = 1_000_000_000 - moment.monotonic_ns % 1_000_000_000;
        for ahead in [0, 1, to_second - 1, to_second, to_second + 1] {
            let instant = instant + Duration::from_nanos(ahead);
            let expected = moment.monotonic_ns + ahead;
            for (below, above) in [(0, 0), (0, 1), (1, 0), (7, 100), (expected, 1 << 40)] {
                let [earliest, latest] = [expected - below, expected + above]
                    .map(|monotonic_ns| Moment { monotonic_ns });
                let found = Moment::of(instant, earliest, latest);
                assert_eq!(found.monotonic_ns, expected);
            }
        }
    }
}

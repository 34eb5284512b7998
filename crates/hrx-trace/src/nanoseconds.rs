//! Durations as the format has them: 64 bits of nanoseconds, saturating after 584 years.

use std::time::Duration;

use hrx_trace_format::record::FLAG_SATURATED;

const SECOND_NS: u64 = 1_000_000_000;

/// `duration` in nanoseconds, and the flag to set: [`FLAG_SATURATED`] if it does not fit 64 bits, else none.
#[inline(always)]
pub fn nanoseconds(duration: Duration) -> (u64, u8) {
    // One second less than fits, so that the nanoseconds on top always fit: one multiplication, and no 128-bit arithmetic.
    const SECONDS_FAST: u64 = u64::MAX / SECOND_NS - 1;
    if duration.as_secs() <= SECONDS_FAST {
        (
            duration.as_secs() * SECOND_NS + u64::from(duration.subsec_nanos()),
            0,
        )
    } else {
        nanoseconds_of_centuries(duration)
    }
}

#[cold]
fn nanoseconds_of_centuries(duration: Duration) -> (u64, u8) {
    match u64::try_from(duration.as_nanos()) {
        Ok(nanoseconds) => (nanoseconds, 0),
        Err(_) => (u64::MAX, FLAG_SATURATED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_to_the_last_that_fits_and_saturated_after_it() {
        let last = Duration::from_nanos(u64::MAX);
        let nanosecond = Duration::from_nanos(1);
        for duration in [
            Duration::ZERO,
            Duration::new(1, 999_999_999),
            Duration::from_secs(last.as_secs() - 1),
            Duration::new(last.as_secs() - 1, 999_999_999),
            Duration::from_secs(last.as_secs()),
            last - nanosecond,
            last,
        ] {
            let exact = u64::try_from(duration.as_nanos()).expect("it fits");
            assert_eq!(nanoseconds(duration), (exact, 0));
        }
        for duration in [last + nanosecond, Duration::MAX] {
            assert_eq!(nanoseconds(duration), (u64::MAX, FLAG_SATURATED));
        }
    }
}

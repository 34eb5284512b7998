//! How the timelines of two captures belong together.

use hrx_trace_format::Identity;
use hrx_trace_format::header::CLOCK_MONOTONIC;

/// How far after the start of one capture another one started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Distance {
    /// By CLOCK_MONOTONIC, in nanoseconds; negative: before it. As exact as the clock.
    Exactly(i128),
    /// By CLOCK_REALTIME, in nanoseconds; negative: before it. Only as good as the wall clocks of the two agree.
    ByWallTime(i128),
}

/// How far after `first` the capture `second` started.
///
/// It is known exactly if both are of the same boot and timed by CLOCK_MONOTONIC, and if both say how far the clock of their time namespace is from the
/// machine's own, or are of the same time namespace.
#[must_use]
pub fn distance(first: &Identity, second: &Identity) -> Distance {
    let after = |first: u64, second: u64| i128::from(second).saturating_sub(i128::from(first));
    let monotonic_ns = after(first.epoch_monotonic_ns, second.epoch_monotonic_ns);
    let comparable = first.boot_id == second.boot_id
        && first.boot_id != [0; 16]
        && [first, second].map(|each| each.clock) == [CLOCK_MONOTONIC; 2];
    let offsets = first.monotonic_offset().zip(second.monotonic_offset());
    let same_namespace = first.time_namespace == second.time_namespace && first.time_namespace != 0;
    match (comparable, offsets) {
        (true, Some((of_first, of_second))) => Distance::Exactly(
            monotonic_ns
                .saturating_add(i128::from(of_first))
                .saturating_sub(i128::from(of_second)),
        ),
        (true, None) if same_namespace => Distance::Exactly(monotonic_ns),
        _ => Distance::ByWallTime(after(first.epoch_realtime_ns, second.epoch_realtime_ns)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::compact;
    use hrx_trace_format::header::IDENTITY_OFFSET_KNOWN;

    fn first() -> Identity {
        Identity {
            clock: CLOCK_MONOTONIC,
            boot_id: [3; 16],
            time_namespace: 5,
            epoch_monotonic_ns: 1000,
            epoch_realtime_ns: 50_000,
            ..compact(4, 1)
        }
    }

    fn second() -> Identity {
        Identity {
            epoch_monotonic_ns: 400,
            epoch_realtime_ns: 50_007,
            ..first()
        }
    }

    /// With the offset of its time namespace.
    fn offset(identity: Identity, monotonic_offset_ns: i64) -> Identity {
        Identity {
            monotonic_offset_ns,
            identity_flags: IDENTITY_OFFSET_KNOWN,
            ..identity
        }
    }

    #[test]
    fn one_boot_one_clock_and_one_time_namespace() {
        assert_eq!(distance(&first(), &second()), Distance::Exactly(-600));
        assert_eq!(distance(&second(), &first()), Distance::Exactly(600));
        // Known offsets say the same without a namespace, and across namespaces.
        let namespace = |identity, time_namespace| Identity {
            time_namespace,
            ..identity
        };
        let first_offset = offset(namespace(first(), 0), 100);
        let second_offset = offset(namespace(second(), 9), -5000);
        assert_eq!(
            distance(&first_offset, &second_offset),
            Distance::Exactly(-600 + 100 + 5000)
        );
        // One of them is not known: only the namespace tells.
        assert_eq!(
            distance(&offset(first(), 100), &second()),
            Distance::Exactly(-600)
        );
        // A namespace of 0 is not known to be the same.
        let unknown = [first(), second()].map(|identity| namespace(identity, 0));
        assert_eq!(distance(&unknown[0], &unknown[1]), Distance::ByWallTime(7));
        assert_eq!(
            distance(&first(), &namespace(second(), 6)),
            Distance::ByWallTime(7)
        );
    }

    #[test]
    fn everything_else_is_by_wall_time() {
        let unknown_boot = |identity| Identity {
            boot_id: [0; 16],
            ..identity
        };
        let other_boot = Identity {
            boot_id: [4; 16],
            ..second()
        };
        let other_clock = Identity {
            clock: 2,
            ..second()
        };
        for (first, second) in [
            (first(), other_boot),
            (first(), other_clock),
            (unknown_boot(first()), unknown_boot(second())),
        ] {
            assert_eq!(distance(&first, &second), Distance::ByWallTime(7));
            assert_eq!(distance(&second, &first), Distance::ByWallTime(-7));
        }
        // The largest numbers there are.
        let far = offset(
            Identity {
                epoch_monotonic_ns: u64::MAX,
                ..first()
            },
            i64::MIN,
        );
        let near = offset(
            Identity {
                epoch_monotonic_ns: 0,
                ..first()
            },
            i64::MAX,
        );
        assert_eq!(
            distance(&near, &far),
            Distance::Exactly(i128::from(u64::MAX) + i128::from(u64::MAX))
        );
    }
}

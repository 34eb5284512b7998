//! How captures are aligned on one timeline.
//!
//! Captures whose clocks compare, those of one boot whatever their time namespaces, keep their distances to the nanosecond. Groups of them are placed relative to each other
//! by wall time, each by the wall time at which its earliest capture began.

use hrx_trace_reader::{Distance, Identity, distance};
use serde::Serialize;

/// The clock that aligned the captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Alignment {
    /// None: a single capture is on its own timeline.
    Single,
    /// All captures are of one boot: exact.
    MonotonicClock,
    /// The captures are of several boots, or of unknown ones: as good as the hosts' clocks agreed.
    WallTime,
}

/// When each capture began, in nanoseconds on one clock with an arbitrary zero.
pub fn start_times_ns(identities: &[&Identity]) -> (Alignment, Vec<i128>) {
    // One that knows the offset of its time namespace compares with more others, so it comes first.
    let mut order: Vec<usize> = (0..identities.len()).collect();
    order.sort_by_key(|index| identities[*index].monotonic_offset().is_none());
    // The captures of each group, and how long after its first one they began.
    let mut groups: Vec<Vec<(usize, i128)>> = Vec::new();
    for index in order {
        let after_ns = |(other, other_ns): &(usize, i128)| match distance(
            identities[*other],
            identities[index],
        ) {
            Distance::Exactly(ns) => Some(other_ns + ns),
            _ => None,
        };
        let place = groups.iter_mut().find_map(|group| {
            let after_first_ns = group.iter().find_map(after_ns)?;
            Some((group, after_first_ns))
        });
        match place {
            Some((group, after_first_ns)) => group.push((index, after_first_ns)),
            None => groups.push(vec![(index, 0)]),
        }
    }
    let alignment = match (identities.len(), groups.len()) {
        (1, _) => Alignment::Single,
        (_, 1) => Alignment::MonotonicClock,
        _ => Alignment::WallTime,
    };
    let mut starts_ns = vec![0; identities.len()];
    for group in groups {
        let Some(&(earliest, earliest_ns)) = group.iter().min_by_key(|(_, ns)| *ns) else {
            continue;
        };
        for (index, ns) in group {
            starts_ns[index] =
                i128::from(identities[earliest].epoch_realtime_ns) + ns - earliest_ns;
        }
    }
    (alignment, starts_ns)
}

#[cfg(test)]
mod tests {
    use hrx_trace_format::header::{CLOCK_MONOTONIC, IDENTITY_OFFSET_KNOWN};
    use hrx_trace_tests::capture::Capture;

    use super::*;

    /// Of one boot; where `offset_s` is given, the time namespace says how far its clock is from the machine's own.
    fn identity(
        namespace: u64,
        monotonic_s: u64,
        realtime_s: u64,
        offset_s: Option<i64>,
    ) -> Identity {
        let mut identity = Capture::new(1).identity;
        identity.clock = CLOCK_MONOTONIC;
        identity.boot_id = [7; 16];
        identity.time_namespace = namespace;
        identity.epoch_monotonic_ns = monotonic_s * 1_000_000_000;
        identity.epoch_realtime_ns = realtime_s * 1_000_000_000;
        identity.identity_flags = 0;
        if let Some(offset_s) = offset_s {
            identity.monotonic_offset_ns = offset_s * 1_000_000_000;
            identity.identity_flags = IDENTITY_OFFSET_KNOWN;
        }
        identity
    }

    fn starts_s(identities: &[Identity]) -> (Alignment, Vec<i128>) {
        let (alignment, starts_ns) = start_times_ns(&identities.iter().collect::<Vec<_>>());
        let first_ns = starts_ns[0];
        let starts_s = starts_ns.iter().map(|ns| (ns - first_ns) / 1_000_000_000);
        (alignment, starts_s.collect())
    }

    /// The bug: captures of one boot in different time namespaces were 1,000 s apart. Found by `unshare --time --monotonic 1000`.
    #[test]
    fn time_namespaces() {
        let own = identity(1, 500, 9_000, Some(0));
        let shifted = identity(2, 1_502, 9_003, Some(1_000));
        let unknown = identity(2, 1_507, 9_004, None);
        let strange = identity(3, 77, 9_010, None);
        let exact = (Alignment::MonotonicClock, vec![0, 2]);
        assert_eq!(starts_s(&[own, shifted]), exact);
        // One that does not know its offset compares with another of its namespace, and by that with all.
        assert_eq!(
            starts_s(&[unknown, own, shifted]),
            (Alignment::MonotonicClock, vec![0, -7, -5])
        );
        // By wall time only where nothing else is known.
        assert_eq!(
            starts_s(&[own, strange, shifted]),
            (Alignment::WallTime, vec![0, 10, 2])
        );
    }
}

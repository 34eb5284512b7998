//! How captures are aligned on one timeline.
//!
//! Captures of one boot keep their distances on CLOCK_MONOTONIC, to the nanosecond. Boots are placed relative to each other by wall time, each by
//! the wall time at which its earliest capture began.

use std::collections::BTreeMap;

use hrx_trace_reader::Identity;
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
    /// A capture of an unknown boot is the only one of its boot.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    enum Boot {
        Known([u8; 16]),
        Unknown(usize),
    }
    let mut boots: BTreeMap<Boot, Vec<usize>> = BTreeMap::new();
    for (index, identity) in identities.iter().enumerate() {
        let boot = match identity.boot_id {
            [0, ..] if identity.boot_id == [0; 16] => Boot::Unknown(index),
            known => Boot::Known(known),
        };
        boots.entry(boot).or_default().push(index);
    }
    let alignment = match (identities.len(), boots.len()) {
        (1, _) => Alignment::Single,
        (_, 1) => Alignment::MonotonicClock,
        _ => Alignment::WallTime,
    };
    let mut starts_ns = vec![0; identities.len()];
    for captures in boots.values() {
        let monotonic_ns = |index: usize| i128::from(identities[index].epoch_monotonic_ns);
        let Some(&first) = captures.iter().min_by_key(|index| monotonic_ns(**index)) else {
            continue;
        };
        for &index in captures {
            let after_first_ns = monotonic_ns(index) - monotonic_ns(first);
            starts_ns[index] = i128::from(identities[first].epoch_realtime_ns) + after_first_ns;
        }
    }
    (alignment, starts_ns)
}

//! When a capture is read, on its own clock.

use hrx_trace_format::Identity;
use hrx_trace_format::header::CLOCK_MONOTONIC;

use crate::os::{boot_id, monotonic_ns, time_namespace};

/// Nanoseconds from the capture's start to now. None if the capture's clock cannot be compared with the reader's.
pub(crate) fn now_ns(identity: &Identity) -> Option<u64> {
    since(comparable_epoch_ns(identity)?)
}

/// The capture's start by the reader's CLOCK_MONOTONIC. None if the capture is of another boot, of another time namespace, or timed by a clock that is not
/// known.
fn comparable_epoch_ns(identity: &Identity) -> Option<u64> {
    let comparable = identity.clock == CLOCK_MONOTONIC
        && same_boot(identity) == Some(true)
        && same_time_namespace(identity);
    comparable.then_some(identity.epoch_monotonic_ns)
}

fn since(epoch_ns: u64) -> Option<u64> {
    monotonic_ns()?.checked_sub(epoch_ns)
}

/// Whether the capture is of the reader's boot. None: one of the two boots is unknown.
pub(crate) fn same_boot(identity: &Identity) -> Option<bool> {
    let ours = boot_id()?;
    (identity.boot_id != [0; 16]).then_some(identity.boot_id == ours)
}

/// Whether the writer is known to be of the reader's time namespace, if it is of its boot. Where the kernel has none, both are in none.
pub(crate) fn same_time_namespace(identity: &Identity) -> bool {
    time_namespace() == Some(identity.time_namespace)
}

/// The last sign of life: the latest moment that the file knows of and that can be true.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastSign {
    latest_ns: u64,
    /// No moment after this can be true: the end of the reading, or the moment at which a witness learnt of the end.
    limit_ns: u64,
    /// The latter alone.
    witness_ns: Option<u64>,
    epoch_ns: Option<u64>,
}

impl LastSign {
    /// `witness_ns` is when a witness learnt of the end, if it is known exactly.
    pub(crate) fn new(identity: &Identity, witness_ns: Option<u64>) -> Self {
        Self {
            latest_ns: 0,
            limit_ns: 0,
            witness_ns,
            epoch_ns: comparable_epoch_ns(identity),
        }
    }

    /// Takes note of a moment.
    #[inline]
    pub(crate) fn note(&mut self, moment_ns: u64) {
        if moment_ns > self.latest_ns && (moment_ns <= self.limit_ns || self.is_past(moment_ns)) {
            self.latest_ns = moment_ns;
        }
    }

    /// Looks at the clock, because the limit rises with it.
    #[cold]
    fn is_past(&mut self, moment_ns: u64) -> bool {
        let now_ns = self.epoch_ns.and_then(since).unwrap_or(u64::MAX);
        self.limit_ns = now_ns.min(self.witness_ns.unwrap_or(u64::MAX));
        moment_ns <= self.limit_ns
    }

    /// What it is, now that a witness may have come.
    pub(crate) fn seen_by(self, witness_ns: Option<u64>) -> Self {
        Self {
            latest_ns: self.latest_ns.min(witness_ns.unwrap_or(u64::MAX)),
            limit_ns: 0,
            witness_ns,
            ..self
        }
    }

    pub(crate) fn ns(self) -> u64 {
        self.latest_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ours;

    #[test]
    fn now_is_known_only_on_the_captures_clock() {
        let epoch = Identity {
            epoch_monotonic_ns: 0,
            ..ours()
        };
        let now = now_ns(&epoch).unwrap();
        let later = Identity {
            epoch_monotonic_ns: now,
            ..epoch
        };
        assert!(now_ns(&later).unwrap() < now);
        // A start in the future; another boot, time namespace or clock.
        for unknown in [
            Identity {
                epoch_monotonic_ns: u64::MAX,
                ..epoch
            },
            Identity {
                boot_id: [7; 16],
                ..epoch
            },
            Identity {
                time_namespace: epoch.time_namespace + 1,
                ..epoch
            },
            Identity { clock: 2, ..epoch },
        ] {
            assert_eq!(now_ns(&unknown), None);
        }
    }

    #[test]
    fn a_moment_that_cannot_be_true_is_no_sign() {
        let here = Identity {
            epoch_monotonic_ns: 0,
            ..ours()
        };
        let last = |identity: &Identity, witness_ns, moments: &[u64]| {
            let mut last = LastSign::new(identity, witness_ns);
            moments.iter().for_each(|moment_ns| last.note(*moment_ns));
            last.ns()
        };
        let far = u64::MAX - 1;
        assert_eq!(last(&here, None, &[5, far, 7, 6]), 7);
        let elsewhere = Identity {
            boot_id: [7; 16],
            ..here
        };
        assert_eq!(last(&elsewhere, None, &[5, far, 7]), far);
        assert_eq!(last(&elsewhere, Some(6), &[5, far, 7, 6]), 6);
        assert_eq!(last(&here, Some(6), &[7, 5]), 5);
        assert_eq!(last(&elsewhere, None, &[]), 0);
        // The witness came while the capture was followed.
        let mut followed = LastSign::new(&elsewhere, None);
        followed.note(9);
        assert_eq!(followed.seen_by(Some(6)).ns(), 6);
        assert_eq!(followed.seen_by(None).ns(), 9);
    }
}

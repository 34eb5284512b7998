//! `--stuck`: notices that no event has come for some time. It reads the captures and nothing else, so the program does not notice.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::captures::{Place, Progress, progress};

/// How often the captures are read: a quarter of the time that makes a hang, within these bounds.
const PERIOD_MIN: Duration = Duration::from_millis(20);
const PERIOD_MAX: Duration = Duration::from_secs(1);

/// Watches the captures of a run.
pub struct StuckWatch {
    after: Duration,
    place: Place,
    /// How each capture was when it was last read.
    seen: BTreeMap<PathBuf, Progress>,
    /// When something was last seen to have changed.
    changed: Instant,
    next_look: Instant,
    /// Whether this hang has been reported.
    reported: bool,
}

impl StuckWatch {
    pub fn new(after: Duration, place: Place, now: Instant) -> Self {
        Self {
            after,
            place,
            seen: BTreeMap::new(),
            changed: now,
            next_look: now,
            reported: false,
        }
    }

    /// When to look again.
    pub fn next_look(&self) -> Instant {
        self.next_look
    }

    /// Begins to wait anew: the program was stopped, which is no hang.
    pub fn begin_anew(&mut self, now: Instant) {
        self.changed = now;
    }

    /// Reads the captures if it is time to; true once for each hang.
    pub fn is_stuck(&mut self, now: Instant) -> bool {
        if now < self.next_look {
            return false;
        }
        let quarter = self.after / 4;
        self.next_look = now + quarter.clamp(PERIOD_MIN, PERIOD_MAX);
        let captures = self.place.captures().into_iter();
        let seen = captures
            .filter_map(|path| Some((progress(&path)?, path)))
            .map(|(progress, path)| (path, progress))
            .collect();
        if seen != self.seen {
            self.seen = seen;
            self.changed = now;
            self.reported = false;
        }
        let stuck = now.duration_since(self.changed) >= self.after && !self.reported;
        self.reported |= stuck;
        stuck
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hrx_trace::{Event, Recorder, lane};

    const AFTER: Duration = Duration::from_secs(60);

    /// A clock that the test moves.
    struct Clock(Instant);

    impl Clock {
        fn after(&self, seconds: u64) -> Instant {
            self.0 + Duration::from_secs(seconds)
        }
    }

    #[test]
    fn once_per_hang() {
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock(Instant::now());
        let mut watch = StuckWatch::new(AFTER, Place::new(folder.path().to_owned()), clock.0);
        let mut is_stuck = |seconds| watch.is_stuck(clock.after(seconds));
        assert!(!is_stuck(59));
        // Nothing is recorded at all.
        assert!(is_stuck(60));
        assert!(!is_stuck(130));
        let recorder = Recorder::create(folder.path().join("a.hrxt"), 4).unwrap();
        assert!(!is_stuck(140));
        let region = recorder.begin(Event::new(lane::COMPUTE));
        assert!(!is_stuck(199));
        // The region's beginning was seen at 199.
        assert!(!is_stuck(258));
        assert!(is_stuck(259));
        assert!(!is_stuck(1000));
        region.finish();
        assert!(!is_stuck(1001));
        assert!(is_stuck(1061));
    }

    /// The ring had wrapped, and its last events looked alike.
    #[test]
    fn a_full_ring_is_no_hang() {
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock(Instant::now());
        let mut watch = StuckWatch::new(AFTER, Place::new(folder.path().to_owned()), clock.0);
        let recorder = Recorder::create(folder.path().join("a.hrxt"), 2).unwrap();
        for seconds in (0..600).step_by(30) {
            recorder.begin(Event::new(lane::COMPUTE)).finish();
            assert!(!watch.is_stuck(clock.after(seconds)));
        }
    }

    #[test]
    fn a_stop_is_no_hang() {
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock(Instant::now());
        let mut watch = StuckWatch::new(AFTER, Place::new(folder.path().to_owned()), clock.0);
        assert!(!watch.is_stuck(clock.after(1)));
        watch.begin_anew(clock.after(500));
        assert!(!watch.is_stuck(clock.after(500)));
        assert!(watch.is_stuck(clock.after(560)));
    }
}

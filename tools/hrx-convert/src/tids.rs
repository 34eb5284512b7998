//! Thread ids for the tracks of a viewer: unique, above 0, below 2^32.
//!
//! A lane's own track has lane + 1, whatever else there is, as long as nobody was given that number before: Perfetto folds a tid of 0 into
//! the pid, and every tid from 2^32 on into 0. All other tracks (sub-lanes, lanes whose number is taken or too large) are numbered from
//! [`OTHERS_FROM`] on.

use std::collections::BTreeSet;

/// The first tid of tracks that have no lane's number. High, so that in practice no lane ever meets it.
pub const OTHERS_FROM: u32 = 1_000_000_000;

/// Gives out thread ids.
pub struct Tids {
    /// The next of the other tracks, unless a lane has taken it.
    next: u32,
    /// Lanes' own tids from `next` on.
    taken: BTreeSet<u32>,
}

impl Tids {
    pub fn new() -> Self {
        Self {
            next: OTHERS_FROM,
            taken: BTreeSet::new(),
        }
    }

    /// The tid of a lane's first track. To be asked once for each lane.
    pub fn of_lane(&mut self, lane: u32) -> u32 {
        match lane.checked_add(1) {
            Some(own) if own < OTHERS_FROM => own,
            Some(own) if own >= self.next => {
                self.taken.insert(own);
                own
            }
            _ => self.other(),
        }
    }

    /// The tid of a track that has no lane's number.
    pub fn other(&mut self) -> u32 {
        while self.taken.remove(&self.next) {
            self.next += 1;
        }
        let tid = self.next;
        self.next += 1;
        tid
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn extremes() {
        let mut tids = Tids::new();
        assert_eq!(tids.of_lane(0), 1);
        assert_eq!(tids.of_lane(4), 5);
        assert_eq!(tids.of_lane(u32::MAX - 1), u32::MAX);
        assert_eq!(tids.of_lane(u32::MAX), OTHERS_FROM);
        // This lane's own number is gone; the next one takes its own before a sub-lane can.
        assert_eq!(tids.of_lane(OTHERS_FROM - 1), OTHERS_FROM + 1);
        assert_eq!(tids.of_lane(OTHERS_FROM + 1), OTHERS_FROM + 2);
        assert_eq!(tids.other(), OTHERS_FROM + 3);
    }

    proptest! {
        #[test]
        fn never_the_same_twice(requests in prop::collection::vec(prop::option::of(0u32..12), 0..40)) {
            let mut tids = Tids::new();
            let (mut lanes, mut given) = (BTreeSet::new(), BTreeSet::new());
            for request in requests {
                let tid = match request {
                    Some(near) if lanes.insert(near) => tids.of_lane(OTHERS_FROM - 4 + near),
                    Some(_) => continue,
                    None => tids.other(),
                };
                prop_assert!(given.insert(tid), "{tid} given twice");
            }
        }
    }
}

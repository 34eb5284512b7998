//! The longest regions.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use hrx_trace_reader::Event;

use crate::figures::largest::keep_largest;

/// The longest regions that are remembered.
const SLOWEST_MAX: usize = 10;

/// Remembers the longest of any number of regions, the first of equally long ones.
#[derive(Debug, Default)]
pub struct Slowest {
    /// By duration and number, the shortest on top.
    longest: BinaryHeap<Reverse<(u64, Reverse<u64>)>>,
    /// By number.
    events: HashMap<u64, Event>,
    /// Regions so far; the number of the last one.
    seen: u64,
}

impl Slowest {
    #[inline]
    pub fn note(&mut self, event: &Event) {
        self.seen += 1;
        let least = self.longest.peek().map_or(0, |Reverse((least, _))| *least);
        if self.longest.len() == SLOWEST_MAX && event.duration_ns <= least {
            return;
        }
        if self.longest.len() == SLOWEST_MAX
            && let Some(Reverse((_, Reverse(number)))) = self.longest.peek()
        {
            self.events.remove(number);
        }
        self.events.insert(self.seen, event.clone());
        let entry = (event.duration_ns, Reverse(self.seen));
        keep_largest(&mut self.longest, SLOWEST_MAX, entry);
    }

    /// The longest first, the first of equally long ones first.
    pub fn into_events(mut self) -> Vec<Event> {
        self.longest
            .into_sorted_vec()
            .into_iter()
            .filter_map(|Reverse((_, Reverse(number)))| self.events.remove(&number))
            .collect()
    }
}

//! A region of the timeline, as it lies in temporary files.

use std::cmp::Reverse;

use hrx_trace_reader::Event;

use crate::figures::spill::Spillable;

pub const REGION_BYTES: usize = 65;

/// A region on the timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelineRegion {
    pub capture: u32,
    pub event: Event,
    pub unfinished: bool,
}

impl Spillable for TimelineRegion {
    type Bytes = [u8; REGION_BYTES];
    /// Ordered by their beginnings; at equal beginnings the longer first.
    type Key = (u64, Reverse<u64>);

    const ZEROED: Self::Bytes = [0; REGION_BYTES];

    fn to_bytes(&self) -> Self::Bytes {
        let event = &self.event;
        let longs = [
            event.start_ns,
            event.duration_ns,
            event.copied_bytes,
            event.correlation_id,
            event.sequence,
        ];
        let words = [
            event.ring,
            event.lane,
            event.label_id,
            event.thread_id,
            event.status,
            self.capture,
        ];
        let flags = [event.failed, event.saturated, self.unfinished];
        let mut bytes = Self::ZEROED;
        let (of_longs, rest) = bytes.split_at_mut(size_of_val(&longs));
        let (of_words, rest) = rest.split_at_mut(size_of_val(&words));
        for (place, long) in of_longs.chunks_exact_mut(8).zip(longs) {
            place.copy_from_slice(&long.to_le_bytes());
        }
        for (place, word) in of_words.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        rest[0] = (0..)
            .zip(flags)
            .map(|(bit, flag)| u8::from(flag) << bit)
            .sum();
        bytes
    }

    fn from_bytes(bytes: &Self::Bytes) -> Self {
        let long = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[at * 8 + byte]));
        let word =
            |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| bytes[40 + at * 4 + byte]));
        let flag = |bit: u8| bytes[REGION_BYTES - 1] >> bit & 1 == 1;
        let mut event = Event::default();
        event.start_ns = long(0);
        event.duration_ns = long(1);
        event.copied_bytes = long(2);
        event.correlation_id = long(3);
        event.sequence = long(4);
        event.ring = word(0);
        event.lane = word(1);
        event.label_id = word(2);
        event.thread_id = word(3);
        event.status = word(4);
        event.failed = flag(0);
        event.saturated = flag(1);
        Self {
            event,
            capture: word(5),
            unfinished: flag(2),
        }
    }

    fn key(&self) -> Self::Key {
        (self.event.start_ns, Reverse(self.event.duration_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_read_as_it_was_written() {
        for start_ns in 0..30 {
            let mut event = Event::default();
            event.ring = 7;
            event.sequence = start_ns ^ u64::MAX;
            event.start_ns = start_ns;
            event.duration_ns = 9;
            event.copied_bytes = 1 << 50;
            event.correlation_id = 3 << 40;
            event.lane = u32::MAX;
            event.label_id = 5;
            event.thread_id = 6;
            event.status = 1 << 31;
            event.failed = start_ns % 2 == 1;
            event.saturated = start_ns % 3 == 1;
            let region = TimelineRegion {
                capture: 4,
                event,
                unfinished: start_ns % 5 == 1,
            };
            assert_eq!(TimelineRegion::from_bytes(&region.to_bytes()), region);
        }
    }
}

//! An event of the timeline, as it lies in temporary files.

use std::cmp::Reverse;

use hrx_trace_reader::{Event, Kind};

use crate::figures::spill::Spillable;
use crate::formats::page::arguments::TextPlace;

pub const EVENT_BYTES: usize = 82;

/// A region, a mark or a value on the timeline.
#[derive(Clone, Debug, PartialEq)]
pub struct TimelineEvent {
    pub capture: u32,
    /// Without its arguments.
    pub event: Event,
    pub unfinished: bool,
    pub waiting: bool,
    /// 1 + the index of the thread's name; 0: none.
    pub thread_name: u32,
    pub arguments: TextPlace,
}

impl Spillable for TimelineEvent {
    type Bytes = [u8; EVENT_BYTES];
    /// Ordered by their beginnings; at equal beginnings the longer first.
    type Key = (u64, Reverse<u64>);

    const ZEROED: Self::Bytes = [0; EVENT_BYTES];

    fn to_bytes(&self) -> Self::Bytes {
        let event = &self.event;
        let longs = [
            event.start_ns,
            event.duration_ns,
            // A value has no bytes copied.
            match event.kind {
                Kind::Value => event.value.to_bits(),
                _ => event.copied_bytes,
            },
            event.correlation_id,
            event.sequence,
            self.arguments.at,
        ];
        let words = [
            event.ring,
            event.lane,
            event.label_id,
            event.thread_id,
            event.status,
            self.capture,
            self.thread_name,
            self.arguments.bytes,
        ];
        let flags = [
            event.failed,
            event.saturated,
            self.unfinished,
            event.cancelled,
            event.hidden,
            self.waiting,
        ];
        let kind = match event.kind {
            Kind::Mark => 1,
            Kind::Value => 2,
            _ => 0,
        };
        let mut bytes = Self::ZEROED;
        let (of_longs, rest) = bytes.split_at_mut(size_of_val(&longs));
        let (of_words, rest) = rest.split_at_mut(size_of_val(&words));
        for (place, long) in of_longs.chunks_exact_mut(8).zip(longs) {
            place.copy_from_slice(&long.to_le_bytes());
        }
        for (place, word) in of_words.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        rest[0] = kind;
        rest[1] = (0..)
            .zip(flags)
            .map(|(bit, flag)| u8::from(flag) << bit)
            .sum();
        bytes
    }

    fn from_bytes(bytes: &Self::Bytes) -> Self {
        let long = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[at * 8 + byte]));
        let word =
            |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| bytes[48 + at * 4 + byte]));
        let flag = |bit: u8| bytes[EVENT_BYTES - 1] >> bit & 1 == 1;
        let mut event = Event::default();
        event.kind = match bytes[EVENT_BYTES - 2] {
            1 => Kind::Mark,
            2 => Kind::Value,
            _ => Kind::Region,
        };
        event.start_ns = long(0);
        event.duration_ns = long(1);
        match event.kind {
            Kind::Value => event.value = f64::from_bits(long(2)),
            _ => event.copied_bytes = long(2),
        }
        event.correlation_id = long(3);
        event.sequence = long(4);
        event.ring = word(0);
        event.lane = word(1);
        event.label_id = word(2);
        event.thread_id = word(3);
        event.status = word(4);
        event.failed = flag(0);
        event.saturated = flag(1);
        event.cancelled = flag(3);
        event.hidden = flag(4);
        Self {
            event,
            capture: word(5),
            unfinished: flag(2),
            waiting: flag(5),
            thread_name: word(6),
            arguments: TextPlace {
                at: long(5),
                bytes: word(7),
            },
        }
    }

    fn key(&self) -> Self::Key {
        (self.event.start_ns, Reverse(self.event.duration_ns))
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// An event whose fields all differ, by its beginning.
    pub fn event(capture: u32, start_ns: u64, duration_ns: u64) -> TimelineEvent {
        let mut event = Event::default();
        event.ring = 7;
        event.sequence = start_ns ^ u64::MAX;
        event.start_ns = start_ns;
        event.duration_ns = duration_ns;
        event.correlation_id = 3 << 40;
        event.lane = u32::MAX;
        event.label_id = 5;
        event.thread_id = 6;
        event.status = 1 << 31;
        event.failed = start_ns % 2 == 1;
        event.saturated = start_ns % 3 == 1;
        event.cancelled = start_ns % 7 == 1;
        event.hidden = start_ns % 11 == 1;
        match start_ns % 4 {
            1 => event.kind = Kind::Mark,
            2 => (event.kind, event.value) = (Kind::Value, -0.3),
            _ => event.copied_bytes = 1 << 50,
        }
        TimelineEvent {
            capture,
            event,
            unfinished: start_ns % 5 == 1,
            waiting: start_ns % 13 == 1,
            thread_name: 9,
            arguments: TextPlace {
                at: 1 << 45,
                bytes: 1 << 20,
            },
        }
    }

    #[test]
    fn an_event_is_read_as_it_was_written() {
        for start_ns in 0..60 {
            let event = event(4, start_ns, 9);
            assert_eq!(TimelineEvent::from_bytes(&event.to_bytes()), event);
        }
    }
}

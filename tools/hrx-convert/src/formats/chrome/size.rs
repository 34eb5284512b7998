//! Whether JSON becomes larger than viewers in a browser open: said once, as soon as it can be told.

use indicatif::HumanCount;

/// A string in V8 ends at 2^29 - 24 characters, and viewers in browsers take JSON as one.
const BROWSER_BYTES_MAX: u64 = (1 << 29) - 24;
/// Near enough to say so.
const NEAR_BYTES: u64 = BROWSER_BYTES_MAX / 16 * 15;
/// So many events tell how large the others are.
const SAMPLE_EVENTS: u64 = 10_000;

/// The size of a document that is being written.
#[derive(Debug, Default)]
pub struct Size {
    bytes: u64,
    /// Events that will be in it at the end, where that is known.
    events_expected: Option<u64>,
    is_said: bool,
}

impl Size {
    pub fn expect(&mut self, events: u64) {
        self.events_expected = Some(events);
    }

    /// One fewer than expected.
    pub fn left_out(&mut self) {
        self.events_expected = self.events_expected.map(|events| events.saturating_sub(1));
    }

    /// So many bytes more, so many events in all until now. Gives the warning, the first time that there is a reason.
    pub fn add(&mut self, bytes: usize, events: u64) -> Option<String> {
        self.bytes += bytes as u64;
        let expected = self.expected_bytes(events);
        if self.is_said || expected.unwrap_or(self.bytes).max(self.bytes) < NEAR_BYTES {
            return None;
        }
        self.is_said = true;
        let size = match expected {
            Some(bytes) => format!("will have about {} MB", HumanCount(bytes >> 20)),
            None => "nears 512 MB".to_owned(),
        };
        Some(format!(
            "warning: the JSON {size}, and viewers in a browser open less than 512: -o x.pftrace is a sixth of the size, and a window such as --last 10s, --lane or --label makes it smaller"
        ))
    }

    /// The size at the end, if the events to come are as large as those until now.
    fn expected_bytes(&self, events: u64) -> Option<u64> {
        let expected = self.events_expected?;
        if events < SAMPLE_EVENTS || events > expected {
            return None;
        }
        let bytes = u128::from(self.bytes) * u128::from(expected) / u128::from(events);
        u64::try_from(bytes).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: usize = 1 << 20;

    #[test]
    fn what_is_expected_is_said_once_and_early() {
        let mut size = Size::default();
        size.expect(4_000_000);
        // Too few to tell.
        assert_eq!(size.add(3 * MB, SAMPLE_EVENTS - 1), None);
        let warning = size.add(0, SAMPLE_EVENTS).expect("a warning");
        assert!(warning.contains("will have about 1,200 MB, "), "{warning}");
        assert_eq!(size.add(600 * MB, 2_000_000), None);
    }

    #[test]
    fn small_documents_are_not_warned_of() {
        let mut size = Size::default();
        size.expect(1_000_000);
        for events in 1..=100 {
            assert_eq!(size.add(4 * MB, events * 10_000), None);
        }
    }

    /// The events are unlike the first ones, or nobody knows how many there will be.
    #[test]
    fn what_is_there_is_warned_of_whatever_was_expected() {
        for expected in [None, Some(10_001)] {
            let mut size = Size {
                events_expected: expected,
                ..Size::default()
            };
            assert_eq!(size.add(MB, 10_000), None);
            assert_eq!(size.add(400 * MB, 10_001), None);
            let warning = size.add(90 * MB, 20_001).expect("a warning");
            assert!(warning.contains("nears 512 MB, "), "{warning}");
            assert_eq!(size.add(90 * MB, 20_002), None);
        }
    }
}

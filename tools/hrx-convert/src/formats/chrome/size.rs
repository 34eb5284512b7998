//! Whether the JSON becomes too large for viewers in a browser. The warning comes once, as soon as the size can be predicted.

use indicatif::HumanCount;

/// The longest string in V8 has 2^29 - 24 characters, and viewers in browsers hold the JSON in one string.
const BROWSER_BYTES_MAX: u64 = (1 << 29) - 24;
/// Close enough to the limit for a warning.
const NEAR_BYTES: u64 = BROWSER_BYTES_MAX / 16 * 15;
/// Once there are this many events, their mean size predicts that of the others.
const SAMPLE_EVENTS: u64 = 10_000;

/// The size of a document that is being written.
#[derive(Debug, Default)]
pub struct DocumentSize {
    bytes: u64,
    /// Events that the whole document will have; None: unknown.
    events_expected: Option<u64>,
    has_warned: bool,
}

impl DocumentSize {
    pub fn expect(&mut self, events: u64) {
        self.events_expected = Some(events);
    }

    /// One event fewer than expected.
    pub fn left_out(&mut self) {
        self.events_expected = self.events_expected.map(|events| events.saturating_sub(1));
    }

    /// Adds bytes; `events` is the number of events so far. Returns the warning, the first time that there is reason for one.
    pub fn add(&mut self, bytes: usize, events: u64) -> Option<String> {
        self.bytes += bytes as u64;
        let expected = self.expected_bytes(events);
        if self.has_warned || expected.unwrap_or(self.bytes).max(self.bytes) < NEAR_BYTES {
            return None;
        }
        self.has_warned = true;
        let size = match expected {
            Some(bytes) => format!("will have about {} MB", HumanCount(bytes >> 20)),
            None => "nears 512 MB".to_owned(),
        };
        Some(format!(
            "warning: the JSON {size}, and viewers in a browser open less than 512: -o x.pftrace is a sixth of the size, and a window such as --last 10s, --lane or --label makes it smaller"
        ))
    }

    /// The size of the whole document, if the remaining events are as large as those so far.
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
    fn the_predicted_size_is_warned_of_once_and_early() {
        let mut size = DocumentSize::default();
        size.expect(4_000_000);
        // Too few for a prediction.
        assert_eq!(size.add(3 * MB, SAMPLE_EVENTS - 1), None);
        let warning = size.add(0, SAMPLE_EVENTS).expect("a warning");
        assert!(warning.contains("will have about 1,200 MB, "), "{warning}");
        assert_eq!(size.add(600 * MB, 2_000_000), None);
    }

    #[test]
    fn small_documents_are_not_warned_of() {
        let mut size = DocumentSize::default();
        size.expect(1_000_000);
        for events in 1..=100 {
            assert_eq!(size.add(4 * MB, events * 10_000), None);
        }
    }

    /// Later events are larger than the first ones, or their number is unknown.
    #[test]
    fn the_actual_size_is_warned_of_whatever_was_predicted() {
        for expected in [None, Some(10_001)] {
            let mut size = DocumentSize {
                events_expected: expected,
                ..DocumentSize::default()
            };
            assert_eq!(size.add(MB, 10_000), None);
            assert_eq!(size.add(400 * MB, 10_001), None);
            let warning = size.add(90 * MB, 20_001).expect("a warning");
            assert!(warning.contains("nears 512 MB, "), "{warning}");
            assert_eq!(size.add(90 * MB, 20_002), None);
        }
    }
}

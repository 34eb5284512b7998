//! The marks and values of one capture: the last marks, and of each value its last, least and most. Memory is bounded.

use std::collections::{BTreeMap, VecDeque};

use hrx_trace_reader::{Event, Kind};

/// The last marks that are remembered.
const MARKS_MAX: usize = 10;
/// Labels of values with figures of their own, and labels of marks that are counted one by one.
const LABELS_MAX: usize = 1024;

/// Gathers marks and values.
#[derive(Debug, Default)]
pub struct Moments {
    /// The last marks, in their order.
    pub marks: VecDeque<Event>,
    /// How many there are of each label.
    pub mark_counts: BTreeMap<u32, u64>,
    /// Marks of other labels.
    pub other_marks: u64,
    /// By label.
    pub values: BTreeMap<u32, ValueFigures>,
    /// Samples of values without figures of their own.
    pub other_samples: u64,
}

/// The figures of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValueFigures {
    pub samples: u64,
    pub last: f64,
    /// The moment of the last sample.
    pub last_ns: u64,
    /// Samples that are no numbers do not count; NaN if all are none.
    pub least: f64,
    pub most: f64,
}

impl Moments {
    /// Adds a mark or a value.
    pub fn moment(&mut self, event: &Event) {
        match event.kind {
            Kind::Mark => {
                self.count_mark(event.label_id);
                // Rings are merged by time, but a mark may be recorded late.
                let later = |mark: &Event| mark.start_ns <= event.start_ns;
                let place = self.marks.partition_point(later);
                self.marks.insert(place, event.clone());
                if self.marks.len() > MARKS_MAX {
                    self.marks.pop_front();
                }
            }
            Kind::Value => self.sample(event),
            _ => {}
        }
    }

    fn count_mark(&mut self, label_id: u32) {
        if self.mark_counts.len() >= LABELS_MAX && !self.mark_counts.contains_key(&label_id) {
            self.other_marks += 1;
            return;
        }
        *self.mark_counts.entry(label_id).or_default() += 1;
    }

    fn sample(&mut self, event: &Event) {
        let value = event.value;
        if self.values.len() >= LABELS_MAX && !self.values.contains_key(&event.label_id) {
            self.other_samples += 1;
            return;
        }
        let none = ValueFigures {
            samples: 0,
            last: value,
            last_ns: event.start_ns,
            least: value,
            most: value,
        };
        let figures = self.values.entry(event.label_id).or_insert(none);
        figures.samples += 1;
        figures.least = figures.least.min(value);
        figures.most = figures.most.max(value);
        if event.start_ns >= figures.last_ns {
            (figures.last, figures.last_ns) = (value, event.start_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(kind: Kind, label_id: u32, start_ns: u64, value: f64) -> Event {
        let mut event = Event::default();
        (event.kind, event.label_id) = (kind, label_id);
        (event.start_ns, event.value) = (start_ns, value);
        event
    }

    #[test]
    fn the_last_by_time_and_the_extremes() {
        let mut moments = Moments::default();
        for (start_ns, value) in [(10, 4.0), (30, f64::NAN), (40, -2.0), (20, 7.0)] {
            moments.moment(&moment(Kind::Value, 3, start_ns, value));
        }
        let expected = ValueFigures {
            samples: 4,
            last: -2.0,
            last_ns: 40,
            least: -2.0,
            most: 7.0,
        };
        assert_eq!(moments.values[&3], expected);
        for start_ns in (0..20).chain([5]) {
            moments.moment(&moment(Kind::Mark, 1, start_ns, 0.0));
        }
        let marks: Vec<u64> = moments.marks.iter().map(|mark| mark.start_ns).collect();
        assert_eq!(marks, (10..20).collect::<Vec<_>>());
        assert_eq!(moments.mark_counts[&1], 21);
    }

    #[test]
    fn labels_are_bounded() {
        let mut moments = Moments::default();
        for label_id in 0..LABELS_MAX as u32 + 5 {
            moments.moment(&moment(Kind::Value, label_id, 1, 1.0));
            moments.moment(&moment(Kind::Mark, label_id, 1, 0.0));
        }
        assert_eq!(
            (moments.mark_counts.len(), moments.other_marks),
            (LABELS_MAX, 5)
        );
        moments.moment(&moment(Kind::Value, 0, 2, 1.0));
        assert_eq!(
            (moments.values.len(), moments.other_samples),
            (LABELS_MAX, 5)
        );
        assert_eq!(moments.values[&0].samples, 2);
    }
}

//! What is known of labels: their names, and what is remembered of each.

use std::borrow::Cow;

use hrx_trace_format::UNLABELLED;
use hrx_trace_reader::Trace;

use crate::input::captures::Capture;

/// Labels of which something is remembered: a power of two, and more than programs have.
const LABELS: usize = 1 << 16;

/// Something that is known of labels. It is no more than a memory: whatever is not in it any more is found out again.
#[derive(Debug)]
pub struct OfLabels<T> {
    /// Each label of each capture has one place, which it shares with others. Empty until there is something.
    places: Vec<Option<Known<T>>>,
}

#[derive(Debug)]
struct Known<T> {
    capture: u32,
    label_id: u32,
    what: T,
}

impl<T> OfLabels<T> {
    pub fn new() -> Self {
        Self { places: Vec::new() }
    }

    /// The labels of one capture lie side by side, those of two captures anywhere.
    #[inline]
    fn place(capture: u32, label_id: u32) -> usize {
        let first = capture.wrapping_mul(0x9E37_79B1);
        first.wrapping_add(label_id) as usize % LABELS
    }

    #[inline]
    pub fn get(&self, capture: &Capture, label_id: u32) -> Option<&T> {
        let capture = capture.index as u32;
        let known = self.places.get(Self::place(capture, label_id))?.as_ref()?;
        (known.capture == capture && known.label_id == label_id).then_some(&known.what)
    }

    /// Gives what had to make room.
    pub fn put(&mut self, capture: &Capture, label_id: u32, what: T) -> Option<T> {
        if self.places.is_empty() {
            self.places.resize_with(LABELS, || None);
        }
        let capture = capture.index as u32;
        let known = Known {
            capture,
            label_id,
            what,
        };
        let before = self.places[Self::place(capture, label_id)].replace(known);
        before.map(|before| before.what)
    }

    #[cfg(test)]
    pub fn all(&self) -> impl Iterator<Item = &T> {
        self.places.iter().flatten().map(|known| &known.what)
    }

    pub fn clear(&mut self) {
        self.places.clear();
    }
}

/// What a region is called; never empty.
pub fn name_of(trace: &Trace, label_id: u32) -> Cow<'static, str> {
    match trace.name(label_id) {
        name if name.is_empty() => UNLABELLED.into(),
        name => name,
    }
}

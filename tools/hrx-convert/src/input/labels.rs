//! Labels: the name that is shown for each, and a cache for what is known about them.

use std::borrow::Cow;

use hrx_trace_reader::Trace;

use crate::input::captures::Capture;

/// Places in the cache: a power of two, and more than programs have labels.
const LABELS: usize = 1 << 16;

/// A cache with a value for each label of each capture. A value that had to make room is computed again.
#[derive(Debug)]
pub struct LabelCache<T> {
    /// Each label of each capture has one place, which it shares with others. Empty until the first value is put.
    places: Vec<Option<CachedValue<T>>>,
}

#[derive(Debug)]
struct CachedValue<T> {
    capture: u32,
    label_id: u32,
    value: T,
}

impl<T> LabelCache<T> {
    pub fn new() -> Self {
        Self { places: Vec::new() }
    }

    /// The labels of one capture have neighbouring places; those of different captures are scattered.
    #[inline]
    fn place(capture: u32, label_id: u32) -> usize {
        let first = capture.wrapping_mul(0x9E37_79B1);
        first.wrapping_add(label_id) as usize % LABELS
    }

    #[inline]
    pub fn get(&self, capture: &Capture, label_id: u32) -> Option<&T> {
        let capture = capture.index as u32;
        let cached = self.places.get(Self::place(capture, label_id))?.as_ref()?;
        (cached.capture == capture && cached.label_id == label_id).then_some(&cached.value)
    }

    /// Returns the value that had to make room.
    pub fn put(&mut self, capture: &Capture, label_id: u32, value: T) -> Option<T> {
        if self.places.is_empty() {
            self.places.resize_with(LABELS, || None);
        }
        let capture = capture.index as u32;
        let cached = CachedValue {
            capture,
            label_id,
            value,
        };
        let before = self.places[Self::place(capture, label_id)].replace(cached);
        before.map(|before| before.value)
    }

    #[cfg(test)]
    pub fn all(&self) -> impl Iterator<Item = &T> {
        self.places.iter().flatten().map(|cached| &cached.value)
    }

    pub fn clear(&mut self) {
        self.places.clear();
    }
}

/// What stands for a label without a character, which is not the same as none.
const EMPTY: &str = "(empty)";

/// The name of a region with that label; never empty.
pub fn name_of(trace: &Trace, label_id: u32) -> Cow<'static, str> {
    match trace.name(label_id) {
        name if name.is_empty() => EMPTY.into(),
        name => name,
    }
}

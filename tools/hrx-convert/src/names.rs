//! The names of regions, rendered once for each label.

use std::borrow::Cow;

use hrx_trace_format::UNLABELLED;
use hrx_trace_reader::{Label, Trace};

use crate::captures::Capture;

/// Memory for rendered names. Far more than a program's labels take; hostile ones are rendered anew now and then.
pub const NAMES_BYTES_MAX: usize = 8 << 20;

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

    fn clear(&mut self) {
        self.places.clear();
    }
}

/// The names as an output writes them.
pub struct Names {
    /// Appends the output's form of a label's name.
    render: fn(&Capture, u32, &mut Vec<u8>),
    rendered: OfLabels<Box<[u8]>>,
    rendered_bytes: usize,
}

impl Names {
    pub fn new(render: fn(&Capture, u32, &mut Vec<u8>)) -> Self {
        Self {
            render,
            rendered: OfLabels::new(),
            rendered_bytes: 0,
        }
    }

    /// Appends the name.
    #[inline]
    pub fn push(&mut self, line: &mut Vec<u8>, capture: &Capture, label_id: u32) {
        match self.rendered.get(capture, label_id) {
            Some(name) => line.extend_from_slice(name),
            None => self.render(line, capture, label_id),
        }
    }

    #[cold]
    fn render(&mut self, line: &mut Vec<u8>, capture: &Capture, label_id: u32) {
        let begin = line.len();
        (self.render)(capture, label_id, line);
        // One that is being written may be readable the next time.
        if capture.trace.label(label_id) == Label::Unreadable {
            return;
        }
        let name = &line[begin..];
        if self.rendered_bytes + name.len() > NAMES_BYTES_MAX {
            self.rendered.clear();
            self.rendered_bytes = 0;
        }
        self.rendered_bytes += name.len();
        let before = self.rendered.put(capture, label_id, name.into());
        self.rendered_bytes -= before.map_or(0, |name| name.len());
    }

    #[cfg(test)]
    pub fn kept_bytes(&self) -> usize {
        let known = self.rendered.places.iter().flatten();
        known.map(|known| known.what.len()).sum()
    }
}

/// A name as it is.
pub fn plain(capture: &Capture, label_id: u32, line: &mut Vec<u8>) {
    line.extend_from_slice(name_of(&capture.trace, label_id).as_bytes());
}

/// What a region is called; never empty.
pub fn name_of(trace: &Trace, label_id: u32) -> Cow<'static, str> {
    match trace.name(label_id) {
        name if name.is_empty() => UNLABELLED.into(),
        name => name,
    }
}

/// The same, as viewers are given it: Perfetto ends a name at its first NUL.
pub fn shown(capture: &Capture, label_id: u32) -> Cow<'static, str> {
    match name_of(&capture.trace, label_id) {
        name if name.contains('\0') => name.replace('\0', "\u{2400}").into(),
        name => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Capture as Made;
    use crate::captures::Captures;

    /// So many labels of so many captures that they have to make room for each other.
    #[test]
    fn every_label_has_its_own_name() {
        let mut made = Made::new(1);
        let labels: Vec<u32> = (0..1_000).map(|i| made.label(&format!("{i}"))).collect();
        let captures = Captures::of_bytes([(); 100].map(|()| made.bytes()));
        let mut names = Names::new(plain);
        for _ in 0..2 {
            for capture in captures.iter() {
                for (i, label_id) in (0..).zip(&labels) {
                    let mut line = Vec::new();
                    names.push(&mut line, capture, *label_id);
                    assert_eq!(line, format!("{i}").as_bytes());
                }
            }
        }
        assert_eq!(names.rendered_bytes, names.kept_bytes());
    }
}

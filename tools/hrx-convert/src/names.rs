//! The names of regions, rendered once for each label.

use std::borrow::Cow;

use hrx_trace_format::UNLABELLED;
use hrx_trace_reader::Label;

use crate::captures::Capture;

/// Memory for rendered names. Far more than a program's labels take; hostile ones are rendered anew now and then.
pub const NAMES_BYTES_MAX: usize = 8 << 20;

/// The names as an output writes them.
pub struct Names {
    /// Appends the output's form of a name.
    render: fn(&str, &mut Vec<u8>),
    /// By capture and label id: a table has at most 2^18 ids that can be believed, and only those are kept.
    rendered: Vec<Vec<Option<Box<[u8]>>>>,
    rendered_bytes: usize,
}

impl Names {
    pub fn new(render: fn(&str, &mut Vec<u8>)) -> Self {
        Self {
            render,
            rendered: Vec::new(),
            rendered_bytes: 0,
        }
    }

    /// Appends the name.
    #[inline]
    pub fn push(&mut self, line: &mut Vec<u8>, capture: &Capture, label_id: u32) {
        let of_capture = self.rendered.get(capture.index);
        match of_capture.and_then(|names| names.get(label_id as usize)) {
            Some(Some(name)) => line.extend_from_slice(name),
            _ => self.render(line, capture, label_id),
        }
    }

    #[cold]
    fn render(&mut self, line: &mut Vec<u8>, capture: &Capture, label_id: u32) {
        let begin = line.len();
        (self.render)(&shown(capture, label_id), line);
        // Ids that cannot be believed are any number.
        if capture.trace.label(label_id) == Label::Unreadable {
            return;
        }
        let name = &line[begin..];
        if self.rendered_bytes + name.len() > NAMES_BYTES_MAX {
            self.rendered.clear();
            self.rendered_bytes = 0;
        }
        grown(&mut self.rendered, capture.index, Vec::new());
        let names = &mut self.rendered[capture.index];
        grown(names, label_id as usize, None);
        names[label_id as usize] = Some(name.into());
        self.rendered_bytes += name.len();
    }

    #[cfg(test)]
    pub fn kept_bytes(&self) -> usize {
        let names = self.rendered.iter().flatten().flatten();
        names.map(|name| name.len()).sum()
    }
}

/// What a region is called; never empty.
pub fn name_of(capture: &Capture, label_id: u32) -> Cow<'_, str> {
    match capture.trace.name(label_id) {
        name if name.is_empty() => UNLABELLED.into(),
        name => name,
    }
}

/// The same, as viewers are given it: Perfetto ends a name at its first NUL.
pub fn shown(capture: &Capture, label_id: u32) -> Cow<'_, str> {
    match name_of(capture, label_id) {
        name if name.contains('\0') => name.replace('\0', "\u{2400}").into(),
        name => name,
    }
}

/// Makes the list long enough to have that index.
fn grown<T: Clone>(list: &mut Vec<T>, index: usize, empty: T) {
    if list.len() <= index {
        list.resize(index + 1, empty);
    }
}

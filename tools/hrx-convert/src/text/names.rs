//! Names of regions, each rendered once for each label, and names of lanes.

use std::borrow::Cow;

use hrx_trace_format::LANE_NAMES;
use hrx_trace_reader::Label;

use crate::input::captures::Capture;
use crate::input::labels::{LabelCache, name_of};

/// Memory for rendered names: far more than the labels of a program take. Beyond it, all are dropped and rendered again.
pub const NAMES_BYTES_MAX: usize = 8 << 20;

/// The names in the form in which an output writes them.
pub struct Names {
    /// Appends the name of a label in that form.
    render: fn(&Capture, u32, &mut Vec<u8>),
    rendered: LabelCache<Box<[u8]>>,
    rendered_bytes: usize,
}

impl Names {
    pub fn new(render: fn(&Capture, u32, &mut Vec<u8>)) -> Self {
        Self {
            render,
            rendered: LabelCache::new(),
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
        // A label that is still being written may be complete the next time.
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
        self.rendered.all().map(|name| name.len()).sum()
    }
}

/// The name of a lane.
pub fn lane_name(lane: u32) -> String {
    match LANE_NAMES.get(lane as usize) {
        Some(name) => (*name).to_owned(),
        None => format!("lane {lane}"),
    }
}

/// The name of a label for viewers, with ␀ for NUL: Perfetto ends a name at its first NUL.
pub fn shown(capture: &Capture, label_id: u32) -> Cow<'static, str> {
    match name_of(&capture.trace, label_id) {
        name if name.contains('\0') => name.replace('\0', "\u{2400}").into(),
        name => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::captures::Captures;
    use hrx_trace_tests::capture::Capture as Made;

    /// Appends the name unchanged.
    fn plain(capture: &Capture, label_id: u32, line: &mut Vec<u8>) {
        line.extend_from_slice(name_of(&capture.trace, label_id).as_bytes());
    }

    /// There are more labels than places in the cache, so they have to make room for each other.
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

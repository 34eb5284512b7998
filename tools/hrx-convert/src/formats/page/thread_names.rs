//! The names of threads that the timeline shows: each once, and a bounded number.

use std::collections::HashMap;
use std::sync::Arc;

use hrx_trace_reader::Names;

use crate::input::captures::Capture;

/// Text of the names, of all captures together.
const NAMES_BYTES_MAX: usize = 4 << 20;

/// The names.
#[derive(Debug, Default)]
pub struct ThreadNames {
    names: Vec<String>,
    names_bytes: usize,
    places: HashMap<String, u32>,
    /// The current capture, and its names.
    current: Option<(usize, Arc<Names>)>,
}

impl ThreadNames {
    /// 1 + the index of the name that a thread had at a moment on the common timeline; 0: it had none, or there are too many.
    #[inline]
    pub fn place(&mut self, capture: &Capture, thread_id: u32, end_ns: u64) -> u32 {
        let names = match &self.current {
            Some((index, names)) if *index == capture.index => names.clone(),
            _ => {
                let names = capture.names();
                self.current = Some((capture.index, names.clone()));
                names
            }
        };
        let end_ns = end_ns.saturating_sub(capture.shift_ns);
        let Some(name) = names.thread(thread_id, end_ns) else {
            return 0;
        };
        match self.places.get(name.text.as_str()) {
            Some(place) => *place,
            None => self.add(name.text.clone()),
        }
    }

    /// As [`Self::place`] of a name that is not known yet.
    fn add(&mut self, name: String) -> u32 {
        let bytes = self.names_bytes + name.len();
        if name.is_empty() || bytes > NAMES_BYTES_MAX {
            return 0;
        }
        self.names_bytes = bytes;
        self.names.push(name.clone());
        let place = self.names.len() as u32;
        self.places.insert(name, place);
        place
    }

    pub fn all(&self) -> &[String] {
        &self.names
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::captures::Captures;
    use hrx_trace_format::Name;
    use hrx_trace_tests::capture::Capture as Made;

    #[test]
    fn a_name_is_there_once() {
        let mut made = Made::new(1);
        made.name(&Name::thread(1, 0, "worker"));
        made.name(&Name::thread(2, 0, "worker"));
        made.name(&Name::thread(2, 100, "reaper"));
        made.name(&Name::thread(3, 0, ""));
        let mut later = made.clone();
        later.identity.epoch_monotonic_ns += 50;
        let captures = Captures::of_bytes([made.bytes(), later.bytes()]);
        let mut names = ThreadNames::default();
        let mut place =
            |capture: usize, thread, end_ns| names.place(&captures[capture], thread, end_ns);
        assert_eq!(
            [place(0, 1, 5), place(0, 2, 5), place(0, 2, 100)],
            [1, 1, 2]
        );
        assert_eq!([place(1, 2, 149), place(1, 2, 150)], [1, 2]);
        assert_eq!([place(0, 3, 5), place(0, 4, 5)], [0, 0]);
        assert_eq!(names.all(), ["worker", "reaper"]);
        assert_eq!(names.add("x".repeat(NAMES_BYTES_MAX)), 0);
    }
}

//! Names as people read them: of events, each rendered once for each label, and of lanes, threads, groups and arguments.

use std::borrow::Cow;

use hrx_trace_format::LANE_NAMES;
use hrx_trace_reader::{Name, Names as ReadNames, Trace};

use crate::input::captures::Capture;
use crate::input::labels::LabelCache;

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
        if capture.trace.label(label_id) == Name::Unreadable {
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

/// The name of a lane that the program has not named.
pub fn lane_name(lane: u32) -> String {
    match LANE_NAMES.get(lane as usize) {
        Some(name) => (*name).to_owned(),
        None => format!("lane {lane}"),
    }
}

/// The name of a lane: the program's own, after that of its group, as in "GPU 0: stream 3"; without one, [`lane_name`].
pub fn lane_text(capture: &Capture, lane: u32) -> String {
    lane_text_in(&capture.trace, &capture.names(), lane)
}

/// The same by names that have been read.
pub fn lane_text_in(trace: &Trace, names: &ReadNames, lane: u32) -> String {
    match names.lane(lane) {
        Some(name) if !name.text.is_empty() => match group_text(trace, name.group) {
            Some(group) => format!("{group}: {}", name.text),
            None => name.text.clone(),
        },
        _ => lane_name(lane),
    }
}

/// The name that a thread had when something of it ended, or when an open region began, on the common timeline. None: it had none.
pub fn thread_name(capture: &Capture, thread_id: u32, end_ns: u64) -> Option<String> {
    let end_ns = end_ns.saturating_sub(capture.shift_ns);
    thread_name_in(&capture.names(), thread_id, end_ns)
}

/// The same by names that have been read; the moment is the capture's own.
pub fn thread_name_in(names: &ReadNames, thread_id: u32, end_ns: u64) -> Option<String> {
    let name = names.thread(thread_id, end_ns);
    name.map(|name| name.text.clone())
        .filter(|text| !text.is_empty())
}

/// A thread in words: "worker-3 (6105)", and "6105" without a name.
pub fn thread_text(name: Option<&str>, thread_id: u32) -> String {
    match name {
        Some(name) => format!("{name} ({thread_id})"),
        None => thread_id.to_string(),
    }
}

/// The name of the group that a label belongs to. None: it belongs to none, or it cannot be read.
pub fn label_group(trace: &Trace, label_id: u32) -> Option<String> {
    match trace.label(label_id) {
        Name::Known { group, .. } => group_text(trace, group),
        _ => None,
    }
}

/// The name of a group. None: there is none.
pub fn group_text(trace: &Trace, group: u32) -> Option<String> {
    match trace.group(group) {
        Name::None => None,
        Name::Known { text, .. } => Some(text),
        Name::Unreadable => Some(format!("group {group} (unreadable)")),
    }
}

/// The name of an argument.
pub fn key_text(trace: &Trace, key: u32) -> String {
    match trace.key(key) {
        Name::None => "unnamed".to_owned(),
        Name::Known { text, .. } => text,
        Name::Unreadable => format!("key {key} (unreadable)"),
    }
}

/// The name of a label for viewers. An empty name is one, unlike "native region", which stands for none.
pub fn shown(capture: &Capture, label_id: u32) -> Cow<'static, str> {
    match capture.trace.name(label_id) {
        name if name.is_empty() => "(empty)".into(),
        name => without_nul(name),
    }
}

/// The text with ␀ for NUL: Perfetto ends a text at its first NUL.
pub fn without_nul(text: Cow<'_, str>) -> Cow<'_, str> {
    match text.contains('\0') {
        true => text.replace('\0', "\u{2400}").into(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::captures::Captures;
    use crate::input::labels::name_of;
    use hrx_trace_format::Name as Written;
    use hrx_trace_format::name::NAME_LABEL;
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

    #[test]
    fn lanes_threads_and_groups() {
        let mut made = Made::new(1);
        let gpu = made.group("GPU 0");
        made.name(&Written::lane(2_147_483_648, "stream 3").in_group(gpu));
        made.name(&Written::lane(1, "kernels"));
        made.name(&Written::lane(2, "down").in_group(gpu + 1));
        made.name(&Written::lane(3, ""));
        made.name(&Written::thread(6105, 0, "worker-3"));
        made.name(&Written::thread(6105, 1_000, "reaper"));
        let key = made.key("batch");
        let label = made.name(&Written::of(NAME_LABEL, "all_reduce").in_group(gpu));
        let mut later = made.clone();
        later.identity.epoch_monotonic_ns += 500;
        let captures = Captures::of_bytes([made.bytes(), later.bytes()]);
        let lane = |lane| lane_text(&captures[0], lane);
        assert_eq!(
            [2_147_483_648, 0, 1, 2, 3, 7].map(lane),
            [
                "GPU 0: stream 3",
                "upload",
                "kernels",
                "group 2 (unreadable): down",
                "NPU",
                "lane 7"
            ]
        );
        let of = |capture: usize, id, end_ns| {
            thread_text(thread_name(&captures[capture], id, end_ns).as_deref(), id)
        };
        let thread = |capture, end_ns| of(capture, 6105, end_ns);
        assert_eq!(thread(0, 999), "worker-3 (6105)");
        assert_eq!(thread(0, 1_000), "reaper (6105)");
        assert_eq!(thread(1, 1_499), "worker-3 (6105)");
        assert_eq!(thread(1, 1_500), "reaper (6105)");
        assert_eq!(of(0, 99, 5), "99");
        let trace = &captures[0].trace;
        assert_eq!(key_text(trace, key), "batch");
        assert_eq!(key_text(trace, label), format!("key {label} (unreadable)"));
        assert_eq!(label_group(trace, label).as_deref(), Some("GPU 0"));
        assert_eq!(
            (label_group(trace, 0), label_group(trace, key)),
            (None, None)
        );
    }
}

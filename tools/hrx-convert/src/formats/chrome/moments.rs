//! Marks and values that the program recorded: a mark is an instant on its lane's track, a value a sample of a counter.

use hrx_trace_reader::Event;

use crate::formats::chrome::json::{push_exact, push_integer, push_number};
use crate::formats::chrome::slices::{Slices, Texts};
use crate::formats::chrome::times::push_ts;
use crate::input::captures::Capture;
use crate::tracks::lanes::SHOWN_NS_MAX;

impl Slices<'_> {
    /// Adds a mark to a track. `thread`: the member that names the thread, or nothing.
    pub fn push_instant(
        self,
        line: &mut Vec<u8>,
        texts: &mut Texts,
        mark: &Event,
        thread: &[u8],
        tid: u32,
    ) {
        line.extend_from_slice(
            b",\n{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"hrx.host-observed\",\"name\":\"",
        );
        texts.names.push(line, self.capture, mark.label_id);
        line.extend_from_slice(self.after_name);
        push_integer(line, u64::from(tid));
        line.extend_from_slice(b",\"ts\":");
        push_ts(line, mark.start_ns.min(SHOWN_NS_MAX));
        line.extend_from_slice(b",\"args\":{\"lane\":");
        push_integer(line, u64::from(mark.lane));
        if mark.correlation_id != 0 {
            line.extend_from_slice(b",\"correlation_id\":");
            push_exact(line, mark.correlation_id);
        }
        line.extend_from_slice(b",\"thread_id\":");
        push_integer(line, u64::from(mark.thread_id));
        line.extend_from_slice(thread);
        line.extend_from_slice(b",\"sequence\":");
        push_exact(line, mark.sequence);
        if self.several_rings {
            line.extend_from_slice(b",\"ring\":");
            push_integer(line, u64::from(mark.ring));
        }
        if mark.saturated {
            line.extend_from_slice(b",\"saturated\":true");
        }
        texts.push_about(line, self.capture, mark);
        line.extend_from_slice(b"}}");
    }
}

/// Adds a sample, of a number that is finite: JSON has no other. Viewers show a process's counters by their names.
pub fn push_sample(line: &mut Vec<u8>, texts: &mut Texts, capture: &Capture, value: &Event) {
    line.extend_from_slice(b",\n{\"ph\":\"C\",\"ts\":");
    push_ts(line, value.start_ns.min(SHOWN_NS_MAX));
    line.extend_from_slice(b",\"args\":{\"value\":");
    push_number(line, value.value);
    line.extend_from_slice(b"},\"cat\":\"hrx.host-observed\",\"name\":\"");
    texts.value_names.push(line, capture, value.label_id);
    line.extend_from_slice(b"\",\"pid\":");
    push_integer(line, u64::from(capture.pid));
    line.push(b'}');
}

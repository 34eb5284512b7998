//! Arrows between regions of one correlation id.
//!
//! An arrow is an `s` and an `f` event just after the beginnings of its two regions (see [`crate::formats::chrome::times`]), and after the lines of
//! both. Viewers bind each to the innermost slice of its moment, which on these tracks is the one that begins there.
//! (With `bind_id` and the like in the slices themselves, chrome://tracing would complain about every region that one arrow enters and another leaves.)

use crate::formats::chrome::json::push_integer;
use crate::formats::chrome::times::push_ts_within;
use crate::input::captures::{Capture, Captures};
use crate::tracks::flows::{FlowEnd, Flows};

/// The arrows of the document.
pub struct Arrows {
    flows: Flows,
    /// The number of the latest arrow.
    latest: u64,
}

impl Arrows {
    pub fn new(captures: &Captures) -> Self {
        Self {
            flows: Flows::new(captures),
            latest: 0,
        }
    }

    /// Adds the arrow that leads to a region, if there is one. `after_name`: the members after a name, up to the tid.
    #[inline]
    pub fn push(
        &mut self,
        chunk: &mut Vec<u8>,
        after_name: &[u8],
        capture: &Capture,
        correlation_id: u64,
        to: FlowEnd,
    ) {
        let link = self.flows.link(capture, correlation_id, to);
        if let Some(from) = link.and_then(|link| link.before) {
            self.latest += 1;
            push_arrow(chunk, after_name, self.latest, [from, to]);
        }
    }
}

#[inline]
fn push_arrow(chunk: &mut Vec<u8>, after_name: &[u8], id: u64, [from, to]: [FlowEnd; 2]) {
    for (head, end) in [
        (&b",\n{\"ph\":\"s\""[..], from),
        (b",\n{\"ph\":\"f\",\"bp\":\"e\"", to),
    ] {
        chunk.extend_from_slice(head);
        chunk.extend_from_slice(b",\"cat\":\"hrx.host-observed\",\"id\":");
        push_integer(chunk, id);
        chunk.extend_from_slice(b",\"name\":\"correlation");
        chunk.extend_from_slice(after_name);
        push_integer(chunk, u64::from(end.tid));
        chunk.extend_from_slice(b",\"ts\":");
        push_ts_within(chunk, end.start_ns, 1);
        chunk.push(b'}');
    }
}

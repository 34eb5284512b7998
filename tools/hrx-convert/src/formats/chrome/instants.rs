//! Marks: events at a moment of a track, outside the regions.

use serde_json::{Value, json};

use crate::formats::chrome::json::push_members;
use crate::formats::chrome::times::{EXACT_NS_MAX, push_ts, push_ts_within};
use crate::tracks::lanes::SHOWN_NS_MAX;
use crate::tracks::names::MARK_CATEGORY;

/// The event that a mark becomes.
#[derive(Clone, Copy)]
pub enum MarkKind {
    Instant,
    /// A slice that is as good as none. In speedscope an unfinished region lasts until the last slice of its track, and instants are not slices
    /// there. In chrome://tracing too; one that began at that very moment has to be longer than half a nanosecond, or it is drawn inside of
    /// what ended there, and to begin before this slice, or the arrow to it leads here.
    LastSlice,
}

impl MarkKind {
    fn members(self) -> &'static [u8] {
        match self {
            Self::Instant => br#""ph":"i","s":"t""#,
            Self::LastSlice => br#""ph":"X","dur":0.0004"#,
        }
    }
}

/// Adds a mark to the track of that pid and tid.
pub fn push_mark(
    chunk: &mut Vec<u8>,
    kind: MarkKind,
    (pid, tid): (u32, u32),
    at_ns: u64,
    name: &str,
    args: &Value,
) {
    chunk.extend_from_slice(b",\n{");
    chunk.extend_from_slice(kind.members());
    chunk.extend_from_slice(b",\"ts\":");
    let at_ns = at_ns.min(SHOWN_NS_MAX);
    match kind {
        MarkKind::Instant => push_ts(chunk, at_ns),
        MarkKind::LastSlice if at_ns <= EXACT_NS_MAX => push_ts_within(chunk, at_ns, 4),
        // Later by what a double can tell.
        MarkKind::LastSlice => push_ts(chunk, at_ns + 1 + (at_ns >> 51)),
    }
    chunk.push(b',');
    let members = json!({"name": name, "cat": MARK_CATEGORY, "pid": pid, "tid": tid, "args": args});
    push_members(chunk, &members);
}

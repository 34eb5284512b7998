//! Marks: events at a moment of a track, outside the regions.

use serde_json::{Value, json};

use crate::formats::chrome::json::{push_members, push_microseconds};
use crate::tracks::lanes::SHOWN_NS_MAX;
use crate::tracks::names::MARK_CATEGORY;

/// The event that a mark becomes.
#[derive(Clone, Copy)]
pub enum MarkKind {
    Instant,
    /// A slice without a duration. In speedscope an unfinished region lasts until the last slice of its track, and instants are not slices there.
    LastSlice,
}

impl MarkKind {
    fn members(self) -> &'static [u8] {
        match self {
            Self::Instant => br#""ph":"i","s":"t""#,
            Self::LastSlice => br#""ph":"X","dur":0.000"#,
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
    push_microseconds(chunk, at_ns.min(SHOWN_NS_MAX));
    chunk.push(b',');
    let members = json!({"name": name, "cat": MARK_CATEGORY, "pid": pid, "tid": tid, "args": args});
    push_members(chunk, &members);
}

//! The strings that every packet sequence interns when it begins: the category of regions, and the names of their args.

use crate::formats::perfetto::messages::{Interned, InternedData};
use crate::tracks::names::REGION_CATEGORY;

pub const CATEGORY_IID: u64 = 1;

/// The args of a region; an arg's number is the iid of its name.
#[derive(Clone, Copy)]
pub enum Arg {
    CopiedBytes = 1,
    Failed,
    Status,
    CorrelationId,
    ThreadId,
    Ring,
    Saturated,
    StartNs,
    DurationNs,
    Unfinished,
    RunningNs,
    Lane,
    Thread,
    Group,
    Cancelled,
    Hidden,
    Waiting,
    Arguments,
    ArgumentsLost,
}

/// From iid 1 on.
const ARG_NAMES: [&str; 19] = [
    "copied_bytes",
    "failed",
    "status",
    "correlation_id",
    "thread_id",
    "ring",
    "saturated",
    "start_ns",
    "duration_ns",
    "unfinished",
    "running_ns",
    "lane",
    "thread",
    "group",
    "cancelled",
    "hidden",
    "waiting",
    "arguments",
    "arguments_lost",
];

impl Arg {
    pub fn name(self) -> &'static str {
        ARG_NAMES[self as usize - 1]
    }
}

/// What a sequence interns when it begins.
pub fn interned_at_first() -> InternedData {
    let interned = |(iid, name): (u64, &&str)| Interned {
        iid: Some(iid),
        name: Some((*name).to_owned()),
    };
    InternedData {
        event_categories: vec![interned((CATEGORY_IID, &REGION_CATEGORY))],
        debug_annotation_names: (1..).zip(&ARG_NAMES).map(interned).collect(),
        ..InternedData::default()
    }
}

//! Counters: how fast each lane copied, over time.

use std::io::{self, Write};

use serde_json::json;

use crate::formats::chrome::document::JsonDocument;
use crate::formats::chrome::json::{push_members, push_microseconds};
use crate::tracks::copy_rates::Sample;
use crate::tracks::lanes::SHOWN_NS_MAX;
use crate::tracks::names::{REGION_CATEGORY, copy_rate_name};

/// Adds the copy rates of a capture, lane by lane.
pub fn push_counters<Sink: Write>(
    document: &mut JsonDocument<Sink>,
    pid: u32,
    lanes: impl Iterator<Item = (u32, Vec<Sample>)>,
) -> io::Result<()> {
    for (lane, samples) in lanes {
        let name = copy_rate_name(lane);
        for sample in samples {
            let chunk = &mut document.chunk;
            chunk.extend_from_slice(b",\n{\"ph\":\"C\",\"ts\":");
            push_microseconds(chunk, sample.at_ns.min(SHOWN_NS_MAX));
            chunk.push(b',');
            let members = json!({
                "name": name, "cat": REGION_CATEGORY, "pid": pid,
                "args": {"GB/s": sample.gigabytes_per_second},
            });
            push_members(chunk, &members);
        }
        document.write_out_if_full()?;
    }
    Ok(())
}

//! Regions, as slices of their tracks: a completed one is an `X` event, an open one a `B` without an `E`.

use hrx_trace_reader::{Event, OpenRegion};
use serde_json::json;

use crate::figures::exact::Exact;
use crate::formats::chrome::json::{push_exact, push_integer, push_json, push_microseconds};
use crate::input::captures::Capture;
use crate::text::names::Names;
use crate::tracks::lanes::SHOWN_NS_MAX;

/// The slices of one capture.
#[derive(Clone, Copy)]
pub struct Slices<'process> {
    pub capture: &'process Capture,
    /// The members after a name, up to the tid.
    pub after_name: &'process [u8],
    /// Whether rings have to be named.
    pub several_rings: bool,
    /// Whether failed regions have a colour.
    pub colours_failed: bool,
}

impl Slices<'_> {
    /// Adds a completed region, which is shown from `start_ns` to `end_ns`.
    #[inline]
    pub fn push(
        self,
        line: &mut Vec<u8>,
        names: &mut Names,
        event: &Event,
        tid: u32,
        (start_ns, end_ns): (u64, u64),
    ) {
        line.extend_from_slice(b",\n{\"ph\":\"X\",\"cat\":\"hrx.host-observed\",\"name\":\"");
        names.push(line, self.capture, event.label_id);
        if event.failed {
            line.extend_from_slice(b" [failed]");
        }
        line.extend_from_slice(self.after_name);
        push_integer(line, u64::from(tid));
        line.extend_from_slice(b",\"ts\":");
        push_microseconds(line, start_ns);
        line.extend_from_slice(b",\"dur\":");
        push_microseconds(line, end_ns - start_ns);
        if event.failed && self.colours_failed {
            // chrome://tracing throws at a colour that it does not know.
            line.extend_from_slice(b",\"cname\":\"terrible\"");
        }
        line.extend_from_slice(b",\"args\":{\"lane\":");
        push_integer(line, u64::from(event.lane));
        line.extend_from_slice(b",\"copied_bytes\":");
        push_exact(line, event.copied_bytes);
        line.extend_from_slice(match event.failed {
            false => b",\"failed\":false",
            true => b",\"failed\":true",
        });
        if event.failed || event.status != 0 {
            line.extend_from_slice(b",\"status\":");
            push_integer(line, u64::from(event.status));
        }
        if event.correlation_id != 0 {
            line.extend_from_slice(b",\"correlation_id\":");
            push_exact(line, event.correlation_id);
        }
        line.extend_from_slice(b",\"thread_id\":");
        push_integer(line, u64::from(event.thread_id));
        line.extend_from_slice(b",\"sequence\":");
        push_exact(line, event.sequence);
        if self.several_rings {
            line.extend_from_slice(b",\"ring\":");
            push_integer(line, u64::from(event.ring));
        }
        if event.saturated {
            line.extend_from_slice(b",\"saturated\":true");
        }
        if end_ns - start_ns != event.duration_ns {
            // The timeline ends before the region does: these are the region's own times.
            line.extend_from_slice(b",\"start_ns\":");
            push_exact(line, event.start_ns);
            line.extend_from_slice(b",\"duration_ns\":");
            push_exact(line, event.duration_ns);
        }
        line.extend_from_slice(b"}}");
    }

    /// Adds a region that was still running at `last_ns`, the last known moment.
    pub fn push_open(
        self,
        line: &mut Vec<u8>,
        names: &mut Names,
        region: &OpenRegion,
        tid: u32,
        last_ns: u64,
    ) {
        line.extend_from_slice(b",\n{\"ph\":\"B\",\"cat\":\"hrx.host-observed\",\"name\":\"");
        names.push(line, self.capture, region.label_id);
        line.extend_from_slice(b" [unfinished]");
        line.extend_from_slice(self.after_name);
        push_integer(line, u64::from(tid));
        line.extend_from_slice(b",\"ts\":");
        push_microseconds(line, region.start_ns.min(SHOWN_NS_MAX));
        line.extend_from_slice(b",\"args\":");
        let mut args = json!({
            "lane": region.lane,
            "copied_bytes": Exact(region.copied_bytes),
            "unfinished": true,
            "running_ns": Exact(last_ns.saturating_sub(region.start_ns)),
            "thread_id": region.thread_id,
        });
        if region.correlation_id != 0 {
            args["correlation_id"] = json!(Exact(region.correlation_id));
        }
        if region.saturated {
            args["saturated"] = json!(true);
        }
        push_json(line, &args);
        line.push(b'}');
    }
}

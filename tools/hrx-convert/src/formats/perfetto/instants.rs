//! Marks, as instants on a track.

use std::io::{self, Write};

use serde_json::Value;

use crate::formats::perfetto::annotations::annotation;
use crate::formats::perfetto::head::Head;
use crate::formats::perfetto::messages::{INSTANT, TrackEvent};
use crate::formats::perfetto::packets::PacketStream;
use crate::tracks::names::MARK_CATEGORY;

/// Writes a mark. `args`: an object, or null.
pub fn write_mark<Sink: Write>(
    packets: &mut PacketStream<Sink>,
    head: Head,
    track_uuid: u64,
    at_ns: u64,
    name: String,
    args: &Value,
) -> io::Result<()> {
    let arg = |(name, value): (&String, &Value)| annotation(name, value);
    let args = args.as_object().into_iter().flatten().map(arg).collect();
    head.event_at(
        packets,
        at_ns,
        TrackEvent {
            categories: vec![MARK_CATEGORY.to_owned()],
            name: Some(name),
            r#type: Some(INSTANT),
            track_uuid: Some(track_uuid),
            debug_annotations: args,
            ..TrackEvent::default()
        },
    )
}

//! Counters: how fast each lane copied, over time.

use std::io::{self, Write};

use crate::formats::perfetto::head::Head;
use crate::formats::perfetto::messages::{COUNTER, CounterDescriptor, TrackDescriptor, TrackEvent};
use crate::formats::perfetto::packets::PacketStream;
use crate::formats::perfetto::track_ids::{TrackIds, TrackOf};
use crate::input::captures::Capture;
use crate::tracks::copy_rates::Sample;
use crate::tracks::names::{COPY_RATE_UNIT, copy_rate_name};

/// Writes the copy rates of one capture, lane by lane.
pub fn write_counters<Sink: Write>(
    packets: &mut PacketStream<Sink>,
    head: Head,
    (capture, ids): (&Capture, TrackIds),
    lanes: impl Iterator<Item = (u32, Vec<Sample>)>,
) -> io::Result<()> {
    for (lane, samples) in lanes {
        let uuid = ids.uuid(TrackOf::Rate(lane));
        head.track(
            packets,
            TrackDescriptor {
                uuid: Some(uuid),
                parent_uuid: Some(ids.uuid(TrackOf::Process)),
                name: Some(format!(
                    "{} {COPY_RATE_UNIT}",
                    copy_rate_name(capture, lane)
                )),
                counter: Some(CounterDescriptor {
                    unit_name: Some(COPY_RATE_UNIT.to_owned()),
                }),
                ..TrackDescriptor::default()
            },
        )?;
        for sample in samples {
            head.event_at(
                packets,
                sample.at_ns,
                TrackEvent {
                    r#type: Some(COUNTER),
                    track_uuid: Some(uuid),
                    double_counter_value: Some(sample.bytes_per_second),
                    ..TrackEvent::default()
                },
            )?;
        }
    }
    Ok(())
}

//! Counters: how fast each lane copied, over time.

use std::io::{self, Write};

use serde_json::json;

use crate::formats::chrome::document::JsonDocument;
use crate::formats::chrome::json::{push_members, push_number};
use crate::formats::chrome::times::push_ts;
use crate::input::captures::Capture;
use crate::tracks::copy_rates::Sample;
use crate::tracks::lanes::SHOWN_NS_MAX;
use crate::tracks::names::{COPY_RATE_UNIT, REGION_CATEGORY, copy_rate_name};

/// Adds the copy rates of a capture, lane by lane.
pub fn push_counters<Sink: Write>(
    document: &mut JsonDocument<Sink>,
    capture: &Capture,
    lanes: impl Iterator<Item = (u32, Vec<Sample>)>,
) -> io::Result<()> {
    for (lane, samples) in lanes {
        let name = copy_rate_name(capture, lane);
        for sample in samples {
            let chunk = &mut document.chunk;
            chunk.extend_from_slice(b",\n{\"ph\":\"C\",\"ts\":");
            push_ts(chunk, sample.at_ns.min(SHOWN_NS_MAX));
            chunk.push(b',');
            chunk.extend_from_slice(br#""args":{""#);
            chunk.extend_from_slice(COPY_RATE_UNIT.as_bytes());
            chunk.extend_from_slice(br#"":"#);
            push_number(chunk, sample.bytes_per_second);
            chunk.extend_from_slice(b"},");
            let members = json!({"name": name, "cat": REGION_CATEGORY, "pid": capture.pid});
            push_members(chunk, &members);
        }
        document.write_out_if_full()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::formats::chrome::json::push_number;
    use crate::tracks::copy_rates::WHOLE_MAX;

    /// The bug: rates of 1.4411518807585587e24 came out of Perfetto an ulp smaller from JSON than from its own format. Found by the test that
    /// compares both.
    #[test]
    fn no_exponent_follows_a_fraction() {
        for (rate, expected) in [
            (0.0, "0"),
            (687_500_000.0, "687500000"),
            (WHOLE_MAX, "9007199254740992"),
            (1.44115188075856e24, "144115188075856e10"),
            (2e16, "2e16"),
            (0.1, "0.1"),
            (-1.5e-7, "-15e-8"),
            (-12.25, "-12.25"),
        ] {
            let mut text = Vec::new();
            push_number(&mut text, rate);
            let text = String::from_utf8(text).expect("digits");
            assert_eq!(text, expected);
            assert_eq!(text.parse(), Ok(rate));
        }
    }
}

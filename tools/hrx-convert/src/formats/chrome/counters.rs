//! Counters: how fast each lane copied, over time.

use std::io::{self, Write};

use serde_json::json;

use crate::formats::chrome::document::JsonDocument;
use crate::formats::chrome::json::{push_integer, push_members};
use crate::formats::chrome::times::push_ts;
use crate::tracks::copy_rates::{Sample, WHOLE_MAX};
use crate::tracks::lanes::SHOWN_NS_MAX;
use crate::tracks::names::{COPY_RATE_UNIT, REGION_CATEGORY, copy_rate_name};

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
            push_ts(chunk, sample.at_ns.min(SHOWN_NS_MAX));
            chunk.push(b',');
            chunk.extend_from_slice(br#""args":{""#);
            chunk.extend_from_slice(COPY_RATE_UNIT.as_bytes());
            chunk.extend_from_slice(br#"":"#);
            push_rate(chunk, sample.bytes_per_second);
            chunk.extend_from_slice(b"},");
            let members = json!({"name": name, "cat": REGION_CATEGORY, "pid": pid});
            push_members(chunk, &members);
        }
        document.write_out_if_full()?;
    }
    Ok(())
}

/// A rate as Perfetto's trace processor reads it exactly: it is off in the last place where an exponent follows a fraction.
fn push_rate(chunk: &mut Vec<u8>, rate: f64) {
    if rate <= WHOLE_MAX {
        push_integer(chunk, rate as u64);
        return;
    }
    let text = format!("{rate:.14e}");
    if let Some((digits, exponent)) = text.split_once('e')
        && let Ok(exponent) = exponent.parse::<i32>()
    {
        let digits = digits.replace('.', "");
        chunk.extend_from_slice(format!("{digits}e{}", exponent - 14).as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bug: rates of 1.4411518807585587e24 came out of Perfetto an ulp smaller from JSON than from its own format. Found by the test that
    /// compares both.
    #[test]
    fn rates_are_whole_numbers_or_have_a_whole_mantissa() {
        for (rate, expected) in [
            (0.0, "0"),
            (687_500_000.0, "687500000"),
            (WHOLE_MAX, "9007199254740992"),
            (1.44115188075856e24, "144115188075856e10"),
            (2e16, "200000000000000e2"),
        ] {
            let mut text = Vec::new();
            push_rate(&mut text, rate);
            let text = String::from_utf8(text).expect("digits");
            assert_eq!(text, expected);
            assert_eq!(text.parse(), Ok(rate));
        }
    }
}

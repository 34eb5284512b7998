//! Numbers and names as the lines of the document hold them, appended without formatting machinery.

use serde_json::Value;

use crate::figures::exact::Exact;
use crate::input::captures::Capture;
use crate::text::names::shown;

/// A number that a double holds exactly, or a string.
#[inline]
pub fn push_exact(line: &mut Vec<u8>, value: u64) {
    if value <= Exact::NUMBER_MAX {
        push_integer(line, value);
    } else {
        line.push(b'"');
        push_integer(line, value);
        line.push(b'"');
    }
}

#[inline]
pub fn push_integer(line: &mut Vec<u8>, value: u64) {
    line.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Nanoseconds as microseconds with exactly three decimals.
#[inline]
pub fn push_microseconds(line: &mut Vec<u8>, ns: u64) {
    let decimals = (ns % 1_000) as u16;
    let digit = |value: u16| b'0' + (value % 10) as u8;
    push_integer(line, ns / 1_000);
    line.extend_from_slice(&[
        b'.',
        digit(decimals / 100),
        digit(decimals / 10),
        digit(decimals),
    ]);
}

/// A whole JSON value.
pub fn push_json(line: &mut Vec<u8>, value: &Value) {
    line.extend_from_slice(value.to_string().as_bytes());
}

/// The members of `object` and its closing brace, after members that were written by hand.
pub fn push_members(line: &mut Vec<u8>, object: &Value) {
    line.extend_from_slice(&object.to_string().as_bytes()[1..]);
}

/// A label's name as it stands between quotes, up to what a region appends to it.
pub fn push_name(capture: &Capture, label_id: u32, line: &mut Vec<u8>) {
    let name = shown(capture, label_id);
    let quoted = Value::from(format!("{name} (host-observed)")).to_string();
    line.extend_from_slice(&quoted.as_bytes()[1..quoted.len() - 1]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracks::lanes::SHOWN_NS_MAX;

    #[test]
    fn microseconds_have_exactly_three_decimals() {
        for ns in [
            0,
            1,
            10,
            999,
            1_000,
            1_001,
            123_456_789,
            (1 << 53) + 1,
            SHOWN_NS_MAX,
            u64::MAX,
        ] {
            let mut text = Vec::new();
            push_microseconds(&mut text, ns);
            let plain = format!("{}.{:03}", ns / 1_000, ns % 1_000);
            assert_eq!(String::from_utf8_lossy(&text), plain);
        }
    }
}

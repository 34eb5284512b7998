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

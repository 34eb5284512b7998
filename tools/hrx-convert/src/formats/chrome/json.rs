//! Numbers and names as the lines of the document hold them, appended without formatting machinery.

use serde_json::Value;

use crate::figures::exact::Exact;
use crate::input::captures::Capture;
use crate::text::names::{label_group, shown, without_nul};
use crate::tracks::names::value_name;

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

/// A whole JSON value that a program recorded, with texts as [`push_text`] writes them.
pub fn push_recorded(line: &mut Vec<u8>, value: &Value) {
    let mut separator = b' ';
    let mut separate = |line: &mut Vec<u8>| {
        if separator == b',' {
            line.push(separator);
        }
        separator = b',';
    };
    match value {
        Value::Object(members) => {
            line.push(b'{');
            for (name, value) in members {
                separate(line);
                push_text(line, name);
                line.push(b':');
                push_recorded(line, value);
            }
            line.push(b'}');
        }
        Value::Array(items) => {
            line.push(b'[');
            for item in items {
                separate(line);
                push_recorded(line, item);
            }
            line.push(b']');
        }
        Value::String(text) => push_text(line, text),
        other => push_json(line, other),
    }
}

/// A string of any characters. Perfetto takes the quote after a last backslash for escaped, so that one is written in another way.
pub fn push_text(line: &mut Vec<u8>, text: &str) {
    let text = without_nul(text.into());
    let quoted = Value::from(&*text).to_string();
    match text.ends_with('\\') {
        true => {
            line.extend_from_slice(&quoted.as_bytes()[..quoted.len() - 3]);
            line.extend_from_slice(br#"\u005c""#);
        }
        false => line.extend_from_slice(quoted.as_bytes()),
    }
}

/// A number as Perfetto's trace processor reads it exactly: it is off in the last place where an exponent follows a fraction.
pub fn push_number(line: &mut Vec<u8>, number: f64) {
    // Shortest digits that are read back as this number; whole numbers up to 2^53 and what is near 1 without an exponent.
    let text = match number.abs() {
        0.0 => "0".to_owned(),
        1e-5..=9_007_199_254_740_992.0 => number.to_string(),
        _ => format!("{number:e}"),
    };
    let Some((digits, exponent)) = text.split_once('e') else {
        line.extend_from_slice(text.as_bytes());
        return;
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let exponent = exponent.parse::<i32>().unwrap_or_default() - fraction.len() as i32;
    line.extend_from_slice(whole.as_bytes());
    line.extend_from_slice(fraction.as_bytes());
    if exponent != 0 {
        line.push(b'e');
        line.extend_from_slice(exponent.to_string().as_bytes());
    }
}

/// The member that names the group of a label, if it has one.
pub fn push_group(capture: &Capture, label_id: u32, line: &mut Vec<u8>) {
    if let Some(group) = label_group(&capture.trace, label_id) {
        line.extend_from_slice(br#","group":"#);
        push_text(line, &group);
    }
}

/// The name of a counter of values as it stands between quotes.
pub fn push_value_name(capture: &Capture, label_id: u32, line: &mut Vec<u8>) {
    push_inner(line, &value_name(capture, label_id));
}

fn push_inner(line: &mut Vec<u8>, text: &str) {
    let quoted = Value::from(text).to_string();
    line.extend_from_slice(&quoted.as_bytes()[1..quoted.len() - 1]);
}

/// A label's name as it stands between quotes, up to what a region appends to it.
pub fn push_name(capture: &Capture, label_id: u32, line: &mut Vec<u8>) {
    let name = shown(capture, label_id);
    push_inner(line, &format!("{name} (host-observed)"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    proptest! {
        #[test]
        fn numbers_are_read_back(bits: u64) {
            let number = f64::from_bits(bits);
            if number.is_finite() {
                let mut line = Vec::new();
                push_number(&mut line, number);
                let text = String::from_utf8(line).expect("digits");
                prop_assert!(!(text.contains('.') && text.contains('e')));
                prop_assert_eq!(text.parse(), Ok(number));
                let read: Value = serde_json::from_str(&text).expect("JSON");
                prop_assert!(read.is_number());
            }
        }

        #[test]
        fn texts_are_read_back(text: String, backslashes in 0usize..3) {
            let text = text + &"\\".repeat(backslashes);
            let value = json!({"a": [text, 1], &text: true});
            let mut line = Vec::new();
            push_recorded(&mut line, &value);
            prop_assert!(!line.ends_with(br#"\\""#));
            let shown: Value = serde_json::from_slice(&line).expect("JSON");
            let text = text.replace('\0', "\u{2400}");
            prop_assert_eq!(shown, json!({"a": [text, 1], &text: true}));
        }
    }
}

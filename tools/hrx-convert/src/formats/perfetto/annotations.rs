//! Args of regions and marks, as debug annotations. Perfetto stores integers in an i64: larger ones are strings.

use prost::encoding::{WireType, encoded_len_varint};
use serde_json::Value;

use crate::formats::perfetto::interned::Arg;
use crate::formats::perfetto::messages::{DebugAnnotation, field};
use crate::formats::perfetto::pen::{Pen, WORD_VARINT_MAX, key, varint};

/// An arg whose name is not interned.
pub fn annotation(name: &str, value: &Value) -> DebugAnnotation {
    let integer = value.as_u64().filter(|value| i64::try_from(*value).is_ok());
    let text = || {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    DebugAnnotation {
        name: Some(name.to_owned()),
        bool_value: value.as_bool(),
        uint_value: integer,
        string_value: (!value.is_boolean() && integer.is_none()).then(text),
        name_iid: None,
    }
}

#[inline]
pub fn put_integer(pen: &mut Pen, arg: Arg, value: u64) {
    if value <= WORD_VARINT_MAX {
        const KEY: u8 = key(field::ANNOTATION_UINT_VALUE, WireType::Varint);
        let (bytes, len) = varint(value);
        put_head(pen, arg, KEY, len);
        pen.word(bytes, len);
    } else {
        put_large(pen, arg, value);
    }
}

#[cold]
fn put_large(pen: &mut Pen, arg: Arg, value: u64) {
    if value <= i64::MAX as u64 {
        const KEY: u8 = key(field::ANNOTATION_UINT_VALUE, WireType::Varint);
        put_head(pen, arg, KEY, encoded_len_varint(value));
        pen.varint(value);
    } else {
        const KEY: u8 = key(field::ANNOTATION_STRING_VALUE, WireType::LengthDelimited);
        let mut digits = itoa::Buffer::new();
        let digits = digits.format(value).as_bytes();
        put_head(pen, arg, KEY, 1 + digits.len());
        pen.varint(digits.len() as u64);
        pen.bytes(digits);
    }
}

#[inline]
pub fn put_bool(pen: &mut Pen, arg: Arg, value: bool) {
    const KEY: u8 = key(field::ANNOTATION_BOOL_VALUE, WireType::Varint);
    put_head(pen, arg, KEY, 1);
    pen.byte(value.into());
}

/// An annotation up to and including the key of its value, which takes `value_bytes`, fewer than a hundred.
#[inline]
fn put_head(pen: &mut Pen, arg: Arg, value_key: u8, value_bytes: usize) {
    const KEY: u8 = key(field::EVENT_DEBUG_ANNOTATIONS, WireType::LengthDelimited);
    const NAME: u8 = key(field::ANNOTATION_NAME_IID, WireType::Varint);
    let value_len = 3 + value_bytes as u8;
    pen.word([KEY, value_len, NAME, arg as u8, value_key, 0, 0, 0], 5);
}

//! Args of events and marks, as debug annotations. Perfetto stores integers in an i64: larger ones are strings.

use prost::Message;
use prost::encoding::{WireType, encoded_len_varint};
use serde_json::Value;

use crate::formats::perfetto::interned::Arg;
use crate::formats::perfetto::messages::{DebugAnnotation, field};
use crate::formats::perfetto::pen::{Pen, WORD_VARINT_MAX, key, put_bytes, varint};
use crate::text::names::without_nul;

/// An arg whose name is not interned.
pub fn annotation(name: &str, value: &Value) -> DebugAnnotation {
    DebugAnnotation {
        name: Some(without_nul(name.into()).into_owned()),
        ..annotation_value(value)
    }
}

/// The value of an arg. An object has args inside it.
fn annotation_value(value: &Value) -> DebugAnnotation {
    let mut annotation = DebugAnnotation::default();
    match value {
        Value::Bool(value) => annotation.bool_value = Some(*value),
        Value::Number(number) => {
            let unsigned = number.as_u64();
            if let Some(value) = number.as_i64() {
                match unsigned {
                    Some(value) => annotation.uint_value = Some(value),
                    None => annotation.int_value = Some(value),
                }
            } else if unsigned.is_some() {
                annotation.string_value = Some(number.to_string());
            } else {
                annotation.double_value = number.as_f64();
            }
        }
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| self::annotation(name, value);
            annotation.dict_entries = members.iter().map(member).collect();
        }
        Value::Array(items) => {
            annotation.array_values = items.iter().map(annotation_value).collect();
        }
        Value::String(text) => {
            annotation.string_value = Some(without_nul(text.into()).into_owned());
        }
        Value::Null => annotation.string_value = Some(value.to_string()),
    }
    annotation
}

/// The same as it stands in an event, with the interned name of the arg.
pub fn encoded(arg: Arg, value: &Value) -> Vec<u8> {
    let annotation = DebugAnnotation {
        name_iid: Some(arg as u64),
        ..annotation_value(value)
    };
    let mut field = Vec::new();
    put_bytes(
        &mut field,
        field::EVENT_DEBUG_ANNOTATIONS,
        &annotation.encode_to_vec(),
    );
    field
}

/// A text that the sequence knows by this number.
#[inline]
pub fn put_text(pen: &mut Pen, arg: Arg, iid: u64) {
    const EVENT_KEY: u8 = key(field::EVENT_DEBUG_ANNOTATIONS, WireType::LengthDelimited);
    const NAME: u8 = key(field::ANNOTATION_NAME_IID, WireType::Varint);
    let (bytes, len) = varint(iid);
    pen.word([EVENT_KEY, 4 + len as u8, NAME, arg as u8, 0, 0, 0, 0], 4);
    pen.key(field::ANNOTATION_STRING_VALUE_IID, WireType::Varint);
    pen.word(bytes, len);
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

//! What an argument of an event can be.

use hrx_trace_format::ArgumentValue;

/// The value of an argument: a number, a truth value or a text. See [`crate::Region::argument`].
///
/// It is made from `u64`, `u32`, `usize`, `i64`, `i32`, `f64`, `bool` or `&str`. A text of more than 256 bytes is cut at the last character that fits, and
/// marked as cut.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value<'a>(pub(crate) ArgumentValue<'a>);

impl From<u64> for Value<'_> {
    #[inline]
    fn from(number: u64) -> Self {
        Self(ArgumentValue::U64(number))
    }
}

impl From<u32> for Value<'_> {
    #[inline]
    fn from(number: u32) -> Self {
        Self::from(u64::from(number))
    }
}

impl From<usize> for Value<'_> {
    #[inline]
    fn from(number: usize) -> Self {
        // No machine has more than 64 bits.
        Self::from(number as u64)
    }
}

impl From<i64> for Value<'_> {
    #[inline]
    fn from(number: i64) -> Self {
        Self(ArgumentValue::I64(number))
    }
}

impl From<i32> for Value<'_> {
    #[inline]
    fn from(number: i32) -> Self {
        Self::from(i64::from(number))
    }
}

impl From<f64> for Value<'_> {
    #[inline]
    fn from(number: f64) -> Self {
        Self(ArgumentValue::F64(number))
    }
}

impl From<bool> for Value<'_> {
    #[inline]
    fn from(truth: bool) -> Self {
        Self(ArgumentValue::Bool(truth))
    }
}

impl<'a> From<&'a str> for Value<'a> {
    #[inline]
    fn from(text: &'a str) -> Self {
        Self(ArgumentValue::Text(text.as_bytes()))
    }
}

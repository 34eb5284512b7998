//! Texts as C programs give them, plain or wide, on the stack: at most [`BYTES_MAX`] bytes of UTF-8, cut between characters.

use std::ffi::{CStr, c_char};
use std::fmt;

use crate::abi::nvtx::Wide;

/// The longest text that is kept.
pub const BYTES_MAX: usize = 1_000;

/// A text, cut if it was too long.
pub struct Text {
    bytes: [u8; BYTES_MAX],
    length: usize,
}

impl Text {
    /// No text.
    pub fn empty() -> Self {
        Self {
            bytes: [0; BYTES_MAX],
            length: 0,
        }
    }

    /// `bytes`, what is no UTF-8 replaced.
    pub fn new(bytes: &[u8]) -> Self {
        let mut text = Self::empty();
        for chunk in bytes.utf8_chunks() {
            let replaced = if chunk.invalid().is_empty() {
                ""
            } else {
                "\u{FFFD}"
            };
            if !(text.push(chunk.valid()) && text.push(replaced)) {
                break;
            }
        }
        text
    }

    /// A wide text that ends with a zero.
    ///
    /// # Safety
    /// `wide` points to characters of which one is zero.
    pub unsafe fn wide(wide: *const Wide) -> Self {
        let mut text = Self::empty();
        for index in 0.. {
            // SAFETY: no character before this one was zero.
            let place = unsafe { wide.add(index) };
            // SAFETY: as above.
            let code = unsafe { place.read_unaligned() };
            let character =
                char::from_u32(code.cast_unsigned()).unwrap_or(char::REPLACEMENT_CHARACTER);
            if code == 0 || !text.push(character.encode_utf8(&mut [0; 4])) {
                break;
            }
        }
        text
    }

    /// `bytes` with a `#` in place of each number. None: it has none.
    pub fn shape_of(bytes: &[u8]) -> Option<Self> {
        if !bytes.iter().any(u8::is_ascii_digit) {
            return None;
        }
        let mut shape = Self::empty();
        for piece in Self::new(bytes)
            .as_str()
            .split_inclusive(|character: char| !character.is_ascii_digit())
        {
            let rest = piece.trim_start_matches(|character: char| character.is_ascii_digit());
            let number = if rest.len() < piece.len() { "#" } else { "" };
            if !(shape.push(number) && shape.push(rest)) {
                break;
            }
        }
        Some(shape)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        let bytes = &self.bytes[..self.length];
        // Always: only whole characters were pushed.
        std::str::from_utf8(bytes).unwrap_or_default()
    }

    /// False: it was cut.
    fn push(&mut self, more: &str) -> bool {
        let room = &mut self.bytes[self.length..];
        let end = more.floor_char_boundary(room.len().min(more.len()));
        room[..end].copy_from_slice(&more.as_bytes()[..end]);
        self.length += end;
        end == more.len()
    }
}

impl fmt::Write for Text {
    /// Never fails: a text that is too long is cut.
    fn write_str(&mut self, more: &str) -> fmt::Result {
        self.push(more);
        Ok(())
    }
}

/// A plain text that ends with a zero, without it.
///
/// # Safety
/// `plain` points to characters of which one is zero, and which stay as they are while the result is used.
#[inline]
pub unsafe fn plain<'a>(plain: *const c_char) -> &'a [u8] {
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(plain) }.to_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_has_a_sign_for_each_number() {
        let shape =
            |text: &str| Text::shape_of(text.as_bytes()).map(|shape| shape.as_str().to_owned());
        assert_eq!(shape("iteration 17").as_deref(), Some("iteration #"));
        assert_eq!(shape("1x22é333").as_deref(), Some("#x#é#"));
        assert_eq!(shape("infer"), None);
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let long = "é".repeat(BYTES_MAX);
        assert_eq!(
            Text::new(long.as_bytes()).as_str(),
            "é".repeat(BYTES_MAX / 2)
        );
        let wide: Vec<Wide> = long
            .chars()
            .map(|character| character as Wide)
            .chain([0])
            .collect();
        // SAFETY: it ends with a zero.
        let text = unsafe { Text::wide(wide.as_ptr()) };
        assert_eq!(text.as_str(), "é".repeat(BYTES_MAX / 2));
    }

    #[test]
    fn what_is_no_utf8_is_replaced() {
        assert_eq!(Text::new(b"a\xFFb").as_str(), "a\u{FFFD}b");
    }
}

//! C's strings.

use std::borrow::Cow;
use std::ffi::{CStr, c_char};

use crate::error::{Errno, INVALID};

/// An argument's text is cut at 256 bytes. So many are looked at that one cut here is still cut there, at a whole character.
const ARGUMENT_BYTES: usize = 256 + 4;

/// The text at `pointer`. What is not UTF-8 is replaced.
///
/// # Safety
/// It is null, or a string that ends with a zero and stays as it is as long as the result is used.
pub unsafe fn read<'a>(pointer: *const c_char) -> Result<Cow<'a, str>, Errno> {
    // SAFETY: the caller's promise.
    Ok(unsafe { c_string(pointer) }?.to_string_lossy())
}

/// The C string at `pointer`.
///
/// # Safety
/// That of [`read`].
pub unsafe fn c_string<'a>(pointer: *const c_char) -> Result<&'a CStr, Errno> {
    if pointer.is_null() {
        return Err(INVALID);
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { CStr::from_ptr(pointer) })
}

/// As [`read`], of an argument: what is beyond its room is not looked at, and where it stops being UTF-8, it ends. Allocates nothing.
///
/// # Safety
/// That of [`read`].
pub unsafe fn read_argument<'a>(pointer: *const c_char) -> Result<&'a str, Errno> {
    if pointer.is_null() {
        return Err(INVALID);
    }
    // SAFETY: it stops at the string's zero.
    let bytes = unsafe { libc::strnlen(pointer, ARGUMENT_BYTES) };
    // SAFETY: so many bytes are before the zero.
    let text = unsafe { std::slice::from_raw_parts(pointer.cast::<u8>(), bytes) };
    Ok(match std::str::from_utf8(text) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&text[..error.valid_up_to()]).unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;

    use super::*;

    #[test]
    fn an_argument_ends_at_a_character() {
        let long = CString::new("ä".repeat(1_000)).unwrap();
        // SAFETY: it is a string.
        let read = unsafe { read_argument(long.as_ptr()) }.unwrap();
        assert_eq!(read, "ä".repeat(ARGUMENT_BYTES / 2));
        for (given, expected) in [(c"ab", "ab"), (c"", ""), (c"a\xFFb", "a")] {
            // SAFETY: it is a string.
            assert_eq!(unsafe { read_argument(given.as_ptr()) }, Ok(expected));
        }
        // SAFETY: null is allowed.
        assert_eq!(unsafe { read_argument(std::ptr::null()) }, Err(INVALID));
    }
}

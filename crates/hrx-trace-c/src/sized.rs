//! Structs that C programs fill in, with their size first: those of older and later headers are understood.
//!
//! A shorter struct is one of an older header: what it lacks is zero. A longer one is of a later header: if what is beyond ours is zero, it says nothing that this
//! library does not know.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use crate::error::{Errno, INVALID, LATER};

/// Larger sizes are mistakes.
const BYTES_MAX: usize = 4096;

/// A struct of integers and pointers, its size first.
///
/// # Safety
/// It is `repr(C)` without padding, begins with its size as a `usize`, and any bytes are a value of it.
pub unsafe trait Versioned: Copy {
    /// The size of the oldest header's.
    const BYTES_MIN: usize;
}

/// What is at `pointer`.
///
/// # Safety
/// `pointer` is null, or to a size, and as many bytes as that says.
#[inline(always)]
pub unsafe fn read<S: Versioned>(pointer: *const S) -> Result<S, Errno> {
    if pointer.is_null() {
        return Err(INVALID);
    }
    // SAFETY: the struct begins with its size.
    let bytes = unsafe { pointer.cast::<usize>().read_unaligned() };
    if bytes == size_of::<S>() {
        // SAFETY: that many bytes are there.
        return Ok(unsafe { pointer.read_unaligned() });
    }
    // SAFETY: the caller's promise.
    unsafe { read_other(pointer.cast(), bytes) }
}

/// # Safety
/// As that of [`read`]; `bytes` is the size that is there.
#[cold]
unsafe fn read_other<S: Versioned>(pointer: *const c_void, bytes: usize) -> Result<S, Errno> {
    if !(S::BYTES_MIN..=BYTES_MAX).contains(&bytes) {
        return Err(INVALID);
    }
    // SAFETY: that many bytes are there.
    let given = unsafe { std::slice::from_raw_parts(pointer.cast::<u8>(), bytes) };
    let (known, beyond) = given.split_at(bytes.min(size_of::<S>()));
    if beyond.iter().any(|byte| *byte != 0) {
        return Err(LATER);
    }
    let mut read = MaybeUninit::<S>::zeroed();
    // SAFETY: `known` is no longer than the struct, which is ours.
    unsafe {
        read.as_mut_ptr()
            .cast::<u8>()
            .copy_from_nonoverlapping(known.as_ptr(), known.len())
    };
    // SAFETY: any bytes are a value.
    Ok(unsafe { read.assume_init() })
}

//! Errors as C has them: 0 or a negative errno.

use std::ffi::{CStr, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

use hrx_trace::Error;

/// A negative errno.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub c_int);

/// A null pointer, a size or an option out of range.
pub const INVALID: Errno = Errno(-libc::EINVAL);
/// A recorder or a region that is over, or never was.
pub const OVER: Errno = Errno(-libc::EBADF);
/// Another thread is in a call with the same region, or this call is in a signal handler that interrupted one.
pub const BUSY: Errno = Errno(-libc::EBUSY);
/// As many recorders as there can be.
pub const TOO_MANY: Errno = Errno(-libc::EMFILE);
/// A struct says something that only a later version of this library knows.
pub const LATER: Errno = Errno(-libc::E2BIG);
/// A panic was caught.
const PANICKED: Errno = Errno(-libc::EFAULT);

impl From<Error> for Errno {
    fn from(error: Error) -> Self {
        Self(match error {
            Error::Busy(_) => -libc::EBUSY,
            Error::Exists { .. } => -libc::EEXIST,
            Error::NoFolder { .. } => -libc::ENOENT,
            Error::Permission { .. } => -libc::EACCES,
            Error::NoSpace { .. } | Error::NoInode { .. } => -libc::ENOSPC,
            Error::NoMemory { .. } => -libc::ENOMEM,
            Error::Unsupported { .. } => -libc::EOPNOTSUPP,
            Error::Io { source, .. } => source.raw_os_error().map_or(-libc::EIO, |errno| -errno),
            // What was asked for: sizes, attributes, names, the environment.
            _ => -libc::EINVAL,
        })
    }
}

/// 0, or the error.
pub fn status(result: Result<(), Errno>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(Errno(errno)) => errno,
    }
}

/// Does what may panic. Costs a call that the compiler cannot inline: not for what is recorded.
pub fn guarded<T>(work: impl FnOnce() -> Result<T, Errno>) -> Result<T, Errno> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(Err(PANICKED))
}

/// What an error means here.
pub fn text_of(errno: c_int) -> &'static CStr {
    match errno.unsigned_abs().cast_signed() {
        0 => c"success",
        libc::EINVAL => c"a null pointer, a size, an option or a name out of range",
        libc::EBADF => c"the recorder is closed or the region has ended, or it never was one",
        libc::EBUSY => c"another thread is in a call with the same region",
        libc::EMFILE => c"256 recorders are in use, or the process has no descriptor left",
        libc::E2BIG => c"a struct says what only a later version of the library knows",
        libc::EEXIST => c"the file exists, and a trace is never overwritten",
        libc::ENOENT => c"the folder does not exist",
        libc::EACCES => c"no permission to create the file",
        libc::ENOSPC => c"no room for the file",
        libc::ENOMEM => c"no address space for the file",
        libc::EOPNOTSUPP => c"the system or the file system lacks something that traces need",
        libc::EIO => c"the system could not write the file",
        libc::EFAULT => c"the library failed, and says on stderr where",
        _ => c"the system refused: see strerror of the positive number",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A panic in what is guarded becomes a number.
    #[test]
    fn a_panic_becomes_an_error() {
        let result = guarded(|| -> Result<(), Errno> { panic!("on purpose") });
        assert_eq!(status(result), -libc::EFAULT);
        assert_eq!(status(guarded(|| Ok(()))), 0);
    }

    #[test]
    fn each_error_has_a_text() {
        for errno in [INVALID, OVER, BUSY, TOO_MANY, LATER, PANICKED] {
            assert_ne!(text_of(errno.0), text_of(-libc::ENOTTY));
            assert_eq!(text_of(errno.0), text_of(-errno.0));
        }
        assert_eq!(text_of(c_int::MIN), text_of(-libc::ENOTTY));
    }
}

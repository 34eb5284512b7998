//! Memory from the kernel, zeroed, that takes no space until it is touched. It is never given back.

use std::ptr::{self, NonNull};

/// At least `bytes` bytes, page-aligned and zero. None: the address space is limited.
pub fn zeroed(bytes: usize) -> Option<NonNull<u8>> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: the kernel chooses where the new pages lie.
    let pages = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, -1, 0) };
    if pages == libc::MAP_FAILED {
        return None;
    }
    NonNull::new(pages.cast())
}

/// As [`zeroed`], but a forked child finds zeroes again (MADV_WIPEONFORK, Linux 4.14).
pub fn wiped_on_fork(bytes: usize) -> Option<NonNull<u8>> {
    let pages = zeroed(bytes)?;
    // SAFETY: the pages are private, anonymous and ours alone, and the advice affects only what a child finds in them.
    let advised = unsafe { libc::madvise(pages.as_ptr().cast(), bytes, libc::MADV_WIPEONFORK) };
    (advised == 0).then_some(pages)
}

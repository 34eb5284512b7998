//! Where threads spread, so that those that run at the same time seldom touch the same cache line.

/// How many stripes there are, a power of two.
pub const STRIPES: usize = 64;

/// The calling thread's stripe. Usable in a signal handler: it is a hash of the thread's own address, and no thread-local, which would cost a call in a shared
/// library.
#[inline(always)]
pub fn own() -> usize {
    // SAFETY: the call has no requirements, and reads one register.
    let thread = unsafe { libc::pthread_self() } as u64;
    // Threads' blocks lie on pages: the lowest bits are the same for all.
    ((thread >> 6).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - STRIPES.ilog2())) as usize
}

/// On a cache line of its own, or two, which processors fetch in pairs.
#[repr(align(128))]
pub struct Apart<T>(pub T);

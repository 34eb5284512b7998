//! Where threads spread, so that those that run at the same time seldom touch the same cache line.

/// How many stripes there are, a power of two.
pub const STRIPES: usize = 64;

/// The calling thread's stripe. Usable in a signal handler: it is of the thread's own address, and no thread-local, which would cost a call in a shared library.
#[inline(always)]
pub fn own() -> usize {
    // Threads' blocks are at the ends of their stacks, which lie beside each other, with a page between them.
    (thread() >> 12) as usize % STRIPES
}

/// The address of the calling thread's block.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn thread() -> u64 {
    let thread: u64;
    // SAFETY: by the ABI of threads, fs points to the thread's block, whose first word is its own address.
    unsafe {
        std::arch::asm!("mov {}, fs:0", out(reg) thread, options(nostack, preserves_flags, readonly, pure));
    }
    thread
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn thread() -> u64 {
    // SAFETY: the call has no requirements, and reads one register.
    unsafe { libc::pthread_self() as u64 }
}

/// On a cache line of its own, or two, which processors fetch in pairs.
#[repr(align(128))]
pub struct Apart<T>(pub T);

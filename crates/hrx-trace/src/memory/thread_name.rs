//! The calling thread's name, as the kernel has it (prctl(2)): at most 15 bytes, without an allocation.

/// Gives `with` the name of the calling thread, as far as it is UTF-8: the kernel may have cut it within a character. Empty if unknown.
pub fn with_thread_name<T>(with: impl FnOnce(&str) -> T) -> T {
    let mut name = [0u8; 16];
    // SAFETY: PR_GET_NAME writes up to 16 bytes to its argument, a zero at their end, and `name` has 16.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    let chunk = name.split(|byte| *byte == 0).next().unwrap_or_default();
    let text = chunk.utf8_chunks().next();
    with(text.map_or("", |text| text.valid()))
}

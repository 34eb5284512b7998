//! The auxiliary vector: what the kernel put into the process's memory as the program started (getauxval(3)).

/// Whether the program may do what its caller may not (set-user-ID, set-group-ID, file capabilities), so that the environment is a stranger's.
pub fn is_secure() -> bool {
    // SAFETY: the call reads memory that the C library set up before `main`, and takes any number.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

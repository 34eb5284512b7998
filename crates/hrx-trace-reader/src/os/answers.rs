//! What the operating system may answer.

/// What became of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Process {
    /// It is there, and may run its program.
    Runs,
    /// It is there, and runs no more of its program: the kernel is taking it down.
    Ending,
    /// It is not there any more.
    Gone,
    /// The system does not say.
    NotKnown,
}

/// A file, as the kernel's lists name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileId {
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

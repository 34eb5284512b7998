//! A thread that records through a `Tracer`, stopped at any instruction of that, while the main thread finishes the capture, starts the next and drops files.

/// The words that child and parent share.
pub mod word {
    /// Number of calls of `Tracer::record` that have begun.
    pub const STARTED: usize = 0;
    /// Number of calls of `Tracer::record` that have returned.
    pub const RETURNED: usize = 1;
    /// Number of exchanges that are over.
    pub const EXCHANGED: usize = 2;
    /// Number of words.
    pub const COUNT: usize = 3;
}

/// Records in each capture.
pub const CAPACITY: usize = 3;

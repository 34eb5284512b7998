//! How an output is written.

/// How an output is written; by default plain, and whole or not at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutputOptions {
    /// Compressed, as one gzip member.
    pub gzip: bool,
    /// In its place from the beginning, to be read while it grows.
    pub grows: bool,
}

//! Who imports whom: the files of each crate of the workspace, the imports between them, and the rules that these keep.
//!
//! The source is parsed, not compiled. Names are resolved as far as it takes to tell which file defines them, through `use` lines, re-exports and
//! globs, so an import counts as one of the file that defines the name, whatever path it takes. What only tests compile (`#[cfg(test)]`) is left out.

mod graph;
mod names;
mod picture;
mod rules;
mod source;
mod target;
mod workspace;

pub use target::Target;
pub use workspace::Workspace;

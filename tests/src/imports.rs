//! The import graph: the files of each crate of the workspace, the imports between them, and the rules for these.
//!
//! The source is parsed, not compiled. Each name is followed through `use` lines, re-exports and globs to the file that defines it, and counts as an
//! import of that file. Code that only tests compile (`#[cfg(test)]`) is left out.

mod graph;
mod names;
mod picture;
mod rules;
mod source;
mod target;
mod workspace;

pub use target::Target;
pub use workspace::Workspace;

//! The output formats: one file or folder each, and which of them is asked for. Each could be deleted with its lines here.
//!
//! May use `tracks`, `figures`, `text`, `input`, `output`. No format uses another.

pub mod chrome;
pub mod page;
pub mod perfetto;
pub mod seed;
pub mod table;

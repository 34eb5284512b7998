//! What is read: files, captures on one timeline, the filter, and the loop that hands their events to a format.
//!
//! May use `output`.

pub mod captures;
pub mod conversion;
pub mod files;
pub mod filter;
pub mod follow;
pub mod labels;
pub mod read_ahead;

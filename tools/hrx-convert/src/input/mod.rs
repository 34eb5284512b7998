//! Input: the files to read, the captures on one timeline, the filter, and the loops that hand events to a format.
//!
//! May use `output`. Within it, from the bottom up: `option_values`, `choice` and `selection`; `files`, `wait` and `open`; `inspection`; `alignment`,
//! `process_ids` and `captures`; `merge` and `read_ahead`; `labels`, `other_lanes`, `outcome` and `filter`; the trait `format`; `sieve`; the loops `conversion`
//! and `follow`.

pub mod alignment;
pub mod captures;
pub mod choice;
pub mod conversion;
pub mod files;
pub mod filter;
pub mod follow;
pub mod format;
pub mod inspection;
pub mod labels;
pub mod merge;
pub mod open;
pub mod option_values;
pub mod other_lanes;
pub mod outcome;
pub mod process_ids;
pub mod read_ahead;
pub mod selection;
pub mod sieve;
pub mod wait;

//! The two tables before the rings: names, and the regions that were running. Uses only bytes and the words of a report.

pub(crate) mod label;
pub(crate) mod label_check;
pub(crate) mod open_table;
pub(crate) mod running;

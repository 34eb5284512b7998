//! The two tables before the rings: names, and the regions that were running. Uses only bytes and the words of a report.

pub(crate) mod name;
pub(crate) mod name_check;
pub(crate) mod names;
pub(crate) mod open_table;

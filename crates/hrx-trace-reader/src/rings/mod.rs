//! The rings: how many tickets each has given out, and a verdict for every ticket of its window. Uses only bytes and the words of a report.

pub(crate) mod claimed;
mod late;
mod newest;
mod recheck;
pub(crate) mod ring;
mod sample;
pub(crate) mod since;
pub(crate) mod window;

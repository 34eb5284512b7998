//! The subcommands that measure, each a function from a setup to tables. None uses another.

pub mod convert;
pub mod record;
pub mod scale;
pub mod tail;

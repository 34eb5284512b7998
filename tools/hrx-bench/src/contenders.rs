//! The contenders, each in a file of its own.

pub mod baseline;
pub mod clock;
pub mod lttng;
pub mod measureme;
pub mod ours;
pub mod stores;
pub mod tracing_chrome;

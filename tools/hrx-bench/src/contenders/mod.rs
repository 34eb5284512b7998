//! The contenders that record in this process (LTTng and the listener's in one of its own), one file each.

pub mod baseline;
pub mod counted;
pub mod listened;
pub mod lttng;
pub mod measureme;
pub mod names;
pub mod nothing;
pub mod ours;
pub mod stores;
pub mod tracing_chrome;
pub mod tracing_layer;

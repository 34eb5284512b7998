//! The interfaces' own types, as their headers have them, and nothing else. Sizes and offsets are asserted.

pub mod itt;
pub mod nvtx;

#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

// Each uses only those below it.
mod layer;

mod span;

mod lanes;
mod table;

mod free_list;
mod primitive;

mod visit;

mod fields;
mod sites;

pub use self::layer::{RecorderLayer, layer};

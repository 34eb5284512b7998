//! Traces that survive the crash: record host-observed region latencies into a memory-mapped ring file.
#![deny(unsafe_code)]

#[cfg(not(target_os = "linux"))]
compile_error!(
    "hrx-trace records on Linux only: it needs fallocate, flock and MADV_WIPEONFORK; reading and converting traces does not"
);

mod error;
mod event;
mod labels;
mod mapping;
mod options;
mod primitive;
mod process;
mod recorder;
mod region;
mod slot;
mod thread;

pub use self::{
    error::{Error, Result},
    event::{Event, Label, lane},
    options::Options,
    recorder::Recorder,
    region::Region,
};

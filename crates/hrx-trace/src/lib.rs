//! Traces that survive the crash: host-observed region latencies, recorded into a memory-mapped ring file.
//!
//! When `record` has returned, the event is in the file. SIGKILL, abort, a segmentation fault or the OOM killer do not take it away, and
//! the regions that were running are in the file too. `hrx-convert` turns the file into Chrome/Perfetto JSON, during the run or after it.
//! The times are what the host observed, driver and scheduling overhead included; they are never device timestamps.
//!
//! ```
//! use hrx_trace::{Event, Recorder, lane};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("run.hrxt");
//! let recorder = Recorder::create(&path, 100_000)?; // keeps the last 100,000 events, 64 bytes each
//! let gemm = recorder.label("gemm");
//!
//! let region = recorder.begin(Event::new(lane::COMPUTE).label(gemm).correlation_id(7));
//! // ... submit, and wait ...
//! region.finish_with(|event| event.copied_bytes(4096));
//!
//! recorder.finish(); // says that this end was a clean one; needed for nothing else
//! # let report = hrx_trace_reader::Trace::open(&path)?.report();
//! # assert_eq!((report.account.recovered, report.ending), (1, hrx_trace_reader::Ending::Finished));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
#![cfg_attr(
    feature = "tracer",
    doc = "A program that used the in-memory tracer uses [`Tracer`] instead: the same calls with the same meaning."
)]
//!
//! | call | what it may do |
//! |---|---|
//! | [`Recorder::record`], [`Recorder::now`], [`Recorder::record_between`], [`Recorder::begin`], every call on a [`Region`], [`Recorder::mark`], [`Recorder::value`] | no lock, no allocation, no system call (except gettid and prctl on a thread's first, for its id and its name), no panic, no failure |
//! | [`Recorder::label`], [`Recorder::lane`], [`Recorder::key`] | a lock, an allocation: name once |
//! | [`Recorder::create`], [`Recorder::sync`] | system calls, errors |
//!
//! What can still hurt the host: another process that truncates the file (a store then raises SIGBUS; the file is created 0600, so only the
//! same user and root can do that), and writeback on a slow disk (put the file on tmpfs if the tail of `record` matters).
//!
//! # Features
//!
//! `tracer`, on by default: `Tracer`, with which a program that used the in-memory tracer keeps its calls. Without it this crate depends on neither the reader
//! nor serde_json.
#![deny(unsafe_code)]

#[cfg(not(target_os = "linux"))]
compile_error!(
    "hrx-trace records on Linux only: it needs fallocate, flock and MADV_WIPEONFORK; reading and converting traces does not"
);

// Each uses only those below it.
#[cfg(feature = "tracer")]
mod tracer;

#[cfg(feature = "tracer")]
mod running;

mod global;

mod fork;

mod creation;
mod static_label;

mod options;

mod mark;

mod amendments;
mod arguments;

mod writer;

mod region;

mod recorder;

mod exit;
mod heartbeat;

mod life;

mod areas;
mod memory;

mod thread;
mod vacancy;

mod slot;

mod ffi;
mod primitive;
mod site;

mod folder;

mod error;
mod event;
mod moment;
mod nanoseconds;
mod value;

/// The in-memory tracer's own types, as [`Tracer::finish`] returns them.
#[cfg(feature = "tracer")]
pub use hrx_trace_reader::seed::{ExecutionTrace, TraceEvent};

#[cfg(feature = "tracer")]
pub use self::tracer::Tracer;
pub use self::{
    creation::{expand_path, program_name, remove_oldest},
    error::{Error, Result},
    event::{Event, Key, Label, lane},
    fork::OnFork,
    global::{__begin, global, note_panics, on_fork, set_global},
    moment::Moment,
    options::Options,
    recorder::Recorder,
    region::{Destination, OwnedRegion, Region},
    static_label::StaticLabel,
    value::Value,
    writer::Writer,
};

/// Compiles the README's examples.
#[cfg(all(doctest, feature = "tracer"))]
#[doc = include_str!("../README.md")]
struct Readme;

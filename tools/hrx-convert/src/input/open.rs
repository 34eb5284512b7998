//! Opening captures, all of them at once.

use std::path::PathBuf;

use anyhow::anyhow;
use hrx_trace_reader::Trace;
use indicatif::HumanCount;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that are open besides the captures, and a few to spare.
const OTHER_FILES: u64 = 32;

/// The captures that could be opened, and an error for each that could not.
#[derive(Debug, Default)]
pub struct Opened {
    pub traces: Vec<(PathBuf, Trace)>,
    pub failures: Vec<hrx_trace_reader::Error>,
}

/// Opens the files. `newest`: a capture's beginning may be left out, as by [`Trace::open_for_newest`].
pub fn open(files: impl IntoIterator<Item = PathBuf>, newest: bool) -> Opened {
    let mut opened = Opened::default();
    for file in files {
        let trace = match newest {
            true => Trace::open_for_newest(&file),
            false => Trace::open(&file),
        };
        match trace {
            Ok(trace) => opened.traces.push((file, trace)),
            Err(error) => opened.failures.push(error),
        }
    }
    opened
}

/// Raises the limit on open files if these captures need it: all are open at once.
///
/// # Errors
/// The hard limit is too low.
pub fn allow_open(captures: usize) -> anyhow::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    let needed = captures as u64 + OTHER_FILES;
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    let raised = Rlimit {
        current: Some(needed),
        maximum: limit.maximum,
    };
    setrlimit(Resource::Nofile, raised).map_err(|_| {
        let maximum = limit.maximum.unwrap_or(u64::MAX);
        anyhow!(
            "cannot have {} captures open at once: the limit on open files is {} (ulimit -Hn)",
            HumanCount(captures as u64),
            HumanCount(maximum)
        )
    })
}

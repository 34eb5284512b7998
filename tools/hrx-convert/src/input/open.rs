//! Opening captures: as many as may be open at once, the others for each read.

use std::path::PathBuf;

use hrx_trace_reader::Trace;
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
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let held_max = limit.saturating_sub(OTHER_FILES);
    let mut opened = Opened::default();
    for file in files {
        let trace = match newest {
            true => Trace::open_for_newest(&file),
            false => Trace::open(&file),
        };
        match trace {
            Ok(mut trace) => {
                if opened.traces.len() as u64 >= held_max {
                    trace.close_between_reads();
                }
                opened.traces.push((file, trace));
            }
            Err(error) => opened.failures.push(error),
        }
    }
    opened
}

/// Raises the limit on open files as far as these captures need it and the hard limit allows.
pub fn allow_open(captures: usize) {
    let limit = getrlimit(Resource::Nofile);
    let needed = captures as u64 + OTHER_FILES;
    let wanted = limit.maximum.map_or(needed, |maximum| maximum.min(needed));
    if limit.current.is_some_and(|current| current < wanted) {
        let raised = Rlimit {
            current: Some(wanted),
            maximum: limit.maximum,
        };
        // Otherwise more captures are opened for each read.
        let _ = setrlimit(Resource::Nofile, raised);
    }
}

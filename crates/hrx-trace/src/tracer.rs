//! The in-memory tracer's own interface and semantics, on top of the file: a program that used it changes one line, and its trace survives the crash.

use std::env;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use hrx_trace_reader::Trace;
use hrx_trace_reader::seed::ExecutionTrace;

use crate::creation::random::random;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::options::Options;
use crate::recorder::Recorder;

/// Starts and finishes captures, one at a time, and records into the one that runs. Usable from any thread by shared reference.
///
/// ```
/// use std::time::Instant;
///
/// use hrx_trace::{Tracer, lane};
///
/// static TRACER: Tracer = Tracer::new();
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("run.hrxt");
/// TRACER.start_at(&path, 100_000)?;
/// let start = Instant::now();
/// // ... upload ...
/// TRACER.record(start, start.elapsed(), lane::UPLOAD, 4096, false);
/// let trace = TRACER.finish().expect("a capture runs");
/// assert_eq!((trace.events.len(), trace.dropped), (1, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Tracer {
    /// What `record` writes to: read without a lock, and kept mapped as long as any thread still writes to it.
    running: ArcSwapOption<Recorder>,
    /// Serialises start and finish; holds the path of the last capture.
    last_path: Mutex<Option<PathBuf>>,
}

impl Default for Tracer {
    fn default() -> Self {
        Self::new()
    }
}

impl Tracer {
    /// A tracer that no capture runs in.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            running: ArcSwapOption::const_empty(),
            last_path: Mutex::new(None),
        }
    }

    /// Starts a capture of the last `capacity` events in the file that the environment names: `$HRX_TRACE_FILE`, else a new file with a unique
    /// name in `$HRX_TRACE_DIR`, else in `$XDG_RUNTIME_DIR`, else in the folder for temporary files. [`Tracer::path`] returns it.
    ///
    /// # Errors
    /// Capacity 0, even while a capture runs; [`Error::Busy`] while one runs, which goes on untouched; those of [`Options::create`].
    pub fn start(&self, capacity: usize) -> Result<()> {
        self.start_with(capacity, || match env_path("HRX_TRACE_FILE") {
            Some(path) => Ok(path),
            None => unique_path(),
        })
    }

    /// Starts a capture of the last `capacity` events in a new file at `path`.
    ///
    /// # Errors
    /// As [`Tracer::start`].
    pub fn start_at(&self, path: impl AsRef<Path>, capacity: usize) -> Result<()> {
        self.start_with(capacity, || Ok(path.as_ref().to_owned()))
    }

    fn start_with(&self, capacity: usize, path: impl FnOnce() -> Result<PathBuf>) -> Result<()> {
        if capacity == 0 {
            return Err(Error::ZeroCapacity);
        }
        let mut last_path = self.lock();
        if self.running.load().is_some() {
            return Err(Error::Busy("a trace is already running"));
        }
        let recorder = Options::new(capacity as u64).create(path()?)?;
        *last_path = Some(recorder.path().to_owned());
        self.running.store(Some(Arc::new(recorder)));
        Ok(())
    }

    /// Finishes the capture and reads it back from its file, which stays. None if no capture runs.
    ///
    /// If the file cannot be read back (its folder was deleted, or it was damaged), the trace lacks the events that are lost.
    pub fn finish(&self) -> Option<ExecutionTrace> {
        let _serialised = self.lock();
        let recorder = self.running.swap(None)?;
        recorder.finish();
        Some(match read_back(&recorder) {
            Ok(trace) => ExecutionTrace::from(&trace),
            Err(_) => ExecutionTrace {
                events: Vec::new(),
                dropped: recorder.claimed(),
            },
        })
    }

    /// Records a region that began at `start` and took `elapsed`. Does nothing if no capture runs, or if the region began before it.
    #[inline]
    pub fn record(
        &self,
        start: Instant,
        elapsed: Duration,
        lane: usize,
        copied_bytes: usize,
        failed: bool,
    ) {
        if let Some(recorder) = &*self.running.load() {
            let event = Event::new(lane)
                .copied_bytes(copied_bytes as u64)
                .failed(failed);
            recorder.record(start, elapsed, event);
        }
    }

    /// The file of the capture that runs, or else of the last one.
    #[must_use]
    pub fn path(&self) -> Option<PathBuf> {
        self.lock().clone()
    }

    /// The recorder of the capture that runs, for labels, correlation ids and regions that are shown while they run.
    #[must_use]
    pub fn recorder(&self) -> Option<Arc<Recorder>> {
        self.running.load_full()
    }

    /// A thread that panicked inside start or finish left either a running capture or none. Both are valid, so poisoning is ignored.
    fn lock(&self) -> MutexGuard<'_, Option<PathBuf>> {
        self.last_path
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens the recorder's file for reading, even if it has been renamed or deleted.
fn read_back(recorder: &Recorder) -> std::result::Result<Trace, hrx_trace_reader::Error> {
    // Not through our own descriptor: a reader tries the lock, which belongs to the descriptor.
    Trace::open(format!("/proc/self/fd/{}", recorder.file.as_raw_fd()))
}

/// The variable's value, if it is set and not empty.
fn env_path(variable: &str) -> Option<PathBuf> {
    env::var_os(variable)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

/// A name that no other process uses, not even one with the same id in another container.
fn unique_path() -> Result<PathBuf> {
    let folder = env_path("HRX_TRACE_DIR")
        .or_else(|| env_path("XDG_RUNTIME_DIR"))
        .unwrap_or_else(env::temp_dir);
    let random = random::<8>().map_err(|source| Error::Io {
        path: folder.clone(),
        doing: "draw a random name in it",
        source,
    })?;
    let random = u64::from_le_bytes(random);
    Ok(folder.join(format!("hrx-{}-{random:016x}.hrxt", std::process::id())))
}

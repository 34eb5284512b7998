//! The in-memory tracer's own interface and semantics, on top of the file: a program that used it changes one line, and its trace survives the crash.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use hrx_trace_reader::seed::ExecutionTrace;

use crate::{Error, Event, Options, Recorder, Result, options};

/// Starts and finishes captures, one at a time, and records into the one that runs. Usable from any thread by shared reference.
#[derive(Debug, Default)]
pub struct Tracer {
    /// What `record` writes to: read without a lock, and kept mapped for as long as anybody still writes to it.
    running: ArcSwapOption<Recorder>,
    /// Serialises start and finish; holds the path of the last capture.
    last_path: Mutex<Option<PathBuf>>,
}

impl Tracer {
    /// Starts a capture of the last `capacity` events in the file that the environment names: `$HRX_TRACE_FILE`, else a new file with a unique
    /// name in `$HRX_TRACE_DIR`, else in `$XDG_RUNTIME_DIR`, else in the folder for temporary files. [`Tracer::path`] tells which.
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
    /// A file that cannot be read back (somebody deleted its folder, or damaged it) gives a trace without the events that are lost.
    pub fn finish(&self) -> Option<ExecutionTrace> {
        let _serialised = self.lock();
        let recorder = self.running.swap(None)?;
        recorder.finish();
        let trace = recorder.read_back();
        Some(match trace {
            Ok(trace) => ExecutionTrace::from(&trace),
            Err(_) => ExecutionTrace {
                events: Vec::new(),
                dropped: recorder.claimed(),
            },
        })
    }

    /// Records a region that began at `start` and took `elapsed`; does nothing if no capture runs, or the region began before it.
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

    /// The file of the capture that runs, or of the last one that did.
    #[must_use]
    pub fn path(&self) -> Option<PathBuf> {
        self.lock().clone()
    }

    /// The recorder of the capture that runs, for labels, correlation ids and regions that are shown while they run.
    #[must_use]
    pub fn recorder(&self) -> Option<Arc<Recorder>> {
        self.running.load_full()
    }

    /// A thread that panicked inside start or finish left either a capture or none: both are states like any other.
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<PathBuf>> {
        self.last_path
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
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
    let random = options::random::<8>().map_err(|source| Error::Io {
        path: folder.clone(),
        doing: "draw a random name in it",
        source,
    })?;
    let random = u64::from_le_bytes(random);
    Ok(folder.join(format!("hrx-{}-{random:016x}.hrxt", std::process::id())))
}

//! The in-memory tracer's own interface and semantics, on top of the file: a program that used it changes one line, and its trace survives the crash.

use std::cell::RefCell;
use std::env;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
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
use crate::running::{Kept, Running};

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
    running: Running<Recorder>,
    /// Serialises start and finish.
    past: Mutex<Past>,
}

#[derive(Debug)]
struct Past {
    /// The file of the last capture, which may still run.
    last_path: Option<PathBuf>,
    /// The finished captures that some thread may still have a share of. Each is unmapped here, by a start or a finish, and so never inside a `record`.
    finished: Vec<Arc<Recorder>>,
}

impl Past {
    /// Unmaps the finished captures that no thread has a share of.
    fn sweep(&mut self) {
        self.finished
            .retain(|capture| Arc::strong_count(capture) > 1);
    }
}

thread_local! {
    /// The capture that the thread recorded into last, of whichever tracer.
    static KEPT: RefCell<Kept<Recorder>> = const { RefCell::new(Kept::NOTHING) };
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
            running: Running::new(AtomicU64::new(0), ArcSwapOption::const_empty()),
            past: Mutex::new(Past {
                last_path: None,
                finished: Vec::new(),
            }),
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
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        let mut past = self.lock();
        if self.running.share().is_some() {
            return Err(Error::Busy("a trace is already running"));
        }
        let recorder = Options::new(capacity as u64).create(path()?)?;
        past.sweep();
        past.last_path = Some(recorder.path().to_owned());
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        self.running.start(Arc::new(recorder), number);
        Ok(())
    }

    /// Finishes the capture and reads it back from its file, which stays. None if no capture runs.
    ///
    /// Waits for no thread, not even for one that is inside [`Tracer::record`]: the event of that one may or may not be in the trace.
    ///
    /// If the file cannot be read back (its folder was deleted, or it was damaged), the trace lacks the events that are lost.
    pub fn finish(&self) -> Option<ExecutionTrace> {
        let mut past = self.lock();
        let recorder = self.running.end()?;
        recorder.finish();
        let trace = match read_back(&recorder) {
            Ok(trace) => ExecutionTrace::from(&trace),
            Err(_) => ExecutionTrace {
                events: Vec::new(),
                dropped: recorder.claimed(),
            },
        };
        let _ = KEPT.try_with(|kept| {
            kept.try_borrow_mut()
                .map(|mut kept| kept.give_up(&recorder))
        });
        past.finished.push(recorder);
        past.sweep();
        Some(trace)
    }

    /// Records a region that began at `start` and took `elapsed`. Does nothing if no capture runs, or if the region began before it.
    ///
    /// Costs 2 to 3 ns more than [`Recorder::record`]: each thread keeps a share of the capture that it recorded into last. The first call of a thread in a
    /// capture fetches that share, without a lock; the very first of a thread also allocates. A thread that alternates between two tracers fetches every
    /// time.
    ///
    /// A finished capture stays mapped as long as a thread keeps a share of it: until the thread's next call, of this or another tracer, or its end. It is
    /// unmapped by the next start or finish after that, or when the tracer is dropped.
    #[inline]
    pub fn record(
        &self,
        start: Instant,
        elapsed: Duration,
        lane: usize,
        copied_bytes: usize,
        failed: bool,
    ) {
        let event = Event::new(lane)
            .copied_bytes(copied_bytes as u64)
            .failed(failed);
        let recorded = KEPT.try_with(|kept| {
            let mut kept = kept.try_borrow_mut().ok()?;
            if let Some(recorder) = self.running.kept(&mut kept) {
                recorder.record(start, elapsed, event);
            }
            Some(())
        });
        if !matches!(recorded, Ok(Some(()))) {
            self.record_without_keeping(start, elapsed, event);
        }
    }

    /// What a signal handler that interrupts a `record` does, and a thread that is ending and has given up what it kept.
    #[cold]
    fn record_without_keeping(&self, start: Instant, elapsed: Duration, event: Event) {
        if let Some(recorder) = self.running.share() {
            recorder.record(start, elapsed, event);
        }
    }

    /// The file of the capture that runs, or else of the last one.
    #[must_use]
    pub fn path(&self) -> Option<PathBuf> {
        self.lock().last_path.clone()
    }

    /// The recorder of the capture that runs, for labels, correlation ids and regions that are shown while they run.
    #[must_use]
    pub fn recorder(&self) -> Option<Arc<Recorder>> {
        self.running.share()
    }

    /// A thread that panicked inside start or finish left either a running capture or none. Both are valid, so poisoning is ignored.
    fn lock(&self) -> MutexGuard<'_, Past> {
        self.past.lock().unwrap_or_else(PoisonError::into_inner)
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

//! The in-memory tracer's own interface and semantics, on top of the file: a program that used it changes one line, and its trace survives the crash.

use std::cell::RefCell;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use hrx_trace_reader::Trace;
use hrx_trace_reader::seed::ExecutionTrace;

use crate::error::{Error, Result};
use crate::event::Event;
use crate::fork::{self, OnFork, Reopens};
use crate::options::Options;
use crate::recorder::Recorder;
use crate::region::{OwnedRegion, Region};
use crate::running::{Kept, Running};

/// Starts and finishes captures, one at a time, and records into the one that runs. Usable from any thread by shared reference.
///
/// If the process exits while a capture runs, the file says that it was left by exit: see [`Options::finish_at_exit`].
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
    /// The file of the capture that runs, open a second time, to read it back whatever the program has become by then. Not the recorder's own descriptor: a
    /// reader tries the lock, and would give back the recorder's.
    reopened: Option<File>,
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

impl Reopens for Tracer {
    fn reopen(&self) {
        // A thread that is not in this child may have been inside start or finish.
        let Ok(mut past) = self.past.try_lock() else {
            return;
        };
        let parents = self
            .running
            .share()
            .filter(|recorder| recorder.is_parents());
        let Some(parents) = parents else { return };
        if let Some(Ok(recorder)) = parents.create_beside() {
            past.finished.push(parents);
            self.run(&mut past, recorder);
        }
    }
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
                reopened: None,
                finished: Vec::new(),
            }),
        }
    }

    /// Starts a capture of the last `capacity` events where the environment says: in the file `$HRX_TRACE_FILE`, else in a new file in `$HRX_TRACE_DIR`, else in
    /// `$XDG_RUNTIME_DIR`, else in the folder for temporary files: see [`Options::create_from_environment`]. [`Tracer::path`] returns it.
    ///
    /// # Errors
    /// Capacity 0, even while a capture runs; [`Error::Busy`] while one runs, which goes on untouched; those of
    /// [`Options::create_from_environment`].
    pub fn start(&self, capacity: usize) -> Result<()> {
        self.start_by_options(capacity, Options::create_from_environment)
    }

    /// Starts a capture of the last `capacity` events in a new file at `path`.
    ///
    /// # Errors
    /// As [`Tracer::start`].
    pub fn start_at(&self, path: impl AsRef<Path>, capacity: usize) -> Result<()> {
        self.start_by_options(capacity, |options| options.create(path))
    }

    /// Starts a capture by `recorder`, which the caller has created with the options that it wants.
    ///
    /// # Errors
    /// [`Error::Busy`] while one runs, which goes on untouched; `recorder` is finished then, and its file stays.
    pub fn start_with(&self, recorder: Recorder) -> Result<()> {
        self.start_by(|| Ok(recorder))
    }

    /// What becomes of the capture in a child that the process forks while it runs. By default, the child is mute.
    pub fn on_fork(&'static self, on_fork: OnFork) {
        fork::set(self, on_fork);
    }

    /// Begins a region that keeps its capture alive, as [`Recorder::begin_owned`]. If no capture runs, nothing of it is recorded.
    pub fn begin(&self, event: Event) -> OwnedRegion {
        static DISABLED: LazyLock<Arc<Recorder>> = LazyLock::new(|| Arc::new(Recorder::disabled()));
        let recorder = self.running.share();
        Region::begin(recorder.unwrap_or_else(|| Arc::clone(&DISABLED)), event)
    }

    fn start_by_options(
        &self,
        capacity: usize,
        create: impl FnOnce(&Options) -> Result<Recorder>,
    ) -> Result<()> {
        if capacity == 0 {
            return Err(Error::ZeroCapacity);
        }
        self.start_by(|| create(&Options::new(capacity as u64).finish_at_exit(true)))
    }

    fn start_by(&self, create: impl FnOnce() -> Result<Recorder>) -> Result<()> {
        let mut past = self.lock();
        if self.running.share().is_some() {
            return Err(Error::Busy("a trace is already running"));
        }
        self.run(&mut past, create()?);
        Ok(())
    }

    fn run(&self, past: &mut Past, recorder: Recorder) {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        past.sweep();
        past.reopened = recorder.reopen().ok();
        past.last_path =
            Some(recorder.path().to_owned()).filter(|path| !path.as_os_str().is_empty());
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        self.running.start(Arc::new(recorder), number);
    }

    /// Finishes the capture and reads it back from its file, which stays. None if no capture runs.
    ///
    /// Waits for no thread, not even for one that is inside [`Tracer::record`]: the event of that one may or may not be in the trace.
    ///
    /// The file is read by a descriptor that [`Tracer::start`] opened, so it may have been renamed or deleted, and the program have lost its right to open it. If
    /// it was damaged, the trace lacks the events that are lost.
    pub fn finish(&self) -> Option<ExecutionTrace> {
        let mut past = self.lock();
        let recorder = self.running.end()?;
        recorder.finish();
        let file = past.reopened.take().or_else(|| recorder.reopen().ok());
        let trace = match file.map(Trace::from_file) {
            Some(Ok(trace)) => ExecutionTrace::from(&trace),
            Some(Err(_)) | None => ExecutionTrace {
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

    /// Says in the file that the process lives at this moment, as [`Recorder::alive`] does. Does nothing if no capture runs. Takes no lock.
    pub fn alive(&self) {
        if let Some(recorder) = self.running.share() {
            recorder.alive();
        }
    }

    /// The file of the capture that runs, or else of the last one.
    #[must_use]
    pub fn path(&self) -> Option<PathBuf> {
        self.lock().last_path.clone()
    }

    /// The recorder of the capture that runs, for labels, correlation ids, marks, values, and regions that are shown while they run.
    #[must_use]
    pub fn recorder(&self) -> Option<Arc<Recorder>> {
        self.running.share()
    }

    /// A thread that panicked inside start or finish left either a running capture or none. Both are valid, so poisoning is ignored.
    fn lock(&self) -> MutexGuard<'_, Past> {
        self.past.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

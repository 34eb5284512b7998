//! A recorder on no file.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use hrx_trace_format::Checksum;

use crate::areas::{ControlLines, CounterLines, Names, OpenTable, Ring};
use crate::life::Life;
use crate::memory::{Gate, Line, Lines};
use crate::moment::Moment;
use crate::recorder::Recorder;
use crate::thread;

/// What a disabled recorder has counted. Never written to, because the gate is closed.
static NOTHING: [Line; 2] = [const { [const { AtomicU64::new(0) }; 8] }; 2];

impl Recorder {
    /// A recorder that takes all calls and records nothing, for programs that trace only when asked to: their callers need no `Option`.
    ///
    /// Creates no file, and cannot fail. A call costs no more than the look whether the recorder records, a clock read in those that take the time.
    ///
    /// ```
    /// use hrx_trace::{Event, Recorder, lane};
    ///
    /// fn run(recorder: &Recorder) {
    ///     let region = recorder.begin(Event::new(lane::COMPUTE));
    ///     // ... submit, and wait ...
    ///     region.finish();
    /// }
    ///
    /// let wanted = std::env::var_os("HRX_TRACE_FILE");
    /// let recorder = match wanted {
    ///     Some(path) => Recorder::create(path, 100_000)?,
    ///     None => Recorder::disabled(),
    /// };
    /// run(&recorder);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn disabled() -> Self {
        let none = || Lines::of_static(&[]);
        let first = || Lines::of_static(&NOTHING[..1]);
        let (gate, now) = (Gate::closed(), Moment::now());
        let counters = CounterLines::new(Lines::of_static(&NOTHING));
        Self {
            first_ring: Ring::new(first(), none(), 0),
            gate: gate.clone(),
            epoch: Instant::now(),
            epoch_ns: now.monotonic_ns(),
            capture: thread::new_capture(),
            shared_rings: 1,
            checksum: Checksum::new(),
            other_rings: Box::default(),
            own_rings: Box::default(),
            open_table: OpenTable::new(none(), 0),
            counters: counters.clone(),
            names: Names::new(none(), 0),
            process: std::process::id(),
            path: PathBuf::new(),
            file: None,
            origin: None,
            fallback: None,
            life: Arc::new(Life {
                gate,
                counters,
                control_lines: ControlLines::new(first(), 1, 0),
                epoch_ns: now.monotonic_ns(),
            }),
            has_heartbeat: false,
            left_by_exit: None,
        }
    }
}

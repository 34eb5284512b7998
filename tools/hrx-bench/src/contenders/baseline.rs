//! The in-memory tracer's design: a mutex around a bounded deque, times as microseconds in floating point. Everything in it dies with the process.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::measuring::contender::{Contender, Fields, inputs};

/// The 40 bytes that the design keeps of an event.
struct Kept {
    _start_us: f64,
    _duration_us: f64,
    _lane: usize,
    _copied_bytes: usize,
    _failed: bool,
}

struct Running {
    epoch: Instant,
    capacity: usize,
    kept: VecDeque<Kept>,
    dropped: u64,
}

pub struct Baseline {
    on: AtomicBool,
    running: Mutex<Option<Running>>,
}

impl Baseline {
    /// Starts with a full deque, as it is for all but the first `capacity` events.
    pub fn full(capacity: usize) -> Self {
        let baseline = Self {
            on: AtomicBool::new(true),
            running: Mutex::new(Some(Running {
                epoch: Instant::now(),
                capacity,
                kept: VecDeque::new(),
                dropped: 0,
            })),
        };
        let inputs = inputs();
        for index in 0..capacity {
            baseline.event(&mut (), &inputs[index % inputs.len()]);
        }
        baseline
    }
}

impl Contender for Baseline {
    type Thread<'a> = ();

    fn thread(&self, _: usize) {}

    #[inline]
    fn event(&self, (): &mut (), fields: &Fields) {
        if !self.on.load(Ordering::Acquire) {
            return;
        }
        let mut guard = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(running) = guard.as_mut() else {
            return;
        };
        let Some(since_epoch) = fields.start.checked_duration_since(running.epoch) else {
            return;
        };
        if running.kept.len() == running.capacity {
            running.kept.pop_front();
            running.dropped += 1;
        }
        running.kept.push_back(Kept {
            _start_us: since_epoch.as_secs_f64() * 1e6,
            _duration_us: fields.elapsed.as_secs_f64() * 1e6,
            _lane: fields.lane,
            _copied_bytes: fields.copied_bytes,
            _failed: fields.failed,
        });
    }
}

//! A lane for each thread, with the thread's name. A lane is free again when its thread has ended, for the next thread with that name.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hrx_trace::Recorder;

/// How many layers a thread finds its lanes of at once. It still has one lane of each if there are more.
const REMEMBERED: usize = 4;

thread_local! {
    /// Number of the layer and lane of this thread. Without a destructor, so that it works while the thread ends.
    static LANES: [Cell<(u32, usize)>; REMEMBERED] = const { [const { Cell::new((0, 0)) }; REMEMBERED] };
    /// What the thread gives back when it ends.
    static SEATS: RefCell<Vec<Seat>> = const { RefCell::new(Vec::new()) };
}

/// A number of the calling thread, which no other thread has while it runs.
#[inline(always)]
pub fn this_thread() -> usize {
    LANES.with(|lanes| ptr::from_ref(lanes).addr())
}

/// A thread's lane of a layer.
#[derive(Debug)]
struct Seat {
    layer: u32,
    lane: usize,
    is_taken: Arc<AtomicBool>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.is_taken.store(false, Ordering::Release);
    }
}

/// The lanes of one layer.
#[derive(Debug)]
pub struct Lanes {
    /// From 1.
    layer: u32,
    /// By the threads' name: whether the first, the second … of its lanes is taken.
    names: Mutex<HashMap<String, Vec<Arc<AtomicBool>>>>,
}

impl Lanes {
    pub fn new() -> Self {
        static LAYERS: AtomicU32 = AtomicU32::new(1);
        Self {
            layer: LAYERS.fetch_add(1, Ordering::Relaxed),
            names: Mutex::default(),
        }
    }

    /// The calling thread's lane.
    #[inline(always)]
    pub fn lane(&self, recorder: &Recorder) -> usize {
        let remembered = self.layer as usize % REMEMBERED;
        let (layer, lane) = LANES.with(|lanes| lanes[remembered].get());
        if layer == self.layer {
            return lane;
        }
        let lane = self.look_up(recorder);
        LANES.with(|lanes| lanes[remembered].set((self.layer, lane)));
        lane
    }

    #[cold]
    fn look_up(&self, recorder: &Recorder) -> usize {
        let seated = SEATS.try_with(|seats| {
            let mut seats = seats.try_borrow_mut().ok()?;
            if let Some(seat) = seats.iter().find(|seat| seat.layer == self.layer) {
                return Some(seat.lane);
            }
            let current = std::thread::current();
            let (lane, is_taken) = self.take(current.name().unwrap_or("thread"), recorder);
            seats.push(Seat {
                layer: self.layer,
                lane,
                is_taken,
            });
            Some(lane)
        });
        // A thread that is ending, and had no lane before.
        seated
            .ok()
            .flatten()
            .unwrap_or_else(|| self.take("ending thread", recorder).0)
    }

    fn take(&self, name: &str, recorder: &Recorder) -> (usize, Arc<AtomicBool>) {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = names.entry(name.to_owned()).or_default();
        let free = taken
            .iter()
            .position(|taken| !taken.swap(true, Ordering::Acquire));
        let number = free.unwrap_or_else(|| {
            taken.push(Arc::new(AtomicBool::new(true)));
            taken.len() - 1
        });
        let lane = match number {
            0 => recorder.lane(name),
            _ => recorder.lane(&format!("{name} {}", number + 1)),
        };
        (lane, Arc::clone(&taken[number]))
    }
}

//! What can be chosen about a capture. `creation` does what is chosen.

use std::time::Duration;

use hrx_trace_format::{Geometry, Identity};

use crate::error::{Error, Result};

/// What can be chosen about a capture.
#[derive(Clone, Debug)]
pub struct Options {
    geometry: Geometry,
    pub(crate) shared_rings: u32,
    pub(crate) writers: u32,
    pub(crate) populate: bool,
    pub(crate) keep: Option<usize>,
    /// Zero: none.
    pub(crate) heartbeat: Duration,
    pub(crate) finish_at_exit: bool,
    /// Why the capture is not in the folder that it was to be in.
    pub(crate) fallback: Option<String>,
    attributes: Vec<(String, String)>,
}

impl Options {
    /// A capture that keeps the last `capacity` events, 64 bytes each, in one ring.
    #[must_use]
    pub fn new(capacity: u64) -> Self {
        Self {
            geometry: Geometry::new(capacity),
            shared_rings: 1,
            writers: 0,
            populate: true,
            keep: None,
            heartbeat: Duration::ZERO,
            finish_at_exit: false,
            fallback: None,
            attributes: Vec::new(),
        }
    }

    /// How many rings the threads share (thread ordinal mod rings); each holds `capacity` events. 1 by default.
    ///
    /// One ring keeps all events in one order, but threads that share it pay for it: 50 ns and more per event instead of a few. With a ring each,
    /// a busy thread cannot overwrite a quiet one's events.
    #[must_use]
    pub fn rings(mut self, rings: u32) -> Self {
        self.shared_rings = rings;
        self
    }

    /// How many threads can have a ring of their own at a time, each through a [`crate::Writer`]. These rings come on top of the shared ones, and each holds
    /// `capacity` events too. 0 by default.
    #[must_use]
    pub fn writers(mut self, writers: u32) -> Self {
        self.writers = writers;
        self
    }

    /// How many regions the file can show at a time while they run, 512 bytes each: 0 to 65,534. 1,024 by default.
    ///
    /// One that begins while all are taken is hidden until it completes: it is recorded then, and counted. With 0, every region is.
    #[must_use]
    pub fn open_regions(mut self, open_regions: u32) -> Self {
        self.geometry = self.geometry.open_slots(open_regions);
        self
    }

    /// Room for names, in bytes: a name of up to 36 bytes takes 64, longer ones take more. 1 MiB by default, at most 16 MiB; with 0, there are no names.
    ///
    /// Names of threads take at most a quarter of it.
    #[must_use]
    pub fn name_bytes(mut self, name_bytes: u64) -> Self {
        self.geometry = self.geometry.name_bytes(name_bytes);
        self
    }

    /// Whether all pages are made present at creation, so that no `record` takes a page fault. True by default.
    ///
    /// Costs 0.2 to 0.4 s per GiB, and the memory. Without it creation is faster, and the first lap takes a fault of 2 to 3 µs every 64 events.
    /// `hrx-bench tail` in the project's sources measures both.
    #[must_use]
    pub fn populate(mut self, populate: bool) -> Self {
        self.populate = populate;
        self
    }

    /// How many finished captures of this program stay in the capture's folder: each creation removes the oldest of those beyond `captures`, before it creates its
    /// own. By default all stay. [`remove_oldest`](crate::remove_oldest) says which count; the captures that crashes left are never removed.
    #[must_use]
    pub fn keep(mut self, captures: usize) -> Self {
        self.keep = Some(captures);
        self
    }

    /// A thread that says every `period` that the process lives, as [`Recorder::alive`](crate::Recorder::alive) does: the file then tells when the process died to
    /// that precision, also if it hung before and recorded nothing. Zero, the default: no such thread. A period counts as at least 1 ms and at most a minute.
    ///
    /// A beat costs two system calls and a store, 2 µs. The thread blocks all signals, ends with the capture and is not in a forked child. It does not delay the
    /// process's exit. Where the main thread has left by `pthread_exit` and all other threads have ended, it ends at its next beat, and the process with it; where
    /// /proc does not tell of threads after the program has changed its root, it ends as well. If it cannot be started, the capture begins without it, and
    /// [`Recorder::has_heartbeat`](crate::Recorder::has_heartbeat) says so.
    #[must_use]
    pub fn heartbeat(mut self, period: Duration) -> Self {
        self.heartbeat = period;
        self
    }

    /// Whether the file says so when the process exits without having finished the capture: by `exit`, a return from `main`, or `quick_exit`. A reader then shows
    /// that it was left by exit, and does not take it for a death. False by default; a `Tracer` has it.
    ///
    /// It is not a finish: exit handlers and destructors that run later may still record, and what they record is kept. `_exit`, `abort` and signals run no
    /// handlers; in a forked child the handler does nothing. It calls atexit(3) and at_quick_exit(3) once in a process: a library with this crate in it must
    /// not be unloaded (link it with `-z nodelete`).
    #[must_use]
    pub fn finish_at_exit(mut self, say_so: bool) -> Self {
        self.finish_at_exit = say_so;
        self
    }

    /// Something the program says about itself: rank, attempt, version … All attributes together take up to 656 bytes.
    #[must_use]
    pub fn attribute(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.attributes.push((key.into(), value.into()));
        self
    }

    /// The header of such a capture: sizes, offsets and attributes, everything else zero.
    pub(crate) fn layout(&self) -> Result<Identity> {
        if self.geometry.capacity == 0 {
            return Err(Error::ZeroCapacity);
        }
        let ring_count = match self.shared_rings {
            // Out of range, however many writers there are.
            0 => 0,
            shared => shared.saturating_add(self.writers),
        };
        let geometry = self.geometry.ring_count(ring_count);
        let mut identity = geometry.layout().ok_or(Error::TooLarge {
            capacity: geometry.capacity,
            rings: geometry.ring_count,
            open_regions: geometry.open_slots,
            name_bytes: geometry.name_bytes,
        })?;
        let attributes = self.encode_attributes(identity.attributes.len())?;
        identity.attributes_bytes = attributes.len() as u32;
        identity.attributes[..attributes.len()].copy_from_slice(attributes.as_bytes());
        Ok(identity)
    }

    fn encode_attributes(&self, bytes_max: usize) -> Result<String> {
        let mut text = String::new();
        for (key, value) in &self.attributes {
            let wrong = |reason| Error::Attribute {
                key: key.clone(),
                reason,
            };
            if key.is_empty() || key.contains('=') || key.contains(char::is_control) {
                return Err(wrong(
                    "a key must not be empty, and must not contain '=' or a control character",
                ));
            }
            if value.contains(char::is_control) {
                return Err(wrong("a value must not contain a control character"));
            }
            text.push_str(&format!("{key}={value}\n"));
            if text.len() > bytes_max {
                return Err(wrong(
                    "no room: all attributes together take up to 656 bytes",
                ));
            }
        }
        if let Some(fallback) = &self.fallback {
            text.push_str(&fallback_line(fallback, bytes_max - text.len()));
        }
        Ok(text)
    }
}

/// The attribute `fallback`, cut to `bytes_max` bytes; nothing if they hold none of its text.
fn fallback_line(fallback: &str, bytes_max: usize) -> String {
    const KEY: &str = "fallback=";
    let Some(text_bytes_max) = bytes_max.checked_sub(KEY.len() + 1) else {
        return String::new();
    };
    let text = fallback.replace(char::is_control, " ");
    match text.floor_char_boundary(text_bytes_max.min(text.len())) {
        0 => String::new(),
        end => format!("{KEY}{}\n", &text[..end]),
    }
}

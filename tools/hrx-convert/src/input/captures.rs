//! The captures that become one output, on a common timeline, each with a process id of its own.
//!
//! Invariants:
//! - No two captures share a `pid`. The first capture with a given real process id keeps it.
//! - The timeline's zero is the start of the capture that began first, its *origin*; no time on it is negative.

use std::io;
use std::ops::Index;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hrx_trace_reader::{Event, Identity, Names, Reading, Report, Trace};

use crate::input::alignment::{Alignment, start_times_ns};
use crate::input::open;
use crate::input::process_ids::distinct_pids;
use crate::input::selection::Selection;

/// Memory for the records that are read at once, of all captures together.
const CHUNKS_BYTES: u64 = 4 << 20;
/// A process's name shows attributes up to this length; the metadata has all of them.
const ATTRIBUTES_BYTES_MAX: usize = 120;

/// One capture, and its place among the others.
#[derive(Debug)]
pub struct Capture {
    pub trace: Trace,
    pub path: PathBuf,
    /// Its place in the list, from 0.
    pub index: usize,
    /// The process id that outputs show; unique among the captures.
    pub pid: u32,
    /// What to add to its own times to get those on the common timeline, in nanoseconds.
    pub shift_ns: u64,
    /// None: not read yet.
    names: Mutex<Option<Arc<Names>>>,
}

impl Capture {
    /// The names of lanes and threads. They are read when they are first asked for, and kept until [`Self::forget_names`].
    pub fn names(&self) -> Arc<Names> {
        let read = || Arc::new(self.trace.names());
        self.names_lock().get_or_insert_with(read).clone()
    }

    /// Lets go of the names: the program may have given more, or all that needed them is written.
    pub fn forget_names(&self) {
        *self.names_lock() = None;
    }

    fn names_lock(&self) -> MutexGuard<'_, Option<Arc<Names>>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The name of its process in viewers: the program, attributes such as a rank, and the real process id if outputs show another.
    pub fn process_name(&self) -> String {
        let identity = self.trace.identity();
        let mut name = match identity.program() {
            "" => format!("process {}", identity.process_id),
            program => program.to_owned(),
        };
        let mut left = ATTRIBUTES_BYTES_MAX;
        for (key, value) in identity.attributes() {
            let attribute = format!(" {key}={value}");
            let Some(after) = left.checked_sub(attribute.len()) else {
                name.push_str(" …");
                break;
            };
            left = after;
            name.push_str(&attribute);
        }
        if self.pid != identity.process_id {
            let file = self.path.file_name().unwrap_or_default().display();
            name.push_str(&format!(" [pid {}, {file}]", identity.process_id));
        }
        name
    }

    /// How to read it as one of `count` captures, from `since_ns` on the common timeline.
    pub fn reading(&self, since_ns: u64, count: usize) -> Reading {
        let mut reading = Reading::default();
        reading.since_ns = since_ns.saturating_sub(self.shift_ns);
        reading.chunk_bytes = reading.chunk_bytes.min(CHUNKS_BYTES / count as u64);
        reading
    }

    /// The event, on the common timeline.
    #[inline]
    pub fn shifted(&self, mut event: Event) -> Event {
        event.start_ns = event.start_ns.saturating_add(self.shift_ns);
        event
    }

    /// The report, on the common timeline.
    pub fn shifted_report(&self, mut report: Report) -> Report {
        let shift = |ns: u64| ns.saturating_add(self.shift_ns);
        report.first_ns = report.first_ns.map(shift);
        report.last_ns = shift(report.last_ns);
        report.complete_since_ns = shift(report.complete_since_ns);
        for region in &mut report.open_regions {
            region.start_ns = shift(region.start_ns);
        }
        report
    }
}

/// One or more captures on a common timeline, in the order they were given.
#[derive(Debug)]
pub struct Captures {
    list: Vec<Capture>,
    pub(crate) alignment: Alignment,
    origin: usize,
}

impl Captures {
    /// Opens captures to read the selected events. They are read by pread, never mapped, and never changed; a program may still be recording them.
    ///
    /// # Errors
    /// There is no path; or a file cannot be read or has no usable header, then the inner error is a [`hrx_trace_reader::Error`]. Any other damage is
    /// counted in what is made of the captures.
    pub fn open(
        paths: impl IntoIterator<Item = PathBuf>,
        selection: &Selection,
    ) -> io::Result<Self> {
        let opened = open::open(paths, selection.begins_late());
        if let Some(failure) = opened.failures.into_iter().next() {
            return Err(io::Error::other(failure));
        }
        if opened.traces.is_empty() {
            let message = "found no path of a capture, expected at least one";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        Ok(Self::new(opened.traces))
    }

    /// Aligns the captures, of which there is at least one.
    pub(crate) fn new(traces: Vec<(PathBuf, Trace)>) -> Self {
        let identities: Vec<&Identity> = traces.iter().map(|(_, trace)| trace.identity()).collect();
        let (alignment, starts_ns) = start_times_ns(&identities);
        let pids = distinct_pids(identities.iter().map(|identity| identity.process_id));
        let first_ns = starts_ns.iter().copied().min().unwrap_or_default();
        let origin = starts_ns.iter().position(|start_ns| *start_ns == first_ns);
        let list = traces
            .into_iter()
            .zip(pids)
            .zip(starts_ns)
            .enumerate()
            .map(|(index, (((path, trace), pid), start_ns))| Capture {
                trace,
                path,
                index,
                pid,
                shift_ns: u64::try_from(start_ns - first_ns).unwrap_or(u64::MAX),
                names: Mutex::default(),
            })
            .collect();
        Self {
            list,
            alignment,
            origin: origin.unwrap_or_default(),
        }
    }

    #[cfg(test)]
    pub(crate) fn of_bytes<const N: usize>(files: [Vec<u8>; N]) -> Self {
        let traces = files.into_iter().enumerate().map(|(index, bytes)| {
            let path = PathBuf::from(format!("{index}.hrxt"));
            (path, Trace::from_bytes(bytes).expect("a trace"))
        });
        Self::new(traces.collect())
    }

    /// In the order they were given.
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Capture> {
        self.list.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> std::slice::IterMut<'_, Capture> {
        self.list.iter_mut()
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// What is read together: each capture by itself, or all of them.
    pub(crate) fn parts(&self, one_by_one: bool) -> impl Iterator<Item = &[Capture]> {
        let count = if one_by_one { 1 } else { self.list.len() };
        self.list.chunks(count)
    }

    /// The capture whose start is the timeline's zero.
    pub(crate) fn origin(&self) -> &Capture {
        &self.list[self.origin]
    }

    /// The last moment known of any capture, judging by their newest events; in nanoseconds on the common timeline.
    pub(crate) fn latest_ns(&self) -> u64 {
        let latest = |capture: &Capture| capture.trace.latest_ns().saturating_add(capture.shift_ns);
        self.iter().map(latest).fold(0, u64::max)
    }
}

#[doc(hidden)]
impl Index<usize> for Captures {
    type Output = Capture;

    #[inline]
    fn index(&self, index: usize) -> &Capture {
        &self.list[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hrx_trace_tests::capture::Capture as Made;

    #[test]
    fn boots_are_aligned_by_wall_time() {
        let mut other_boot = Made::new(4);
        other_boot.identity.boot_id = [9; 16];
        other_boot.identity.epoch_monotonic_ns = 5;
        other_boot.identity.epoch_realtime_ns += 7_000;
        let mut its_neighbour = Made::new(4);
        its_neighbour.identity.boot_id = [9; 16];
        its_neighbour.identity.epoch_monotonic_ns = 15;
        its_neighbour.identity.epoch_realtime_ns = 0;
        let mut unknown = Made::new(4);
        unknown.identity.boot_id = [0; 16];
        unknown.identity.epoch_realtime_ns += 1;
        let first = Made::new(4);
        let files = [other_boot, its_neighbour, unknown, first].map(|capture| capture.bytes());
        let captures = Captures::of_bytes(files);
        assert_eq!(captures.alignment, Alignment::WallTime);
        let shifts: Vec<u64> = captures.iter().map(|capture| capture.shift_ns).collect();
        assert_eq!(shifts, [7_000, 7_010, 1, 0]);
    }

    #[test]
    fn process_names() {
        let mut first = Made::new(1).attributes("rank=3\nnode=a\n");
        first.identity.process_id = 1;
        let mut second = Made::new(1).attributes(&format!("rank=4\nnote={}\n", "x".repeat(200)));
        second.identity.process_id = 1;
        let captures = Captures::of_bytes([first.bytes(), second.bytes()]);
        assert_eq!(captures[0].process_name(), "pipeline rank=3 node=a");
        assert_eq!(
            captures[1].process_name(),
            "pipeline rank=4 … [pid 1, 1.hrxt]"
        );
    }
}

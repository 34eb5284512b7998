//! The captures that become one output: a process id for each, a common timeline, and their events in one order.
//!
//! Invariants:
//! - No two captures share a `pid`: viewers take equal ones for one process. The real one is kept by the first capture that has it.
//! - The timeline's zero is the start of the capture that began first, its *origin*; no time on it is negative.
//! - Captures of one boot keep their distances on CLOCK_MONOTONIC, to the nanosecond. Boots are put beside each other by wall time, each by the
//!   capture of it that began first.
//! - A capture's own order of events is kept; several captures are merged by completion on the timeline, at the same time the first given first.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::ops::Index;
use std::path::PathBuf;

use hrx_trace_reader::{Event, Events, Identity, Reading, Report, Trace};
use serde::Serialize;

/// Linux gives out process ids up to 2^22: those above are free for captures whose own is taken.
const SUBSTITUTES_FROM: u32 = (1 << 22) + 1;
/// Memory for the records that are read at once, of all captures together.
const CHUNKS_BYTES: u64 = 4 << 20;
/// Attributes in a process's name are cut behind so many bytes; all of them are in the metadata.
const ATTRIBUTES_BYTES: usize = 120;

/// How the captures were brought onto one timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Alignment {
    /// There is one capture: the timeline is its own.
    Single,
    /// All are of one boot: exact.
    MonotonicClock,
    /// Of several boots, or of unknown ones: as good as the clocks of the hosts agreed.
    WallTime,
}

/// One capture, and its place beside the others.
#[derive(Debug)]
pub struct Capture {
    pub trace: Trace,
    pub path: PathBuf,
    /// Its place in the list.
    pub index: usize,
    /// What viewers know its process by.
    pub pid: u32,
    /// What its own times lack to the timeline's.
    pub shift_ns: u64,
}

impl Capture {
    /// The program, the attributes such as a rank, and the real process id where viewers are shown another.
    pub fn process_name(&self) -> String {
        let identity = self.trace.identity();
        let mut name = match identity.program() {
            "" => format!("process {}", identity.process_id),
            program => program.to_owned(),
        };
        let mut left = ATTRIBUTES_BYTES;
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

    /// How this capture is read, as one of `count`, from a moment of the timeline on.
    pub fn reading(&self, since_ns: u64, count: usize) -> Reading {
        let usual = Reading::default();
        Reading {
            since_ns: since_ns.saturating_sub(self.shift_ns),
            chunk_bytes: usual.chunk_bytes.min(CHUNKS_BYTES / count as u64),
        }
    }

    /// The event, on the timeline.
    #[inline]
    pub fn shifted(&self, event: Event) -> Event {
        Event {
            start_ns: event.start_ns.saturating_add(self.shift_ns),
            ..event
        }
    }

    /// The report, on the timeline.
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

/// The captures, in the order they were given.
#[derive(Debug)]
pub struct Captures {
    list: Vec<Capture>,
    pub alignment: Alignment,
    origin: usize,
}

impl Captures {
    /// At least one.
    pub fn new(traces: Vec<(PathBuf, Trace)>) -> Self {
        let identities: Vec<&Identity> = traces.iter().map(|(_, trace)| trace.identity()).collect();
        let (alignment, starts_ns) = starts(&identities);
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
            })
            .collect();
        Self {
            list,
            alignment,
            origin: origin.unwrap_or_default(),
        }
    }

    #[cfg(test)]
    pub fn of_bytes<const N: usize>(files: [Vec<u8>; N]) -> Self {
        let traces = files.into_iter().enumerate().map(|(index, bytes)| {
            let path = PathBuf::from(format!("{index}.hrxt"));
            (path, Trace::from_bytes(bytes).expect("a trace"))
        });
        Self::new(traces.collect())
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Capture> {
        self.list.iter()
    }

    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, Capture> {
        self.list.iter_mut()
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// What is read at once: one after the other, or all of them.
    pub fn parts(&self, one_by_one: bool) -> impl Iterator<Item = &[Capture]> {
        let count = if one_by_one { 1 } else { self.list.len() };
        self.list.chunks(count)
    }

    /// The capture whose start is the timeline's zero.
    pub fn origin(&self) -> &Capture {
        &self.list[self.origin]
    }

    /// The last moment known of any capture, as far as their newest events tell.
    pub fn latest_ns(&self) -> u64 {
        let latest = |capture: &Capture| capture.trace.latest_ns().saturating_add(capture.shift_ns);
        self.iter().map(latest).fold(0, u64::max)
    }

    /// All events, as [`MergedEvents::new`] gives them.
    #[cfg(test)]
    pub fn events(&self, since_ns: u64) -> MergedEvents<'_> {
        MergedEvents::new(&self.list, since_ns)
    }
}

impl Index<usize> for Captures {
    type Output = Capture;

    #[inline]
    fn index(&self, index: usize) -> &Capture {
        &self.list[index]
    }
}

/// The moment each capture began, on one clock whose zero is any.
fn starts(identities: &[&Identity]) -> (Alignment, Vec<i128>) {
    /// Captures of unknown boots have each a boot of their own.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    enum Boot {
        Known([u8; 16]),
        Unknown(usize),
    }
    let mut boots: BTreeMap<Boot, Vec<usize>> = BTreeMap::new();
    for (index, identity) in identities.iter().enumerate() {
        let boot = match identity.boot_id {
            [0, ..] if identity.boot_id == [0; 16] => Boot::Unknown(index),
            known => Boot::Known(known),
        };
        boots.entry(boot).or_default().push(index);
    }
    let alignment = match (identities.len(), boots.len()) {
        (1, _) => Alignment::Single,
        (_, 1) => Alignment::MonotonicClock,
        _ => Alignment::WallTime,
    };
    let mut starts_ns = vec![0; identities.len()];
    for captures in boots.values() {
        let monotonic_ns = |index: usize| i128::from(identities[index].epoch_monotonic_ns);
        let Some(&first) = captures.iter().min_by_key(|index| monotonic_ns(**index)) else {
            continue;
        };
        for &index in captures {
            let behind_first_ns = monotonic_ns(index) - monotonic_ns(first);
            starts_ns[index] = i128::from(identities[first].epoch_realtime_ns) + behind_first_ns;
        }
    }
    (alignment, starts_ns)
}

/// The process ids, and in the place of those that are taken or mean nothing, substitutes.
fn distinct_pids(real: impl Iterator<Item = u32> + Clone) -> Vec<u32> {
    let every: BTreeSet<u32> = real.clone().collect();
    let mut taken = BTreeSet::from([0]);
    let mut substitutes = (SUBSTITUTES_FROM..).filter(|pid| !every.contains(pid));
    real.map(|pid| match taken.insert(pid) {
        true => pid,
        false => substitutes.next().unwrap_or(pid),
    })
    .collect()
}

/// The events of a part of the captures. [`MergedEvents::finish`] gives the report of each.
pub struct MergedEvents<'captures> {
    /// All of them, or one.
    captures: &'captures [Capture],
    streams: Vec<Events<'captures>>,
    /// Several captures: those that have a head, by (completion, index), earliest on top. One capture: empty.
    merge: BinaryHeap<Reverse<(u64, usize)>>,
    /// Several captures: the event of each that comes next.
    heads: Vec<Option<Event>>,
}

impl<'captures> MergedEvents<'captures> {
    /// In the order of completion, each with its capture's index. What ended before `since_ns` need not be among them.
    pub fn new(captures: &'captures [Capture], since_ns: u64) -> Self {
        let mut streams: Vec<Events> = captures
            .iter()
            .map(|capture| {
                capture
                    .trace
                    .read(capture.reading(since_ns, captures.len()))
            })
            .collect();
        let mut merge = BinaryHeap::new();
        let mut heads = Vec::new();
        if captures.len() > 1 {
            for (capture, stream) in captures.iter().zip(&mut streams) {
                let head = stream.next().map(|event| capture.shifted(event));
                merge.extend(head.map(|head| Reverse((head.end_ns(), capture.index))));
                heads.push(head);
            }
        }
        Self {
            captures,
            streams,
            merge,
            heads,
        }
    }

    /// Reads what is left.
    pub fn finish(self) -> Vec<Report> {
        self.captures
            .iter()
            .zip(self.streams)
            .map(|(capture, events)| capture.shifted_report(events.finish()))
            .collect()
    }
}

impl Iterator for MergedEvents<'_> {
    type Item = (usize, Event);

    #[inline]
    fn next(&mut self) -> Option<(usize, Event)> {
        if let ([capture], [only]) = (self.captures, self.streams.as_mut_slice()) {
            return only
                .next()
                .map(|event| (capture.index, capture.shifted(event)));
        }
        let mut top = self.merge.peek_mut()?;
        let Reverse((_, index)) = *top;
        let capture = &self.captures[index];
        let next = self.streams[index]
            .next()
            .map(|event| capture.shifted(event));
        match next {
            Some(next) => *top = Reverse((next.end_ns(), index)),
            None => {
                PeekMut::pop(top);
            }
        }
        let event = std::mem::replace(&mut self.heads[index], next)?;
        Some((index, event))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let mut left = self.streams.iter().map(|events| events.size_hint().1);
        let left = left.try_fold(self.merge.len(), |sum, left| sum.checked_add(left?));
        (0, left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hrx_trace_tests::capture::{Capture as Made, region};

    fn ends(captures: &Captures) -> Vec<(usize, u64)> {
        captures
            .events(0)
            .map(|(index, event)| (index, event.end_ns()))
            .collect()
    }

    #[test]
    fn captures_of_one_boot_are_merged_on_the_monotonic_clock() {
        let mut late = Made::new(4);
        late.identity.epoch_monotonic_ns += 1_500;
        // Somebody set the wall clock: nothing follows from it.
        late.identity.epoch_realtime_ns -= 1 << 50;
        late.record(region(0, 0, 100)).record(region(0, 1_000, 100));
        let mut early = Made::new(4);
        early
            .record(region(0, 0, 100))
            .record(region(0, 2_000, 100));
        let captures = Captures::of_bytes([late.bytes(), early.bytes()]);
        assert_eq!(captures.alignment, Alignment::MonotonicClock);
        assert_eq!(captures.origin().index, 1);
        assert_eq!(
            ends(&captures),
            [(1, 100), (0, 1_600), (1, 2_100), (0, 2_600)]
        );
        let reports = captures.events(0).finish();
        assert_eq!(reports[0].first_ns, Some(1_500));
        assert_eq!(reports[0].last_ns, 2_600);
        assert_eq!(reports[1].last_ns, 2_100);
    }

    #[test]
    fn boots_are_put_beside_each_other_by_wall_time() {
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
    fn pids_are_distinct_and_real_where_they_can_be() {
        let substitute = SUBSTITUTES_FROM;
        assert_eq!(
            distinct_pids([1, 1, 7, 0, substitute, 7].into_iter()),
            [
                1,
                substitute + 1,
                7,
                substitute + 2,
                substitute,
                substitute + 3
            ]
        );
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

//! The regions of the timeline: the ones of all captures that ended last, whatever order they come in. The same for its marks and its values.
//!
//! They are in an unnamed temporary file, because together they would take a hundred MiB of memory. Whenever it holds twice as many as wanted,
//! the older ones are dropped, and from then on every region that ended before the ones kept.

use std::io;
use std::mem;

use crate::figures::spill::{Runs, Spillable};
use crate::formats::page::event::{EVENT_BYTES, TimelineEvent};
use crate::output::scratch::ScratchFile;

/// Regions that are in memory at a time.
const BLOCK_REGIONS: usize = 1 << 15;

/// Keeps the newest of the regions pushed into it.
#[derive(Debug)]
pub struct Newest {
    wanted: usize,
    held: Vec<TimelineEvent>,
    file: Option<ScratchFile>,
    /// Regions in the file.
    filed: usize,
    /// Regions that ended earlier are not among the newest.
    from_ns: u64,
}

impl Newest {
    pub fn new(wanted: usize) -> Self {
        Self {
            wanted,
            held: Vec::new(),
            file: None,
            filed: 0,
            from_ns: 0,
        }
    }

    /// Whether what ended at that moment may be among the newest.
    #[inline]
    pub fn admits(&self, end_ns: u64) -> bool {
        end_ns >= self.from_ns
    }

    #[inline]
    pub fn push(&mut self, region: TimelineEvent) -> io::Result<()> {
        if !self.admits(region.event.end_ns()) {
            return Ok(());
        }
        self.held.push(region);
        match self.held.len() {
            BLOCK_REGIONS => self.make_room(),
            _ => Ok(()),
        }
    }

    #[cold]
    fn make_room(&mut self) -> io::Result<()> {
        self.put_held()?;
        match self.filed >= self.wanted.saturating_mul(2) {
            true => self.drop_older(self.wanted),
            false => Ok(()),
        }
    }

    /// Keeps at most the newest `count_max`, and returns how many are left.
    pub fn keep(&mut self, count_max: usize) -> io::Result<usize> {
        self.put_held()?;
        self.drop_older(count_max)?;
        Ok(self.filed)
    }

    /// All regions in the order of [`TimelineEvent::key`]. `each` sees them unsorted.
    pub fn sorted(&self, mut each: impl FnMut(&TimelineEvent)) -> io::Result<Runs> {
        let mut runs = Runs::new()?;
        self.blocks(|block| {
            block.iter().for_each(&mut each);
            block.sort_by_key(TimelineEvent::key);
            runs.add(block)
        })?;
        Ok(runs)
    }

    fn put_held(&mut self) -> io::Result<()> {
        let held = mem::take(&mut self.held);
        let filed = self.filed;
        put(self.file()?, filed, &held)?;
        self.filed += held.len();
        self.held = held;
        self.held.clear();
        Ok(())
    }

    fn file(&mut self) -> io::Result<&ScratchFile> {
        Ok(match &mut self.file {
            Some(file) => file,
            none => none.insert(ScratchFile::new()?),
        })
    }

    fn drop_older(&mut self, count_max: usize) -> io::Result<()> {
        let Some(older) = self.filed.checked_sub(count_max).filter(|older| *older > 0) else {
            return Ok(());
        };
        let mut ends_ns = Vec::with_capacity(self.filed);
        self.blocks(|block| {
            ends_ns.extend(block.iter().map(|region| region.event.end_ns()));
            Ok(())
        })?;
        let from_ns = match older < ends_ns.len() {
            true => *ends_ns.select_nth_unstable(older).1,
            false => u64::MAX,
        };
        // Of the regions that ended at that very moment, the earlier ones are dropped too.
        let before = ends_ns.iter().filter(|end_ns| **end_ns < from_ns).count();
        let mut to_go = older - before;
        drop(ends_ns);
        let mut left = 0;
        self.blocks(|block| {
            block.retain(|region| {
                let goes = match region.event.end_ns().cmp(&from_ns) {
                    std::cmp::Ordering::Less => true,
                    std::cmp::Ordering::Equal => to_go > 0,
                    std::cmp::Ordering::Greater => false,
                };
                to_go -= usize::from(goes && region.event.end_ns() == from_ns);
                !goes
            });
            // Overwrites the part already read.
            if let Some(file) = &self.file {
                put(file, left, block)?;
            }
            left += block.len();
            Ok(())
        })?;
        self.filed = left;
        self.from_ns = from_ns;
        Ok(())
    }

    /// The content of the file, block by block.
    fn blocks(
        &self,
        mut each: impl FnMut(&mut Vec<TimelineEvent>) -> io::Result<()>,
    ) -> io::Result<()> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        let mut block = Vec::with_capacity(BLOCK_REGIONS);
        let mut bytes = vec![0; BLOCK_REGIONS * EVENT_BYTES];
        for at in (0..self.filed).step_by(BLOCK_REGIONS) {
            let bytes = &mut bytes[..BLOCK_REGIONS.min(self.filed - at) * EVENT_BYTES];
            file.read_exact_at(bytes, (at * EVENT_BYTES) as u64)?;
            let (rows, _) = bytes.as_chunks();
            block.clear();
            block.extend(rows.iter().map(TimelineEvent::from_bytes));
            each(&mut block)?;
        }
        Ok(())
    }
}

/// Writes regions into the file. `at` counts regions.
fn put(file: &ScratchFile, at: usize, regions: &[TimelineEvent]) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(regions.len() * EVENT_BYTES);
    for region in regions {
        bytes.extend_from_slice(&region.to_bytes());
    }
    file.write_all_at(&bytes, (at * EVENT_BYTES) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::page::event::tests::event;
    use proptest::prelude::*;

    fn all(newest: &Newest) -> Vec<TimelineEvent> {
        let mut all = Vec::new();
        let runs = newest.sorted(|_| ()).unwrap();
        runs.merge(|region: TimelineEvent| {
            all.push(region);
            Ok(())
        })
        .unwrap();
        all
    }

    proptest! {
        #[test]
        fn those_that_ended_last_stay(
            times in prop::collection::vec((0u64..50, 0u64..20), 0..60), wanted in 0usize..40, often in 1usize..60,
        ) {
            let mut newest = Newest::new(wanted);
            let mut expected: Vec<TimelineEvent> = Vec::new();
            for (i, (start_ns, duration_ns)) in (0..).zip(&times) {
                newest.push(event(i, *start_ns, *duration_ns)).unwrap();
                expected.push(event(i, *start_ns, *duration_ns));
                if (i as usize).is_multiple_of(often) {
                    newest.make_room().unwrap();
                }
            }
            prop_assert_eq!(newest.keep(wanted).unwrap(), wanted.min(times.len()));
            // Of regions with equal ends, those that came last.
            expected.sort_by_key(|region| region.event.end_ns());
            expected.drain(..times.len().saturating_sub(wanted));
            expected.sort_by_key(|region| region.capture);
            expected.sort_by_key(TimelineEvent::key);
            prop_assert_eq!(all(&newest), expected);
        }
    }
}

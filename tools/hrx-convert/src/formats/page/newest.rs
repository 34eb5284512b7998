//! The regions of the timeline: those of all captures that ended last, in whatever order they come.
//!
//! They are in a temporary file without a name, for all of them together would take a hundred MiB. Whenever it holds twice as many as are
//! wanted, the older ones are left out, and from then on whatever ended before those that stay.

use std::cmp::Reverse;
use std::fs::File;
use std::io;
use std::mem;
use std::os::unix::fs::FileExt;

use hrx_trace_reader::Event;

use crate::figures::spill::{Runs, Spillable};

/// Regions that are in memory at a time.
const BLOCK: usize = 1 << 15;
const ROW_BYTES: usize = 65;

/// A region on the timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    pub capture: u32,
    pub event: Event,
    pub unfinished: bool,
}

impl Spillable for Region {
    type Bytes = [u8; ROW_BYTES];
    /// In the order of their beginnings, at the same time the longer first.
    type Key = (u64, Reverse<u64>);

    const ZEROED: Self::Bytes = [0; ROW_BYTES];

    fn to_bytes(&self) -> Self::Bytes {
        let event = &self.event;
        let longs = [
            event.start_ns,
            event.duration_ns,
            event.copied_bytes,
            event.correlation_id,
            event.sequence,
        ];
        let words = [
            event.ring,
            event.lane,
            event.label_id,
            event.thread_id,
            event.status,
            self.capture,
        ];
        let flags = [event.failed, event.saturated, self.unfinished];
        let mut bytes = Self::ZEROED;
        let (of_longs, rest) = bytes.split_at_mut(size_of_val(&longs));
        let (of_words, rest) = rest.split_at_mut(size_of_val(&words));
        for (place, long) in of_longs.chunks_exact_mut(8).zip(longs) {
            place.copy_from_slice(&long.to_le_bytes());
        }
        for (place, word) in of_words.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        rest[0] = (0..)
            .zip(flags)
            .map(|(bit, flag)| u8::from(flag) << bit)
            .sum();
        bytes
    }

    fn from_bytes(bytes: &Self::Bytes) -> Self {
        let long = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[at * 8 + byte]));
        let word =
            |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| bytes[40 + at * 4 + byte]));
        let flag = |bit: u8| bytes[ROW_BYTES - 1] >> bit & 1 == 1;
        Self {
            event: Event {
                start_ns: long(0),
                duration_ns: long(1),
                copied_bytes: long(2),
                correlation_id: long(3),
                sequence: long(4),
                ring: word(0),
                lane: word(1),
                label_id: word(2),
                thread_id: word(3),
                status: word(4),
                failed: flag(0),
                saturated: flag(1),
            },
            capture: word(5),
            unfinished: flag(2),
        }
    }

    fn key(&self) -> Self::Key {
        (self.event.start_ns, Reverse(self.event.duration_ns))
    }
}

/// Takes regions.
#[derive(Debug)]
pub struct Newest {
    wanted: usize,
    held: Vec<Region>,
    file: Option<File>,
    /// Regions in the file.
    filed: usize,
    /// What ended before is none of the newest.
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

    #[inline]
    pub fn push(&mut self, region: Region) -> io::Result<()> {
        if region.event.end_ns() < self.from_ns {
            return Ok(());
        }
        self.held.push(region);
        match self.held.len() {
            BLOCK => self.make_room(),
            _ => Ok(()),
        }
    }

    #[cold]
    fn make_room(&mut self) -> io::Result<()> {
        self.put_held()?;
        match self.filed >= self.wanted.saturating_mul(2) {
            true => self.leave(self.wanted),
            false => Ok(()),
        }
    }

    /// Leaves no more than so many, the newest; gives how many there are.
    pub fn keep(&mut self, count_max: usize) -> io::Result<usize> {
        self.put_held()?;
        self.leave(count_max)?;
        Ok(self.filed)
    }

    /// Sorted: see [`Region::key`].
    pub fn sorted(&self, mut each: impl FnMut(&Region)) -> io::Result<Runs> {
        let mut runs = Runs::new()?;
        self.blocks(|block| {
            block.iter().for_each(&mut each);
            block.sort_by_key(Region::key);
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

    fn file(&mut self) -> io::Result<&File> {
        Ok(match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        })
    }

    fn leave(&mut self, count_max: usize) -> io::Result<()> {
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
        // Of those that ended at that moment, the earlier ones have to go as well.
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
            // Over what has been read already.
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

    /// What is in the file, block by block.
    fn blocks(&self, mut each: impl FnMut(&mut Vec<Region>) -> io::Result<()>) -> io::Result<()> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        let mut block = Vec::with_capacity(BLOCK);
        let mut bytes = vec![0; BLOCK * ROW_BYTES];
        for at in (0..self.filed).step_by(BLOCK) {
            let bytes = &mut bytes[..BLOCK.min(self.filed - at) * ROW_BYTES];
            file.read_exact_at(bytes, (at * ROW_BYTES) as u64)?;
            let (rows, _) = bytes.as_chunks();
            block.clear();
            block.extend(rows.iter().map(Region::from_bytes));
            each(&mut block)?;
        }
        Ok(())
    }
}

/// Writes regions to a place in a file that is counted in regions.
fn put(file: &File, at: usize, regions: &[Region]) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(regions.len() * ROW_BYTES);
    for region in regions {
        bytes.extend_from_slice(&region.to_bytes());
    }
    file.write_all_at(&bytes, (at * ROW_BYTES) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn region(capture: u32, start_ns: u64, duration_ns: u64) -> Region {
        Region {
            capture,
            event: Event {
                ring: 7,
                sequence: start_ns ^ u64::MAX,
                start_ns,
                duration_ns,
                copied_bytes: 1 << 50,
                correlation_id: 3 << 40,
                lane: u32::MAX,
                label_id: 5,
                thread_id: 6,
                status: 1 << 31,
                failed: start_ns % 2 == 1,
                saturated: start_ns % 3 == 1,
            },
            unfinished: start_ns % 5 == 1,
        }
    }

    fn all(newest: &Newest) -> Vec<Region> {
        let mut all = Vec::new();
        let runs = newest.sorted(|_| ()).unwrap();
        runs.merge(|region: Region| {
            all.push(region);
            Ok(())
        })
        .unwrap();
        all
    }

    #[test]
    fn a_region_is_read_as_it_was_written() {
        for start_ns in 0..30 {
            let region = region(4, start_ns, 9);
            assert_eq!(Region::from_bytes(&region.to_bytes()), region);
        }
    }

    proptest! {
        #[test]
        fn those_that_ended_last_stay(
            times in prop::collection::vec((0u64..50, 0u64..20), 0..60), wanted in 0usize..40, often in 1usize..60,
        ) {
            let mut newest = Newest::new(wanted);
            let mut expected: Vec<Region> = Vec::new();
            for (i, (start_ns, duration_ns)) in (0..).zip(&times) {
                newest.push(region(i, *start_ns, *duration_ns)).unwrap();
                expected.push(region(i, *start_ns, *duration_ns));
                if (i as usize).is_multiple_of(often) {
                    newest.make_room().unwrap();
                }
            }
            prop_assert_eq!(newest.keep(wanted).unwrap(), wanted.min(times.len()));
            // Of equal ends, those that came last.
            expected.sort_by_key(|region| region.event.end_ns());
            expected.drain(..times.len().saturating_sub(wanted));
            expected.sort_by_key(|region| region.capture);
            expected.sort_by_key(Region::key);
            prop_assert_eq!(all(&newest), expected);
        }
    }
}

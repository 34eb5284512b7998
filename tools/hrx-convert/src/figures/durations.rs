//! The durations of any number of groups of regions, in bounded memory.
//!
//! A group of a few regions keeps each duration. A larger one gets a histogram, as long as there are not too many of those; the durations of other
//! groups go to a temporary file, 8 bytes each, until they are summed up one group after the other.

use std::fs::File;
use std::io;
use std::mem;
use std::os::unix::fs::FileExt;

use hdrhistogram::Histogram;

use crate::figures::distribution::{add, empty, record};

/// Groups that have a histogram each, of about 80 KiB if durations reach a second.
pub const HISTOGRAMS_MAX: usize = 128;
/// Durations that a group keeps one by one: they take less memory than a histogram.
pub const FEW_MAX: usize = 512;
const BLOCK_BYTES: usize = FEW_MAX * size_of::<u64>();

/// The durations of one group.
#[derive(Debug, Default)]
pub struct Durations {
    /// The latest, one by one.
    few: Vec<u64>,
    /// Earlier ones: the numbers of their blocks in the [`DurationStore`].
    blocks: Vec<u32>,
    /// The rest, if the group has a histogram.
    many: Option<Histogram<u32>>,
}

/// What all groups share: the number of histograms, and the file for durations that memory has no room for.
#[derive(Debug, Default)]
pub struct DurationStore {
    histograms: usize,
    /// A temporary file without a name: blocks of [`FEW_MAX`] durations.
    file: Option<File>,
    blocks: u32,
}

impl DurationStore {
    fn put(&mut self, durations_ns: &[u64]) -> io::Result<u32> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        let bytes: Vec<u8> = durations_ns
            .iter()
            .flat_map(|ns| ns.to_le_bytes())
            .collect();
        file.write_all_at(&bytes, u64::from(self.blocks) * BLOCK_BYTES as u64)?;
        self.blocks += 1;
        Ok(self.blocks - 1)
    }

    fn get(&self, block: u32, mut each: impl FnMut(u64)) -> io::Result<()> {
        let mut bytes = [0; BLOCK_BYTES];
        if let Some(file) = &self.file {
            file.read_exact_at(&mut bytes, u64::from(block) * BLOCK_BYTES as u64)?;
        }
        let (words, _) = bytes.as_chunks();
        words
            .iter()
            .for_each(|word| each(u64::from_le_bytes(*word)));
        Ok(())
    }
}

impl Durations {
    /// Adds a duration.
    #[inline]
    pub fn record(&mut self, duration_ns: u64, store: &mut DurationStore) -> io::Result<()> {
        match &mut self.many {
            Some(many) => record(many, duration_ns),
            None if self.few.len() < FEW_MAX => self.few.push(duration_ns),
            None => self.make_room(duration_ns, store)?,
        }
        Ok(())
    }

    #[cold]
    fn make_room(&mut self, duration_ns: u64, store: &mut DurationStore) -> io::Result<()> {
        if store.histograms < HISTOGRAMS_MAX {
            store.histograms += 1;
            let mut many = empty();
            for duration_ns in mem::take(&mut self.few) {
                record(&mut many, duration_ns);
            }
            record(&mut many, duration_ns);
            self.many = Some(many);
        } else {
            self.blocks.push(store.put(&self.few)?);
            self.few.clear();
            self.few.push(duration_ns);
        }
        Ok(())
    }

    /// Adds the durations of another group.
    pub fn add(&mut self, other: Self, store: &mut DurationStore) -> io::Result<()> {
        self.blocks.extend(other.blocks);
        match (&mut self.many, other.many) {
            (Some(many), Some(others)) => add(many, &others),
            (none, others) => *none = none.take().or(others),
        }
        for duration_ns in other.few {
            self.record(duration_ns, store)?;
        }
        Ok(())
    }

    /// Whether some are in the file.
    pub fn are_stored(&self) -> bool {
        !self.blocks.is_empty()
    }

    /// Adds all of them to a histogram.
    pub fn add_to(&self, histogram: &mut Histogram<u32>, store: &DurationStore) -> io::Result<()> {
        self.few.iter().for_each(|ns| record(histogram, *ns));
        if let Some(many) = &self.many {
            add(histogram, many);
        }
        for block in &self.blocks {
            store.get(*block, |ns| record(histogram, ns))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bug: each label of each lane of each capture had a histogram, however few its regions; 500 captures took gigabytes. Then each with
    /// more than a few regions had: one capture of 1,024 labels took 80 MiB and more.
    #[test]
    fn durations_add_up_the_same_wherever_they_are() {
        for histograms in [0, HISTOGRAMS_MAX] {
            let mut store = DurationStore {
                histograms,
                ..DurationStore::default()
            };
            let mut of = |count: usize| {
                let mut durations = Durations::default();
                let mut expected = empty();
                for i in 0..count as u64 {
                    let duration_ns = i * i * 7919 % 1_000_000_007;
                    durations.record(duration_ns, &mut store).unwrap();
                    record(&mut expected, duration_ns);
                }
                let is_many = histograms == 0 && count > FEW_MAX;
                assert_eq!(durations.many.is_some(), is_many);
                (durations, expected)
            };
            let counts = [0, 1, FEW_MAX - 1, FEW_MAX, FEW_MAX + 1, 3 * FEW_MAX];
            let pairs = counts.map(|one| counts.map(|other| (of(one), of(other))));
            for ((mut durations, mut expected), (others, expected_others)) in
                pairs.into_iter().flatten()
            {
                durations.add(others, &mut store).unwrap();
                add(&mut expected, &expected_others);
                let mut found = empty();
                durations.add_to(&mut found, &store).unwrap();
                assert_eq!(found, expected);
            }
        }
    }
}

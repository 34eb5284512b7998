//! External sorting: items that memory has no room for go in sorted runs to a temporary file without a name, and are merged when they are read.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};

use crate::output::scratch::ScratchFile;

/// Buffers for reading: of all runs together, and limits for each.
const READ_BYTES: usize = 4 << 20;
const RUN_BYTES_MIN: usize = 4 << 10;
const RUN_BYTES_MAX: usize = 64 << 10;

/// An item with a key to sort by and a form of a fixed size.
pub trait Spillable: Sized {
    type Bytes: AsRef<[u8]> + AsMut<[u8]>;
    type Key: Ord;

    const ZEROED: Self::Bytes;

    fn to_bytes(&self) -> Self::Bytes;
    fn from_bytes(bytes: &Self::Bytes) -> Self;

    /// What items are sorted by.
    fn key(&self) -> Self::Key;
}

/// Sorted runs in one file.
#[derive(Debug)]
pub struct Runs {
    file: ScratchFile,
    /// The start and the end of each.
    places: Vec<(u64, u64)>,
}

impl Runs {
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            file: ScratchFile::new()?,
            places: Vec::new(),
        })
    }

    /// Adds a run of sorted items.
    pub fn add<T: Spillable>(&mut self, items: &[T]) -> io::Result<()> {
        let start = self.file.seek(SeekFrom::End(0))?;
        let mut writer = BufWriter::with_capacity(RUN_BYTES_MAX, &self.file);
        for item in items {
            writer.write_all(item.to_bytes().as_ref())?;
        }
        writer.flush()?;
        drop(writer);
        self.places.push((start, self.file.stream_position()?));
        Ok(())
    }

    /// Passes all items to `each` in order; equal ones in the order of their runs.
    pub fn merge<T: Spillable>(&self, mut each: impl FnMut(T) -> io::Result<()>) -> io::Result<()> {
        let buffer = READ_BYTES / self.places.len().max(1);
        let buffer = buffer.clamp(RUN_BYTES_MIN, RUN_BYTES_MAX);
        let mut runs: Vec<_> = self
            .places
            .iter()
            .map(|&(at, end)| {
                BufReader::with_capacity(
                    buffer,
                    Section {
                        file: &self.file,
                        at,
                        end,
                    },
                )
            })
            .collect();
        let mut items: Vec<Option<T>> = Vec::with_capacity(runs.len());
        let mut heads = BinaryHeap::with_capacity(runs.len());
        for (index, run) in runs.iter_mut().enumerate() {
            let item: Option<T> = next(run)?;
            heads.extend(item.as_ref().map(|item| Reverse((item.key(), index))));
            items.push(item);
        }
        while let Some(mut head) = heads.peek_mut() {
            let Reverse((_, index)) = *head;
            let following: Option<T> = next(&mut runs[index])?;
            match &following {
                Some(following) => *head = Reverse((following.key(), index)),
                None => {
                    PeekMut::pop(head);
                }
            }
            if let Some(item) = std::mem::replace(&mut items[index], following) {
                each(item)?;
            }
        }
        Ok(())
    }
}

/// Reads one run from the file that all share.
struct Section<'file> {
    file: &'file ScratchFile,
    at: u64,
    end: u64,
}

impl Read for Section<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(left);
        let count = self.file.read_at(&mut buffer[..wanted], self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

fn next<T: Spillable>(run: &mut impl Read) -> io::Result<Option<T>> {
    let mut bytes = T::ZEROED;
    match run.read_exact(bytes.as_mut()) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
        read => read.map(|()| Some(T::from_bytes(&bytes))),
    }
}

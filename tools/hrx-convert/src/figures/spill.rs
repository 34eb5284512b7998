//! What memory has no room for: sorted runs of rows in a temporary file without a name, merged when they are read.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;

/// Read from all runs at a time, and of one at least and at most so much.
const READ_BYTES: usize = 4 << 20;
const READ_BYTES_MIN: usize = 4 << 10;
const READ_BYTES_MAX: usize = 64 << 10;

/// A row of a fixed size.
pub trait Row: Copy {
    type Bytes: AsRef<[u8]> + AsMut<[u8]>;
    type Key: Ord;

    const ZEROED: Self::Bytes;

    fn to_bytes(&self) -> Self::Bytes;
    fn from_bytes(bytes: &Self::Bytes) -> Self;

    /// What rows are sorted by.
    fn key(&self) -> Self::Key;
}

/// Sorted runs.
#[derive(Debug)]
pub struct Runs {
    file: File,
    /// Where each begins and ends.
    places: Vec<(u64, u64)>,
}

impl Runs {
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            file: tempfile::tempfile()?,
            places: Vec::new(),
        })
    }

    /// Adds a run; `rows` are sorted.
    pub fn add<R: Row>(&mut self, rows: &[R]) -> io::Result<()> {
        let start = self.file.seek(SeekFrom::End(0))?;
        let mut writer = BufWriter::with_capacity(READ_BYTES_MAX, &self.file);
        for row in rows {
            writer.write_all(row.to_bytes().as_ref())?;
        }
        writer.flush()?;
        drop(writer);
        self.places.push((start, self.file.stream_position()?));
        Ok(())
    }

    /// Gives all rows in their order; of equals, those of the earlier run first.
    pub fn merge<R: Row>(&self, mut each: impl FnMut(R) -> io::Result<()>) -> io::Result<()> {
        let buffer = READ_BYTES / self.places.len().max(1);
        let buffer = buffer.clamp(READ_BYTES_MIN, READ_BYTES_MAX);
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
        let mut rows: Vec<Option<R>> = Vec::with_capacity(runs.len());
        let mut heads = BinaryHeap::with_capacity(runs.len());
        for (index, run) in runs.iter_mut().enumerate() {
            let row: Option<R> = next(run)?;
            heads.extend(row.map(|row| Reverse((row.key(), index))));
            rows.push(row);
        }
        while let Some(mut head) = heads.peek_mut() {
            let Reverse((_, index)) = *head;
            let following: Option<R> = next(&mut runs[index])?;
            match following {
                Some(following) => *head = Reverse((following.key(), index)),
                None => {
                    PeekMut::pop(head);
                }
            }
            if let Some(row) = std::mem::replace(&mut rows[index], following) {
                each(row)?;
            }
        }
        Ok(())
    }
}

/// A run in the file that all runs share.
struct Section<'file> {
    file: &'file File,
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

fn next<R: Row>(run: &mut impl Read) -> io::Result<Option<R>> {
    let mut bytes = R::ZEROED;
    match run.read_exact(bytes.as_mut()) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
        read => read.map(|()| Some(R::from_bytes(&bytes))),
    }
}

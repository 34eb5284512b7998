//! The limit: each event is 64 bytes stored into memory, with no ticket, no checksum and no order.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::measuring::contender::{Contender, Fields};

type Line = [AtomicU64; 8];

/// Lines for each thread.
pub struct Stores(Vec<Box<[Line]>>);

impl Stores {
    /// Room for `capacity` events per thread. A power of two saves the loop a division.
    pub fn new(capacity: usize, threads: usize) -> Self {
        assert!(capacity.is_power_of_two());
        let line = |index: usize| std::array::from_fn(|_| AtomicU64::new(index as u64));
        Self(
            (0..threads)
                .map(|_| (0..capacity).map(line).collect())
                .collect(),
        )
    }
}

/// Where a thread stores next.
pub struct Cursor {
    thread: usize,
    index: usize,
}

impl Contender for Stores {
    type Thread<'a> = Cursor;

    fn thread(&self, thread: usize) -> Cursor {
        Cursor { thread, index: 0 }
    }

    #[inline]
    fn event(&self, cursor: &mut Cursor, fields: &Fields) {
        let lines = &self.0[cursor.thread];
        let line = &lines[cursor.index & (lines.len() - 1)];
        cursor.index += 1;
        let words = [
            cursor.index as u64,
            u64::from(fields.elapsed.subsec_nanos()),
            fields.copied_bytes as u64,
            fields.lane as u64,
            u64::from(fields.failed),
            0,
            0,
            0,
        ];
        for (word, value) in line.iter().zip(words) {
            word.store(value, Ordering::Relaxed);
        }
    }
}

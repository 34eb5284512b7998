//! Names, interned into the label table of the file. Not the hot path.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use hrx_trace_format::name::{self, NAME_LABEL};
use hrx_trace_format::{Checksum, Name};

use crate::event::Label;
use crate::memory::Lines;

/// The label table, and the labels in it.
#[derive(Debug)]
pub struct Labels {
    table: Lines,
    salt: u32,
    interned: Mutex<Interned>,
}

#[derive(Debug, Default)]
struct Interned {
    labels: HashMap<Box<str>, Label>,
    blocks_used: usize,
}

impl Labels {
    /// An empty table. Each of the lines of `table` is a block; `salt` is the table's area salt.
    pub fn new(table: Lines, salt: u32) -> Self {
        Self {
            table,
            salt,
            interned: Mutex::default(),
        }
    }

    /// The label of `text`. None if there is no room for it, or if it is longer than [`name::TEXT_BYTES_MAX`].
    pub fn intern(&self, text: &str, checksum: &Checksum) -> Option<Label> {
        // A thread that panicked while it held the lock left the map usable: the map is changed last, when nothing can fail any more.
        let mut interned = self.interned.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(label) = interned.labels.get(text) {
            return Some(*label);
        }
        let first_block = interned.blocks_used;
        let end_block = first_block + name::blocks_of(text.len());
        if end_block > self.table.count() {
            return None;
        }
        let label_id = first_block as u32 + 1;
        let mut entry = vec![[0u64; 8]; end_block - first_block];
        name::encode(
            bytemuck::cast_slice_mut(&mut entry),
            label_id,
            &Name::of(NAME_LABEL, text),
            checksum,
            self.salt,
        )?;
        for (block, words) in (first_block..).zip(&entry) {
            for (word, value) in self.table.get(block).iter().zip(words) {
                word.store(*value, Ordering::Relaxed);
            }
        }
        interned.blocks_used = end_block;
        let label = Label(label_id);
        interned.labels.insert(text.into(), label);
        Some(label)
    }
}

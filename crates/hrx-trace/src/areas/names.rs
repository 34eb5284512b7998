//! Names, written into the name table of the file: of labels, lanes, keys and groups, which are interned, and of threads.
//!
//! Blocks are given out by an atomic addition, so that a thread can be named at its first event: that takes no lock, and waits for nothing.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hrx_trace_format::name::{
    self, BLOCK_BYTES, LANE_NAMED_FIRST, NAME_GROUP, NAME_LANE, TEXT_BYTES_MAX,
};
use hrx_trace_format::{Checksum, Name};

use crate::memory::Lines;

/// The most names of threads that a table can hold, as a quarter of the largest one has room for: the number of threads that are told apart.
const THREADS: usize = name::NAME_BYTES_MAX as usize / BLOCK_BYTES / 4;

/// The name table, and what is in it.
#[derive(Debug)]
pub struct Names {
    table: Lines,
    salt: u32,
    /// How many blocks were given out, beyond the end of the table perhaps.
    blocks_used: AtomicU32,
    /// How many of them to names of threads.
    thread_blocks_used: AtomicU32,
    /// How many lanes were given out by name.
    lanes_named: AtomicU32,
    /// A bit for each thread ordinal modulo [`THREADS`]: whether the thread has been named.
    threads_named: Box<[AtomicU64]>,
    interned: Mutex<Interned>,
}

/// What was interned so far, by kind and by the number of the group.
#[derive(Debug, Default)]
struct Interned {
    groups: HashMap<Box<str>, Group>,
    ids: HashMap<(u8, u32), HashMap<Box<str>, u32>>,
}

/// A group of names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// From 1, so that groups whose names were refused are told apart; 0: no group.
    number: u32,
    name_id: u32,
}

/// Why a name is not in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There is no room for it.
    Full,
    /// It is longer than [`TEXT_BYTES_MAX`].
    TooLong,
}

impl Names {
    /// An empty table. Each of the lines of `table` is a block; `salt` is the table's area salt.
    pub fn new(table: Lines, salt: u32) -> Self {
        Self {
            table,
            salt,
            blocks_used: AtomicU32::new(0),
            thread_blocks_used: AtomicU32::new(0),
            lanes_named: AtomicU32::new(0),
            threads_named: (0..THREADS / 64).map(|_| AtomicU64::new(0)).collect(),
            interned: Mutex::default(),
        }
    }

    /// How many lanes were given out by name.
    #[inline]
    pub fn lanes_named(&self) -> &AtomicU32 {
        &self.lanes_named
    }

    /// The group `text`. If its name is refused, which is said the first time only, the names in it are in none for readers, and still names of their own.
    pub fn group(&self, text: &str, checksum: &Checksum) -> (Group, Option<Refused>) {
        let mut interned = self.lock();
        if let Some(group) = interned.groups.get(text) {
            return (*group, None);
        }
        let written = self.intern(&Name::of(NAME_GROUP, text), checksum);
        let group = Group {
            number: interned.groups.len() as u32 + 1,
            name_id: written.unwrap_or(0),
        };
        interned.groups.insert(text.into(), group);
        (group, written.err())
    }

    /// The id of a label or a key; `kind` says which. One that is refused is 0.
    pub fn id(
        &self,
        kind: u8,
        group: Group,
        text: &str,
        checksum: &Checksum,
    ) -> (u32, Option<Refused>) {
        let mut interned = self.lock();
        let ids = interned.ids.entry((kind, group.number)).or_default();
        if let Some(id) = ids.get(text) {
            return (*id, None);
        }
        let name = Name::of(kind, text).in_group(group.name_id);
        match self.intern(&name, checksum) {
            Ok(id) => {
                ids.insert(text.into(), id);
                (id, None)
            }
            Err(refused) => (0, Some(refused)),
        }
    }

    /// The lane `text`. It has a number of its own even if its name is refused, which is said the first time only.
    pub fn lane(&self, group: Group, text: &str, checksum: &Checksum) -> (u32, Option<Refused>) {
        let mut interned = self.lock();
        let lanes = interned.ids.entry((NAME_LANE, group.number)).or_default();
        if let Some(lane) = lanes.get(text) {
            return (*lane, None);
        }
        let lanes_named = self.lanes_named.load(Ordering::Relaxed);
        let lane = LANE_NAMED_FIRST.saturating_add(lanes_named);
        let name = Name::lane(lane, text).in_group(group.name_id);
        let written = self.intern(&name, checksum);
        lanes.insert(text.into(), lane);
        self.lanes_named.store(lanes_named + 1, Ordering::Relaxed);
        (lane, written.err())
    }

    /// Whether the thread with this ordinal is yet to be named. Counts it as named from now on. Takes no lock, and allocates nothing.
    ///
    /// A thread that is 65,536 threads younger than one that was named counts as named. Then no table has room for its name, unless most of these threads recorded
    /// nothing in this capture.
    pub fn is_new_thread(&self, ordinal: u32) -> bool {
        let bit = ordinal as usize % THREADS;
        let (word, mask) = (&self.threads_named[bit / 64], 1 << (bit % 64));
        word.load(Ordering::Relaxed) & mask == 0
            && word.fetch_or(mask, Ordering::Relaxed) & mask == 0
    }

    /// Names a thread from `since_ns` on. Takes no lock, and allocates nothing unless the text is longer than 36 bytes.
    pub fn name_thread(
        &self,
        thread_id: u32,
        since_ns: u64,
        text: &str,
        checksum: &Checksum,
    ) -> Result<(), Refused> {
        let name = Name::thread(thread_id, since_ns, text);
        let blocks = blocks_of(text)?;
        let quarter = self.table.count() / 4;
        reserve(&self.thread_blocks_used, blocks, quarter).ok_or(Refused::Full)?;
        self.write(&name, blocks, checksum).map(drop)
    }

    fn intern(&self, name: &Name<'_>, checksum: &Checksum) -> Result<u32, Refused> {
        self.write(name, blocks_of(name.text)?, checksum)
    }

    /// Writes `name`, which takes `blocks` blocks. Returns its id.
    fn write(&self, name: &Name<'_>, blocks: usize, checksum: &Checksum) -> Result<u32, Refused> {
        let first = reserve(&self.blocks_used, blocks, self.table.count()).ok_or(Refused::Full)?;
        let name_id = first as u32 + 1;
        let (mut block, mut more) = ([[0u64; 8]; 1], Vec::new());
        let entry = if blocks == 1 {
            &mut block[..]
        } else {
            more.resize(blocks, [0u64; 8]);
            &mut more[..]
        };
        let bytes = bytemuck::cast_slice_mut(entry);
        name::encode(bytes, name_id, name, checksum, self.salt).ok_or(Refused::TooLong)?;
        for (index, words) in (first..).zip(&*entry) {
            for (word, value) in self.table.get(index).iter().zip(words) {
                word.store(*value, Ordering::Relaxed);
            }
        }
        Ok(name_id)
    }

    /// A thread that panicked while it held the lock left the maps usable: they are changed last, when nothing can fail any more.
    fn lock(&self) -> MutexGuard<'_, Interned> {
        self.interned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many blocks the entry of `text` takes.
fn blocks_of(text: &str) -> Result<usize, Refused> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(Refused::TooLong);
    }
    Ok(name::blocks_of(text.len()))
}

/// Takes `blocks` of the `count` that `used` counts, and returns the first. None: so many are not left. What is too large leaves what there is to others.
fn reserve(used: &AtomicU32, blocks: usize, count: usize) -> Option<usize> {
    let fits = |first: u32| first as usize + blocks <= count;
    if !fits(used.load(Ordering::Relaxed)) {
        return None;
    }
    let first = used.fetch_add(blocks as u32, Ordering::Relaxed);
    fits(first).then_some(first as usize)
}

//! A recorder on a file of its own.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hrx_trace_format::{Area, Checksum, Identity};

use super::random::random;
use super::{file, process};
use crate::areas::{CountersLine, Labels, OpenTable, Ring};
use crate::error::{Error, Result};
use crate::memory::{Gate, Mapping};
use crate::options::Options;
use crate::recorder::Recorder;
use crate::slot::SEQUENCE_NONE;
use crate::thread;

impl Recorder {
    /// Begins a capture that keeps the last `capacity` events in a new file at `path`: [`Options`] with their defaults.
    ///
    /// # Errors
    /// See [`Options::create`].
    pub fn create(path: impl AsRef<Path>, capacity: u64) -> Result<Self> {
        Options::new(capacity).create(path)
    }
}

impl Options {
    /// Begins the capture in a new file at `path`, mode 0600.
    ///
    /// # Errors
    /// Capacity 0 or too large, an attribute that does not fit, the file exists (as anything, a symlink included), no such folder, no permission,
    /// no room (the disk or the quota is full, or RLIMIT_FSIZE is below the size), an unsupported system. No file is left behind.
    pub fn create(&self, path: impl AsRef<Path>) -> Result<Recorder> {
        let path = path.as_ref();
        let layout = self.layout()?;
        let file = file::create_new(path, layout.file_bytes)?;
        let recorder = record_into(path, file, layout, self);
        if recorder.is_err() {
            // This call created the file, exclusively, and it holds nothing.
            let _ = std::fs::remove_file(path);
        }
        recorder
    }
}

/// A recorder on the new file `file`, whose header has the sizes and offsets of `layout`.
fn record_into(path: &Path, file: File, layout: Identity, options: &Options) -> Result<Recorder> {
    let unsupported = |what| {
        move |source: io::Error| Error::Unsupported {
            path: path.to_owned(),
            what,
            source,
        }
    };
    file::lock(path, &file)?;
    file::reserve(path, &file, layout.file_bytes)?;
    let mapping = Mapping::new(&file).map_err(unsupported("mapping files of this file system"))?;
    if options.populate {
        mapping.populate().map_err(|source| Error::NoSpace {
            path: path.to_owned(),
            bytes: layout.file_bytes,
            source,
        })?;
    }
    let gate = Gate::open().map_err(unsupported("MADV_WIPEONFORK (Linux 4.14)"))?;
    let process_id = std::process::id();
    // The creating thread's first call, so that its first `record` makes no system call.
    thread::current(process_id);

    let random: [u8; 20] = random().map_err(|source| Error::Io {
        path: path.to_owned(),
        doing: "draw random bytes for it",
        source,
    })?;
    let (salt, capture_id) = random.split_at(4);
    let mut identity = Identity {
        salt: bytemuck::pod_read_unaligned(salt),
        capture_id: bytemuck::pod_read_unaligned(capture_id),
        ..layout
    };
    process::describe(&mut identity);
    let epoch = process::stamp(&mut identity);
    let checksum = Checksum::new();
    let identity = identity.sealed(&checksum);

    let lines = |offset, bytes: u64| mapping.lines(offset, bytes / 64);
    let salt = |area: Area| area.salt(identity.salt);
    let counters = CountersLine::recording(lines(identity.counters_offset, 64));
    publish_identity(&mapping, &identity);
    let ring = |ring| {
        Ring::new(
            lines(identity.control_line(ring), 64),
            lines(identity.ring_slot(ring, 0), identity.capacity * 64),
            salt(Area::Ring(ring)),
        )
    };
    let open_bytes = u64::from(identity.open_slots) * identity.open_stride;
    Ok(Recorder {
        first_ring: ring(0),
        other_rings: (1..identity.ring_count).map(ring).collect(),
        shared_rings: options.shared_rings,
        own_rings: (0..options.writers)
            .map(|_| [AtomicU64::new(SEQUENCE_NONE)])
            .collect(),
        gate,
        epoch: epoch.instant,
        epoch_ns: epoch.moment.monotonic_ns(),
        process: process_id,
        open_table: OpenTable::new(
            lines(identity.open_offset, open_bytes),
            salt(Area::OpenTable),
        ),
        counters,
        labels: Labels::new(
            lines(identity.name_offset, identity.name_bytes),
            salt(Area::NameTable),
        ),
        checksum,
        path: path.to_owned(),
        file,
    })
}

/// Writes the identity, its magic last: a file whose creation was cut short is not a trace.
fn publish_identity(mapping: &Arc<Mapping>, identity: &Identity) {
    let words: [u64; size_of::<Identity>() / 8] = bytemuck::cast(*identity);
    let lines = mapping.lines(0, size_of::<Identity>() as u64 / 64);
    for (index, word) in words.iter().enumerate().skip(1) {
        lines.get(index / 8)[index % 8].store(*word, Ordering::Relaxed);
    }
    lines.get(0)[0].store(words[0], Ordering::Release);
}

//! A recorder on a file of its own.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hrx_trace_format::header::COUNTERS_BYTES;
use hrx_trace_format::{Area, Checksum, Identity};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use super::random::random;
use super::retention::remove_oldest;
use super::{file, process};
use crate::areas::{ControlLines, CounterLines, Names, OpenTable, Ring};
use crate::error::{Error, Result};
use crate::exit;
use crate::folder::{self, Folder};
use crate::heartbeat;
use crate::life::Life;
use crate::memory::{Gate, Mapping};
use crate::options::Options;
use crate::recorder::{Origin, Recorder};
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
    /// no room (the disk or the quota is full, RLIMIT_FSIZE is below the size, no inode is left), no address space, an unsupported system. No file is left
    /// behind.
    pub fn create(&self, path: impl AsRef<Path>) -> Result<Recorder> {
        let path = path.as_ref();
        if cfg!(hrx_trace_off) {
            return self.layout().map(|_| Recorder::disabled());
        }
        self.make_room(folder::split(path).0);
        self.create_at(path)
    }

    /// Removes the captures that are not to be kept. If that fails, they stay.
    pub(super) fn make_room(&self, folder: &Path) {
        if let Some(keep) = self.keep {
            let _ = remove_oldest(folder, &process::program_name(), keep);
        }
    }

    /// [`Options::create`], removing nothing.
    pub(super) fn create_at(&self, path: &Path) -> Result<Recorder> {
        let layout = self.layout()?;
        let (folder, name) = folder::split(path);
        let (folder, file) = file::create_new(path, folder, name, layout.file_bytes)?;
        match prepare(path, &file, layout.file_bytes, self) {
            Ok(prepared) => Ok(record_into(path, file, folder, prepared, layout, self)),
            Err(error) => {
                // This call created the file, exclusively, and it holds nothing.
                let _ = folder.remove(name);
                Err(error)
            }
        }
    }
}

/// What a recorder needs besides its file, and what may be refused.
struct Prepared {
    mapping: Arc<Mapping>,
    gate: Gate,
    random: [u8; 20],
}

/// Locks the new file `file`, gives it its size, and maps it.
fn prepare(path: &Path, file: &File, bytes: u64, options: &Options) -> Result<Prepared> {
    file::lock(path, file)?;
    file::reserve(path, file, bytes)?;
    let refused = |doing| move |source| refused_memory(path, bytes, doing, source);
    let mapping = Mapping::new(file).map_err(|source| match source.raw_os_error() {
        Some(code) if [Errno::NODEV, Errno::INVAL].contains(&Errno::from_raw_os_error(code)) => {
            Error::Unsupported {
                path: path.to_owned(),
                what: "mapping files of this file system",
                source,
            }
        }
        _ => refused("map it")(source),
    })?;
    if options.populate {
        let populated = mapping.populate();
        populated.map_err(refused("make its pages present"))?;
    }
    let gate = Gate::open().map_err(|source| match source.kind() {
        io::ErrorKind::InvalidInput => Error::Unsupported {
            path: path.to_owned(),
            what: "MADV_WIPEONFORK (Linux 4.14)",
            source,
        },
        _ => refused("detect forks")(source),
    })?;
    let random = random().map_err(refused("draw random bytes for it"))?;
    Ok(Prepared {
        mapping,
        gate,
        random,
    })
}

/// Why the kernel gave no memory.
fn refused_memory(path: &Path, bytes: u64, doing: &'static str, source: io::Error) -> Error {
    let path = path.to_owned();
    // EAGAIN: mlockall(2) is in force, and RLIMIT_MEMLOCK reached.
    match source.kind() {
        io::ErrorKind::OutOfMemory | io::ErrorKind::WouldBlock => Error::NoMemory {
            path,
            bytes,
            limit: getrlimit(Resource::As).current,
            source,
        },
        _ => Error::Io {
            path,
            doing,
            source,
        },
    }
}

/// A recorder on the new file `file` in `folder`, whose header has the sizes and offsets of `layout`.
fn record_into(
    path: &Path,
    file: File,
    folder: Folder,
    prepared: Prepared,
    layout: Identity,
    options: &Options,
) -> Recorder {
    let Prepared {
        mapping,
        gate,
        random,
    } = prepared;
    let process_id = std::process::id();
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
    let counters = CounterLines::new(lines(identity.counters_offset, COUNTERS_BYTES as u64));
    counters.set_recording();
    publish_identity(&mapping, &identity);
    let ring = |ring| {
        Ring::new(
            lines(identity.control_line(ring), 64),
            lines(identity.ring_slot(ring, 0), identity.capacity * 64),
            salt(Area::Ring(ring)),
        )
    };
    let control_bytes = identity.control_line(identity.ring_count) - identity.control_offset;
    let life = Arc::new(Life {
        gate: gate.clone(),
        counters: counters.clone(),
        control_lines: ControlLines::new(
            lines(identity.control_offset, control_bytes),
            (identity.control_stride / 64) as usize,
            identity.capacity,
        ),
        epoch_ns: epoch.moment.monotonic_ns(),
    });
    let beats = !options.heartbeat.is_zero();
    let has_heartbeat = beats && heartbeat::start(Arc::clone(&life), options.heartbeat);
    let left_by_exit = options
        .finish_at_exit
        .then(|| exit::notice(Arc::clone(&life)));
    let open_bytes = u64::from(identity.open_slots) * identity.open_stride;
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let recorder = Recorder {
        first_ring: ring(0),
        other_rings: (1..identity.ring_count).map(ring).collect(),
        shared_rings: options.shared_rings,
        own_rings: (0..options.writers)
            .map(|_| [AtomicU64::new(SEQUENCE_NONE)])
            .collect(),
        gate,
        epoch: epoch.instant,
        epoch_ns: epoch.moment.monotonic_ns(),
        capture: thread::new_capture(),
        process: process_id,
        open_table: OpenTable::new(
            lines(identity.open_offset, open_bytes),
            salt(Area::OpenTable),
        ),
        counters,
        names: Names::new(
            lines(identity.name_offset, identity.name_bytes),
            salt(Area::NameTable),
        ),
        checksum,
        path: path.to_owned(),
        file: Some((file, folder)),
        origin: Some(Origin {
            options: options.clone(),
            folder: folder::split(&absolute).0.to_owned(),
        }),
        fallback: options.fallback.clone(),
        life,
        has_heartbeat,
        left_by_exit,
    };
    // The creating thread's first call, so that its first `record` makes no system call.
    recorder.introduced(|| 0);
    recorder
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

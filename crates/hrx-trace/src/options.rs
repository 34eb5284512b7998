//! How a capture is created: exclusively, with its space reserved and its pages present before the first event, or not at all.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hrx_trace_format::header::STATE_RECORDING;
use hrx_trace_format::{Area, Checksum, Geometry, Identity};
use rustix::fs::FallocateFlags;
use rustix::io::Errno;

use crate::labels::Labels;
use crate::mapping::{Gate, Mapping};
use crate::recorder::{Recorder, Ring, WORD_STATE};
use crate::slot::SEQUENCE_NONE;
use crate::{Error, Result, process as identification, thread};

/// What can be chosen of a capture.
#[derive(Clone, Debug)]
pub struct Options {
    geometry: Geometry,
    shared_rings: u32,
    writers: u32,
    populate: bool,
    attributes: Vec<(String, String)>,
}

impl Options {
    /// A capture that keeps the last `capacity` events, 64 bytes each, in one ring.
    #[must_use]
    pub fn new(capacity: u64) -> Self {
        Self {
            geometry: Geometry::new(capacity),
            shared_rings: 1,
            writers: 0,
            populate: true,
            attributes: Vec::new(),
        }
    }

    /// How many rings share the threads (thread ordinal mod rings); each holds `capacity` events. 1 unless asked otherwise.
    ///
    /// One ring keeps one order of all events. Threads that share a ring pay for it (50 ns and more an event instead of a few); with a ring each,
    /// a busy thread cannot overwrite what a quiet one left.
    #[must_use]
    pub fn rings(mut self, rings: u32) -> Self {
        self.shared_rings = rings;
        self
    }

    /// How many threads can have a ring of their own at a time by a [`crate::Writer`], beside those that share rings; each of these holds `capacity` events
    /// too. 0 unless asked otherwise.
    #[must_use]
    pub fn writers(mut self, writers: u32) -> Self {
        self.writers = writers;
        self
    }

    /// Room for labels, in bytes: 64 for each name of up to 52 bytes, more for longer ones. 64 KiB unless asked otherwise.
    #[must_use]
    pub fn label_bytes(mut self, label_bytes: u64) -> Self {
        self.geometry.label_bytes = label_bytes;
        self
    }

    /// Whether all pages are made present at creation, so that no `record` takes a page fault. True unless asked otherwise.
    ///
    /// Costs 0.2 to 0.4 s and its memory for a GiB. Without it, creation is faster and the first lap takes a fault of 2 to 3 µs for each 64 events.
    /// `hrx-bench tail` measures both.
    #[must_use]
    pub fn populate(mut self, populate: bool) -> Self {
        self.populate = populate;
        self
    }

    /// Something the program says of itself: rank, attempt, version … 704 bytes in all.
    #[must_use]
    pub fn attribute(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.attributes.push((key.into(), value.into()));
        self
    }

    /// Begins the capture in a new file at `path`, mode 0600.
    ///
    /// # Errors
    /// Capacity 0 or too large, an attribute that does not fit, the file exists (as anything, a symlink included), no such folder, no permission,
    /// no room (the disk or the quota is full, or RLIMIT_FSIZE is below the size), an unsupported system. No file is left behind.
    pub fn create(&self, path: impl AsRef<Path>) -> Result<Recorder> {
        let path = path.as_ref();
        if self.geometry.capacity == 0 {
            return Err(Error::ZeroCapacity);
        }
        let geometry = Geometry {
            ring_count: match self.shared_rings {
                // Which is refused, whatever the writers.
                0 => 0,
                shared => shared.saturating_add(self.writers),
            },
            ..self.geometry
        };
        let identity = geometry.layout().ok_or(Error::TooLarge {
            capacity: geometry.capacity,
            rings: geometry.ring_count,
            label_bytes: geometry.label_bytes,
        })?;
        let attributes = self.encode_attributes(identity.attributes.len())?;
        check_file_size_limit(path, identity.file_bytes)?;
        let file = create_new(path)?;
        let recorder = self.fill(path, file, identity, &attributes);
        if recorder.is_err() {
            // It was created a moment ago, exclusively, by this very call, and holds nothing.
            let _ = std::fs::remove_file(path);
        }
        recorder
    }

    fn encode_attributes(&self, bytes_max: usize) -> Result<String> {
        let mut text = String::new();
        for (key, value) in &self.attributes {
            let wrong = |reason| Error::Attribute {
                key: key.clone(),
                reason,
            };
            if key.is_empty() || key.contains('=') || key.contains(char::is_control) {
                return Err(wrong(
                    "a key is not empty and has no '=' or control character",
                ));
            }
            if value.contains(char::is_control) {
                return Err(wrong("a value has no control character"));
            }
            text.push_str(&format!("{key}={value}\n"));
            if text.len() > bytes_max {
                return Err(wrong(
                    "no room: all attributes together take up to 704 bytes",
                ));
            }
        }
        Ok(text)
    }

    /// Everything that needs the file to be there.
    fn fill(
        &self,
        path: &Path,
        file: File,
        layout: Identity,
        attributes: &str,
    ) -> Result<Recorder> {
        let failed = |doing| {
            move |source| Error::Io {
                path: path.to_owned(),
                doing,
                source,
            }
        };
        let unsupported = |what| {
            move |source| Error::Unsupported {
                path: path.to_owned(),
                what,
                source,
            }
        };
        match file.try_lock() {
            // Some network file systems have no locks; readers then judge by the process.
            Ok(()) => {}
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
            Err(error) => return Err(failed("lock it")(error.into())),
        }
        allocate(path, &file, layout.file_bytes)?;
        let mapping =
            Mapping::new(&file).map_err(unsupported("mapping files of this file system"))?;
        if self.populate {
            mapping.populate().map_err(|source| Error::NoSpace {
                path: path.to_owned(),
                bytes: layout.file_bytes,
                source,
            })?;
        }
        let gate = Gate::open().map_err(unsupported("MADV_WIPEONFORK (Linux 4.14)"))?;
        let process = std::process::id();
        thread::current(process);

        let random: [u8; 20] = random().map_err(failed("draw random bytes for it"))?;
        let (salt, capture_id) = random.split_at(4);
        let checksum = Checksum::new();
        let mut identity = Identity {
            salt: bytemuck::pod_read_unaligned(salt),
            capture_id: bytemuck::pod_read_unaligned(capture_id),
            attributes_bytes: attributes.len() as u32,
            ..layout
        };
        identity.attributes[..attributes.len()].copy_from_slice(attributes.as_bytes());
        identification::describe(&mut identity);
        let epoch = identification::stamp(&mut identity);
        let identity = identity.sealed(&checksum);

        let lines = |offset, bytes: u64| mapping.lines(offset, bytes / 64);
        let counters = lines(identity.counters_offset, 64);
        counters.get(0)[WORD_STATE].store(STATE_RECORDING, Ordering::Relaxed);
        publish_identity(&mapping, &identity);
        let ring = |ring| Ring {
            control: lines(identity.control_line(ring), 64),
            slots: lines(identity.ring_slot(ring, 0), identity.capacity * 64),
            salt: Area::Ring(ring).salt(identity.salt),
            lap_start: AtomicU64::new(0),
        };
        Ok(Recorder {
            first_ring: ring(0),
            other_rings: (1..identity.ring_count).map(ring).collect(),
            shared_rings: self.shared_rings,
            own_rings: (0..self.writers)
                .map(|_| [AtomicU64::new(SEQUENCE_NONE)])
                .collect(),
            gate,
            epoch,
            process,
            checksum,
            open: lines(identity.open_offset, u64::from(identity.open_slots) * 64),
            open_salt: Area::OpenTable.salt(identity.salt),
            counters,
            labels: Labels::new(
                lines(identity.label_offset, identity.label_bytes),
                Area::LabelTable.salt(identity.salt),
            ),
            path: path.to_owned(),
            file,
        })
    }
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

/// A growing file beyond RLIMIT_FSIZE raises SIGXFSZ, which kills: so the limit is asked for first (getrlimit(2)).
fn check_file_size_limit(path: &Path, bytes: u64) -> Result<()> {
    match rustix::process::getrlimit(rustix::process::Resource::Fsize).current {
        Some(limit) if limit < bytes => Err(Error::NoSpace {
            path: path.to_owned(),
            bytes,
            source: Errno::FBIG.into(),
        }),
        _ => Ok(()),
    }
}

/// O_EXCL follows no symlink in the path's last step, not even a dangling one (open(2)).
fn create_new(path: &Path) -> Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(|source| {
            let path = path.to_owned();
            match source.kind() {
                io::ErrorKind::AlreadyExists => Error::Exists { path },
                io::ErrorKind::NotFound => Error::NoFolder { path },
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    Error::Permission { path, source }
                }
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::NoSpace {
                    path,
                    bytes: 0,
                    source,
                },
                _ => Error::Io {
                    path,
                    doing: "create it",
                    source,
                },
            }
        })
}

/// Reserves the blocks before the mapping exists: a full disk is an error here, and never a SIGBUS later.
fn allocate(path: &Path, file: &File, bytes: u64) -> Result<()> {
    let reserved = match rustix::fs::fallocate(file, FallocateFlags::empty(), 0, bytes) {
        // The file system cannot reserve (NFS, some FUSE): writing zeroes does it too.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => write_zeroes(file, bytes),
        result => result.map_err(io::Error::from),
    };
    reserved.map_err(|source| match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            Error::NoSpace {
                path: path.to_owned(),
                bytes,
                source,
            }
        }
        _ => Error::Io {
            path: path.to_owned(),
            doing: "reserve its space",
            source,
        },
    })
}

fn write_zeroes(file: &File, bytes: u64) -> io::Result<()> {
    let zeroes = vec![0; 1 << 20];
    let mut offset = 0;
    while offset < bytes {
        let count = zeroes.len().min((bytes - offset) as usize);
        file.write_all_at(&zeroes[..count], offset)?;
        offset += count as u64;
    }
    Ok(())
}

/// Random bytes from the kernel (getrandom(2)).
pub(crate) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let filled = rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty())?;
    if filled == N {
        Ok(bytes)
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

//! The bytes of one capture: a file read by pread, or bytes in memory.
//!
//! Invariants:
//! - The file is never mapped (a file that shrinks under a mapping raises SIGBUS), never written, and never read through its cursor.
//! - [`Source::read`] always fills the whole buffer: with zeroes where the file has ended or cannot be read. A record of zeroes never
//!   verifies, so the slots on a bad page are judged torn, and everything around the page is delivered.

use std::fmt;
use std::fs::{self, File, FileType, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use hrx_trace_format::header::PAGE_BYTES;

use crate::damage::Damage;
use crate::error::Error;
use crate::os::{self, FileId};

/// The bytes of one capture.
#[derive(Debug)]
pub(crate) struct Source {
    path: PathBuf,
    bytes: Bytes,
    interruption: Interruption,
}

/// When reading has to end early; unset: never.
#[derive(Default)]
struct Interruption(OnceLock<Box<dyn Fn() -> bool + Send + Sync>>);

impl fmt::Debug for Interruption {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Interruption")
    }
}

#[derive(Debug)]
enum Bytes {
    File(File),
    /// A file that is opened anew for each read. It must still be the one that was there first.
    Closed {
        device: u64,
        inode: u64,
    },
    Memory(Vec<u8>),
    #[cfg(test)]
    Fake(fake::Fake),
}

/// The state of the writer's lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lock {
    /// A process holds it.
    Held,
    /// No process holds it.
    Free,
    /// The file system has no locks.
    Unsupported,
    /// Bytes in memory: there is nothing to lock, and no writer.
    NoFile,
}

/// Where a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) file: FileId,
    /// Whether it is on a file system that only this machine writes.
    pub(crate) only_here: bool,
}

impl Source {
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let refused = |source| Error::Io {
            path: path.to_owned(),
            source,
        };
        // Looked at before opening: to open a pipe is to wait for its other end.
        let file_type = fs::metadata(path).map_err(refused)?.file_type();
        require_regular(file_type, path)?;
        Ok(Self {
            path: path.to_owned(),
            bytes: Bytes::File(File::open(path).map_err(refused)?),
            interruption: Interruption::default(),
        })
    }

    pub(crate) fn from_file(file: File) -> Result<Self, Error> {
        let path = PathBuf::from("(open file)");
        match file.metadata() {
            Ok(metadata) => require_regular(metadata.file_type(), &path)?,
            Err(source) => return Err(Error::Io { path, source }),
        }
        Ok(Self {
            path,
            bytes: Bytes::File(file),
            interruption: Interruption::default(),
        })
    }

    pub(crate) fn from_bytes(bytes: Vec<u8>) -> Self {
        Self {
            path: PathBuf::from("(bytes)"),
            bytes: Bytes::Memory(bytes),
            interruption: Interruption::default(),
        }
    }

    /// Every loop that reads much ends once `interrupted` is true. The first condition holds for good.
    pub(crate) fn interrupt_when(&self, interrupted: impl Fn() -> bool + Send + Sync + 'static) {
        let _ = self.interruption.0.set(Box::new(interrupted));
    }

    /// Whether to end a loop that reads much.
    pub(crate) fn is_interrupted(&self) -> bool {
        let interrupted = self.interruption.0.get();
        interrupted.is_some_and(|interrupted| interrupted())
    }

    /// The same file, opened anew for each read, so that it takes no descriptor in between. None: it cannot be opened anew, because it is not found at its
    /// path.
    pub(crate) fn closed(&self) -> Option<Self> {
        let Bytes::File(file) = &self.bytes else {
            return None;
        };
        let own = file.metadata().ok()?;
        let closed = Self {
            path: self.path.clone(),
            bytes: Bytes::Closed {
                device: own.dev(),
                inode: own.ino(),
            },
            interruption: Interruption::default(),
        };
        closed.open_again(own.dev(), own.ino()).ok()?;
        Some(closed)
    }

    fn open_again(&self, device: u64, inode: u64) -> io::Result<File> {
        let is_same = |there: fs::Metadata| match (there.dev(), there.ino()) == (device, inode) {
            true => Ok(()),
            false => Err(io::Error::other("another file has its name now")),
        };
        // Looked at before opening: to open a pipe is to wait for its other end.
        is_same(fs::metadata(&self.path)?)?;
        let file = File::open(&self.path)?;
        is_same(file.metadata()?)?;
        Ok(file)
    }

    /// Its path, or what errors call it if it has none.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Its length in bytes, now.
    pub(crate) fn length(&self) -> io::Result<u64> {
        match &self.bytes {
            Bytes::File(file) => Ok(file.metadata()?.len()),
            Bytes::Closed { device, inode } => {
                Ok(self.open_again(*device, *inode)?.metadata()?.len())
            }
            Bytes::Memory(bytes) => Ok(bytes.len() as u64),
            #[cfg(test)]
            Bytes::Fake(fake) => Ok(fake.length),
        }
    }

    /// Tries the writer's lock, and releases it at once.
    pub(crate) fn lock(&self) -> Lock {
        match &self.bytes {
            Bytes::File(file) => lock_of(file),
            Bytes::Closed { device, inode } => match self.open_again(*device, *inode) {
                Ok(file) => lock_of(&file),
                Err(_) => Lock::Unsupported,
            },
            Bytes::Memory(_) => Lock::NoFile,
            #[cfg(test)]
            Bytes::Fake(fake) => fake.lock,
        }
    }

    /// The file, as the kernel's lists name it, and whether no other machine can write it. None: it is not a file, or not found any more.
    pub(crate) fn place(&self) -> Option<Place> {
        let of_file = |file: &File| {
            let metadata = file.metadata().ok()?;
            Some(Place {
                file: FileId {
                    device: metadata.dev(),
                    inode: metadata.ino(),
                },
                only_here: os::only_here(file),
            })
        };
        match &self.bytes {
            Bytes::File(file) => of_file(file),
            Bytes::Closed { device, inode } => of_file(&self.open_again(*device, *inode).ok()?),
            Bytes::Memory(_) => None,
            #[cfg(test)]
            Bytes::Fake(_) => None,
        }
    }

    /// Fills `buffer` with the bytes from `offset` on, and with zeroes where there are none. Returns the first read that failed; the end of the file
    /// is no failure.
    pub(crate) fn read(&self, mut offset: u64, mut buffer: &mut [u8]) -> Option<Damage> {
        let mut failed = None;
        while !buffer.is_empty() {
            let done = match self.read_at(offset, buffer) {
                Ok(0) => {
                    buffer.fill(0);
                    break;
                }
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    failed.get_or_insert_with(|| Damage {
                        offset,
                        what: format!("cannot be read: {error}"),
                    });
                    // Pages fail one by one: go on after this one.
                    let to_page_end =
                        PAGE_BYTES.saturating_sub(offset & PAGE_BYTES.saturating_sub(1));
                    let count = buffer.len().min(to_page_end as usize);
                    buffer.iter_mut().take(count).for_each(|byte| *byte = 0);
                    count
                }
            };
            offset = offset.saturating_add(done as u64);
            buffer = buffer.get_mut(done..).unwrap_or_default();
        }
        failed
    }

    /// The first offset from `offset` on, at most `end`, that may hold anything but zeroes; `offset` itself where that is unknown.
    pub(crate) fn next_data(&self, offset: u64, end: u64) -> u64 {
        match &self.bytes {
            // Moves the file's cursor, which no read here uses.
            Bytes::File(file) => os::next_data(file, offset, end),
            Bytes::Closed { device, inode } => match self.open_again(*device, *inode) {
                Ok(file) => os::next_data(&file, offset, end),
                Err(_) => offset,
            },
            Bytes::Memory(_) => offset,
            #[cfg(test)]
            Bytes::Fake(_) => offset,
        }
    }

    /// The first bytes of the file, as many as fit `buffer`.
    pub(crate) fn read_start<'buffer>(
        &self,
        buffer: &'buffer mut [u8],
    ) -> io::Result<&'buffer [u8]> {
        let mut count = 0usize;
        while let Some(rest) = buffer.get_mut(count..).filter(|rest| !rest.is_empty()) {
            match self.read_at(count as u64, rest) {
                Ok(0) => break,
                Ok(more) => count = count.saturating_add(more),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(buffer.get(..count).unwrap_or_default())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        match &self.bytes {
            Bytes::File(file) => file.read_at(buffer, offset),
            Bytes::Closed { device, inode } => {
                self.open_again(*device, *inode)?.read_at(buffer, offset)
            }
            Bytes::Memory(bytes) => {
                let there = usize::try_from(offset)
                    .ok()
                    .and_then(|offset| bytes.get(offset..))
                    .unwrap_or_default();
                let count = there.len().min(buffer.len());
                if let (Some(to), Some(from)) = (buffer.get_mut(..count), there.get(..count)) {
                    to.copy_from_slice(from);
                }
                Ok(count)
            }
            #[cfg(test)]
            Bytes::Fake(fake) => (fake.read_at.lock().unwrap())(offset, buffer),
        }
    }
}

fn lock_of(file: &File) -> Lock {
    match file.try_lock_shared() {
        Ok(()) => {
            // Closing the file would release it as well, so a failure changes nothing.
            let _ = file.unlock();
            Lock::Free
        }
        Err(TryLockError::WouldBlock) => Lock::Held,
        Err(TryLockError::Error(_)) => Lock::Unsupported,
    }
}

/// An error unless `file_type` is a regular file's.
fn require_regular(file_type: FileType, path: &Path) -> Result<(), Error> {
    if file_type.is_file() {
        return Ok(());
    }
    Err(Error::NotAFile {
        path: path.to_owned(),
        found: if file_type.is_dir() {
            "a directory"
        } else if file_type.is_fifo() {
            "a pipe"
        } else if file_type.is_socket() {
            "a socket"
        } else {
            "a device"
        },
    })
}

/// A source whose reads are answered by a test.
#[cfg(test)]
pub(crate) mod fake {
    use super::*;
    use std::sync::Mutex;

    pub(crate) type ReadAt = dyn FnMut(u64, &mut [u8]) -> io::Result<usize> + Send;

    pub(crate) struct Fake {
        pub(crate) length: u64,
        pub(crate) lock: Lock,
        /// Locked, because several threads may read.
        pub(crate) read_at: Mutex<Box<ReadAt>>,
    }

    /// Answers every read of a [`Fake`].
    pub(crate) fn each(
        read_at: impl FnMut(u64, &mut [u8]) -> io::Result<usize> + Send + 'static,
    ) -> Mutex<Box<ReadAt>> {
        Mutex::new(Box::new(read_at))
    }

    impl std::fmt::Debug for Fake {
        fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            formatter.write_str("Fake")
        }
    }

    impl From<Fake> for Source {
        fn from(fake: Fake) -> Self {
            Self {
                path: PathBuf::from("(fake)"),
                bytes: Bytes::Fake(fake),
                interruption: Interruption::default(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fake::{self, Fake};
    use super::*;

    #[test]
    fn bytes_past_the_end_read_as_zeroes() {
        let source = Source::from_bytes(vec![1, 2, 3]);
        for (offset, expected) in [
            (0, [1, 2, 3, 0]),
            (2, [3, 0, 0, 0]),
            (3, [0; 4]),
            (u64::MAX, [0; 4]),
        ] {
            let mut buffer = [9; 4];
            assert_eq!(source.read(offset, &mut buffer), None);
            assert_eq!(buffer, expected);
        }
    }

    /// The bug: 2,000 captures could not be read where 256 files may be open. Found by lowering that limit for good.
    #[test]
    fn a_closed_file_reads_the_same_until_another_has_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        fs::write(&path, b"first").unwrap();
        let source = Source::open(&path).unwrap();
        let closed = source.closed().unwrap();
        let read = |source: &Source| {
            let mut buffer = [0; 5];
            let damage = source.read(0, &mut buffer);
            (buffer, damage.map(|damage| damage.what))
        };
        assert_eq!(read(&closed), (*b"first", None));
        assert_eq!(closed.length().unwrap(), 5);
        assert_eq!((closed.lock(), source.lock()), (Lock::Free, Lock::Free));
        source_file_is_locked(&path, || assert_eq!(closed.lock(), Lock::Held));
        fs::write(folder.path().join("y"), b"other").unwrap();
        fs::rename(folder.path().join("y"), &path).unwrap();
        let said = "cannot be read: another file has its name now".to_owned();
        assert_eq!(read(&closed), ([0; 5], Some(said)));
        assert_eq!(read(&source), (*b"first", None));
        // It is not found at its path, and cannot be opened anew.
        assert!(source.closed().is_none());
        assert!(
            Source::from_file(File::open(&path).unwrap())
                .unwrap()
                .closed()
                .is_none()
        );
        assert!(Source::from_bytes(vec![1]).closed().is_none());
    }

    fn source_file_is_locked(path: &Path, check: impl FnOnce()) {
        let writer = File::open(path).unwrap();
        writer.try_lock().unwrap();
        check();
    }

    #[test]
    fn holes_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sparse");
        let file = File::create(&path).unwrap();
        file.set_len(64 << 20).unwrap();
        file.write_all_at(&[1], 32 << 20).unwrap();
        let source = Source::open(&path).unwrap();
        assert_eq!(source.next_data(0, 16 << 20), 16 << 20);
        assert_eq!(source.next_data(0, 64 << 20), 32 << 20);
        assert_eq!(source.next_data(32 << 20, 64 << 20), 32 << 20);
        assert_eq!(source.next_data(40 << 20, 1 << 30), 1 << 30);
        assert_eq!(source.next_data(1 << 40, 1 << 41), 1 << 41);
        assert_eq!(Source::from_bytes(vec![0; 9]).next_data(3, 9), 3);
    }

    /// Short reads, interruptions, and an unreadable page.
    #[test]
    fn a_read_goes_on_after_a_bad_page() {
        let mut interrupted = false;
        let source = Source::from(Fake {
            length: 3 * PAGE_BYTES,
            lock: Lock::Free,
            read_at: fake::each(move |offset, buffer| {
                interrupted = !interrupted;
                if interrupted {
                    return Err(io::ErrorKind::Interrupted.into());
                }
                if offset / PAGE_BYTES == 1 {
                    return Err(io::Error::other("medium error"));
                }
                let to_page_end = PAGE_BYTES - offset % PAGE_BYTES;
                let count = buffer.len().min(1000).min(to_page_end as usize);
                buffer[..count].fill(7);
                Ok(count)
            }),
        });
        let page = PAGE_BYTES as usize;
        let mut buffer = vec![9; 2 * page];
        let failed = source.read(PAGE_BYTES / 2, &mut buffer);
        let expected = Damage {
            offset: PAGE_BYTES,
            what: "cannot be read: medium error".into(),
        };
        assert_eq!(failed, Some(expected));
        assert!(buffer[..page / 2].iter().all(|byte| *byte == 7));
        assert!(buffer[page / 2..page * 3 / 2].iter().all(|byte| *byte == 0));
        assert!(buffer[page * 3 / 2..].iter().all(|byte| *byte == 7));

        let mut start = [0; PAGE_BYTES as usize + 1];
        assert!(
            source
                .read_start(&mut start[..page])
                .is_ok_and(|bytes| bytes.len() == page)
        );
        assert!(source.read_start(&mut start).is_err());
    }
}

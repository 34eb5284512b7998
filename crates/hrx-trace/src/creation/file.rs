//! The file of a capture: new, locked, and with its space reserved.
//!
//! A call that a signal interrupts is made again: the host's signals are no reason to have no trace.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use hrx_trace_format::header::PAGE_BYTES;
use rustix::fs::{FallocateFlags, FlockOperation};
use rustix::io::{Errno, retry_on_intr};
use rustix::process::{Resource, getrlimit};

use crate::error::{Error, Result};
use crate::folder::Folder;

/// How often the lock is tried, a millisecond apart.
const LOCK_ATTEMPTS: usize = 100;

/// Opens the folder of `path`, and creates the file `name` in it, mode 0600. The file must not exist.
///
/// `bytes` is the size it is to have. A file that grows beyond RLIMIT_FSIZE raises SIGXFSZ, which kills, so the limit is checked first (getrlimit(2)).
pub fn create_new(path: &Path, folder: &Path, name: &OsStr, bytes: u64) -> Result<(Folder, File)> {
    if getrlimit(Resource::Fsize)
        .current
        .is_some_and(|limit| limit < bytes)
    {
        return Err(Error::NoSpace {
            path: path.to_owned(),
            bytes,
            source: Errno::FBIG.into(),
        });
    }
    let folder = Folder::open(folder).map_err(|source| refused(path, source))?;
    match folder.create_new(name) {
        Ok(file) => Ok((folder, file)),
        Err(source) => Err(refused(path, source)),
    }
}

/// Why no file could be made at `path`.
fn refused(path: &Path, source: io::Error) -> Error {
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::AlreadyExists => Error::Exists { path },
        io::ErrorKind::NotFound => Error::NoFolder { path },
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            Error::Permission { path, source }
        }
        // A new file has no bytes yet: what ran out is the inodes, or the room for its name.
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Error::NoInode { path, source }
        }
        _ => Error::Io {
            path,
            doing: "create it",
            source,
        },
    }
}

/// Takes the lock that tells readers that the writer lives. Some network file systems have no locks, or have run out of them (ENOLCK); there, readers judge by
/// the process.
pub fn lock(path: &Path, file: &File) -> Result<()> {
    for attempt in 1.. {
        match retry_on_intr(|| rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive)) {
            // A reader tries the lock, and lets it go at once.
            Err(Errno::WOULDBLOCK) if attempt < LOCK_ATTEMPTS => sleep(Duration::from_millis(1)),
            Err(Errno::WOULDBLOCK) => {
                return Err(Error::Io {
                    path: path.to_owned(),
                    doing: "lock it",
                    source: Errno::WOULDBLOCK.into(),
                });
            }
            Ok(()) | Err(_) => break,
        }
    }
    Ok(())
}

/// Reserves the file's blocks before it is mapped: a full disk is an error here, and never a SIGBUS later.
pub fn reserve(path: &Path, file: &File, bytes: u64) -> Result<()> {
    let reserved = match allocate(file, bytes) {
        // The file system cannot reserve (NFS, some FUSE). Writing zeroes has the same effect.
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

/// Allocates the file in one call, or, while signals interrupt it, in ever smaller parts: tmpfs gives back everything that an interrupted call has allocated,
/// so a timer that is faster than the whole would starve it.
fn allocate(file: &File, bytes: u64) -> rustix::io::Result<()> {
    let mut offset = 0;
    let mut part = bytes;
    while offset < bytes {
        let count = part.min(bytes - offset);
        match rustix::fs::fallocate(file, FallocateFlags::empty(), offset, count) {
            Ok(()) => offset += count,
            Err(Errno::INTR) => part = (count / 2).max(PAGE_BYTES).next_multiple_of(PAGE_BYTES),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn write_zeroes(file: &File, bytes: u64) -> io::Result<()> {
    // On the stack: an allocation that fails ends the program.
    let zeroes = [0; 16 << 10];
    let mut offset = 0;
    while offset < bytes {
        let count = zeroes.len().min((bytes - offset) as usize);
        file.write_all_at(&zeroes[..count], offset)?;
        offset += count as u64;
    }
    Ok(())
}

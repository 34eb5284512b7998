//! The file of a capture: new, locked, and with its space reserved.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::FallocateFlags;
use rustix::io::Errno;

use crate::error::{Error, Result};

/// Creates the file at `path`, mode 0600. It must not exist.
///
/// `bytes` is the size it is to have. A file that grows beyond RLIMIT_FSIZE raises SIGXFSZ, which kills, so the limit is checked first (getrlimit(2)).
pub fn create_new(path: &Path, bytes: u64) -> Result<File> {
    let no_space = |source| Error::NoSpace {
        path: path.to_owned(),
        bytes,
        source,
    };
    let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
    if limit.is_some_and(|limit| limit < bytes) {
        return Err(no_space(Errno::FBIG.into()));
    }
    OpenOptions::new()
        .read(true)
        .write(true)
        // O_EXCL follows no symlink in the path's last step, not even a dangling one (open(2)).
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
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => no_space(source),
                _ => Error::Io {
                    path,
                    doing: "create it",
                    source,
                },
            }
        })
}

/// Takes the lock that tells readers that the writer lives. Some network file systems have no locks; there, readers judge by the process.
pub fn lock(path: &Path, file: &File) -> Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        Err(error) => Err(Error::Io {
            path: path.to_owned(),
            doing: "lock it",
            source: error.into(),
        }),
    }
}

/// Reserves the file's blocks before it is mapped: a full disk is an error here, and never a SIGBUS later.
pub fn reserve(path: &Path, file: &File, bytes: u64) -> Result<()> {
    let reserved = match rustix::fs::fallocate(file, FallocateFlags::empty(), 0, bytes) {
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

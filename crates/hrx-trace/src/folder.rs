//! The folder that a capture's file lies in, held open from the creation on: no `chdir`, `chroot` or `setuid` takes it away.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
#[cfg(feature = "tracer")]
use std::os::fd::AsRawFd;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};

/// A folder, open.
#[derive(Debug)]
pub struct Folder {
    descriptor: OwnedFd,
    /// False: the program may create files in the folder, and may not list it.
    readable: bool,
}

/// The folder and the file's name in it, of which either may be empty.
pub fn split(path: &Path) -> (&Path, &OsStr) {
    // Not by `Path::file_name`, which takes "name/", a folder, for "name".
    let bytes = path.as_os_str().as_bytes();
    let name_at = bytes
        .iter()
        .rposition(|byte| *byte == b'/')
        .map_or(0, |slash| slash + 1);
    let (folder, name) = bytes.split_at(name_at);
    (
        Path::new(OsStr::from_bytes(folder)),
        OsStr::from_bytes(name),
    )
}

impl Folder {
    /// Opens the folder `path`; an empty path is the current folder.
    pub fn open(path: &Path) -> io::Result<Self> {
        let path = if path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            path
        };
        let open = |flags| {
            let flags = flags | OFlags::DIRECTORY | OFlags::CLOEXEC;
            retry_on_intr(|| rustix::fs::open(path, flags, Mode::empty()))
        };
        let (descriptor, readable) = match open(OFlags::RDONLY) {
            Err(Errno::ACCESS) => (open(OFlags::PATH)?, false),
            opened => (opened?, true),
        };
        Ok(Self {
            descriptor,
            readable,
        })
    }

    /// Creates the file `name`, mode 0600, for reading and writing. It must not exist.
    pub fn create_new(&self, name: &OsStr) -> io::Result<File> {
        if name.is_empty() {
            return Err(Errno::ISDIR.into());
        }
        // O_EXCL follows no symlink, not even a dangling one (open(2)).
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR;
        self.openat(name, flags, Mode::RUSR | Mode::WUSR)
    }

    /// Opens the file `name` for reading. Follows no symlink, and waits for no other end of a pipe.
    pub fn open_file(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        self.openat(name, flags, Mode::empty())
    }

    /// Opens `file`, which was created here at `path`, a second time, for reading.
    #[cfg(feature = "tracer")]
    pub fn open_again(&self, path: &Path, file: &File) -> io::Result<File> {
        match self.open_file(split(path).1) {
            Ok(again) if is_same_file(&again, file)? => Ok(again),
            // It has been renamed or deleted.
            _ => File::open(format!("/proc/self/fd/{}", file.as_raw_fd())),
        }
    }

    fn openat(&self, name: &OsStr, flags: OFlags, mode: Mode) -> io::Result<File> {
        let flags = flags | OFlags::CLOEXEC;
        let opened = retry_on_intr(|| rustix::fs::openat(&self.descriptor, name, flags, mode));
        Ok(File::from(opened?))
    }

    /// Removes the file `name`.
    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(
            &self.descriptor,
            name,
            AtFlags::empty(),
        )?)
    }

    /// Forces the name of `file`, which lies in this folder, to the disk. An error if the file has been deleted.
    pub fn sync(&self, file: &File) -> io::Result<()> {
        if file.metadata()?.nlink() == 0 {
            return Err(Errno::NOENT.into());
        }
        if self.readable {
            Ok(retry_on_intr(|| rustix::fs::fsync(&self.descriptor))?)
        } else {
            // Only a folder that was opened for reading can be forced by itself; so the whole file system is.
            Ok(retry_on_intr(|| rustix::fs::syncfs(file))?)
        }
    }
}

/// Whether both are the same file.
pub fn is_same_file(one: &File, other: &File) -> io::Result<bool> {
    let [one, other] = [one.metadata()?, other.metadata()?];
    Ok((one.dev(), one.ino()) == (other.dev(), other.ino()))
}

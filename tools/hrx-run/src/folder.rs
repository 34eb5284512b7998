//! The folder that a run's captures go to: one that the user names, one of a collection, or a private one that is removed unless it is of use.

use std::ffi::OsString;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use anyhow::{Context, Result};
use rustix::fs::{Access, access, statfs};
use tempfile::TempDir;

use crate::captures::Place;
use crate::collect::Run;
use crate::launch::FOLDER_VARIABLE;

/// What statfs(2) calls tmpfs.
const TMPFS: i64 = 0x0102_1994;
/// A tmpfs with less free space is no place for captures: containers have one of 64 MiB, which one recorder may fill.
const FREE_BYTES_MIN: u64 = 256 << 20;

/// The folder of a run.
pub struct Folder {
    pub place: Place,
    private: Option<TempDir>,
    /// Locked for as long as this is held.
    _collected: Option<Run>,
}

impl Folder {
    /// A folder that stays; it is created if it does not exist.
    pub fn named(path: &Path) -> Result<Self> {
        let cannot = || format!("cannot create the folder {}", path.display());
        fs::create_dir_all(path).with_context(cannot)?;
        let path = std::path::absolute(path).with_context(cannot)?;
        Ok(Self {
            place: Place::new(path),
            private: None,
            _collected: None,
        })
    }

    /// The folder of a run that is collected.
    pub fn collected(run: Run) -> Self {
        Self {
            place: Place::new(run.path().to_owned()),
            private: None,
            _collected: Some(run),
        }
    }

    /// A new folder that only this user can enter, on tmpfs where there is one.
    pub fn private() -> Result<Self> {
        let parent = private_parent();
        let folder = tempfile::Builder::new()
            .prefix("hrx-run-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(&parent)
            .with_context(|| format!("cannot create a folder in {}", parent.display()))?;
        Ok(Self {
            place: Place::new(folder.path().to_owned()),
            private: Some(folder),
            _collected: None,
        })
    }

    pub fn path(&self) -> &Path {
        self.place.folder()
    }

    /// Ends the run: removes a private folder, unless what it holds is `useful` or a descendant may still put a capture there.
    pub fn close(self, useful: bool) {
        if let Some(private) = self.private
            && (useful || has_programs(self.place.folder()))
        {
            let _ = private.keep();
        }
    }
}

/// The first that will do. Not $XDG_RUNTIME_DIR: it is removed when its user logs out, and a capture has to outlive that.
fn private_parent() -> PathBuf {
    let shared_memory = PathBuf::from("/dev/shm");
    match is_roomy_tmpfs(&shared_memory) {
        true => shared_memory,
        false => env::temp_dir(),
    }
}

fn is_roomy_tmpfs(path: &Path) -> bool {
    let Ok(status) = statfs(path) else {
        return false;
    };
    let free_bytes = status
        .f_bavail
        .saturating_mul(u64::try_from(status.f_bsize).unwrap_or(0));
    status.f_type == TMPFS && free_bytes >= FREE_BYTES_MIN && access(path, Access::WRITE_OK).is_ok()
}

/// Whether a process runs that was told to put its captures there: a descendant of the program, wherever it went.
fn has_programs(folder: &Path) -> bool {
    let mut told = OsString::from(FOLDER_VARIABLE);
    told.push("=");
    told.push(folder);
    let is_told = |process: io::Result<fs::DirEntry>| {
        // One that is another user's does not show its environment.
        let environment = fs::read(process?.path().join("environ"))?;
        let mut variables = environment.split(|byte| *byte == 0);
        io::Result::Ok(variables.any(|variable| variable == told.as_encoded_bytes()))
    };
    fs::read_dir("/proc")
        .is_ok_and(|mut processes| processes.any(|process| is_told(process).unwrap_or(false)))
}

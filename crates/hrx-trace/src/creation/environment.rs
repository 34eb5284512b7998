//! A capture where the environment says: in the file that it names, or else in the first of its folders that takes one.

use std::error::Error as _;
use std::ffi::OsString;
use std::iter::successors;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::name::{expand_path, own_name, variable};
use super::process::program_name;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::recorder::Recorder;

/// Where a capture goes if no folder of the environment takes it.
const LAST_PLACE: &str = "/tmp";

/// A folder that may take a capture.
struct Place {
    path: PathBuf,
    origin: Origin,
}

/// Who chose a folder.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// `$HRX_TRACE_DIR`. A mistake in it is an error; only if the folder is full is another one taken.
    Asked,
    /// `$XDG_RUNTIME_DIR`, which may be left over from another user or an ended session.
    Session,
    /// `$TMPDIR`.
    Temporary,
}

impl Options {
    /// Begins the capture where the environment says:
    ///
    /// 1. in the file `$HRX_TRACE_FILE`, in which placeholders stand for process, host, time and rank: see [`expand_path`]. An error there is final.
    /// 2. in `$HRX_TRACE_DIR`, under a name like those of [`Options::create_in`]. Only if there is no room, the next folder is tried.
    /// 3. in `$XDG_RUNTIME_DIR`, if it is absolute and belongs to the user.
    /// 4. in the folder for temporary files, `$TMPDIR`.
    /// 5. in `/tmp`.
    ///
    /// Where a folder was passed over, [`Recorder::fallback`] says why, and so does the attribute `fallback` in the file, if there is room for it.
    ///
    /// `$HRX_TRACE_KEEP` goes before [`Options::keep`], and `$HRX_TRACE_HEARTBEAT`, in milliseconds, before [`Options::heartbeat`]. A variable that is empty counts as unset. In a set-user-ID program (AT_SECURE, getauxval(3)) no
    /// variable counts: the file is in `/tmp`.
    ///
    /// # Errors
    /// Those of [`Options::create`], from the file or the last folder that was tried; [`Error::Name`], [`Error::Variable`].
    pub fn create_from_environment(&self) -> Result<Recorder> {
        let mut options = self.clone();
        let captures = "expected how many finished captures to keep, as a number";
        if let Some(keep) = number("HRX_TRACE_KEEP", captures)? {
            options.keep = Some(keep);
        }
        let period = "expected the period of a heartbeat in milliseconds, as a number";
        if let Some(milliseconds) = number("HRX_TRACE_HEARTBEAT", period)? {
            options.heartbeat = Duration::from_millis(milliseconds);
        }
        if let Some(template) = variable("HRX_TRACE_FILE") {
            return options.create(expand_path(template)?);
        }
        for place in places() {
            let created = place.check().and_then(|()| options.create_in(&place.path));
            let error = match created {
                Err(error) if place.may_be_passed_over(&error) => error,
                settled => return settled,
            };
            let why = with_causes(&error);
            options.fallback = Some(match options.fallback {
                Some(before) => format!("{before}; {why}"),
                None => why,
            });
        }
        options.create_in(LAST_PLACE)
    }

    /// Begins the capture in a new file in `folder`, which is named `PROGRAM.PID.N.hrxt`: the program's file name, the process id, and the first number for
    /// which there is no such file yet.
    ///
    /// # Errors
    /// Those of [`Options::create`].
    pub fn create_in(&self, folder: impl AsRef<Path>) -> Result<Recorder> {
        /// The number after that of this process's last capture: no name comes twice, even if its file is gone.
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let folder = folder.as_ref();
        if cfg!(hrx_trace_off) {
            return self.create(folder);
        }
        let program = program_name();
        self.make_room(folder);
        let mut number = NEXT.load(Ordering::Relaxed);
        loop {
            let created = self.create_at(&folder.join(own_name(&program, number)));
            number += 1;
            if !matches!(created, Err(Error::Exists { .. })) {
                if created.is_ok() {
                    NEXT.fetch_max(number, Ordering::Relaxed);
                }
                return created;
            }
        }
    }
}

impl Recorder {
    /// Begins a capture of this process beside this one, which is of its parent, with the same options. None: this recorder is disabled.
    pub(crate) fn create_beside(&self) -> Option<Result<Self>> {
        let origin = self.origin.as_ref()?;
        Some(origin.options.create_in(&origin.folder))
    }
}

impl Place {
    /// An error if it is not to be used, although it may be there.
    fn check(&self) -> Result<()> {
        let expected = match self.origin {
            Origin::Session if !self.path.is_absolute() => "expected an absolute path",
            // The first condition of the XDG Base Directory Specification. After `su`, the variable names the folder of another user.
            Origin::Session if self.is_of_another_user() => "expected a folder of this user",
            _ => return Ok(()),
        };
        Err(Error::Variable {
            variable: "XDG_RUNTIME_DIR".to_owned(),
            found: self.path.to_string_lossy().into_owned(),
            expected: expected.to_owned(),
        })
    }

    fn is_of_another_user(&self) -> bool {
        let user = rustix::process::geteuid().as_raw();
        std::fs::metadata(&self.path).is_ok_and(|folder| folder.uid() != user)
    }

    fn may_be_passed_over(&self, error: &Error) -> bool {
        let is_full = matches!(error, Error::NoSpace { .. } | Error::NoInode { .. });
        is_full || self.origin != Origin::Asked
    }
}

/// The folders of the environment, in the order in which they are tried before [`LAST_PLACE`].
fn places() -> Vec<Place> {
    [
        ("HRX_TRACE_DIR", Origin::Asked),
        ("XDG_RUNTIME_DIR", Origin::Session),
        ("TMPDIR", Origin::Temporary),
    ]
    .into_iter()
    .filter_map(|(name, origin)| {
        Some(Place {
            path: variable(name)?.into(),
            origin,
        })
    })
    .collect()
}

/// The number that a variable is. None: it is not set.
fn number<N: FromStr>(name: &str, expected: &str) -> Result<Option<N>> {
    let parse = |value: OsString| {
        let value = value.to_string_lossy();
        value.parse().map_err(|_| Error::Variable {
            variable: name.to_owned(),
            found: value.into_owned(),
            expected: expected.to_owned(),
        })
    };
    variable(name).map(parse).transpose()
}

/// The error and its causes, in one line.
fn with_causes(error: &Error) -> String {
    let causes = successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

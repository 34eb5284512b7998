//! Where the output goes. A file appears whole or not at all: it is written beside its place under another name, and renamed at the end.

use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use tempfile::TempPath;

/// Of the writer's buffer. What is larger goes to the file without another copy.
const BUFFER_BYTES: usize = 256 << 10;

/// An output that is being written.
pub struct Output {
    writer: BufWriter<File>,
    /// The temporary file, and what it is to be called. Dropped before [`Output::commit`], it is removed.
    unnamed: Option<(TempPath, PathBuf)>,
    what: String,
}

impl Output {
    /// The standard output, or the file `path`. A device or a pipe is written in place: there is nothing to replace.
    pub fn create(path: Option<&Path>) -> anyhow::Result<Self> {
        let Some(path) = path else {
            // Not `io::stdout()`: it looks for line ends in everything it is given.
            let stdout = io::stdout().as_fd().try_clone_to_owned();
            let stdout = stdout.context("cannot write the standard output")?;
            return Ok(Self::in_place(stdout.into(), "the standard output".into()));
        };
        let what = path.display().to_string();
        match fs::metadata(path) {
            Ok(there) if there.is_dir() => {
                bail!("cannot write {what}: found a directory, expected a file")
            }
            Ok(there) if !there.is_file() => {
                let device = File::options().write(true).open(path);
                let device = device.with_context(|| format!("cannot write {what}"))?;
                Ok(Self::in_place(device, what))
            }
            Ok(there) => Self::beside(fs::canonicalize(path)?, Some(there.permissions()), what),
            Err(_) => Self::beside(path.to_owned(), None, what),
        }
    }

    fn in_place(file: File, what: String) -> Self {
        Self {
            writer: BufWriter::with_capacity(BUFFER_BYTES, file),
            unnamed: None,
            what,
        }
    }

    fn beside(
        path: PathBuf,
        permissions: Option<Permissions>,
        what: String,
    ) -> anyhow::Result<Self> {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let file = tempfile::Builder::new()
            .prefix(".hrx-convert-")
            // As any new file: the umask takes away from this.
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder)
            .with_context(|| format!("cannot write {what}"))?;
        let (file, temporary) = file.into_parts();
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)
                .with_context(|| format!("cannot write {what}"))?;
        }
        Ok(Self {
            writer: BufWriter::with_capacity(BUFFER_BYTES, file),
            unnamed: Some((temporary, path)),
            what,
        })
    }

    /// What an error calls it.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// Whether a progress bar would be drawn across it.
    pub fn is_terminal(&self) -> bool {
        self.writer.get_ref().is_terminal()
    }

    /// Completes the output: only now does the file have its name.
    pub fn commit(mut self) -> anyhow::Result<()> {
        let what = &self.what;
        self.writer
            .flush()
            .with_context(|| format!("cannot write {what}"))?;
        if let Some((temporary, path)) = self.unnamed.take() {
            temporary
                .persist(&path)
                .map_err(|error| error.error)
                .with_context(|| format!("cannot write {what}"))?;
        }
        Ok(())
    }
}

impl Write for Output {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    // Serializers write in small pieces: the buffer's own is much faster than a loop around `write`.
    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.writer.write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

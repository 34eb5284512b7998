//! Temporary files without a name, in the folder for temporary files, for what memory has no room for.

use std::env;
use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// A temporary file without a name. Its errors name the folder, which is hardly ever the folder of the output.
#[derive(Debug)]
pub struct ScratchFile(File);

/// Why a temporary file cannot be used.
#[derive(Debug)]
pub struct ScratchError {
    folder: PathBuf,
    source: io::Error,
}

impl ScratchError {
    /// The same error, with the folder.
    fn of(source: io::Error) -> io::Error {
        let folder = env::temp_dir();
        io::Error::new(source.kind(), Self { folder, source })
    }

    /// Whether the error is one of these.
    pub fn is(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|inner| inner.is::<Self>())
    }
}

impl Display for ScratchError {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let folder = self.folder.display();
        write!(
            formatter,
            "cannot use temporary files in {folder} ($TMPDIR)"
        )
    }
}

impl Error for ScratchError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.source)
    }
}

impl ScratchFile {
    pub fn new() -> io::Result<Self> {
        tempfile::tempfile().map(Self).map_err(ScratchError::of)
    }

    pub fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let written = self.0.write_all_at(bytes, offset);
        written.map_err(ScratchError::of)
    }

    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buffer, offset).map_err(ScratchError::of)
    }

    pub fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let read = self.0.read_exact_at(buffer, offset);
        read.map_err(ScratchError::of)
    }
}

impl Read for &ScratchFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&self.0).read(buffer).map_err(ScratchError::of)
    }
}

impl Write for &ScratchFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&self.0).write(bytes).map_err(ScratchError::of)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for &ScratchFile {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        (&self.0).seek(position).map_err(ScratchError::of)
    }
}

impl Read for ScratchFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self).read(buffer)
    }
}

impl Write for ScratchFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for ScratchFile {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        (&*self).seek(position)
    }
}

//! The output: the standard output, or a file that appears whole or not at all.
//!
//! A file is written next to its place under a temporary name and renamed at the end, unless it is to be read while it grows: then it is in its
//! place from the beginning.

use std::fs::{self, File, Permissions};
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::output::background::Background;
use crate::output::options::OutputOptions;
use crate::output::temporary::TemporaryFile;

/// An output that is being written.
pub struct Output {
    background: Background,
    /// The temporary file and its final path. Dropped before [`Output::commit`], the file is removed.
    temporary: Option<(TemporaryFile, PathBuf)>,
    name: String,
    is_terminal: bool,
}

impl Output {
    /// The file `path`, or the standard output. A device or a pipe is written in place: there is nothing to replace.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn create(path: Option<&Path>, options: OutputOptions) -> anyhow::Result<Self> {
        let Some(path) = path else {
            // `io::stdout()` would search everything for line ends.
            let stdout = io::stdout().as_fd().try_clone_to_owned();
            let stdout = stdout.context("cannot write the standard output")?;
            return Ok(Self::new(
                stdout.into(),
                None,
                "the standard output".into(),
                options,
            ));
        };
        let name = path.display().to_string();
        let in_place = |open_options: &fs::OpenOptions| {
            let file = open_options.open(path);
            let file = file.with_context(|| format!("cannot write {name}"))?;
            Ok(Self::new(file, None, name.clone(), options))
        };
        match fs::metadata(path) {
            Ok(there) if there.is_dir() => {
                bail!("cannot write {name}: found a directory, expected a file")
            }
            Ok(there) if !there.is_file() => in_place(File::options().write(true)),
            _ if options.grows => in_place(File::options().write(true).create(true).truncate(true)),
            Ok(there) => Self::next_to(
                fs::canonicalize(path)?,
                Some(there.permissions()),
                name,
                options,
            ),
            Err(_) => Self::next_to(path.to_owned(), None, name, options),
        }
    }

    fn new(
        file: File,
        temporary: Option<(TemporaryFile, PathBuf)>,
        name: String,
        options: OutputOptions,
    ) -> Self {
        Self {
            is_terminal: file.is_terminal(),
            background: Background::new(file, options),
            temporary,
            name,
        }
    }

    fn next_to(
        path: PathBuf,
        permissions: Option<Permissions>,
        name: String,
        options: OutputOptions,
    ) -> anyhow::Result<Self> {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let mut builder = tempfile::Builder::new();
        builder
            .prefix(".hrx-convert-")
            // The mode of any new file; the umask is subtracted from it.
            .permissions(Permissions::from_mode(0o666));
        let (file, temporary) = TemporaryFile::create(&builder, folder)
            .with_context(|| format!("cannot write {name}"))?;
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)
                .with_context(|| format!("cannot write {name}"))?;
        }
        Ok(Self::new(file, Some((temporary, path)), name, options))
    }

    /// Its name in errors.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is a terminal, across which a progress bar would be drawn.
    pub fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Completes the output. Only now does the file have its name.
    ///
    /// # Errors
    /// What has not been written yet cannot be.
    pub fn commit(mut self) -> anyhow::Result<()> {
        let name = &self.name;
        self.background
            .finish()
            .with_context(|| format!("cannot write {name}"))?;
        if let Some((file, path)) = self.temporary.take() {
            file.persist(&path)
                .with_context(|| format!("cannot write {name}"))?;
        }
        Ok(())
    }
}

impl Write for Output {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    // Serializers write in small pieces.
    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.background.write_all(bytes)
    }

    /// Sends everything on its way to readers of the file; an error may be returned by a later call.
    fn flush(&mut self) -> io::Result<()> {
        self.background.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::encoder::CHUNK_BYTES;
    use crate::output::gzip::LAST_BLOCK;
    use std::io::Read;
    use std::thread;

    fn written(options: OutputOptions, pieces: &[&[u8]]) -> Vec<u8> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out");
        let mut output = Output::create(Some(&path), options).expect("an output");
        for piece in pieces {
            output.write_all(piece).expect("room");
            output.flush().expect("room");
        }
        assert_eq!(path.exists(), options.grows);
        output.commit().expect("room");
        fs::read(path).expect("the output")
    }

    #[test]
    fn gzip_is_one_member_whatever_the_pieces() {
        let large = vec![b'x'; 3 * CHUNK_BYTES + 17];
        let pieces: &[&[u8]] = &[b"one", b"", &large, b"two"];
        let plain = written(OutputOptions::default(), pieces);
        assert_eq!(plain, pieces.concat());
        for grows in [false, true] {
            let bytes = written(OutputOptions { gzip: true, grows }, pieces);
            // This decoder reads one member and no further.
            let mut decoder = flate2::bufread::GzDecoder::new(bytes.as_slice());
            let mut text = Vec::new();
            decoder.read_to_end(&mut text).expect("gzip");
            assert_eq!(text, plain);
            assert!(
                decoder.into_inner().is_empty(),
                "something follows the member"
            );
        }
    }

    #[test]
    fn what_grows_can_be_read_before_its_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out");
        fs::write(&path, "what was there before").expect("a file");
        let options = OutputOptions {
            grows: true,
            ..OutputOptions::default()
        };
        let mut output = Output::create(Some(&path), options).expect("an output");
        output.write_all(b"so far").expect("room");
        output.flush().expect("room");
        // The thread has one thing to do.
        while fs::read(&path).expect("the output") != b"so far" {
            thread::yield_now();
        }
        drop(output);
        assert_eq!(fs::read(&path).expect("the output"), b"so far");
    }

    /// The bug: Perfetto refused a followed .json.gz until it was closed ("GZIP stream incomplete"), so a killed converter left nothing to see.
    #[test]
    fn gzip_that_grows_has_an_end_after_every_piece() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out");
        let options = OutputOptions {
            gzip: true,
            grows: true,
        };
        let mut output = Output::create(Some(&path), options).expect("an output");
        let mut so_far = Vec::new();
        let mut flushed = Vec::new();
        // Also more than is written at once, that cannot be compressed.
        for bytes in [0, 1, 40, 3 * CHUNK_BYTES as u32, 2] {
            let noise =
                (0..bytes).map(|i| (i.wrapping_mul(i.wrapping_mul(2_654_435_761)) >> 13) as u8);
            let noise: Vec<u8> = noise.collect();
            output.write_all(&noise).expect("room");
            output.flush().expect("room");
            so_far.extend(noise);
            // The thread has one thing to do.
            let member = loop {
                let file = fs::read(&path).expect("the output");
                let mut text = Vec::new();
                let read = flate2::bufread::GzDecoder::new(file.as_slice()).read_to_end(&mut text);
                if read.is_ok() && text == so_far {
                    break file;
                }
                thread::yield_now();
            };
            flushed.push((member.len() - LAST_BLOCK.len() - 8, so_far.len()));
        }
        output.commit().expect("room");
        // Wherever it is cut, all that was flushed before is there.
        let member = fs::read(&path).expect("the output");
        let cuts = (0..200)
            .chain((200..member.len()).step_by(80_021))
            .chain([member.len()]);
        for cut in cuts {
            let mut text = Vec::new();
            let _ = flate2::bufread::GzDecoder::new(&member[..cut]).read_to_end(&mut text);
            let expected = flushed.iter().rfind(|(end, _)| *end <= cut);
            assert!(so_far.starts_with(&text), "{cut}");
            assert!(
                text.len() >= expected.map_or(0, |(_, bytes)| *bytes),
                "{cut}"
            );
        }
    }

    #[test]
    fn an_error_of_the_thread_arrives() {
        for gzip in [false, true] {
            let options = OutputOptions {
                gzip,
                ..OutputOptions::default()
            };
            let full = Path::new("/dev/full");
            let mut output = Output::create(Some(full), options).expect("an output");
            let noise: Vec<u8> = (0..CHUNK_BYTES as u32)
                .map(|i| (i.wrapping_mul(i) >> 3) as u8)
                .collect();
            let error = (0..).find_map(|_| output.write_all(&noise).err());
            assert_eq!(
                error.map(|error| error.kind()),
                Some(io::ErrorKind::StorageFull)
            );
            assert!(output.commit().is_err());
        }
    }
}

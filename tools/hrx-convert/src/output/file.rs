//! The output: the standard output, or a file that appears whole or not at all.
//!
//! A file gets its name at the end, and replaces what had that name, unless it is to be read while it grows: then it is in its place from the
//! beginning.
//!
//! A new file has the mode that the umask leaves, as that of any command: who converts a capture wants to look at it or pass it on. (The capture itself
//! is for its owner alone, because programs record without being asked each time.) One that is replaced keeps its mode, and its owner if that is allowed;
//! and it is only replaced without being told to if it is the user's own and can be written.

use std::fs::{self, File, Metadata};
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use rustix::process::geteuid;

use crate::output::background::Background;
use crate::output::options::OutputOptions;
use crate::output::scratch::ScratchError;
use crate::output::temporary::TemporaryFile;

/// The owner may write.
const OWNER_WRITES: u32 = 0o200;

/// An output that is being written.
pub struct Output {
    background: Background,
    /// The temporary file and its final path. Dropped before [`Output::commit`], the file is removed.
    temporary: Option<(TemporaryFile, PathBuf)>,
    name: String,
    is_terminal: bool,
    has_tail: bool,
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
            let name = "the standard output".to_owned();
            return stdout
                .and_then(|stdout| Self::new(stdout.into(), None, name, options))
                .context("cannot write the standard output");
        };
        let name = path.display().to_string();
        let cannot = || format!("cannot write {name}");
        let there = fs::metadata(path);
        if let Ok(there) = &there {
            ensure!(
                !there.is_dir(),
                "cannot write {name}: found a directory, expected a file"
            );
            if there.is_file() && !options.force {
                require_own(there).with_context(cannot)?;
            }
        }
        match there {
            Ok(there) if !there.is_file() => {
                let file = File::options().write(true).open(path);
                let file = file.with_context(cannot)?;
                Self::new(file, None, name.clone(), options).with_context(cannot)
            }
            _ if options.grows => {
                let file = growing(path, options).with_context(cannot)?;
                Self::new(file, None, name.clone(), options).with_context(cannot)
            }
            Ok(there) => {
                let path = fs::canonicalize(path).with_context(cannot)?;
                Self::replacing(path, Some(&there), &name, options).with_context(cannot)
            }
            Err(_) => Self::replacing(path.to_owned(), None, &name, options).with_context(cannot),
        }
    }

    fn new(
        file: File,
        temporary: Option<(TemporaryFile, PathBuf)>,
        name: String,
        options: OutputOptions,
    ) -> io::Result<Self> {
        Ok(Self {
            is_terminal: file.is_terminal(),
            has_tail: !options.tail_of(&file).is_empty(),
            background: Background::new(file, options)?,
            temporary,
            name,
        })
    }

    /// The file `path`, which appears at the end; `there` is what it replaces.
    fn replacing(
        path: PathBuf,
        there: Option<&Metadata>,
        name: &str,
        options: OutputOptions,
    ) -> io::Result<Self> {
        let (file, temporary) = TemporaryFile::create(&path)?;
        if let Some(there) = there {
            // Only root can give a file to another user, and others only to their own groups. Taking its owner away may take bits of the mode.
            let _ = fchown(&file, Some(there.uid()), Some(there.gid()));
            file.set_permissions(there.permissions())?;
        }
        Self::new(file, Some((temporary, path)), name.to_owned(), options)
    }

    /// Says that the output cannot be written, unless the error is that of a temporary file.
    pub fn explained(&self, error: io::Error) -> anyhow::Error {
        match ScratchError::is(&error) {
            true => error.into(),
            false => anyhow::Error::from(error).context(format!("cannot write {}", self.name)),
        }
    }

    /// Whether it is a terminal, across which a progress bar would be drawn.
    pub fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Whether it ends in [`OutputOptions::tail`] until it is complete.
    pub fn has_tail(&self) -> bool {
        self.has_tail
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

/// An error if the file is write-protected or another user's: root could replace any, and the owner of a folder whatever is in it.
fn require_own(there: &Metadata) -> anyhow::Result<()> {
    let mode = there.permissions().mode();
    if mode & OWNER_WRITES == 0 {
        bail!(
            "it is write-protected (mode {:04o}); --force replaces it",
            mode & 0o7777
        );
    }
    if there.uid() != geteuid().as_raw() {
        bail!(
            "it belongs to another user (id {}); --force replaces it",
            there.uid()
        );
    }
    Ok(())
}

/// An empty file to be read while it grows. Whatever empties it meanwhile, what follows is written at its end.
fn growing(path: &Path, options: OutputOptions) -> io::Result<File> {
    let mut to_open = File::options();
    to_open.create(true);
    // The end of the last piece is overwritten.
    let file = match options.gzip || !options.tail.is_empty() {
        true => to_open.write(true).open(path)?,
        false => to_open.append(true).open(path)?,
    };
    file.set_len(0)?;
    Ok(file)
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
            let options = OutputOptions {
                gzip: true,
                grows,
                ..OutputOptions::default()
            };
            let bytes = written(options, pieces);
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
            ..OutputOptions::default()
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

    /// The bug: followed JSON was an array, which can be cut anywhere, and whose unit chrome://tracing takes for milliseconds. An object that is
    /// cut is refused by all viewers.
    #[test]
    fn what_grows_with_a_tail_is_whole_after_every_piece() {
        for gzip in [false, true] {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("out");
            let options = OutputOptions {
                gzip,
                grows: true,
                tail: b" and so on",
                ..OutputOptions::default()
            };
            let so_far = || {
                let file = fs::read(&path).expect("the output");
                if !gzip {
                    return Some(file);
                }
                let mut text = Vec::new();
                let mut decoder = flate2::bufread::GzDecoder::new(file.as_slice());
                let read = decoder.read_to_end(&mut text);
                // In the member, and nothing after it.
                (read.is_ok() && decoder.into_inner().is_empty()).then_some(text)
            };
            let mut output = Output::create(Some(&path), options).expect("an output");
            assert!(output.has_tail());
            let mut text = Vec::new();
            let long = vec![b'x'; CHUNK_BYTES];
            for piece in [&b"one"[..], b", two", &long] {
                text.extend_from_slice(piece);
                output.write_all(piece).expect("room");
                output.flush().expect("room");
                // The thread has one thing to do.
                while so_far() != Some([&text, &b" and so on"[..]].concat()) {
                    thread::yield_now();
                }
            }
            output.write_all(b".").expect("room");
            output.commit().expect("room");
            text.push(b'.');
            assert_eq!(so_far(), Some(text));
        }
        let device = OutputOptions {
            grows: true,
            tail: b"]",
            ..OutputOptions::default()
        };
        let output = Output::create(Some(Path::new("/dev/null")), device);
        assert!(!output.expect("an output").has_tail());
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

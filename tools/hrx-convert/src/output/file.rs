//! Where the output goes: encoded here, compressed and written by a thread of its own.
//!
//! A file appears whole or not at all: it is written beside its place under another name, and renamed at the end. Unless it is to be read while it
//! grows: then it stands in its place from the beginning.

use std::fs::{self, File, Permissions};
use std::io::{self, IsTerminal, Write};
use std::mem;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use anyhow::{Context, bail};
use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

use crate::output::signals::Temporary;

/// Handed to the writing thread at once. Small enough to be in the second-level cache still when it is written.
const CHUNK_BYTES: usize = 256 << 10;
/// Chunks that wait to be written: the encoder may be this far ahead.
const CHUNKS_AHEAD: usize = 4;
/// zlib's fastest: what is behind it costs several times the time, and saves a fifth of the size.
const LEVEL: Compression = Compression::fast();

/// How an output is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Manner {
    /// As one gzip member.
    pub gzip: bool,
    /// In its place from the beginning.
    pub grows: bool,
}

/// An output that is being written.
pub struct Output {
    background: Background,
    /// The temporary file, and what it is to be called. Dropped before [`Output::commit`], it is removed.
    unnamed: Option<(Temporary, PathBuf)>,
    what: String,
    is_terminal: bool,
}

impl Output {
    /// The standard output, or the file `path`. A device or a pipe is written in place: there is nothing to replace.
    pub fn create(path: Option<&Path>, manner: Manner) -> anyhow::Result<Self> {
        let Some(path) = path else {
            // Not `io::stdout()`: it looks for line ends in everything it is given.
            let stdout = io::stdout().as_fd().try_clone_to_owned();
            let stdout = stdout.context("cannot write the standard output")?;
            return Ok(Self::new(
                stdout.into(),
                None,
                "the standard output".into(),
                manner,
            ));
        };
        let what = path.display().to_string();
        let in_place = |options: &fs::OpenOptions| {
            let file = options.open(path);
            let file = file.with_context(|| format!("cannot write {what}"))?;
            Ok(Self::new(file, None, what.clone(), manner))
        };
        match fs::metadata(path) {
            Ok(there) if there.is_dir() => {
                bail!("cannot write {what}: found a directory, expected a file")
            }
            Ok(there) if !there.is_file() => in_place(File::options().write(true)),
            _ if manner.grows => in_place(File::options().write(true).create(true).truncate(true)),
            Ok(there) => Self::beside(
                fs::canonicalize(path)?,
                Some(there.permissions()),
                what,
                manner,
            ),
            Err(_) => Self::beside(path.to_owned(), None, what, manner),
        }
    }

    fn new(
        file: File,
        unnamed: Option<(Temporary, PathBuf)>,
        what: String,
        manner: Manner,
    ) -> Self {
        Self {
            is_terminal: file.is_terminal(),
            background: Background::new(file, manner),
            unnamed,
            what,
        }
    }

    fn beside(
        path: PathBuf,
        permissions: Option<Permissions>,
        what: String,
        manner: Manner,
    ) -> anyhow::Result<Self> {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let mut builder = tempfile::Builder::new();
        builder
            .prefix(".hrx-convert-")
            // As any new file: the umask takes away from this.
            .permissions(Permissions::from_mode(0o666));
        let (file, temporary) =
            Temporary::create(&builder, folder).with_context(|| format!("cannot write {what}"))?;
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)
                .with_context(|| format!("cannot write {what}"))?;
        }
        Ok(Self::new(file, Some((temporary, path)), what, manner))
    }

    /// What an error calls it.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// Whether a progress bar would be drawn across it.
    pub fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Completes the output: only now does the file have its name.
    pub fn commit(mut self) -> anyhow::Result<()> {
        let what = &self.what;
        self.background
            .finish()
            .with_context(|| format!("cannot write {what}"))?;
        if let Some((temporary, path)) = self.unnamed.take() {
            temporary
                .persist(&path)
                .with_context(|| format!("cannot write {what}"))?;
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
        let chunk = &mut self.background.chunk;
        chunk.extend_from_slice(bytes);
        if chunk.len() >= CHUNK_BYTES {
            self.background.hand_over(false)?;
        }
        Ok(())
    }

    /// Everything is on its way to whoever reads the file; an error may come with a later call.
    fn flush(&mut self) -> io::Result<()> {
        self.background.hand_over(true)
    }
}

/// What the thread is handed: bytes, and whether a reader waits for them.
type Chunk = (Vec<u8>, bool);

/// The thread that compresses and writes.
struct Background {
    chunk: Vec<u8>,
    chunks: Option<SyncSender<Chunk>>,
    /// Buffers to fill again.
    spent: Receiver<Vec<u8>>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Background {
    fn new(file: File, manner: Manner) -> Self {
        let (chunks, to_write) = sync_channel::<Chunk>(CHUNKS_AHEAD);
        let (written, spent) = sync_channel(CHUNKS_AHEAD + 2);
        let work = move || {
            let mut sink = Sink::new(file, manner)?;
            for (chunk, flush) in to_write {
                sink.write(&chunk, flush)?;
                // Nobody takes it back: the output is at its end.
                let _ = written.try_send(chunk);
            }
            sink.finish()
        };
        Self {
            chunk: Vec::with_capacity(CHUNK_BYTES),
            chunks: Some(chunks),
            spent,
            thread: Some(thread::spawn(work)),
        }
    }

    #[cold]
    fn hand_over(&mut self, flush: bool) -> io::Result<()> {
        let mut empty = self.spent.try_recv().unwrap_or_default();
        empty.clear();
        let full = mem::replace(&mut self.chunk, empty);
        let sent = self
            .chunks
            .as_ref()
            .map(|chunks| chunks.send((full, flush)));
        match sent {
            Some(Ok(())) => Ok(()),
            // The thread has ended: it says why.
            _ => self.end(),
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        self.hand_over(false)?;
        self.end()
    }

    fn end(&mut self) -> io::Result<()> {
        drop(self.chunks.take());
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            _ => Err(io::Error::other("the output has ended")),
        }
    }
}

impl Drop for Background {
    /// What is abandoned is not written on behind the back of whoever removes it.
    fn drop(&mut self) {
        drop(self.chunks.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

enum Sink {
    Plain(File),
    Gzip(Box<Member>),
}

impl Sink {
    fn new(file: File, manner: Manner) -> io::Result<Self> {
        Ok(match manner.gzip {
            false => Self::Plain(file),
            true => Self::Gzip(Box::new(Member::new(file, manner.grows)?)),
        })
    }

    fn write(&mut self, bytes: &[u8], flush: bool) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.write_all(bytes),
            Self::Gzip(member) => member.write(bytes, flush),
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Self::Plain(_) => Ok(()),
            Self::Gzip(member) => member.finish(),
        }
    }
}

/// Deflate; no flags, no time; the fastest level, on any system (RFC 1952).
const GZIP_HEAD: [u8; 10] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 4, 255];
/// A last block of no bytes, which may follow a flush (RFC 1951).
const LAST_BLOCK: [u8; 2] = [3, 0];

/// A gzip member.
///
/// In a file that grows it has an end after every piece, which the next one is written over: Perfetto refuses a member without its end, and other
/// readers know of no second member. A piece and its end are one write, so that whoever is killed has left both.
struct Member {
    file: File,
    /// What is not yet in the file.
    deflate: DeflateEncoder<Vec<u8>>,
    crc: Crc,
    /// Where in a file that grows the next bytes belong; None: behind those before.
    at: Option<u64>,
}

impl Member {
    fn new(file: File, grows: bool) -> io::Result<Self> {
        let grows = grows && file.metadata()?.is_file();
        Ok(Self {
            file,
            deflate: DeflateEncoder::new(GZIP_HEAD.to_vec(), LEVEL),
            crc: Crc::new(),
            at: grows.then_some(0),
        })
    }

    fn write(&mut self, bytes: &[u8], flush: bool) -> io::Result<()> {
        self.deflate.write_all(bytes)?;
        self.crc.update(bytes);
        let is_full = self.deflate.get_ref().len() >= CHUNK_BYTES;
        if flush || is_full && self.at.is_some() {
            self.deflate.flush()?;
        }
        if flush || is_full {
            self.put()?;
        }
        Ok(())
    }

    fn put(&mut self) -> io::Result<()> {
        let mut piece = mem::take(self.deflate.get_mut());
        let Some(at) = self.at else {
            return self.file.write_all(&piece);
        };
        self.at = Some(at + piece.len() as u64);
        piece.extend_from_slice(&LAST_BLOCK);
        piece.extend_from_slice(&self.trailer());
        self.file.write_all_at(&piece, at)
    }

    /// The checksum and the length of all there is.
    fn trailer(&self) -> [u8; 8] {
        let words = u64::from(self.crc.amount()) << 32 | u64::from(self.crc.sum());
        words.to_le_bytes()
    }

    fn finish(mut self) -> io::Result<()> {
        self.deflate.try_finish()?;
        let mut piece = mem::take(self.deflate.get_mut());
        piece.extend_from_slice(&self.trailer());
        match self.at {
            None => self.file.write_all(&piece),
            Some(at) => self.file.write_all_at(&piece, at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn written(manner: Manner, pieces: &[&[u8]]) -> Vec<u8> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out");
        let mut output = Output::create(Some(&path), manner).expect("an output");
        for piece in pieces {
            output.write_all(piece).expect("room");
            output.flush().expect("room");
        }
        assert_eq!(path.exists(), manner.grows);
        output.commit().expect("room");
        fs::read(path).expect("the output")
    }

    #[test]
    fn gzip_is_one_member_whatever_the_pieces() {
        let large = vec![b'x'; 3 * CHUNK_BYTES + 17];
        let pieces: &[&[u8]] = &[b"one", b"", &large, b"two"];
        let plain = written(Manner::default(), pieces);
        assert_eq!(plain, pieces.concat());
        for grows in [false, true] {
            let bytes = written(Manner { gzip: true, grows }, pieces);
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
        let manner = Manner {
            grows: true,
            ..Manner::default()
        };
        let mut output = Output::create(Some(&path), manner).expect("an output");
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
        let manner = Manner {
            gzip: true,
            grows: true,
        };
        let mut output = Output::create(Some(&path), manner).expect("an output");
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
            let manner = Manner {
                gzip,
                ..Manner::default()
            };
            let full = Path::new("/dev/full");
            let mut output = Output::create(Some(full), manner).expect("an output");
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

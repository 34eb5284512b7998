//! The thread that compresses and writes an output, so that it does not slow its producer.

use std::fs::File;
use std::io;
use std::mem;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use crate::output::encoder::{CHUNK_BYTES, Encoder};
use crate::output::options::OutputOptions;

/// Chunks that wait to be written: how far the producer may be ahead.
const CHUNKS_AHEAD: usize = 4;

/// What the thread is sent: bytes, and whether to flush after them.
type Chunk = (Vec<u8>, bool);

/// The thread, and the chunk that is being filled for it.
pub struct Background {
    chunk: Vec<u8>,
    chunks: Option<SyncSender<Chunk>>,
    /// Written chunks, to be reused.
    spent: Receiver<Vec<u8>>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Background {
    pub fn new(file: File, options: OutputOptions) -> Self {
        let (chunks, to_write) = sync_channel::<Chunk>(CHUNKS_AHEAD);
        let (written, spent) = sync_channel(CHUNKS_AHEAD + 2);
        let work = move || {
            let mut encoder = Encoder::new(file, options)?;
            for (chunk, flush) in to_write {
                encoder.write(&chunk, flush)?;
                // At the end of the output, there is no one left to reuse it.
                let _ = written.try_send(chunk);
            }
            encoder.finish()
        };
        Self {
            chunk: Vec::with_capacity(CHUNK_BYTES),
            chunks: Some(chunks),
            spent,
            thread: Some(thread::spawn(work)),
        }
    }

    #[inline]
    pub fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.chunk.extend_from_slice(bytes);
        if self.chunk.len() >= CHUNK_BYTES {
            self.hand_over(false)?;
        }
        Ok(())
    }

    /// Has the thread write and flush everything so far.
    pub fn flush(&mut self) -> io::Result<()> {
        self.hand_over(true)
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
            // The thread has ended and returns the reason.
            _ => self.end(),
        }
    }

    /// Writes what is left and waits for the thread.
    pub fn finish(&mut self) -> io::Result<()> {
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
    /// Joins the thread before the file is removed.
    fn drop(&mut self) {
        drop(self.chunks.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

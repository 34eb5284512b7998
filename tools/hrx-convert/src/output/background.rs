//! The thread that compresses and writes an output, so that it does not slow its producer; without one, where no more can be started.

use std::fs::File;
use std::io;
use std::mem;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use crate::output::encoder::{CHUNK_BYTES, Encoder};
use crate::output::options::{OutputOptions, Piece};

/// Chunks that wait to be written: how far the producer may be ahead.
const CHUNKS_AHEAD: usize = 4;

/// What the thread is sent.
type Chunk = (Vec<u8>, Piece);

/// The thread, and the chunk that is being filled for it.
pub struct Background {
    chunk: Vec<u8>,
    worker: Worker,
}

/// Who encodes and writes the chunks.
enum Worker {
    Thread {
        chunks: SyncSender<Chunk>,
        /// Written chunks, to be reused.
        spent: Receiver<Vec<u8>>,
        thread: JoinHandle<io::Result<()>>,
    },
    /// There is no room for another thread.
    Here(Box<Encoder>),
    Ended,
}

impl Background {
    /// # Errors
    /// The file cannot be used.
    pub fn new(file: File, options: OutputOptions) -> io::Result<Self> {
        let (chunks, to_write) = sync_channel::<Chunk>(CHUNKS_AHEAD);
        let (written, spent) = sync_channel(CHUNKS_AHEAD + 2);
        let (give, take) = sync_channel::<Encoder>(1);
        let encoder = Encoder::new(file, options)?;
        let work = move || {
            // Given below, once there is a thread.
            let Ok(mut encoder) = take.recv() else {
                return Ok(());
            };
            for (chunk, piece) in to_write {
                encoder.write(&chunk, piece)?;
                // At the end of the output, there is no one left to reuse it.
                let _ = written.try_send(chunk);
            }
            Ok(())
        };
        let worker = match thread::Builder::new().spawn(work) {
            Ok(thread) => {
                // The thread waits for it.
                let _ = give.send(encoder);
                Worker::Thread {
                    chunks,
                    spent,
                    thread,
                }
            }
            Err(_) => Worker::Here(Box::new(encoder)),
        };
        Ok(Self {
            chunk: Vec::with_capacity(CHUNK_BYTES),
            worker,
        })
    }

    #[inline]
    pub fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.chunk.extend_from_slice(bytes);
        if self.chunk.len() >= CHUNK_BYTES {
            self.hand_over(Piece::Part)?;
        }
        Ok(())
    }

    /// Has everything so far written and flushed.
    pub fn flush(&mut self) -> io::Result<()> {
        self.hand_over(Piece::Awaited)
    }

    #[cold]
    fn hand_over(&mut self, piece: Piece) -> io::Result<()> {
        match &mut self.worker {
            Worker::Thread { chunks, spent, .. } => {
                let mut empty = spent.try_recv().unwrap_or_default();
                empty.clear();
                let full = mem::replace(&mut self.chunk, empty);
                match chunks.send((full, piece)) {
                    Ok(()) => Ok(()),
                    // The thread has ended and returns the reason.
                    Err(_) => self.end(),
                }
            }
            Worker::Here(encoder) => {
                let written = encoder.write(&self.chunk, piece);
                self.chunk.clear();
                written
            }
            Worker::Ended => Err(ended()),
        }
    }

    /// Writes what is left and waits until it is written.
    pub fn finish(&mut self) -> io::Result<()> {
        self.hand_over(Piece::Last)?;
        self.end()
    }

    fn end(&mut self) -> io::Result<()> {
        match mem::replace(&mut self.worker, Worker::Ended) {
            Worker::Thread { chunks, thread, .. } => {
                drop(chunks);
                thread.join().unwrap_or_else(|_| Err(ended()))
            }
            // Its last piece said so.
            Worker::Here(_) => Ok(()),
            Worker::Ended => Err(ended()),
        }
    }
}

fn ended() -> io::Error {
    io::Error::other("the output has ended")
}

impl Drop for Background {
    /// Joins the thread before the file is removed.
    fn drop(&mut self) {
        if let Worker::Thread { chunks, thread, .. } = mem::replace(&mut self.worker, Worker::Ended)
        {
            drop(chunks);
            let _ = thread.join();
        }
    }
}

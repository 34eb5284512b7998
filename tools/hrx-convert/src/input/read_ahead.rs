//! Reading ahead: one thread reads and checks events while another renders and writes them, so that two cores share the work. Where no thread can be
//! started, one does both.
//!
//! Events travel in [`BATCHES`] batches that are reused: memory is bounded, and the threads do not have to meet at every event.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use hrx_trace_reader::Event;

use crate::input::merge::MergedEvents;

/// Events in a batch: a few hundred KiB, which stay in a core's cache.
const BATCH_EVENTS: usize = 2_048;
const BATCHES: usize = 4;

type Batch = Vec<(usize, Event)>;

/// Passes the events to `consume` while another thread reads them, and returns them afterwards. If `consume` does not take all, at most
/// `BATCHES` × `BATCH_EVENTS` of the rest have been read and are dropped.
pub fn read_ahead<'captures, R>(
    mut events: MergedEvents<'captures>,
    consume: impl FnOnce(Ahead) -> R,
) -> (R, MergedEvents<'captures>) {
    let (to_consumer, full) = channel();
    let (give_back, empty) = channel();
    for _ in 0..BATCHES {
        // The receiver lives in this function.
        let _ = give_back.send(Batch::with_capacity(BATCH_EVENTS));
    }
    let left = events.size_hint().1;
    let tried = thread::scope(|scope| {
        let reading = &mut events;
        let work = move || {
            while let Ok(batch) = empty.recv() {
                let mut batch: Batch = batch;
                batch.extend(reading.by_ref().take(BATCH_EVENTS));
                if batch.is_empty() || to_consumer.send(batch).is_err() {
                    break;
                }
            }
        };
        match thread::Builder::new().spawn_scoped(scope, work) {
            Ok(reader) => {
                let result = consume(Ahead::new(Reader::Thread { full, give_back }, left));
                reader.join().unwrap_or_else(|panic| resume_unwind(panic));
                Ok(result)
            }
            Err(_) => Err(consume),
        }
    });
    let result = match tried {
        Ok(result) => result,
        // There is no room for another thread.
        Err(consume) => consume(Ahead::new(Reader::Here(&mut events), left)),
    };
    (result, events)
}

/// The events that are read ahead.
pub struct Ahead<'events> {
    left: Option<usize>,
    reader: Reader<'events>,
    batch: Batch,
    /// The index of the next event in the batch.
    next: usize,
}

/// Who reads the events.
enum Reader<'events> {
    Thread {
        full: Receiver<Batch>,
        give_back: Sender<Batch>,
    },
    Here(&'events mut dyn Iterator<Item = (usize, Event)>),
}

impl<'events> Ahead<'events> {
    fn new(reader: Reader<'events>, left: Option<usize>) -> Self {
        Self {
            left,
            reader,
            batch: Batch::new(),
            next: 0,
        }
    }

    /// Exchanges the batch for a full one; false if there is none.
    #[cold]
    fn next_batch(&mut self) -> bool {
        match &mut self.reader {
            Reader::Thread { full, give_back } => {
                let Ok(full) = full.recv() else {
                    return false;
                };
                let mut read = std::mem::replace(&mut self.batch, full);
                // The first batch is empty and not one of those that travel.
                if read.capacity() > 0 {
                    read.clear();
                    // The reader is gone once there is nothing left to read.
                    let _ = give_back.send(read);
                }
            }
            Reader::Here(events) => {
                self.batch.clear();
                self.batch.extend(events.by_ref().take(BATCH_EVENTS));
                if self.batch.is_empty() {
                    return false;
                }
            }
        }
        self.next = 0;
        self.left = self.left.map(|left| left.saturating_sub(self.batch.len()));
        true
    }
}

impl Iterator for Ahead<'_> {
    type Item = (usize, Event);

    #[inline]
    fn next(&mut self) -> Option<(usize, Event)> {
        loop {
            if let Some(event) = self.batch.get(self.next) {
                self.next += 1;
                return Some(event.clone());
            }
            if !self.next_batch() {
                return None;
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, self.left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::captures::Captures;
    use hrx_trace_tests::capture::{Capture, region};

    fn captures() -> Captures {
        let mut made = Capture::new(50_000);
        for i in 0..50_000 {
            made.record(region(0, i, 1));
        }
        Captures::of_bytes([made.bytes()])
    }

    fn merged(captures: &Captures) -> MergedEvents<'_> {
        MergedEvents::new(captures.iter().as_slice(), 0)
    }

    #[test]
    fn every_event_in_its_order() {
        let captures = captures();
        let (read, events) = read_ahead(merged(&captures), |ahead| ahead.collect::<Vec<_>>());
        assert!(read.into_iter().eq(merged(&captures)));
        assert_eq!(events.finish()[0].account.recovered, 50_000);
    }

    #[test]
    fn stopping_early_does_not_hang_the_reader() {
        let captures = captures();
        let (read, events) = read_ahead(merged(&captures), |ahead| ahead.take(10).count());
        assert_eq!(read, 10);
        assert_eq!(events.finish()[0].account.recovered, 50_000);
    }
}

//! tracing with tracing-chrome: spans to a writer thread, which prints Chrome JSON. It reads the clock itself.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use tracing::Dispatch;
use tracing::subscriber::DefaultGuard;
use tracing_chrome::{ChromeLayerBuilder, FlushGuard};
use tracing_subscriber::layer::SubscriberExt;

use crate::measuring::contender::{Contender, Fields};

pub struct TracingChrome {
    dispatch: Dispatch,
    writer: Mutex<(FlushGuard, Receiver<()>)>,
}

impl TracingChrome {
    pub fn new(path: &Path) -> Result<Self> {
        let (flushed, flushes) = channel();
        let file = File::create(path)?;
        fs::remove_file(path)?;
        let (layer, guard) = ChromeLayerBuilder::new()
            .include_args(true)
            .writer(Flushes { file, flushed })
            .build();
        Ok(Self {
            dispatch: tracing_subscriber::registry().with(layer).into(),
            writer: Mutex::new((guard, flushes)),
        })
    }
}

impl Contender for TracingChrome {
    type Thread<'a> = DefaultGuard;

    fn thread(&self, _: usize) -> DefaultGuard {
        tracing::dispatcher::set_default(&self.dispatch)
    }

    #[inline]
    fn event(&self, _: &mut DefaultGuard, fields: &Fields) {
        tracing::info_span!(
            "native region",
            lane = fields.lane,
            copied_bytes = fields.copied_bytes,
            failed = fields.failed
        )
        .in_scope(|| {});
    }

    /// The writer thread may lag far behind.
    fn settle(&self) {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        writer.0.flush();
        // On an error the writer thread has ended, so it is not busy.
        let _ = writer.1.recv();
    }
}

/// A file that reports when it has been flushed; tracing-chrome does its own buffering.
struct Flushes {
    file: File,
    flushed: Sender<()>,
}

impl Write for Flushes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()?;
        // At the end, nothing waits for this any more.
        let _ = self.flushed.send(());
        Ok(())
    }
}

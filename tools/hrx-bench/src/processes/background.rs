//! Work that goes on in the background while a contender is measured: a thread that reads the ring, or hrx-convert.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use anyhow::{Context, Result};
use hrx_trace_reader::Trace;

use crate::processes::converter::Converter;

/// Does `work` while another thread reads `trace` in a loop, without a pause: harsher than any real follower.
pub fn read_without_pause<T>(trace: &mut Trace, work: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                trace.refresh();
                for _ in trace.events().take_while(|_| !over.load(Ordering::Relaxed)) {}
            }
        });
        let result = work();
        over.store(true, Ordering::Relaxed);
        result
    })
}

/// hrx-convert at work, its output read and discarded, until this is dropped.
pub struct Converting {
    process: Child,
    reading: Option<JoinHandle<()>>,
}

impl Converting {
    /// Returns once there is output.
    pub fn start(converter: &Converter, options: &[&str], capture: &Path) -> Result<Self> {
        let mut process = converter
            .command(options, capture)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut output = process.stdout.take().context("its output is a pipe")?;
        let mut started = Self {
            process,
            reading: None,
        };
        output
            .read_exact(&mut [0])
            .context("hrx-convert has written nothing")?;
        started.reading = Some(std::thread::spawn(move || {
            let _ = std::io::copy(&mut output, &mut std::io::sink());
        }));
        Ok(started)
    }
}

impl Drop for Converting {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        if let Some(reading) = self.reading.take() {
            let _ = reading.join();
        }
    }
}

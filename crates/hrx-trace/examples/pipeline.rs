//! A real program to trace: finds the longest passage that occurs twice in each file of a folder.
//!
//! Each file is an item. Items pass through threads that are named after their lanes, several at a time:
//!
//! ```text
//! host ──▶ upload ──▶ compute (two workers) ──▶ download
//!   ▲                                               │
//!   └───────────────── free buffers ◀───────────────┘
//! ```
//!
//! There are only [`BUFFERS`] buffers, so a slow lane holds back those before it. Every region is begun and finished through the recorder, with the item's
//! number as its correlation id, before the item moves on. A file that is too large or not text fails its region with the system's error code for that.
//!
//! With `--kill-after` the process is killed by SIGKILL in the middle of its work; `hrx-convert` then shows from the trace what it was doing.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{self, ExitCode};
use std::str;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result, anyhow, ensure};
use clap::Parser;
use hrx_trace::{Event, Label, Options, Recorder, Region, lane};
use rustix::io::Errno;
use rustix::process::{Signal, getpid, kill_process};

/// Items in flight.
const BUFFERS: usize = 8;
/// Size of a buffer, and of the largest file that fits.
const BUFFER_BYTES: usize = 64 << 10;
/// More than one, so that regions of this lane overlap.
const COMPUTE_WORKERS: usize = 2;

/// Find the longest passage that occurs twice in each file of a folder, and trace the work into a file that survives a crash.
#[derive(Parser)]
struct Arguments {
    /// The trace to write; an existing file is never overwritten
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// How many items to process; the folder's files are used repeatedly
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    items: u64,
    /// How many events each ring of the trace keeps
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    capacity: u64,
    /// How many rings the threads share
    #[arg(long, value_name = "N", default_value_t = 1)]
    rings: u32,
    /// Kill the process with SIGKILL when N items are done, inside a region of the next
    #[arg(long, value_name = "N")]
    kill_after: Option<u64>,
    /// The folder with the files; hidden and built ones are left out [default: the crates of this project]
    #[arg(long, value_name = "DIR", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/.."), hide_default_value = true)]
    input: PathBuf,
    /// Where to write a line per finished item [default: a temporary file without a name]
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
}

/// One file on its way through the lanes.
struct Item<'files> {
    /// From 1; the correlation id of its regions.
    number: u64,
    path: &'files Path,
    /// What upload copied into it; empty until then.
    buffer: Vec<u8>,
    /// What compute found, or what went wrong on the way.
    outcome: io::Result<Repeat>,
}

/// A passage of an item's buffer that occurs twice in it.
#[derive(Clone, Copy, Default)]
struct Repeat {
    start: usize,
    length: usize,
}

/// The recorder, and the names of what it records.
struct Tracing {
    recorder: Recorder,
    wait: Label,
    read: Label,
    copy: Label,
    sort: Label,
    compare: Label,
    write: Label,
}

/// The result of a run.
#[derive(Default)]
struct Summary {
    done: u64,
    failed: u64,
    bytes: u64,
    longest: usize,
    longest_path: PathBuf,
}

fn main() -> ExitCode {
    match pipeline(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pipeline: error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn pipeline(arguments: &Arguments) -> Result<()> {
    if let Some(kill_after) = arguments.kill_after {
        ensure!(
            kill_after < arguments.items,
            "--kill-after {kill_after} leaves no item to be killed in: --items is {}",
            arguments.items
        );
    }
    let files = list_files(&arguments.input, arguments.items)?;
    let recorder = Options::new(arguments.capacity)
        .rings(arguments.rings)
        .attribute("version", env!("CARGO_PKG_VERSION"))
        .attribute("items", arguments.items.to_string())
        .create(&arguments.out)?;
    let results = match &arguments.results {
        Some(path) => File::create_new(path).with_context(|| path.display().to_string())?,
        None => tempfile::tempfile().context("temporary file for the results")?,
    };
    eprintln!(
        "pipeline: process {}, {} items from {} files, traced into {}",
        process::id(),
        arguments.items,
        files.len(),
        arguments.out.display()
    );
    let tracing = Tracing::new(recorder);
    let summary = run(arguments, &files, &tracing, results)?;
    tracing.recorder.finish();
    eprintln!(
        "pipeline: {} items done, {} of them failed, {} bytes copied; the longest repeat has {} bytes, in {}",
        summary.done,
        summary.failed,
        summary.bytes,
        summary.longest,
        summary.longest_path.display()
    );
    Ok(())
}

/// Starts the lanes; the calling thread is the host lane.
fn run(
    arguments: &Arguments,
    files: &[PathBuf],
    tracing: &Tracing,
    results: File,
) -> Result<Summary> {
    let (to_upload, for_upload) = sync_channel(BUFFERS);
    let (to_compute, for_compute) = sync_channel(BUFFERS);
    let (to_download, for_download) = sync_channel(BUFFERS);
    let (to_free, free) = sync_channel(BUFFERS);
    for _ in 0..BUFFERS {
        to_free.send(Vec::with_capacity(BUFFER_BYTES))?;
    }
    let for_compute = Mutex::new(for_compute);
    thread::scope(|scope| {
        let named = |name: &str| thread::Builder::new().name(name.to_owned());
        named("upload").spawn_scoped(scope, || upload(tracing, for_upload, to_compute))?;
        for _ in 0..COMPUTE_WORKERS {
            let to_download = to_download.clone();
            let for_compute = &for_compute;
            named("compute")
                .spawn_scoped(scope, move || compute(tracing, for_compute, to_download))?;
        }
        // Download ends when the last worker drops its sender.
        drop(to_download);
        let kill_after = arguments.kill_after;
        let download = named("download").spawn_scoped(scope, move || {
            download(tracing, for_download, to_free, results, kill_after)
        })?;
        submit(tracing, arguments.items, files, free, to_upload);
        download
            .join()
            .map_err(|_| anyhow!("the download thread panicked"))?
    })
}

/// Host: gives each item a buffer as soon as one is free. Ends early if the other lanes do.
fn submit<'files>(
    tracing: &Tracing,
    items: u64,
    files: &'files [PathBuf],
    free: Receiver<Vec<u8>>,
    to_upload: SyncSender<Item<'files>>,
) {
    for (number, path) in (1..=items).zip(files.iter().cycle()) {
        let region = tracing.begin(lane::HOST, tracing.wait, number);
        let Ok(buffer) = free.recv() else { return };
        region.finish();
        let item = Item {
            number,
            path,
            buffer,
            outcome: Ok(Repeat::default()),
        };
        if to_upload.send(item).is_err() {
            return;
        }
    }
}

/// Upload: reads each file and copies it into the item's buffer.
fn upload<'files>(
    tracing: &Tracing,
    items: Receiver<Item<'files>>,
    to_compute: SyncSender<Item<'files>>,
) {
    let mut staging = Vec::with_capacity(BUFFER_BYTES);
    for mut item in items {
        let region = tracing.begin(lane::UPLOAD, tracing.read, item.number);
        match read_file(item.path, &mut staging) {
            Ok(()) => {
                region.finish_with(|event| event.copied_bytes(staging.len() as u64));
            }
            Err(error) => {
                region.fail(status(&error));
                item.outcome = Err(error);
            }
        }
        item.buffer.clear();
        if item.outcome.is_ok() {
            let region = tracing.begin(lane::UPLOAD, tracing.copy, item.number);
            item.buffer.extend_from_slice(&staging);
            region.finish_with(|event| event.copied_bytes(item.buffer.len() as u64));
        }
        if to_compute.send(item).is_err() {
            return;
        }
    }
}

fn read_file(path: &Path, staging: &mut Vec<u8>) -> io::Result<()> {
    staging.clear();
    let one_too_many = BUFFER_BYTES as u64 + 1;
    File::open(path)?.take(one_too_many).read_to_end(staging)?;
    if staging.len() > BUFFER_BYTES {
        return Err(Errno::FBIG.into());
    }
    Ok(())
}

/// Compute: finds the longest repeat of each item. How long that takes depends only on the text.
fn compute<'files>(
    tracing: &Tracing,
    items: &Mutex<Receiver<Item<'files>>>,
    to_download: SyncSender<Item<'files>>,
) {
    let mut suffixes = Vec::with_capacity(BUFFER_BYTES);
    loop {
        // In a statement of its own, so that the lock is not held during the work.
        let received = items.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(mut item) = received else { return };
        if item.outcome.is_ok() {
            item.outcome = longest_repeat(tracing, &item, &mut suffixes);
        }
        if to_download.send(item).is_err() {
            return;
        }
    }
}

/// The longest repeat is the longest beginning that two suffixes share; once sorted, these two are neighbours.
fn longest_repeat(
    tracing: &Tracing,
    item: &Item<'_>,
    suffixes: &mut Vec<usize>,
) -> io::Result<Repeat> {
    let region = tracing.begin(lane::COMPUTE, tracing.sort, item.number);
    let Ok(text) = str::from_utf8(&item.buffer) else {
        let error = io::Error::from(Errno::ILSEQ);
        region.fail(status(&error));
        return Err(error);
    };
    suffixes.clear();
    suffixes.extend(text.char_indices().map(|(start, _)| start));
    suffixes.sort_unstable_by_key(|start| &item.buffer[*start..]);
    region.finish();

    let region = tracing.begin(lane::COMPUTE, tracing.compare, item.number);
    let repeat = suffixes
        .windows(2)
        .map(|pair| Repeat {
            start: pair[0],
            length: common_bytes(&item.buffer[pair[0]..], &item.buffer[pair[1]..]),
        })
        .max_by_key(|repeat| repeat.length)
        .unwrap_or_default();
    region.finish();
    Ok(repeat)
}

/// How many bytes two slices have in common at their beginning.
fn common_bytes(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Download: writes one line per item and frees its buffer.
fn download(
    tracing: &Tracing,
    items: Receiver<Item<'_>>,
    to_free: SyncSender<Vec<u8>>,
    mut results: File,
    kill_after: Option<u64>,
) -> Result<Summary> {
    let mut summary = Summary::default();
    for item in items {
        let line = item.line();
        let region = tracing.begin(lane::DOWNLOAD, tracing.write, item.number);
        if kill_after == Some(summary.done) {
            eprintln!(
                "pipeline: {} items done; killed by SIGKILL inside item {}",
                summary.done, item.number
            );
            kill_process(getpid(), Signal::KILL)?;
        }
        // One write, not buffered: a line in the file is whole, and its item is done except for the end of this region.
        if let Err(error) = results.write_all(line.as_bytes()) {
            region.fail(status(&error));
            return Err(error).context("cannot write the results");
        }
        region.finish_with(|event| event.copied_bytes(line.len() as u64));
        summary.add(&item);
        // The host is gone when no item is left to submit.
        let _ = to_free.send(item.buffer);
    }
    Ok(summary)
}

impl Tracing {
    fn new(recorder: Recorder) -> Self {
        Self {
            wait: recorder.label("wait for buffer"),
            read: recorder.label("read file"),
            copy: recorder.label("copy to buffer"),
            sort: recorder.label("sort suffixes"),
            compare: recorder.label("compare neighbours"),
            write: recorder.label("write result"),
            recorder,
        }
    }

    fn begin(&self, lane: usize, label: Label, item: u64) -> Region<&Recorder> {
        self.recorder
            .begin(Event::new(lane).label(label).correlation_id(item))
    }
}

impl Item<'_> {
    /// Number, file, and the passage or error; separated by tabs.
    fn line(&self) -> String {
        let path = self.path.display();
        match &self.outcome {
            Ok(repeat) => {
                let passage = &self.buffer[repeat.start..][..repeat.length];
                let passage = String::from_utf8_lossy(passage);
                format!("{}\t{path}\t{passage:?}\n", self.number)
            }
            Err(error) => format!("{}\t{path}\t{error}\n", self.number),
        }
    }
}

impl Summary {
    fn add(&mut self, item: &Item<'_>) {
        self.done += 1;
        self.bytes += item.buffer.len() as u64;
        match &item.outcome {
            Ok(repeat) if repeat.length > self.longest => {
                self.longest = repeat.length;
                self.longest_path = item.path.to_owned();
            }
            Ok(_) => {}
            Err(_) => self.failed += 1,
        }
    }
}

/// The system's error code, for a region's status.
fn status(error: &io::Error) -> u32 {
    let code = error.raw_os_error().unwrap_or_default();
    code.unsigned_abs()
}

/// The regular files below `folder` in order of name, without hidden ones, at most `items` of them.
fn list_files(folder: &Path, items: u64) -> Result<Vec<PathBuf>> {
    let folder = folder
        .canonicalize()
        .with_context(|| folder.display().to_string())?;
    let mut files = Vec::new();
    add_files(&folder, items, &mut files)?;
    ensure!(
        !files.is_empty(),
        "{}: no file in it to work on",
        folder.display()
    );
    Ok(files)
}

fn add_files(folder: &Path, items: u64, files: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut entries = entries.with_context(|| folder.display().to_string())?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let kind = entry
            .file_type()
            .with_context(|| path.display().to_string())?;
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        // Cargo and other tools mark folders of generated files with this file.
        if kind.is_dir() && !hidden && !path.join("CACHEDIR.TAG").exists() {
            add_files(&path, items, files)?;
        } else if kind.is_file() && !hidden && (files.len() as u64) < items {
            files.push(path);
        }
    }
    Ok(())
}

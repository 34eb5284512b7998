//! `convert`: events a second and peak memory of hrx-convert, beside two ways to write the same document with serde_json. Every writer is a process of its own,
//! for only so can its memory be told; a process that this one starts inherits this one's peak, so captures are filled in a process of their own as well.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use hrx_trace::{Event, Options, lane};
use wait4::Wait4;

use crate::Setup;
use crate::report::{Column, Row, Table, Unit, column};
use crate::statistics::{median, ratio};
use crate::writers::Writer;

const COLUMNS: &[Column] = &[
    column("events", Unit::Count),
    column("an event", Unit::Nanoseconds),
    column("events/s", Unit::Count),
    column("speed", Unit::Ratio),
    column("peak", Unit::Bytes),
];

pub fn tables(setup: &Setup) -> Result<Vec<Table>> {
    let (events, few_events) = if setup.quick {
        (100_000, 20_000)
    } else {
        (4_000_000, 400_000)
    };
    let converter = Converter::build()?;
    let captures = Captures::fill(setup, events, few_events)?;
    let mut tables = Vec::new();
    for (title, to_file) in [
        ("conversion, output to a file on tmpfs", true),
        ("conversion, output thrown away", false),
    ] {
        if setup.wants(title) {
            tables.push(Table {
                title: title.to_owned(),
                note: "speed: events a second, as a multiple of the first's in the same round",
                columns: COLUMNS,
                rows: compare(setup, &converter, &captures, to_file)?,
            });
        }
    }
    Ok(tables)
}

/// A large capture, and a small one for those who need memory by the event.
struct Captures {
    large: (PathBuf, u64),
    small: (PathBuf, u64),
}

impl Captures {
    fn fill(setup: &Setup, events: u64, few_events: u64) -> Result<Self> {
        let filled = |events| -> Result<(PathBuf, u64)> {
            let path = setup.disk.fresh();
            fill(&path, events)?;
            Ok((path, events))
        };
        Ok(Self {
            large: filled(events)?,
            small: filled(few_events)?,
        })
    }
}

/// What makes hrx-convert write the regions alone, as the writers that it is compared with do.
const PLAIN: [&str; 4] = ["--no-counters", "--no-flows", "--no-marks", "--no-colors"];

fn compare(
    setup: &Setup,
    converter: &Converter,
    captures: &Captures,
    to_file: bool,
) -> Result<Vec<Row>> {
    type Run<'a> = Box<dyn Fn(&Path, Stdio) -> Result<Used> + 'a>;
    let (large, small) = (&captures.large, &captures.small);
    let contenders: Vec<(&str, &(PathBuf, u64), Run<'_>)> = vec![
        (
            "serde_json, typed, streaming",
            large,
            Box::new(|capture, out| Writer::Typed.start(capture, out)),
        ),
        (
            "hrx-convert, the same document",
            large,
            Box::new(|capture, out| converter.run(&PLAIN, capture, out)),
        ),
        (
            "hrx-convert, with all it shows",
            large,
            Box::new(|capture, out| converter.run(&["--format", "chrome"], capture, out)),
        ),
        (
            "hrx-convert --format perfetto",
            large,
            Box::new(|capture, out| converter.run(&["--format", "perfetto"], capture, out)),
        ),
        (
            "hrx-convert --format seed",
            large,
            Box::new(|capture, out| converter.run(&["--format", "seed"], capture, out)),
        ),
        (
            "serde_json, a value per event, one string",
            small,
            Box::new(|capture, out| Writer::Values.start(capture, out)),
        ),
    ];
    let mut samples = vec![Vec::new(); contenders.len()];
    let mut peaks = vec![0; contenders.len()];
    for round in 0..setup.rounds_or(5) {
        for turn in 0..contenders.len() {
            let index = (round + turn) % contenders.len();
            let (name, (capture, events), run) = &contenders[index];
            let output = setup.tmpfs.fresh();
            let out = if to_file {
                std::fs::File::create(&output)?.into()
            } else {
                Stdio::null()
            };
            let used = run(capture, out).with_context(|| (*name).to_owned())?;
            if to_file {
                std::fs::remove_file(output)?;
            }
            samples[index].push(used.time.as_nanos() as f64 / *events as f64);
            peaks[index] = peaks[index].max(used.peak_bytes);
        }
    }
    let rows = contenders.iter().zip(&samples).zip(&peaks);
    Ok(rows
        .map(|(((name, (_, events), _), own), peak_bytes)| Row {
            name: (*name).to_owned(),
            cells: vec![
                Some(*events as f64),
                Some(median(own)),
                Some(1e9 / median(own)),
                Some(ratio(&samples[0], own)),
                Some(*peak_bytes as f64),
            ],
            samples: own.clone(),
        })
        .collect())
}

/// What a process took.
pub struct Used {
    pub time: Duration,
    pub peak_bytes: u64,
}

/// Runs a command to its end.
pub fn spend(command: &mut Command) -> Result<Used> {
    let program = command.get_program().to_string_lossy().into_owned();
    let start = Instant::now();
    let used = command
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| program.clone())?
        .wait4()?;
    let time = start.elapsed();
    ensure!(used.status.success(), "{program}: {}", used.status);
    Ok(Used {
        time,
        peak_bytes: used.rusage.maxrss,
    })
}

/// The hrx-convert of this very source, built as this program was.
pub struct Converter(PathBuf);

impl Converter {
    pub fn build() -> Result<Self> {
        let program = std::env::current_exe()?.with_file_name("hrx-convert");
        let target = program.ancestors().nth(2).context("no target folder")?;
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut build = Command::new(cargo);
        build
            .args(["build", "--quiet", "--locked", "-p", "hrx-convert"])
            .arg("--target-dir")
            .arg(target)
            .current_dir(env!("CARGO_MANIFEST_DIR"));
        if !cfg!(debug_assertions) {
            build.arg("--release");
        }
        let status = build.status().context("cargo")?;
        ensure!(status.success(), "hrx-convert does not build: {status}");
        Ok(Self(program))
    }

    pub fn run(&self, options: &[&str], capture: &Path, out: Stdio) -> Result<Used> {
        spend(self.command(options, capture).stdout(out))
    }

    pub fn command(&self, options: &[&str], capture: &Path) -> Command {
        let mut command = Command::new(&self.0);
        command.args(options).arg(capture);
        command
    }
}

/// Makes a capture of `events` at `path`, in a process of its own.
pub fn fill(path: &Path, events: u64) -> Result<()> {
    let events = events.to_string();
    spend(Command::new(std::env::current_exe()?).args([
        OsStr::new("fill"),
        path.as_os_str(),
        OsStr::new(&events),
    ]))
    .map(|_| ())
}

/// Fills a capture: five lanes that are busy four fifths of the time, a few labels, correlation ids.
pub fn fill_here(path: &Path, events: u64) -> Result<()> {
    let recorder = Options::new(events).create(path)?;
    let labels = ["copy in", "gemm", "softmax", "attention", "copy out"];
    let labels = labels.map(|name| recorder.label(name));
    let base = Instant::now();
    for event in 0..events {
        let lane = event as usize % (lane::HOST + 1);
        let description = Event::new(lane)
            .label(labels[lane])
            .correlation_id(event / 5 + 1)
            .copied_bytes(event % 7 * 4096)
            .failed(event % 1_000 == 999);
        recorder.record(
            base + Duration::from_micros(2 * event),
            Duration::from_nanos(8_000 + event % 997),
            description,
        );
    }
    recorder.finish();
    Ok(())
}

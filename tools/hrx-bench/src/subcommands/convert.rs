//! `convert`: events per second and peak memory of hrx-convert, compared with serde_json writing the same document.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result};

use crate::measuring::statistics::{median, ratio};
use crate::processes::capture::fill;
use crate::processes::converter::Converter;
use crate::processes::documents::SerdeJson;
use crate::processes::usage::Usage;
use crate::report::{Column, Row, Table, Unit, column};
use crate::setup::Setup;

const CONVERSION_COLUMNS: &[Column] = &[
    column("events", Unit::Count),
    column("per event", Unit::Nanoseconds),
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
        ("conversion, output discarded", false),
    ] {
        if setup.wants(title) {
            tables.push(Table {
                title: title.to_owned(),
                note: "speed: events per second, relative to the first row in the same round",
                columns: CONVERSION_COLUMNS,
                rows: compare(setup, &converter, &captures, to_file)?,
            });
        }
    }
    Ok(tables)
}

/// A large capture, and a small one for contenders whose memory grows with the events.
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

/// Makes hrx-convert write only the regions, as serde_json does here.
const PLAIN: [&str; 4] = ["--no-counters", "--no-flows", "--no-marks", "--no-colors"];

fn compare(
    setup: &Setup,
    converter: &Converter,
    captures: &Captures,
    to_file: bool,
) -> Result<Vec<Row>> {
    type Run<'a> = Box<dyn Fn(&Path, Stdio) -> Result<Usage> + 'a>;
    let (large, small) = (&captures.large, &captures.small);
    let contenders: Vec<(&str, &(PathBuf, u64), Run<'_>)> = vec![
        (
            "serde_json, typed, streaming",
            large,
            Box::new(|capture, out| SerdeJson::Typed.measure(capture, out)),
        ),
        (
            "hrx-convert, the same document",
            large,
            Box::new(|capture, out| converter.measure(&PLAIN, capture, out)),
        ),
        (
            "hrx-convert, with all it shows",
            large,
            Box::new(|capture, out| converter.measure(&["--format", "chrome"], capture, out)),
        ),
        (
            "hrx-convert --format perfetto",
            large,
            Box::new(|capture, out| converter.measure(&["--format", "perfetto"], capture, out)),
        ),
        (
            "hrx-convert --format seed",
            large,
            Box::new(|capture, out| converter.measure(&["--format", "seed"], capture, out)),
        ),
        (
            "serde_json, a value per event, one string",
            small,
            Box::new(|capture, out| SerdeJson::Values.measure(capture, out)),
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
            let usage = run(capture, out).with_context(|| (*name).to_owned())?;
            if to_file {
                std::fs::remove_file(output)?;
            }
            samples[index].push(usage.time.as_nanos() as f64 / *events as f64);
            peaks[index] = peaks[index].max(usage.peak_bytes);
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

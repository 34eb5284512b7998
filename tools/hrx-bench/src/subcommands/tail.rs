//! `tail`: how long the slowest calls take. One thread records an event every microsecond into a ring of 256 MiB, for as long as asked; each call is timed.
//!
//! The thread does not catch up after a stall: the next event is due a microsecond after the stalled call returned, as in a program that waits for its device.

use std::time::{Duration, Instant};

use anyhow::Result;
use hdrhistogram::Histogram;
use hrx_trace::Options;

use crate::contenders::baseline::Baseline;
use crate::contenders::names;
use crate::contenders::nothing::Nothing;
use crate::contenders::ours::{ByWriter, Record};
use crate::environment::memory_bytes;
use crate::measuring::contender::{Contender, INPUTS, inputs};
use crate::measuring::statistics::{median, minimum};
use crate::place::Place;
use crate::processes::background::Converting;
use crate::processes::converter::Converter;
use crate::report::{Column, Row, Table, Unit, column};
use crate::setup::Setup;

const PACE: Duration = Duration::from_micros(1);
const SYNC_EVERY: Duration = Duration::from_secs(2);

const LATENCY_COLUMNS: &[Column] = &[
    column("p50", Unit::Nanoseconds),
    column("p99", Unit::Nanoseconds),
    column("p99.9", Unit::Nanoseconds),
    column("p99.99", Unit::Nanoseconds),
    column("maximum", Unit::Nanoseconds),
];

const CREATION_COLUMNS: &[Column] = &[
    column("median", Unit::Seconds),
    column("minimum", Unit::Seconds),
];

/// What a user can choose: a name, whether the file is on disk, whether it is populated.
const CHOICES: [(&str, bool, bool); 4] = [
    ("tmpfs, populated", false, true),
    ("tmpfs, not populated", false, false),
    ("disk, populated", true, true),
    ("disk, not populated", true, false),
];

pub fn tables(setup: &Setup, time: Duration, left_out: &mut Vec<String>) -> Result<Vec<Table>> {
    let (ring_bytes, created_bytes) = if setup.quick {
        (16 << 20, 64 << 20)
    } else {
        (256 << 20, 1 << 30)
    };
    let mut tables = Vec::new();
    let title = format!(
        "latency of one call, one event per µs for {time:?}, ring of {}",
        Unit::Bytes.show(ring_bytes as f64)
    );
    if setup.wants(&title) {
        tables.push(Table {
            title,
            note: "each figure includes one clock read; the first row shows what the machine does by itself",
            columns: LATENCY_COLUMNS,
            rows: latencies(setup, ring_bytes / 64, time)?,
        });
    }
    let title = format!(
        "creation of a ring of {}",
        Unit::Bytes.show(created_bytes as f64)
    );
    if setup.wants(&title) {
        tables.push(Table {
            title,
            note: "",
            columns: CREATION_COLUMNS,
            rows: creations(setup, created_bytes, left_out)?,
        });
    }
    Ok(tables)
}

fn latencies(setup: &Setup, capacity: u64, time: Duration) -> Result<Vec<Row>> {
    let mut rows = vec![
        row(names::NOTHING, &paced(&Nothing, time, || Ok(()))?),
        row(
            names::BASELINE,
            &paced(&Baseline::full(capacity as usize), time, || Ok(()))?,
        ),
    ];
    for (name, on_disk, populate) in CHOICES {
        let options = Options::new(capacity).populate(populate);
        let recorder = Record(place(setup, on_disk).recorder(&options)?);
        let latencies = paced(&recorder, time, || Ok(()))?;
        rows.push(row(&format!("record, {name}"), &latencies));
    }
    let recorder = Record(setup.disk.recorder(&Options::new(capacity))?);
    let latencies = paced(&recorder, time, || Ok(recorder.0.sync()?))?;
    rows.push(row("record, disk, populated, sync every 2 s", &latencies));
    let options = Options::new(capacity).writers(1);
    let recorder = ByWriter(setup.tmpfs.recorder(&options)?);
    let latencies = paced(&recorder, time, || Ok(()))?;
    rows.push(row("record by a Writer, tmpfs, populated", &latencies));
    let recorder = Record(setup.tmpfs.named_recorder(&Options::new(capacity))?);
    let following = Converting::start(&Converter::build()?, &["--follow"], recorder.0.path())?;
    let latencies = paced(&recorder, time, || Ok(()))?;
    drop(following);
    rows.push(row(
        "record, tmpfs, populated, followed by hrx-convert",
        &latencies,
    ));
    Ok(rows)
}

fn place(setup: &Setup, on_disk: bool) -> &Place {
    if on_disk { &setup.disk } else { &setup.tmpfs }
}

fn row(name: &str, latencies: &Histogram<u64>) -> Row {
    let quantiles = [0.5, 0.99, 0.999, 0.9999, 1.0];
    let cells = quantiles.map(|quantile| Some(latencies.value_at_quantile(quantile) as f64));
    Row {
        name: name.to_owned(),
        cells: cells.to_vec(),
        samples: Vec::new(),
    }
}

/// Times single calls on this thread, while another calls `sync` every two seconds.
fn paced<C: Contender>(
    contender: &C,
    time: Duration,
    sync: impl Fn() -> Result<()> + Send,
) -> Result<Histogram<u64>> {
    let mut latencies = Histogram::new_with_bounds(1, 60_000_000_000, 3)?;
    let (over, is_over) = std::sync::mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let syncing = scope.spawn(move || -> Result<()> {
            // Ends when `over` is dropped.
            while is_over.recv_timeout(SYNC_EVERY)
                == Err(std::sync::mpsc::RecvTimeoutError::Timeout)
            {
                sync()?;
            }
            Ok(())
        });
        let inputs = inputs();
        let mut thread = contender.thread(0);
        let end = Instant::now() + time;
        let mut event = 0;
        let mut due = Instant::now();
        while due < end {
            let mut start = Instant::now();
            while start < due {
                std::hint::spin_loop();
                start = Instant::now();
            }
            contender.event(&mut thread, &inputs[event % INPUTS]);
            let finish = Instant::now();
            latencies.saturating_record((finish - start).as_nanos() as u64);
            event += 1;
            due = due.max(finish - PACE) + PACE;
        }
        drop(over);
        syncing.join().expect("a sync panicked")
    })?;
    Ok(latencies)
}

fn creations(setup: &Setup, bytes: u64, left_out: &mut Vec<String>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (name, on_disk, populate) in CHOICES {
        let place = place(setup, on_disk);
        let available = place.available_bytes()?.min(memory_bytes("MemAvailable"));
        if bytes > available / 2 {
            left_out.push(format!(
                "creation, {name}: needs {}, and {} are available",
                Unit::Bytes.show(bytes as f64),
                Unit::Bytes.show(available as f64)
            ));
            continue;
        }
        let options = Options::new(bytes / 64).populate(populate);
        let mut samples = Vec::new();
        for _ in 0..setup.rounds_or(5) {
            let start = Instant::now();
            let recorder = place.recorder(&options)?;
            samples.push(start.elapsed().as_secs_f64());
            drop(recorder);
        }
        rows.push(Row {
            name: name.to_owned(),
            cells: vec![Some(median(&samples)), Some(minimum(&samples))],
            samples,
        });
    }
    Ok(rows)
}

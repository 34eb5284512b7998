//! `scale`: how the time of a conversion grows with the number of events, and the cost of an event with the threads and the size of the ring.

use std::process::Stdio;
use std::time::Instant;

use anyhow::Result;
use hrx_trace::Options;

use crate::contenders::baseline::Baseline;
use crate::contenders::names;
use crate::contenders::ours::{Record, RecordOwn};
use crate::environment::{cores, memory_bytes};
use crate::measuring::contender::Contender;
use crate::measuring::harness::{Case, Sample, interleave};
use crate::measuring::loops::{Load, run};
use crate::measuring::statistics::{median, slope};
use crate::processes::capture::fill;
use crate::processes::converter::Converter;
use crate::report::{COST_COLUMNS, Column, Row, Table, Unit, column};
use crate::setup::{CACHED, Setup};

const THREADS: [usize; 5] = [1, 2, 4, 8, 16];

const THREAD_COLUMNS: &[Column] = &[
    column("1", Unit::Nanoseconds),
    column("2", Unit::Nanoseconds),
    column("4", Unit::Nanoseconds),
    column("8", Unit::Nanoseconds),
    column("16", Unit::Nanoseconds),
];

const CONVERSION_COLUMNS: &[Column] = &[
    column("median", Unit::Seconds),
    column("per event", Unit::Nanoseconds),
    column("peak", Unit::Bytes),
];

pub fn tables(setup: &Setup, left_out: &mut Vec<String>) -> Result<Vec<Table>> {
    let mut tables = Vec::new();
    // Conversions come first, before this process needs much memory: see processes/usage.rs.
    let title = "conversion to Chrome JSON, by events, output discarded";
    if setup.wants(title) {
        tables.push(Table {
            title: title.to_owned(),
            note: "the last row is the straight line through the others, from 10^5 events on",
            columns: CONVERSION_COLUMNS,
            rows: conversions(setup)?,
        });
    }
    let title = "processor time per event, by threads, rings in cache";
    if setup.wants(title) {
        tables.push(Table {
            title: title.to_owned(),
            note: "more threads than cores take turns; the model assumes a core per thread, see scale.rs",
            columns: THREAD_COLUMNS,
            rows: threads(setup)?,
        });
    }
    let title = "cost of an event, by size of the ring, 1 thread, bare loop";
    if setup.wants(title) {
        tables.push(Table {
            title: title.to_owned(),
            note: "the ratio is to the baseline in cache",
            columns: COST_COLUMNS,
            rows: rings(setup, left_out)?,
        });
    }
    Ok(tables)
}

/// Each contender at each number of threads: the time from the first event of any thread to the last, times the busy cores, divided by the events of all threads.
/// With at most as many threads as cores, that is what one thread sees; more threads take turns.
///
/// The model, for machines with as many cores as threads: a shared line (the baseline's mutex, one ring's `claimed`) is in one core at a time, and two threads
/// show what moving it costs. Each of T threads waits for its turn among T, so it sees T / 2 times what each of two sees. Threads with a ring or a recorder of
/// their own share no line: they pay what one thread alone pays, until 64 bytes per event use up the memory's bandwidth.
fn threads(setup: &Setup) -> Result<Vec<Row>> {
    let contenders = [
        names::BASELINE,
        "one recorder, one ring",
        "one recorder, a ring per thread",
        "a recorder per thread",
    ];
    let mut measured = vec![Vec::new(); contenders.len()];
    for threads in THREADS {
        let baseline = Baseline::full(CACHED as usize);
        let options = Options::new(CACHED);
        let one_ring = Record(setup.tmpfs.recorder(&options)?);
        let own_ring = options.clone().rings(threads as u32);
        let own_ring = Record(setup.tmpfs.recorder(&own_ring)?);
        let own_recorder = (0..threads)
            .map(|_| setup.tmpfs.recorder(&options))
            .collect::<Result<_>>()?;
        let own_recorder = RecordOwn(own_recorder);
        let mut cases = [
            Case::new(contenders[0], |events| {
                Ok(spanned(&baseline, threads, events))
            }),
            Case::new(contenders[1], |events| {
                Ok(spanned(&one_ring, threads, events))
            }),
            Case::new(contenders[2], |events| {
                Ok(spanned(&own_ring, threads, events))
            }),
            Case::new(contenders[3], |events| {
                Ok(spanned(&own_recorder, threads, events))
            }),
        ];
        for (samples, cells) in interleave(&mut cases, setup.plan)?
            .iter()
            .zip(&mut measured)
        {
            cells.push(Some(median(samples)));
        }
    }
    let contended = |cells: &[Option<f64>]| {
        let of_two = cells.get(1).copied().flatten();
        let seen = |threads: usize| of_two.map(|of_two| of_two * threads as f64 / 2.0);
        THREADS
            .map(|threads| seen(threads).filter(|_| threads > 1))
            .to_vec()
    };
    let alone = |cells: &[Option<f64>]| vec![cells.first().copied().flatten(); THREADS.len()];
    let modelled = [
        contended(&measured[0]),
        contended(&measured[1]),
        alone(&measured[2]),
        alone(&measured[3]),
    ];
    let row = |name: String, cells| Row {
        name,
        cells,
        samples: Vec::new(),
    };
    let mut rows: Vec<Row> = Vec::new();
    for (name, cells) in contenders.iter().zip(measured) {
        rows.push(row((*name).to_owned(), cells));
    }
    for (name, cells) in contenders.iter().zip(modelled) {
        rows.push(row(format!("model: {name}"), cells));
    }
    Ok(rows)
}

/// Processor time per event. It includes starting the threads, some 50 µs each.
fn spanned<C: Contender>(contender: &C, threads: usize, events: u64) -> Sample {
    let start = Instant::now();
    run(contender, Load::Bare, threads, events);
    let took = start.elapsed();
    let busy_cores = cores().min(threads) as f64;
    Sample {
        event_ns: took.as_nanos() as f64 * busy_cores / (threads as f64 * events as f64),
        took,
    }
}

/// Each size on its own, together with the baseline in cache: several large rings at once would compete for memory.
fn rings(setup: &Setup, left_out: &mut Vec<String>) -> Result<Vec<Row>> {
    let sizes: &[u64] = if setup.quick {
        &[64 << 10, 4 << 20, 32 << 20]
    } else {
        &[
            64 << 10,
            512 << 10,
            4 << 20,
            32 << 20,
            256 << 20,
            2 << 30,
            8 << 30,
        ]
    };
    let mut rows = Vec::new();
    for (medium, place) in [("tmpfs", &setup.tmpfs), ("disk", &setup.disk)] {
        for bytes in sizes {
            let size = Unit::Bytes.show(*bytes as f64);
            // A populated ring is in memory, whatever medium its file is on.
            let available = place.available_bytes()?.min(memory_bytes("MemAvailable"));
            if *bytes > available / 4 * 3 {
                left_out.push(format!(
                    "a ring of {size} on {medium}: {} are available",
                    Unit::Bytes.show(available as f64)
                ));
                continue;
            }
            let baseline = Baseline::full(CACHED as usize);
            let recorder = Record(place.recorder(&Options::new(bytes / 64))?);
            let name = format!("{size}, {medium}");
            let load = Load::Bare;
            let mut cases = [
                Case::new(names::BASELINE, |events| {
                    Ok(run(&baseline, load, 1, events))
                }),
                Case::new(name.as_str(), |events| Ok(run(&recorder, load, 1, events))),
            ];
            let samples = interleave(&mut cases, setup.plan)?;
            rows.push(Row::cost(&name, &samples[1], &samples[0]));
        }
    }
    Ok(rows)
}

fn conversions(setup: &Setup) -> Result<Vec<Row>> {
    let exponents = if setup.quick { 3..=5 } else { 3..=7 };
    let converter = Converter::build()?;
    let mut rows = Vec::new();
    let mut points = Vec::new();
    for exponent in exponents {
        let events = 10u64.pow(exponent);
        let capture = setup.disk.fresh();
        fill(&capture, events)?;
        let mut samples = Vec::new();
        let mut peak_bytes = 0;
        for _ in 0..setup.rounds_or(5) {
            let usage = converter.measure(&["--format", "chrome"], &capture, Stdio::null())?;
            samples.push(usage.time.as_secs_f64());
            peak_bytes = peak_bytes.max(usage.peak_bytes);
        }
        std::fs::remove_file(capture)?;
        let seconds = median(&samples);
        if exponent >= 5 {
            points.push((events as f64, seconds));
        }
        rows.push(Row {
            name: format!("10^{exponent}"),
            cells: vec![
                Some(seconds),
                Some(seconds * 1e9 / events as f64),
                Some(peak_bytes as f64),
            ],
            samples,
        });
    }
    if points.len() > 1 {
        let event_s = slope(&points);
        rows.push(Row {
            name: "10^8 (extrapolated)".to_owned(),
            cells: vec![Some(event_s * 1e8), Some(event_s * 1e9), None],
            samples: Vec::new(),
        });
    }
    Ok(rows)
}

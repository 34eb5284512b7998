//! `record`: what one event costs the thread that records it, in several situations. The first contender of each table is the in-memory design; all ratios are
//! to it, within a round.

use std::rc::Rc;

use anyhow::{Context, Result};
use clap::ValueEnum;
use hrx_trace::{Options, Tracer};
use hrx_trace_reader::Trace;

use crate::contenders::baseline::Baseline;
use crate::contenders::counted::Counted;
use crate::contenders::listened::{KINDS, Listened};
use crate::contenders::lttng::Lttng;
use crate::contenders::measureme::Measureme;
use crate::contenders::nothing::Nothing;
use crate::contenders::stores::Stores;
use crate::contenders::tracing_chrome::TracingChrome;
use crate::contenders::tracing_layer::EnterExit;
use crate::contenders::{names, ours};
use crate::measuring::contender::Contender;
use crate::measuring::harness::{Case, Plan, interleave};
use crate::measuring::loops::{Dirt, Load, run};
use crate::place::Place;
use crate::processes::background::{Converting, read_without_pause};
use crate::processes::capture::fill;
use crate::processes::converter::Converter;
use crate::report::{COST_COLUMNS, Column, Row, Table, Unit, column};
use crate::setup::{CACHED, LARGE, Setup};

/// A situation in which contenders are compared.
struct Situation {
    title: &'static str,
    note: &'static str,
    /// By how much a sample is longer than the plan's.
    sample_factor: u32,
    cases: for<'a> fn(&'a Setup, &mut Vec<String>) -> Result<Vec<Case<'a>>>,
}

const SITUATIONS: &[Situation] = &[
    Situation {
        title: "bare loop, 1 thread, ring in cache",
        note: "all five fields are given; the loop reads no clock, except in contenders with their own",
        sample_factor: 1,
        cases: |setup, left_out| bare(setup, 1, left_out),
    },
    Situation {
        title: "bare loop, 2 threads, ring in cache",
        note: "as one of the threads sees it",
        sample_factor: 1,
        cases: |setup, left_out| bare(setup, 2, left_out),
    },
    Situation {
        title: "bare loop, 1 thread, ring of 256 MiB",
        note: "the baseline's deque holds as many events",
        sample_factor: 1,
        cases: |setup, _| large(setup),
    },
    Situation {
        title: "the caller's two clock reads counted, 1 thread, ring in cache",
        note: "begin + finish and record_between: their own two, instead of the caller's; mark and value: one",
        sample_factor: 1,
        cases: |setup, _| clocked(setup),
    },
    Situation {
        title: LISTENED,
        note: "a C program, built against NVTX's headers, that our listener hears; ratios are to a Rust program's begin + finish",
        sample_factor: 1,
        cases: listened,
    },
    Situation {
        title: "spans of tracing, 1 thread, ring in cache",
        note: "entered and left, own clock reads; ratios are to begin + finish. tracing-chrome also creates and closes the span",
        sample_factor: 1,
        cases: |setup, _| spans(setup),
    },
    Situation {
        title: "cold caches, 1 thread, ring in cache",
        note: "between regions of 10 µs that write through 32 MiB, see loops.rs; contenders are created anew in each round, because much depends on where their pages lie",
        sample_factor: COLD_SAMPLE_FACTOR,
        cases: |setup, _| Ok(cold(setup, Dirt::Caches)),
    },
    Situation {
        title: "cold caches and page tables, 1 thread, ring in cache",
        note: "the regions write to one line of each page of 32 MiB",
        sample_factor: COLD_SAMPLE_FACTOR,
        cases: |setup, _| Ok(cold(setup, Dirt::CachesAndPages)),
    },
    Situation {
        title: "next to other work, 1 thread, bare loop",
        note: "followed: hrx-convert --follow turns it into Chrome JSON; next to a conversion: hrx-convert converts another capture; read without a pause: a thread reads the whole ring over and over",
        // hrx-convert --follow reads at least every 50 ms.
        sample_factor: 5,
        cases: |setup, _| next_to_other_work(setup),
    },
];

const LISTENED: &str = "announced through NVTX and ITT, 1 thread, ring in cache";

/// The cost is the difference of two much larger figures, so it takes more of them.
const COLD_SAMPLE_FACTOR: u32 = 5;

pub fn tables(setup: &Setup, left_out: &mut Vec<String>) -> Result<Vec<Table>> {
    let mut tables = Vec::new();
    for situation in SITUATIONS {
        if setup.wants(situation.title) {
            let cases = (situation.cases)(setup, left_out)?;
            tables.push(table(setup, situation, cases)?);
        }
    }
    let mut count = |title: &str, table: fn(&Setup) -> Result<Table>| {
        if setup.wants(title) {
            match table(setup) {
                Ok(table) => tables.push(table),
                Err(error) => left_out.push(format!("{title}: {error:#}")),
            }
        }
    };
    count(INSTRUCTIONS, instructions);
    count(INSTRUCTIONS_LISTENED, instructions_listened);
    Ok(tables)
}

/// Measures the cases and compares them with the first.
fn table(setup: &Setup, situation: &Situation, mut cases: Vec<Case<'_>>) -> Result<Table> {
    let plan = Plan {
        sample: setup.plan.sample * situation.sample_factor,
        ..setup.plan
    };
    let samples = interleave(&mut cases, plan)?;
    let rows = cases
        .iter()
        .zip(&samples)
        .map(|(case, own)| Row::cost(&case.name, own, &samples[0]));
    Ok(Table {
        title: situation.title.to_owned(),
        note: situation.note,
        columns: COST_COLUMNS,
        rows: rows.collect(),
    })
}

/// Cases that share a load and a number of threads.
struct Group<'a> {
    load: Load,
    threads: usize,
    cases: Vec<Case<'a>>,
}

impl<'a> Group<'a> {
    /// A group whose first case is the baseline, with a deque of `capacity` events.
    fn new(load: Load, threads: usize, capacity: u64) -> Self {
        let mut group = Self {
            load,
            threads,
            cases: Vec::new(),
        };
        group.add(names::BASELINE, Baseline::full(capacity as usize));
        group
    }

    /// Adds a contender that is created once.
    fn add<C: Contender + 'a>(&mut self, name: impl Into<String>, contender: C) {
        let (load, threads) = (self.load, self.threads);
        self.cases.push(Case::new(name, move |events| {
            Ok(run(&contender, load, threads, events))
        }));
    }

    /// Adds a contender that is created anew for each sample.
    fn add_new<C: Contender>(&mut self, name: impl Into<String>, new: impl Fn() -> Result<C> + 'a) {
        let (load, threads) = (self.load, self.threads);
        self.cases.push(Case::new(name, move |events| {
            Ok(run(&new()?, load, threads, events))
        }));
    }
}

/// All contenders, with a small ring.
fn bare<'a>(setup: &'a Setup, threads: usize, left_out: &mut Vec<String>) -> Result<Vec<Case<'a>>> {
    let mut group = Group::new(Load::Bare, threads, CACHED);
    group.add(names::NOTHING, Nothing);
    group.add(names::STORES, Stores::new(CACHED as usize, threads));
    let one = Options::new(CACHED);
    let shared = one.clone().rings(threads as u32);
    let own = one.clone().writers(threads as u32);
    if threads == 1 {
        add_record(setup, &mut group, &one)?;
        let tracer = Tracer::default();
        let path = setup.tmpfs.fresh();
        tracer.start_at(&path, CACHED as usize)?;
        std::fs::remove_file(path)?;
        group.add(names::TRACER, ours::ByTracer(tracer));
    } else {
        for (name, options) in [
            ("record, one ring", &one),
            ("record, a ring per thread", &shared),
        ] {
            group.add(name, ours::Record(setup.tmpfs.recorder(options)?));
        }
    }
    group.add(names::WRITER, ours::ByWriter(setup.tmpfs.recorder(&own)?));
    let begin_finish = ours::BeginFinish(setup.tmpfs.recorder(&shared)?);
    group.add(names::BEGIN_FINISH, begin_finish);
    let begin_finish = ours::BeginFinishByWriter(setup.tmpfs.recorder(&own)?);
    group.add(names::BEGIN_FINISH_BY_WRITER, begin_finish);
    for (name, arguments) in [
        ("measureme, own clock", false),
        ("measureme, one argument, own clock", true),
    ] {
        group.add(name, Measureme::new(&setup.tmpfs.fresh(), arguments)?);
    }
    group.add(
        "tracing-chrome, arguments, own clock",
        TracingChrome::new(&setup.tmpfs.fresh())?,
    );
    match Lttng::start(&setup.disk) {
        Ok(session) => group.cases.push(Case::new(
            "LTTng-UST, --shm-path on disk, own clock",
            move |events| session.run(threads, events),
        )),
        Err(error) => left_out.push(format!("LTTng-UST: {error:#}")),
    }
    Ok(group.cases)
}

/// Where `record` writes to, and what that is called.
fn record_places(setup: &Setup) -> [(&'static str, &Place); 2] {
    [
        (names::RECORD_TMPFS, &setup.tmpfs),
        (names::RECORD_DISK, &setup.disk),
    ]
}

/// Adds `record` into a file in memory and into one on disk.
fn add_record(setup: &Setup, group: &mut Group<'_>, options: &Options) -> Result<()> {
    for (name, place) in record_places(setup) {
        group.add(name, ours::Record(place.recorder(options)?));
    }
    Ok(())
}

/// Adds a `Writer` into a file in memory.
fn add_writer(setup: &Setup, group: &mut Group<'_>, options: Options) -> Result<()> {
    let recorder = setup.tmpfs.recorder(&options.writers(1))?;
    group.add(names::WRITER, ours::ByWriter(recorder));
    Ok(())
}

fn large(setup: &Setup) -> Result<Vec<Case<'_>>> {
    let mut group = Group::new(Load::Bare, 1, LARGE);
    group.add(names::STORES, Stores::new(LARGE as usize, 1));
    let options = Options::new(LARGE);
    add_record(setup, &mut group, &options)?;
    add_writer(setup, &mut group, options)?;
    Ok(group.cases)
}

fn cold(setup: &Setup, dirt: Dirt) -> Vec<Case<'_>> {
    let mut group = Group {
        load: Load::Cold(dirt),
        threads: 1,
        cases: Vec::new(),
    };
    group.add_new(names::BASELINE, || Ok(Baseline::full(CACHED as usize)));
    group.add(names::NOTHING, Nothing);
    for (name, place) in record_places(setup) {
        group.add_new(name, || {
            Ok(ours::Record(place.recorder(&Options::new(CACHED))?))
        });
    }
    group.add_new(names::WRITER, || {
        let options = Options::new(CACHED).writers(1);
        Ok(ours::ByWriter(setup.tmpfs.recorder(&options)?))
    });
    group.cases
}

/// Spans of tracing, next to the regions that they become.
fn spans(setup: &Setup) -> Result<Vec<Case<'_>>> {
    let mut group = Group {
        load: Load::Bare,
        threads: 1,
        cases: Vec::new(),
    };
    let options = Options::new(CACHED);
    let recorder = || setup.tmpfs.recorder(&options);
    group.add(names::BEGIN_FINISH, ours::BeginFinish(recorder()?));
    group.add(names::TWO_ARGUMENTS, ours::TwoArguments::new(recorder()?));
    group.add(names::REGISTRY, EnterExit::registry());
    for (name, has_fields) in [(names::LAYER, false), (names::LAYER_FIELDS, true)] {
        group.add(name, EnterExit::layer(recorder()?, has_fields));
    }
    group.add(
        "tracing-chrome, arguments, own clock",
        TracingChrome::new(&setup.tmpfs.fresh())?,
    );
    Ok(group.cases)
}

fn clocked(setup: &Setup) -> Result<Vec<Case<'_>>> {
    let mut group = Group::new(Load::Clocked, 1, CACHED);
    group.add(names::NOTHING, Nothing);
    let options = Options::new(CACHED);
    add_record(setup, &mut group, &options)?;
    add_writer(setup, &mut group, options.clone())?;
    // These read the clock themselves.
    group.load = Load::Bare;
    let recorder = || setup.tmpfs.recorder(&options);
    group.add(names::BEGIN_FINISH, ours::BeginFinish(recorder()?));
    let owned = ours::BeginFinishOwned(recorder()?.into());
    group.add(names::BEGIN_FINISH_OWNED, owned);
    group.add(names::TWO_ARGUMENTS, ours::TwoArguments::new(recorder()?));
    group.add(names::MARK, ours::Mark(recorder()?));
    group.add(names::VALUE, ours::Value::new(recorder()?));
    group.add(names::RECORD_BETWEEN, ours::RecordBetween(recorder()?));
    let own = options.clone().writers(1);
    let recorder = || setup.tmpfs.recorder(&own);
    let begin_finish = ours::BeginFinishByWriter(recorder()?);
    group.add(names::BEGIN_FINISH_BY_WRITER, begin_finish);
    let record_between = ours::RecordBetweenByWriter(recorder()?);
    group.add(names::RECORD_BETWEEN_BY_WRITER, record_between);
    Ok(group.cases)
}

fn listened<'a>(setup: &'a Setup, left_out: &mut Vec<String>) -> Result<Vec<Case<'a>>> {
    let mut group = Group {
        load: Load::Bare,
        threads: 1,
        cases: Vec::new(),
    };
    let recorder = setup.tmpfs.recorder(&Options::new(CACHED))?;
    group.add(names::BEGIN_FINISH, ours::BeginFinish(recorder));
    match Listened::build(&setup.tmpfs).map(Rc::new) {
        Ok(listened) => group.cases.extend(KINDS.map(|(kind, name)| {
            let listened = Rc::clone(&listened);
            Case::new(name, move |events| listened.run(kind, events))
        })),
        Err(error) => left_out.push(format!("{LISTENED}: {error:#}")),
    }
    Ok(group.cases)
}

fn next_to_other_work(setup: &Setup) -> Result<Vec<Case<'_>>> {
    let converter = Rc::new(Converter::build()?);
    let other_capture = setup.disk.fresh();
    // Large enough that its conversion takes longer than a sample.
    fill(&other_capture, if setup.quick { LARGE / 64 } else { LARGE })?;
    let mut group = Group::new(Load::Bare, 1, CACHED);
    let record = |recorder: &ours::Record, events| Ok(run(recorder, Load::Bare, 1, events));
    for (size, capacity) in [("ring in cache", CACHED), ("256 MiB", LARGE)] {
        let options = Options::new(capacity);
        for (medium, place) in [("tmpfs", &setup.tmpfs), ("disk", &setup.disk)] {
            let alone = ours::Record(place.recorder(&options)?);
            group.add(format!("record, {size}, {medium}, alone"), alone);
            let followed = ours::Record(place.named_recorder(&options)?);
            let converter = Rc::clone(&converter);
            group.cases.push(Case::new(
                format!("record, {size}, {medium}, followed"),
                move |events| {
                    let _following =
                        Converting::start(&converter, &["--follow"], followed.0.path())?;
                    record(&followed, events)
                },
            ));
        }
        let next_to = ours::Record(setup.tmpfs.recorder(&options)?);
        let (converter, other_capture) = (Rc::clone(&converter), other_capture.clone());
        group.cases.push(Case::new(
            format!("record, {size}, tmpfs, next to a conversion"),
            move |events| {
                let _converting = Converting::start(&converter, &[], &other_capture)?;
                record(&next_to, events)
            },
        ));
        let read = ours::Record(setup.tmpfs.named_recorder(&options)?);
        let mut trace = Trace::open(read.0.path())?;
        group.cases.push(Case::new(
            format!("record, {size}, tmpfs, read without a pause"),
            move |events| read_without_pause(&mut trace, || record(&read, events)),
        ));
    }
    Ok(group.cases)
}

const INSTRUCTIONS: &str = "instructions per event, bare loop, 1 thread (callgrind)";

const INSTRUCTION_COLUMNS: &[Column] =
    &[column("count", Unit::Count), column("ratio", Unit::Ratio)];

fn instructions(setup: &Setup) -> Result<Table> {
    let contenders = Counted::value_variants().iter();
    let counts = contenders.map(|one| Ok((one.name(), one.instructions(setup)?)));
    counted(INSTRUCTIONS, counts.collect::<Result<Vec<_>>>()?)
}

const INSTRUCTIONS_LISTENED: &str =
    "instructions per region announced through NVTX and ITT (callgrind)";

fn instructions_listened(setup: &Setup) -> Result<Table> {
    let listened = Listened::build(&setup.tmpfs)?;
    let mut counts = vec![(
        names::BEGIN_FINISH,
        Counted::BeginFinish.instructions(setup)?,
    )];
    for (kind, name) in KINDS {
        counts.push((name, listened.instructions(kind, &setup.disk)?));
    }
    counted(INSTRUCTIONS_LISTENED, counts)
}

/// The ratios are to the first.
fn counted(title: &str, counts: Vec<(&str, f64)>) -> Result<Table> {
    let first = counts.first().context("nothing was counted")?.1;
    let row = |(name, count): (&str, f64)| Row {
        name: name.to_owned(),
        cells: vec![Some(count), Some(count / first)],
        samples: Vec::new(),
    };
    Ok(Table {
        title: title.to_owned(),
        note: "",
        columns: INSTRUCTION_COLUMNS,
        rows: counts.into_iter().map(row).collect(),
    })
}

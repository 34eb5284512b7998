//! The contenders whose instructions per event are counted, each run here alone.

use anyhow::{Context, Result};
use clap::ValueEnum;
use hrx_trace::{Options, Tracer};

use crate::contenders::baseline::Baseline;
use crate::contenders::nothing::Nothing;
use crate::contenders::tracing_layer::EnterExit;
use crate::contenders::{names, ours};
use crate::measuring::contender::Contender;
use crate::measuring::loops::{Load, run};
use crate::processes::callgrind::difference;
use crate::setup::{CACHED, Setup};

/// The contenders whose instructions are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Counted {
    Baseline,
    Nothing,
    Record,
    Writer,
    BeginFinish,
    BeginFinishByWriter,
    BeginFinishOwned,
    Mark,
    Value,
    TwoArguments,
    RecordBetween,
    RecordBetweenByWriter,
    Tracer,
    Registry,
    Layer,
    LayerFields,
}

impl Counted {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nothing => names::NOTHING,
            Self::Baseline => names::BASELINE,
            Self::Record => names::RECORD_TMPFS,
            Self::Writer => names::WRITER,
            Self::BeginFinish => names::BEGIN_FINISH,
            Self::BeginFinishByWriter => names::BEGIN_FINISH_BY_WRITER,
            Self::BeginFinishOwned => names::BEGIN_FINISH_OWNED,
            Self::Mark => names::MARK,
            Self::Value => names::VALUE,
            Self::TwoArguments => names::TWO_ARGUMENTS,
            Self::RecordBetween => names::RECORD_BETWEEN,
            Self::RecordBetweenByWriter => names::RECORD_BETWEEN_BY_WRITER,
            Self::Tracer => names::TRACER,
            Self::Registry => names::REGISTRY,
            Self::Layer => names::LAYER,
            Self::LayerFields => names::LAYER_FIELDS,
        }
    }

    /// Runs the bare loop on one thread, in this process.
    pub fn run_here(self, setup: &Setup, events: u64) -> Result<()> {
        let options = Options::new(CACHED);
        let own = options.clone().writers(1);
        match self {
            Self::Nothing => spin(&Nothing, events),
            Self::Baseline => spin(&Baseline::full(CACHED as usize), events),
            Self::Record => spin(&ours::Record(setup.tmpfs.recorder(&options)?), events),
            Self::Writer => spin(&ours::ByWriter(setup.tmpfs.recorder(&own)?), events),
            Self::BeginFinishByWriter => {
                spin(
                    &ours::BeginFinishByWriter(setup.tmpfs.recorder(&own)?),
                    events,
                );
            }
            Self::BeginFinish => spin(&ours::BeginFinish(setup.tmpfs.recorder(&options)?), events),
            Self::BeginFinishOwned => {
                let recorder = setup.tmpfs.recorder(&options)?;
                spin(&ours::BeginFinishOwned(recorder.into()), events);
            }
            Self::Mark => spin(&ours::Mark(setup.tmpfs.recorder(&options)?), events),
            Self::Value => spin(&ours::Value::new(setup.tmpfs.recorder(&options)?), events),
            Self::TwoArguments => {
                let recorder = setup.tmpfs.recorder(&options)?;
                spin(&ours::TwoArguments::new(recorder), events);
            }
            Self::RecordBetween => {
                spin(
                    &ours::RecordBetween(setup.tmpfs.recorder(&options)?),
                    events,
                );
            }
            Self::RecordBetweenByWriter => spin(
                &ours::RecordBetweenByWriter(setup.tmpfs.recorder(&own)?),
                events,
            ),
            Self::Registry => spin(&EnterExit::registry(), events),
            Self::Layer | Self::LayerFields => {
                let has_fields = matches!(self, Self::LayerFields);
                let recorder = setup.tmpfs.recorder(&options)?;
                spin(&EnterExit::layer(recorder, has_fields), events);
            }
            Self::Tracer => {
                let tracer = Tracer::default();
                tracer.start_at(setup.tmpfs.fresh(), CACHED as usize)?;
                spin(&ours::ByTracer(tracer), events);
            }
        }
        Ok(())
    }

    /// Counts instructions per event.
    pub fn instructions(self, setup: &Setup) -> Result<f64> {
        let program = std::env::current_exe()?;
        let name = self
            .to_possible_value()
            .context("a contender without a name")?;
        difference(&setup.disk, |events, mut valgrind| {
            valgrind.arg(&program).arg("loop");
            valgrind.args([name.get_name(), &events.to_string()]);
            valgrind
        })
    }
}

fn spin<C: Contender>(contender: &C, events: u64) {
    run(contender, Load::Bare, 1, events);
}

//! What recording and converting cost, beside their peers: every contender in turn, in one run, on this machine.

mod contender;
mod contenders;
mod convert;
mod environment;
mod follower;
mod harness;
mod instructions;
mod loops;
mod place;
mod record;
mod report;
mod scale;
mod statistics;
mod tail;
mod writers;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Args, Parser, Subcommand};

use crate::environment::Environment;
use crate::harness::Plan;
use crate::place::Place;
use crate::report::Report;

/// Measures what recording and converting cost, beside their peers.
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
struct Common {
    /// Print JSON instead of tables.
    #[arg(long, global = true)]
    json: bool,
    /// A glance: few short rounds. Its figures are not for quoting.
    #[arg(long, global = true)]
    quick: bool,
    /// Samples of each contender.
    #[arg(long, global = true, value_name = "N")]
    rounds: Option<usize>,
    /// About how long a sample takes.
    #[arg(long, global = true, value_name = "N")]
    sample_ms: Option<u64>,
    /// Measure only what has this in its table's title.
    #[arg(long, global = true, value_name = "TEXT", default_value = "")]
    only: String,
    /// Where files in memory go.
    #[arg(long, global = true, value_name = "DIR", default_value = "/dev/shm")]
    tmpfs: PathBuf,
    /// Where files on disk go; the folder of this program if not given.
    #[arg(long, global = true, value_name = "DIR")]
    disk: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Command {
    /// What one event costs the thread that records it
    Record,
    /// How long the slowest calls take, on disk and in memory
    Tail {
        /// For each of the nine contenders; 60 if not given, 1 with --quick
        #[arg(long, value_name = "N")]
        seconds: Option<f64>,
    },
    /// What converting costs
    Convert,
    /// How costs grow with threads, with the ring and with the events
    Scale,
    /// The bare loop alone, for callgrind to count
    #[command(hide = true)]
    Loop {
        contender: instructions::Counted,
        events: u64,
    },
    /// A capture for conversions
    #[command(hide = true)]
    Fill { capture: PathBuf, events: u64 },
    /// A document to compare hrx-convert's with, on the standard output
    #[command(hide = true)]
    Write {
        writer: writers::Writer,
        capture: PathBuf,
    },
}

/// What every subcommand works with.
struct Setup {
    plan: Plan,
    rounds: Option<usize>,
    quick: bool,
    only: String,
    tmpfs: Place,
    disk: Place,
}

impl Setup {
    fn new(common: &Common) -> Result<Self> {
        let (rounds, sample_ms) = if common.quick { (5, 5) } else { (21, 50) };
        let program = std::env::current_exe()?;
        let beside = program.parent().context("the program lies nowhere")?;
        Ok(Self {
            plan: Plan {
                rounds: common.rounds.unwrap_or(rounds).max(1),
                sample: Duration::from_millis(common.sample_ms.unwrap_or(sample_ms)),
            },
            rounds: common.rounds,
            quick: common.quick,
            only: common.only.clone(),
            tmpfs: Place::tmpfs(&common.tmpfs)?,
            disk: Place::disk(common.disk.as_deref().unwrap_or(beside))?,
        })
    }

    /// The rounds asked for, or so many where one takes seconds.
    fn rounds_or(&self, rounds: usize) -> usize {
        self.rounds
            .unwrap_or(if self.quick { 2 } else { rounds })
            .max(1)
    }

    /// Whether the table of that title is asked for.
    fn wants(&self, title: &str) -> bool {
        title.contains(&self.only)
    }
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hrx-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> Result<()> {
    let setup = Setup::new(&cli.common)?;
    let mut left_out = Vec::new();
    let tables = match &cli.command {
        Command::Record => record::tables(&setup, &mut left_out)?,
        Command::Tail { seconds } => {
            let seconds = seconds.unwrap_or(if setup.quick { 1.0 } else { 60.0 });
            let time = Duration::try_from_secs_f64(seconds).context("--seconds")?;
            tail::tables(&setup, time, &mut left_out)?
        }
        Command::Convert => convert::tables(&setup)?,
        Command::Scale => scale::tables(&setup, &mut left_out)?,
        Command::Loop { contender, events } => return contender.run(&setup, *events),
        Command::Fill { capture, events } => return convert::fill_here(capture, *events),
        Command::Write { writer, capture } => return writer.write(capture),
    };
    let report = Report {
        environment: Environment::now(),
        tables,
        left_out,
    };
    let text = if cli.common.json {
        serde_json::to_string_pretty(&report)? + "\n"
    } else {
        report.to_text()
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

//! What recording and converting cost, beside their peers: every contender in turn, in one run, on this machine.

mod contender;
mod contenders;
mod environment;
mod follower;
mod harness;
mod instructions;
mod loops;
mod place;
mod record;
mod report;
mod statistics;

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
    /// What one event costs the thread that records it.
    Record,
    /// Not for people: the bare loop alone, for callgrind to count.
    #[command(hide = true)]
    Loop {
        contender: instructions::Counted,
        events: u64,
    },
}

/// What every subcommand works with.
struct Setup {
    plan: Plan,
    quick: bool,
    only: String,
    /// None: there is no tmpfs here.
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
            quick: common.quick,
            only: common.only.clone(),
            tmpfs: Place::tmpfs(&common.tmpfs)?,
            disk: Place::disk(common.disk.as_deref().unwrap_or(beside))?,
        })
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
        Command::Loop { contender, events } => return contender.run(&setup, *events),
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

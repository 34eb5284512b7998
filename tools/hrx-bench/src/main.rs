//! What recording and converting cost, compared with other tools: all contenders take turns, in one run, on one machine.
//!
//! Each of these uses only those after it: `subcommands`, `processes`, `contenders` and `setup`, `report`, `measuring`, `environment` and `place`.

mod contenders;
mod environment;
mod measuring;
mod place;
mod processes;
mod report;
mod setup;
mod subcommands;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};

use crate::contenders::counted::Counted;
use crate::environment::Environment;
use crate::processes::capture::fill_here;
use crate::processes::documents::SerdeJson;
use crate::report::Report;
use crate::setup::{Common, Setup};
use crate::subcommands::{convert, record, scale, tail};

/// Measures what recording and converting cost, compared with other tools.
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    common: Common,
}

#[derive(Subcommand)]
enum Command {
    /// What one event costs the thread that records it
    Record,
    /// How long the slowest calls take, on disk and in memory
    Tail {
        /// For each of the nine contenders [default: 60, or 1 with --quick]
        #[arg(long, value_name = "N")]
        seconds: Option<f64>,
    },
    /// What converting costs
    Convert,
    /// How costs grow with threads, with the ring and with the events
    Scale,
    /// Run only the bare loop, for callgrind to count
    #[command(hide = true)]
    Loop { contender: Counted, events: u64 },
    /// Make a capture for conversions
    #[command(hide = true)]
    Fill { capture: PathBuf, events: u64 },
    /// Write hrx-convert's document with serde_json to standard output
    #[command(hide = true)]
    Write { with: SerdeJson, capture: PathBuf },
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
        Command::Loop { contender, events } => return contender.run_here(&setup, *events),
        Command::Fill { capture, events } => return fill_here(capture, *events),
        Command::Write { with, capture } => return with.write(capture),
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

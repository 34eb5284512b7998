//! The options that all subcommands have, and what follows from them.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;

use crate::measuring::harness::Plan;
use crate::place::Place;

/// Events of a ring of 256 KiB, which stays in the second-level cache.
pub const CACHED: u64 = 1 << 12;
/// Events of a ring of 256 MiB, which fits no cache of a core.
pub const LARGE: u64 = 1 << 22;

/// The options that all subcommands have.
#[derive(Args)]
pub struct Common {
    /// Print JSON instead of tables.
    #[arg(long, global = true)]
    pub json: bool,
    /// Take a few short rounds, for a glance: do not quote these figures.
    #[arg(long, global = true)]
    quick: bool,
    /// Samples per contender.
    #[arg(long, global = true, value_name = "N")]
    rounds: Option<usize>,
    /// About how long a sample takes.
    #[arg(long, global = true, value_name = "N")]
    sample_ms: Option<u64>,
    /// Measure only the tables with this in their title.
    #[arg(long, global = true, value_name = "TEXT", default_value = "")]
    only: String,
    /// Where files in memory go.
    #[arg(long, global = true, value_name = "DIR", default_value = "/dev/shm")]
    tmpfs: PathBuf,
    /// Where files on disk go [default: the folder of this program]
    #[arg(long, global = true, value_name = "DIR")]
    disk: Option<PathBuf>,
}

/// What every subcommand works with: how long to measure, what, and where files go.
pub struct Setup {
    pub plan: Plan,
    rounds: Option<usize>,
    pub quick: bool,
    only: String,
    pub tmpfs: Place,
    pub disk: Place,
}

impl Setup {
    pub fn new(common: &Common) -> Result<Self> {
        let (rounds, sample_ms) = if common.quick { (5, 5) } else { (21, 50) };
        let program = std::env::current_exe()?;
        let folder = program.parent().context("this program has no folder")?;
        Ok(Self {
            plan: Plan {
                rounds: common.rounds.unwrap_or(rounds).max(1),
                sample: Duration::from_millis(common.sample_ms.unwrap_or(sample_ms)),
            },
            rounds: common.rounds,
            quick: common.quick,
            only: common.only.clone(),
            tmpfs: Place::tmpfs(&common.tmpfs)?,
            disk: Place::disk(common.disk.as_deref().unwrap_or(folder))?,
        })
    }

    /// The rounds asked for, or `rounds` if a round takes seconds and none were asked for.
    pub fn rounds_or(&self, rounds: usize) -> usize {
        self.rounds
            .unwrap_or(if self.quick { 2 } else { rounds })
            .max(1)
    }

    /// Whether the table with this title is asked for.
    pub fn wants(&self, title: &str) -> bool {
        title.contains(&self.only)
    }
}

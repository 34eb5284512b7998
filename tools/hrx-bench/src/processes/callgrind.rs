//! Instructions per event, counted by callgrind: a figure that other work on the machine cannot change. The difference of two runs of different lengths is the
//! loop's alone.
//!
//! Valgrind's processor has no AVX-512, so a contender that would use it takes its next best path.

use std::process::Command;

use anyhow::{Context, Result};

use crate::place::Place;
use crate::processes::command::succeed;

/// Counts instructions per event of a program, whose command for a number of events `command` makes of valgrind's. What is the same however many events there
/// are does not count.
pub fn difference(place: &Place, command: impl Fn(u64, Command) -> Command) -> Result<f64> {
    const FEW: u64 = 10_000;
    const MANY: u64 = 110_000;
    let output = place.fresh();
    let count = |events| -> Result<f64> {
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["-q", "--tool=callgrind"]);
        valgrind.arg(format!("--callgrind-out-file={}", output.display()));
        succeed(&mut command(events, valgrind))?;
        let counts = std::fs::read_to_string(&output)?;
        let total = counts
            .lines()
            .find_map(|line| line.strip_prefix("totals: "))
            .context("callgrind gave no totals")?;
        Ok(total.trim().parse()?)
    };
    Ok((count(MANY)? - count(FEW)?) / (MANY - FEW) as f64)
}

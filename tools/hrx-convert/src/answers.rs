//! Questions that the command answers itself instead of converting: their flags, and who answers them.

use std::io;
use std::path::Path;

use anstream::{AutoStream, ColorChoice};
use anyhow::Context;
use clap::Args;

use crate::captures::Captures;
use crate::format::{self, Outcome};
use crate::output::Output;
use crate::summary::Summary;

/// The flags.
#[derive(Debug, Args)]
pub struct Answers {
    /// Say how the capture ended, what was running, what came before, what was slow, what failed and what is missing
    #[arg(long, conflicts_with_all = ["format", "info", "check"])]
    pub summary: bool,
}

/// Writes the summary.
pub fn summary(captures: &Captures, json: bool, path: Option<&Path>) -> anyhow::Result<()> {
    let mut output = Output::create(path)?;
    let colour = path.is_none() && AutoStream::choice(&io::stdout()) != ColorChoice::Never;
    let summary = Summary::new(captures, json, colour, &mut output);
    let written: io::Result<Vec<Outcome>> = format::write_all(captures, summary, colour);
    written.with_context(|| format!("cannot write {}", output.what()))?;
    output.commit()
}

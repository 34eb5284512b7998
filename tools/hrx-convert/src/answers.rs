//! Questions that the command answers itself instead of converting: their flags, and who answers them.

use std::io;

use anstream::{AutoStream, ColorChoice};
use anyhow::Context;
use clap::Args;

use crate::captures::Captures;
use crate::cli::Arguments;
use crate::filter::Filter;
use crate::format;
use crate::output::{Manner, Output};
use crate::summary::Summary;

/// The flags.
#[derive(Debug, Args)]
pub struct Answers {
    /// Say how the capture ended, what was running, what came before, what was slow, what failed and what is missing
    #[arg(long, conflicts_with_all = ["format", "info", "check", "follow"])]
    pub summary: bool,
}

/// Writes the summary.
pub fn summary(
    captures: &Captures,
    filter: &mut Filter,
    arguments: &Arguments,
) -> anyhow::Result<()> {
    let path = arguments.output.as_deref();
    let colour = path.is_none() && AutoStream::choice(&io::stdout()) != ColorChoice::Never;
    let mut output = Output::create(path, Manner::default())?;
    let summary = Summary::new(captures, arguments.json, colour, &mut output);
    format::write_all(captures, filter, summary, colour)
        .with_context(|| format!("cannot write {}", output.what()))?;
    output.commit()
}

//! Questions that the command answers itself instead of converting: their flags, and who answers them.

use std::io;

use anstream::{AutoStream, ColorChoice};
use anyhow::{Context, ensure};
use clap::Args;
use hrx_trace_reader::Event;

use crate::captures::{Capture, Captures};
use crate::check;
use crate::cli::{Arguments, Format};
use crate::diff::{Diff, Form};
use crate::digest::Gather;
use crate::expect::Expectation;
use crate::filter::Filter;
use crate::format::{self, Outcome, Writer};
use crate::generate::Generated;
use crate::output::Output;
use crate::summary::Summary;

/// An expectation is not met.
const UNMET: u8 = 6;

/// The flags.
#[derive(Debug, Args)]
#[command(next_help_heading = "Instead of converting")]
pub struct Answers {
    /// Say how the capture ended, what was running, what came before, what was slow, what failed and what is missing
    #[arg(long, conflicts_with_all = ["format", "info", "check", "follow"])]
    pub summary: bool,

    /// Say what differs between two captures, A and B, by lane and label: counts, totals, percentiles, GB/s. With -o OUT.html as a page
    #[arg(long, conflicts_with_all = ["format", "info", "check", "follow", "summary"])]
    pub diff: bool,

    /// Print the manual page, or completions for a shell; `tools/install` puts them where they belong
    #[arg(long, value_enum, value_name = "WHAT", exclusive = true)]
    pub generate: Option<Generated>,

    /// With --check: expect something of the events that the filters select, as lane=npu, failed=0, 'count>=5', 'p99<2ms'; may be given several times
    #[arg(long, value_name = "EXPECTATION", requires = "check")]
    pub expect: Vec<Expectation>,
}

/// Writes the summary.
pub fn summary(
    captures: &Captures,
    filter: &mut Filter,
    arguments: &Arguments,
) -> anyhow::Result<()> {
    let path = arguments.output.as_deref();
    let colour = path.is_none() && AutoStream::choice(&io::stdout()) != ColorChoice::Never;
    let mut output = Output::create(path, arguments.manner())?;
    let summary = Summary::new(arguments.json, colour, &mut output);
    format::write_all(captures, filter, summary, colour)
        .with_context(|| format!("cannot write {}", output.what()))?;
    output.commit()
}

/// Writes what differs between two captures.
pub fn diff(captures: &Captures, filter: &mut Filter, arguments: &Arguments) -> anyhow::Result<()> {
    let found = captures.len();
    ensure!(
        found == 2,
        "found {found} captures to compare, expected two"
    );
    let path = arguments.output.as_deref();
    let colour = path.is_none() && AutoStream::choice(&io::stdout()) != ColorChoice::Never;
    let form = match (arguments.json, arguments.format()) {
        (true, _) => Form::Json,
        (false, Format::Html) => Form::Html,
        (false, _) => Form::Text { colour },
    };
    let mut output = Output::create(path, arguments.manner())?;
    let diff = Diff::new(form, &mut output);
    format::write_all(captures, filter, diff, colour)
        .with_context(|| format!("cannot write {}", output.what()))?;
    output.commit()
}

/// Prints the verdict on each capture and what it does not meet; gives the exit code.
pub fn check(captures: &Captures, arguments: &Arguments) -> anyhow::Result<u8> {
    let mut filter = Filter::new(&arguments.selection, captures)?;
    let mut unmet = String::new();
    let checked = Checked {
        gather: Gather::new(),
        expectations: &arguments.answers.expect,
        unmet: &mut unmet,
    };
    let outcomes = format::write_all(captures, &mut filter, checked, false)?;
    let read = captures
        .iter()
        .zip(&outcomes)
        .map(|(capture, outcome)| (capture.path.as_path(), &outcome.report));
    let (verdicts, code) = check::verdicts(read);
    crate::print(&(verdicts + &unmet))?;
    Ok(if unmet.is_empty() { code } else { UNMET })
}

/// Holds the captures against what is expected of them.
struct Checked<'run> {
    gather: Gather,
    expectations: &'run [Expectation],
    unmet: &'run mut String,
}

impl Writer for Checked<'_> {
    const ONE_BY_ONE: bool = true;

    #[inline]
    fn event(&mut self, _: &Capture, event: &Event) -> io::Result<()> {
        self.gather.event(event)
    }

    fn ended(&mut self, capture: &Capture, outcome: &Outcome) -> io::Result<()> {
        let digest = self.gather.digest(capture, outcome, false)?;
        for expectation in self.expectations {
            if let Some(found) = expectation.unmet(&digest) {
                self.unmet
                    .push_str(&format!("{}: {found} (host-observed)\n", digest.file));
            }
        }
        Ok(())
    }

    fn finish(self, _: &Captures, _: &[Outcome]) -> io::Result<()> {
        Ok(())
    }
}

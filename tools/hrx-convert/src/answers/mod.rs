//! Questions that the command answers itself instead of converting.
//!
//! May use all other wings.

pub mod check;
mod diff;
pub mod generate;
pub mod info;
mod summary;

use std::io;

use anstream::{AutoStream, ColorChoice};
use anyhow::{Context, ensure};
use hrx_trace_reader::Event;

use crate::answers::diff::{Diff, Form};
use crate::answers::summary::Summary;
use crate::cli::{Arguments, Format};
use crate::figures::digest::Gather;
use crate::figures::expect::Expectation;
use crate::input::captures::{Capture, Captures};
use crate::input::conversion::{Outcome, Writer, write_all};
use crate::input::filter::Filter;
use crate::output::file::Output;

/// An expectation is not met.
const UNMET: u8 = 6;

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
    write_all(captures, filter, summary, colour)
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
    write_all(captures, filter, diff, colour)
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
    let outcomes = write_all(captures, &mut filter, checked, false)?;
    let read = captures
        .iter()
        .zip(&outcomes)
        .map(|(capture, outcome)| (capture.path.as_path(), &outcome.report));
    let (verdicts, code) = check::verdicts(read);
    crate::output::console::print(&(verdicts + &unmet))?;
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

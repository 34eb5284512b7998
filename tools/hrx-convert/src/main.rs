//! `hrx-convert`: a capture into what viewers and scripts read.

mod answers;
mod captures;
mod check;
mod chrome;
mod cli;
mod columns;
mod digest;
mod facts;
mod format;
mod info;
mod lanes;
mod output;
mod progress;
mod seed;
mod statistics;
mod summary;
mod sweep;
mod tids;
mod words;

#[cfg(test)]
#[path = "../tests/common/mod.rs"]
mod capture;

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Context;
use hrx_trace_reader::{Report, Trace};

use crate::captures::Captures;
use crate::chrome::Chrome;
use crate::cli::{Arguments, Format};
use crate::format::Outcome;
use crate::output::Output;
use crate::progress::Watched;
use crate::seed::Seed;

fn main() -> ExitCode {
    let arguments = Arguments::parse_and_validate();
    match run(&arguments) {
        Ok(code) => code,
        // Whoever reads our output has seen enough.
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let trace = Trace::open(&arguments.file)?;
    let name = arguments.file.display();
    if arguments.info || arguments.check {
        let report = read_through(&trace);
        let (text, code) = match (arguments.check, arguments.json) {
            (true, _) => check::verdict(&name, &report),
            (false, true) => (info::json(&name, &trace, &report)?, ExitCode::SUCCESS),
            (false, false) => (info::text(&name, &trace, &report), ExitCode::SUCCESS),
        };
        return match io::stdout()
            .write_all(text.as_bytes())
            .and_then(|()| io::stdout().flush())
        {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(error).context("cannot write the standard output")
            }
            // A script that checks need not read the verdict.
            _ => Ok(code),
        };
    }
    let captures = Captures::new(vec![(arguments.file.clone(), trace)]);
    if arguments.answers.summary {
        answers::summary(&captures, arguments.json, arguments.output.as_deref())?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut output = Output::create(arguments.output.as_deref())?;
    let outcomes = write(arguments.format, &captures, &mut output);
    let outcomes = outcomes.with_context(|| format!("cannot write {}", output.what()))?;
    output.commit()?;
    for outcome in &outcomes {
        say(&words::summary(&outcome.report));
    }
    Ok(ExitCode::SUCCESS)
}

fn write(format: Format, captures: &Captures, output: &mut Output) -> io::Result<Vec<Outcome>> {
    let quiet = output.is_terminal();
    match format {
        Format::Chrome => format::write_all(captures, Chrome::new(captures, output), quiet),
        Format::Seed => format::write_all(captures, Seed::new(&captures[0], output)?, quiet),
    }
}

fn read_through(trace: &Trace) -> Report {
    let mut events = trace.events();
    Watched::new(events.by_ref(), false).for_each(drop);
    events.finish()
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

/// A line on the standard error. That nobody listens there is no reason to fail.
fn say(line: &str) {
    let _ = writeln!(io::stderr(), "hrx-convert: {line}");
}

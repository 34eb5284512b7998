//! `hrx-convert`: captures into what viewers and scripts read.

mod captures;
mod check;
mod chrome;
mod cli;
mod facts;
mod filter;
mod follow;
mod format;
mod info;
mod inputs;
mod lanes;
mod output;
mod progress;
mod seed;
mod tids;
mod words;

#[cfg(test)]
#[path = "../tests/common/mod.rs"]
mod capture;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use hrx_trace_reader::{Report, Trace};

use crate::captures::Captures;
use crate::chrome::Chrome;
use crate::cli::{Arguments, Format};
use crate::filter::Filter;
use crate::format::Outcome;
use crate::output::Output;
use crate::progress::Watched;
use crate::seed::Seed;

/// Of several files, some could not be read.
const INCOMPLETE: u8 = 5;

fn main() -> ExitCode {
    let arguments = Arguments::parse_and_validate();
    match run(&arguments) {
        Ok(code) => code.into(),
        // Whoever reads our output has seen enough.
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> anyhow::Result<u8> {
    let (files, mut failures) = inputs::find(&arguments.files);
    arguments.validate(&files);
    let newest = arguments.follow || arguments.selection.begins_late();
    let mut traces = Vec::new();
    for file in files {
        let trace = match newest {
            true => Trace::open_for_newest(&file),
            false => Trace::open(&file),
        };
        match trace {
            Ok(trace) => traces.push((file, trace)),
            Err(error) => failures.push(error.into()),
        }
    }
    if traces.is_empty()
        && let Some(last) = failures.pop()
    {
        tell(&failures);
        return Err(last);
    }
    tell(&failures);
    let code = if arguments.info || arguments.check {
        inspect(arguments, &traces)?
    } else {
        convert(arguments, Captures::new(traces))?;
        0
    };
    Ok(if failures.is_empty() {
        code
    } else {
        code.max(INCOMPLETE)
    })
}

fn tell(failures: &[anyhow::Error]) {
    for failure in failures {
        say(&format!("error: {failure:#}"));
    }
}

/// Says of each capture what `--info` or `--check` asks for.
fn inspect(arguments: &Arguments, traces: &[(PathBuf, Trace)]) -> anyhow::Result<u8> {
    let read: Vec<(&Path, &Trace, Report)> = traces
        .iter()
        .map(|(path, trace)| (path.as_path(), trace, read_through(trace)))
        .collect();
    let (text, code) = match (arguments.check, arguments.json) {
        (true, _) => check::verdicts(&read),
        (false, true) => (info::json(&read)?, 0),
        (false, false) => (info::text(&read), 0),
    };
    match io::stdout()
        .write_all(text.as_bytes())
        .and_then(|()| io::stdout().flush())
    {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(error).context("cannot write the standard output")
        }
        // A script that checks need not read the verdict.
        _ => Ok(code),
    }
}

fn convert(arguments: &Arguments, mut captures: Captures) -> anyhow::Result<()> {
    let mut filter = Filter::new(&arguments.selection, &captures)?;
    let mut output = Output::create(arguments.output.as_deref(), arguments.manner())?;
    let outcomes = match arguments.follow {
        true => follow(arguments.format(), &mut captures, &mut filter, &mut output),
        false => write(arguments.format(), &captures, &mut filter, &mut output),
    };
    let outcomes = outcomes.with_context(|| format!("cannot write {}", output.what()))?;
    output.commit()?;
    if let [outcome] = outcomes.as_slice() {
        say(&words::summary(outcome));
        return Ok(());
    }
    for (capture, outcome) in captures.iter().zip(&outcomes) {
        say(&format!(
            "{}: {}",
            capture.path.display(),
            words::summary(outcome)
        ));
    }
    say(&words::total(&captures, &outcomes));
    Ok(())
}

fn write(
    format: Format,
    captures: &Captures,
    filter: &mut Filter,
    output: &mut Output,
) -> io::Result<Vec<Outcome>> {
    let quiet = output.is_terminal();
    match format {
        Format::Chrome => format::write_all(captures, filter, Chrome::new(captures, output), quiet),
        Format::Seed => {
            format::write_all(captures, filter, Seed::new(&captures[0], output)?, quiet)
        }
    }
}

fn follow(
    format: Format,
    captures: &mut Captures,
    filter: &mut Filter,
    output: &mut Output,
) -> io::Result<Vec<Outcome>> {
    let stop = follow::stop_on_signals()?;
    match format {
        Format::Chrome => {
            let writer = Chrome::following(captures, output);
            follow::follow(captures, filter, writer, &stop)
        }
        Format::Seed => Err(io::ErrorKind::Unsupported.into()),
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

//! `hrx-convert`: captures into what viewers and scripts read.
//!
//! A library for the command's own `main` and for the fuzzer, which runs command lines: it promises nothing else.

mod answers;
mod cli;
mod figures;
mod formats;
mod input;
mod output;
mod text;
mod tracks;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::Context as _;
use clap::CommandFactory;
use hrx_trace_reader::{Report, Trace};

use crate::answers::{check, generate, info};
pub use crate::cli::{Arguments, Format};
use crate::formats::chrome::Chrome;
use crate::formats::page::Page;
use crate::formats::perfetto::Perfetto;
use crate::formats::seed::Seed;
use crate::formats::table::{Csv, JsonLines};
use crate::input::captures::Captures;
use crate::input::conversion::{Followed, Outcome};
use crate::input::filter::Filter;
use crate::input::{conversion, files, follow};
use crate::output::console::{print, say};
use crate::output::file::Output;
use crate::output::progress::Watched;
use crate::output::signals;
use crate::text::words;

/// Of several files, some could not be read.
const INCOMPLETE: u8 = 5;

/// The command.
#[must_use]
pub fn main() -> ExitCode {
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

/// Does what the command line asks for, and gives the exit code.
///
/// # Errors
/// Nothing can be read, or the output cannot be written.
pub fn run(arguments: &Arguments) -> anyhow::Result<u8> {
    if let Some(what) = arguments.answers.generate {
        let text = generate::generate(what, Arguments::command())?;
        print(&String::from_utf8_lossy(&text))?;
        return Ok(0);
    }
    let stop = arguments
        .follow
        .then(signals::stop_on_signals)
        .transpose()?;
    if let Some(stop) = &stop {
        arguments.validate(&arguments.files);
        follow::wait_for(&arguments.files, stop);
    }
    let (files, mut failures) = files::find(&arguments.files);
    arguments.validate(&files);
    files::allow_open(files.len())?;
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
    let code = if !arguments.answers.expect.is_empty() {
        answers::check(&Captures::new(traces), arguments)?
    } else if arguments.info || arguments.check {
        inspect(arguments, &traces)?
    } else {
        convert(arguments, Captures::new(traces), stop.as_deref())?;
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
        (true, _) => check::verdicts(read.iter().map(|(path, _, report)| (*path, report))),
        (false, true) => (info::json(&read)?, 0),
        (false, false) => (info::text(&read), 0),
    };
    print(&text)?;
    Ok(code)
}

fn convert(
    arguments: &Arguments,
    mut captures: Captures,
    stop: Option<&AtomicBool>,
) -> anyhow::Result<()> {
    let mut filter = Filter::new(&arguments.selection, &captures)?;
    if arguments.answers.summary {
        return answers::summary(&captures, &mut filter, arguments);
    }
    if arguments.answers.diff {
        return answers::diff(&captures, &mut filter, arguments);
    }
    let mut output = Output::create(arguments.output.as_deref(), arguments.manner())?;
    let outcomes = write(arguments, &mut captures, &mut filter, &mut output, stop)
        .with_context(|| format!("cannot write {}", output.what()))?;
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
    arguments: &Arguments,
    captures: &mut Captures,
    filter: &mut Filter,
    output: &mut Output,
    stop: Option<&AtomicBool>,
) -> io::Result<Vec<Outcome>> {
    let quiet = output.is_terminal();
    let extras = arguments.extras;
    match arguments.format() {
        Format::Chrome if stop.is_some() => {
            let writer = Chrome::following(captures, extras, output);
            follow_or_write(stop, captures, filter, writer, quiet)
        }
        Format::Chrome => {
            let writer = Chrome::new(captures, extras, output);
            follow_or_write(stop, captures, filter, writer, quiet)
        }
        Format::Perfetto => {
            let writer = Perfetto::new(captures, extras, output)?;
            follow_or_write(stop, captures, filter, writer, quiet)
        }
        Format::Jsonl => follow_or_write(stop, captures, filter, JsonLines::new(output), quiet),
        Format::Csv => follow_or_write(stop, captures, filter, Csv::new(output)?, quiet),
        Format::Html => {
            let writer = Page::new(output);
            conversion::write_all(captures, filter, writer, quiet)
        }
        Format::Seed => {
            let writer = Seed::new(&captures[0], output)?;
            conversion::write_all(captures, filter, writer, quiet)
        }
    }
}

fn follow_or_write(
    stop: Option<&AtomicBool>,
    captures: &mut Captures,
    filter: &mut Filter,
    writer: impl Followed,
    quiet: bool,
) -> io::Result<Vec<Outcome>> {
    match stop {
        Some(stop) => follow::follow(captures, filter, writer, stop),
        None => conversion::write_all(captures, filter, writer, quiet),
    }
}

fn read_through(trace: &Trace) -> Report {
    let mut events = trace.events();
    Watched::new(events.by_ref(), Instant::now(), false).for_each(drop);
    events.finish()
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

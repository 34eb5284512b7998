//! `hrx-convert`: turns captures into what viewers, scripts and people read.
//!
//! The command is [`main`]. For other programs, [`Captures`] opens captures, [`Selection`] says which events to take, and [`summary_text`],
//! [`summary_json`] and [`write_page`] answer what `--summary` and `-o report.html` do; `hrx-run` also uses [`state_text`], [`unmet_text`],
//! [`generated_text`] and the values of options. [`run`] does what a command line asks for. Nothing else of this
//! crate is public.
//!
//! The wings, each using only those after it: `answers`, `cli`, `formats`, `tracks`, `figures`, `text`, `input`, `output`.

mod answers;
mod cli;
mod figures;
mod formats;
mod input;
mod output;
mod text;
mod tracks;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::CommandFactory;
use hrx_trace_reader::Trace;

pub use crate::answers::check::unmet_text;
pub use crate::answers::generate::generated_text;
pub use crate::answers::summary::{state_text, summary_json, summary_text};
use crate::answers::{check, diff, generate, info, summary};
pub use crate::cli::{Arguments, Generated};
pub use crate::figures::expect::Expectation;
pub use crate::formats::FormatName;
pub use crate::input::captures::Captures;
use crate::input::filter::Filter;
pub use crate::input::option_values::{DurationNs, byte_count};
pub use crate::input::selection::Selection;
use crate::input::selection::SelectionError;
use crate::input::{files, open, wait};
use crate::output::console::say;
use crate::output::file::Output;
use crate::output::signals::Stop;
use crate::text::words;

/// The command line is wrong for the files that it names.
const WRONG: u8 = 2;
/// Some of several files could not be read.
const INCOMPLETE: u8 = 5;

/// The command: parses and validates the command line, runs it, and reports an error on the standard error.
#[must_use]
pub fn main() -> ExitCode {
    let arguments = Arguments::parse_and_validate();
    match run(&arguments) {
        Ok(code) => code.into(),
        // The reader of our output has seen enough.
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {error:#}"));
            match error.is::<SelectionError>() {
                true => WRONG.into(),
                false => ExitCode::FAILURE,
            }
        }
    }
}

/// Does what the command line asks for and returns the exit code, one of those that `--help` lists. Leaves the process with exit code 2 if the
/// command line is wrong for the files that it names.
///
/// # Errors
/// No capture can be read, or the output cannot be written.
pub fn run(arguments: &Arguments) -> anyhow::Result<u8> {
    if let Some(what) = arguments.answers.generate {
        generate::answer(what, Arguments::command())?;
        return Ok(0);
    }
    let stop = arguments.follow.then(Stop::on_signals).transpose()?;
    if let Some(stop) = &stop {
        arguments.validate(&arguments.files);
        wait::wait_for(&arguments.files, stop);
    }
    let (files, mut failures) = files::find(&arguments.files);
    arguments.validate(&files);
    open::allow_open(files.len());
    let newest = arguments.follow || arguments.selection.begins_late();
    let open = || open::open(files, newest);
    let opened = match &stop {
        Some(stop) => stop.dying_at_once(open),
        None => open(),
    };
    failures.extend(opened.failures.into_iter().map(anyhow::Error::from));
    let fatal = match opened.traces.is_empty() {
        true => failures.pop(),
        false => None,
    };
    for failure in &failures {
        say(&format!("error: {failure:#}"));
    }
    if let Some(fatal) = fatal {
        return Err(fatal);
    }
    let code = answer(arguments, opened.traces, stop.as_ref())?;
    Ok(if failures.is_empty() {
        code
    } else {
        code.max(INCOMPLETE)
    })
}

/// Writes the page of `-o report.html`: timeline, tables and pictures of the selected events, in one HTML file that needs no network.
///
/// Memory is bounded whatever the captures hold; regions that it has no room for go to a temporary file.
///
/// # Errors
/// The page or a temporary file cannot be written, or the selection has too many label patterns.
pub fn write_page(
    captures: &Captures,
    selection: &Selection,
    page: impl io::Write,
) -> io::Result<()> {
    formats::write_page(captures, selection, page)
}

/// Answers the question that the command line asks, or converts.
fn answer(
    arguments: &Arguments,
    traces: Vec<(PathBuf, Trace)>,
    stop: Option<&Arc<Stop>>,
) -> anyhow::Result<u8> {
    let asked = &arguments.answers;
    let selection = &arguments.selection;
    if !asked.expect.is_empty() {
        return check::answer_expecting(&Captures::new(traces), selection, &asked.expect);
    }
    if arguments.check {
        return check::answer(&traces);
    }
    if arguments.info {
        info::answer(&traces, arguments.json)?;
        return Ok(0);
    }
    let captures = Captures::new(traces);
    let mut filter = Filter::new(selection, &captures)?;
    if asked.summary {
        summary::answer(&captures, &mut filter, arguments)?;
    } else if asked.diff {
        diff::answer(&captures, &mut filter, arguments)?;
    } else {
        convert(arguments, captures, filter, stop)?;
    }
    Ok(0)
}

fn convert(
    arguments: &Arguments,
    mut captures: Captures,
    mut filter: Filter,
    stop: Option<&Arc<Stop>>,
) -> anyhow::Result<()> {
    let mut output = Output::create(arguments.output.as_deref(), arguments.output_options())?;
    let outcomes = formats::write(
        arguments.format(),
        arguments.extras,
        arguments.spreadsheet,
        &mut captures,
        &mut filter,
        &mut output,
        stop,
    )
    .map_err(|error| output.explained(error))?;
    output.commit()?;
    for line in words::conversion_lines(&captures, &outcomes) {
        say(&line);
    }
    Ok(())
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

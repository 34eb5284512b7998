//! `--check`: whether captures are intact and meet the expectations, as a line each and as an exit code.

use std::io;
use std::path::{Path, PathBuf};

use hrx_trace_reader::{Ending, Event, Report, Trace};

use crate::figures::digest_builder::DigestBuilder;
use crate::figures::expect::Expectation;
use crate::input::captures::{Capture, Captures};
use crate::input::conversion::{write_all, write_selected};
use crate::input::filter::Filter;
use crate::input::format::Format;
use crate::input::inspection::inspect;
use crate::input::outcome::Outcome;
use crate::input::selection::Selection;
use crate::output::console::print;
use crate::output::printable::{printable, printable_path};
use crate::text::quantities::counted;
use crate::text::words::{ending_words, losses_text};

/// Intact, but neither finished nor still recording, as far as can be told.
const NOT_FINISHED: u8 = 3;
/// Something that was recorded cannot be believed.
const DAMAGED: u8 = 4;
/// An expectation is not met.
const UNMET: u8 = 6;

/// Prints the verdict on each capture, and returns the exit code.
///
/// # Errors
/// The standard output cannot be written.
pub fn answer(traces: &[(PathBuf, Trace)]) -> anyhow::Result<u8> {
    let inspected = inspect(traces);
    let reports = inspected.iter().map(|each| (each.path, &each.report));
    let (verdicts, code) = verdicts(reports);
    print(&verdicts)?;
    Ok(code)
}

/// Prints the verdict on each capture and the expectations that are not met by its selected events, and returns the exit code.
///
/// # Errors
/// The standard output or a temporary file cannot be written.
pub fn answer_expecting(
    captures: &Captures,
    selection: &Selection,
    expectations: &[Expectation],
) -> anyhow::Result<u8> {
    let mut filter = Filter::new(selection, captures)?;
    let mut unmet = String::new();
    let check = ExpectationCheck::new(expectations, &mut unmet);
    let outcomes = write_all(captures, &mut filter, check, false)?;
    let reports = captures
        .iter()
        .zip(&outcomes)
        .map(|(capture, outcome)| (capture.path.as_path(), &outcome.report));
    let (verdicts, code) = verdicts(reports);
    print(&(verdicts + &unmet))?;
    Ok(if unmet.is_empty() { code } else { UNMET })
}

/// What `--check --expect` says of expectations that are not met by the selected events of a capture, a line each; nothing if all are met.
///
/// # Errors
/// A temporary file cannot be written, or the selection has too many label patterns.
pub fn unmet_text(
    captures: &Captures,
    selection: &Selection,
    expectations: &[Expectation],
) -> io::Result<String> {
    let mut unmet = String::new();
    let check = ExpectationCheck::new(expectations, &mut unmet);
    write_selected(captures, selection, check)?;
    Ok(unmet)
}

/// Checks each capture against the expectations.
struct ExpectationCheck<'run> {
    digests: DigestBuilder,
    expectations: &'run [Expectation],
    unmet: &'run mut String,
}

impl<'run> ExpectationCheck<'run> {
    fn new(expectations: &'run [Expectation], unmet: &'run mut String) -> Self {
        Self {
            digests: DigestBuilder::default(),
            expectations,
            unmet,
        }
    }
}

impl Format for ExpectationCheck<'_> {
    const ONE_BY_ONE: bool = true;

    #[inline]
    fn event(&mut self, _: &Capture, event: &Event) -> io::Result<()> {
        self.digests.event(event)
    }

    #[inline]
    fn moment(&mut self, _: &Capture, event: &Event) -> io::Result<()> {
        self.digests.moment(event);
        Ok(())
    }

    fn ended(&mut self, capture: &Capture, outcome: &Outcome) -> io::Result<()> {
        let digest = self.digests.digest(capture, outcome, false)?;
        for expectation in self.expectations {
            if let Some(found) = expectation.unmet(&digest) {
                let line = format!("{}: {found} (host-observed)", digest.file);
                self.unmet.push_str(&printable(&line));
                self.unmet.push('\n');
            }
        }
        Ok(())
    }

    fn finish(self, _: &Captures, _: &mut [Outcome]) -> io::Result<()> {
        Ok(())
    }
}

/// A line for each capture, and the largest exit code.
fn verdicts<'read>(read: impl Iterator<Item = (&'read Path, &'read Report)>) -> (String, u8) {
    let verdicts = read.map(|(path, report)| verdict(&printable_path(path), report));
    verdicts.fold((String::new(), 0), |(lines, worst), (line, code)| {
        (lines + &line, worst.max(code))
    })
}

/// A capture is damaged if something in it cannot be believed. Records that a live writer is just writing are no damage, nor is what a full table
/// refused or a ring overwrote.
fn verdict(name: &str, report: &Report) -> (String, u8) {
    let damaged = report.account.torn > 0 || report.open_torn > 0 || !report.damages.is_empty();
    let (verdict, code) = match (damaged, report.ending) {
        (true, _) => ("damaged", DAMAGED),
        (false, Ending::Finished | Ending::LeftByExit | Ending::Live | Ending::Ending) => {
            ("intact", 0)
        }
        (false, _) => ("intact", NOT_FINISHED),
    };
    let mut line = format!(
        "{name}: {verdict}, {}: {} (host-observed)",
        ending_words(report.ending),
        counted(report.account.recovered, "event"),
    );
    if let Some(losses) = losses_text(report) {
        line.push_str("; ");
        line.push_str(&losses);
    }
    line.push('\n');
    (line, code)
}

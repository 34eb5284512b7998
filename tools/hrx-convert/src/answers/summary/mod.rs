//! `--summary`: from crash to answer, as text that fits the terminal or as JSON, with the figures of [`crate::figures::digest`].
//!
//! Within the answer, from the bottom up: `lines`; the sections `state`, `running`, `lists`, `lanes` and `fleet`; `text`, which puts them in order.

mod fleet;
mod lanes;
mod lines;
mod lists;
mod running;
mod state;
mod text;

use std::io::{self, Write};

use anstream::adapter::strip_str;
use hrx_trace_reader::Event;

use crate::answers::summary::fleet::Fleet;
use crate::cli::Arguments;
use crate::figures::digest::around_captures;
use crate::figures::digest_builder::DigestBuilder;
use crate::figures::verdict::EvidenceBuilder;
use crate::input::captures::{Capture, Captures};
use crate::input::conversion::{write_all, write_selected};
use crate::input::filter::Filter;
use crate::input::format::Format;
use crate::input::outcome::Outcome;
use crate::input::selection::Selection;
use crate::output::console::{COLUMNS, columns, wants_colour};
use crate::output::file::Output;
use crate::output::printable::printable_json;

/// Writes the summary that the command line asks for.
///
/// # Errors
/// The output or a temporary file cannot be written.
pub fn answer(
    captures: &Captures,
    filter: &mut Filter,
    arguments: &Arguments,
) -> anyhow::Result<()> {
    let path = arguments.output.as_deref();
    let colour = wants_colour(path);
    let mut output = Output::create(path, arguments.output_options())?;
    let extent = match arguments.json {
        true => Extent::Json,
        false => Extent::Text,
    };
    let summary = Summary::new(extent, colour, columns(path), captures.len(), &mut output);
    write_all(captures, filter, summary, colour).map_err(|error| output.explained(error))?;
    output.commit()
}

/// The summary that `--summary` prints, without colour: for each capture how it ended, what was running, what came before, what was slow, what failed
/// and what is missing, in lines of at most 100 columns. All times are host-observed.
///
/// Memory is bounded whatever the captures hold; regions that it has no room for go to a temporary file.
///
/// ```no_run
/// use hrx_convert::{Captures, Selection};
///
/// let selection = Selection::from_options(["--last", "2s"])?;
/// let captures = Captures::open(["run.hrxt".into()], &selection)?;
/// print!("{}", hrx_convert::summary_text(&captures, &selection)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A temporary file cannot be written, or the selection has too many label patterns.
pub fn summary_text(captures: &Captures, selection: &Selection) -> io::Result<String> {
    summary(captures, selection, Extent::Text)
}

/// The document that `--summary --json` prints, with the figures of [`summary_text`]; spec/OUTPUT.md describes its keys.
///
/// # Errors
/// Those of [`summary_text`].
pub fn summary_json(captures: &Captures, selection: &Selection) -> io::Result<String> {
    summary(captures, selection, Extent::Json)
}

/// The beginning of [`summary_text`]: for each capture how it ended and what was running, in about ten lines.
///
/// # Errors
/// Those of [`summary_text`].
pub fn state_text(captures: &Captures, selection: &Selection) -> io::Result<String> {
    summary(captures, selection, Extent::Beginning)
}

fn summary(captures: &Captures, selection: &Selection, extent: Extent) -> io::Result<String> {
    let mut bytes = Vec::new();
    write_selected(
        captures,
        selection,
        Summary::new(extent, false, COLUMNS, captures.len(), &mut bytes),
    )?;
    String::from_utf8(bytes).map_err(io::Error::other)
}

/// How much is said, and to whom.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    Json,
    Text,
    /// The beginning of the text.
    Beginning,
}

/// Up to this many captures, each has its own sections below the table of all.
const DETAILED_MAX: usize = 4;

/// Writes the summary of each capture.
struct Summary<Sink> {
    sink: Sink,
    extent: Extent,
    colour: bool,
    /// The width of a line of text.
    columns: usize,
    digests: DigestBuilder,
    evidence: EvidenceBuilder,
    fleet: Fleet,
    /// The captures that there are.
    count: usize,
    /// The sections of each capture, which the table of all precedes.
    details: String,
}

impl<Sink: Write> Summary<Sink> {
    fn new(extent: Extent, colour: bool, columns: usize, count: usize, sink: Sink) -> Self {
        Self {
            sink,
            extent,
            colour,
            columns,
            digests: DigestBuilder::default(),
            evidence: EvidenceBuilder::default(),
            fleet: Fleet::default(),
            count,
            details: String::new(),
        }
    }
}

impl<Sink> Summary<Sink> {
    /// Whether each capture has its own sections.
    fn is_detailed(&self) -> bool {
        self.extent != Extent::Text || self.count <= DETAILED_MAX
    }
}

impl<Sink: Write> Format for Summary<Sink> {
    const ONE_BY_ONE: bool = true;

    #[inline]
    fn event(&mut self, _: &Capture, event: &Event) -> io::Result<()> {
        if self.count > 1 {
            self.evidence.event(event);
        }
        match self.is_detailed() {
            true => self.digests.event(event),
            false => Ok(()),
        }
    }

    fn moment(&mut self, _: &Capture, event: &Event) -> io::Result<()> {
        if self.is_detailed() {
            self.digests.moment(event);
        }
        Ok(())
    }

    fn ended(&mut self, capture: &Capture, outcome: &Outcome) -> io::Result<()> {
        if self.count > 1 {
            let file = capture.path.display().to_string();
            let evidence = self.evidence.finish(capture, outcome);
            self.fleet.add(file, evidence);
        }
        if !self.is_detailed() {
            return Ok(());
        }
        let digest = self.digests.digest(capture, outcome, false)?;
        if self.extent == Extent::Json {
            let (before, _) = around_captures(true)?;
            let before = if capture.index == 0 { &before } else { "," };
            self.sink.write_all(before.as_bytes())?;
            let json = serde_json::to_string_pretty(&digest)?;
            let json = printable_json(&json).replace('\n', "\n    ");
            write!(self.sink, "\n    {json}")?;
        } else {
            let witness = capture.trace.witness();
            let mut text = match self.extent {
                Extent::Beginning => text::beginning(&digest, witness, self.columns),
                Extent::Json | Extent::Text => text::text(&digest, outcome, witness, self.columns),
            };
            let follows = capture.index > 0 || (self.extent == Extent::Text && self.count > 1);
            if follows {
                text.insert(0, '\n');
            }
            if !self.colour {
                text = strip_str(&text).to_string();
            }
            match self.extent == Extent::Text && self.count > 1 {
                true => self.details.push_str(&text),
                false => self.sink.write_all(text.as_bytes())?,
            }
        }
        Ok(())
    }

    fn finish(mut self, _: &Captures, _: &mut [Outcome]) -> io::Result<()> {
        if self.extent == Extent::Json {
            let (_, after) = around_captures(true)?;
            let fleet = match self.count > 1 {
                true => format!(",\n  \"fleet\": {}", printable_json(&self.fleet.json()?)),
                false => String::new(),
            };
            let after = after.trim_start_matches(']').trim_start();
            writeln!(self.sink, "\n  ]{fleet}\n{after}")?;
        } else if self.extent == Extent::Text && self.count > 1 {
            let mut text = self.fleet.text(self.columns);
            if !self.colour {
                text = strip_str(&text).to_string();
            }
            self.sink.write_all(text.as_bytes())?;
            self.sink.write_all(self.details.as_bytes())?;
        }
        self.sink.flush()
    }
}

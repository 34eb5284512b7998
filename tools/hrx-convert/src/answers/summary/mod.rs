//! `--summary`: from crash to answer, as text of at most 100 columns or as JSON, with the figures of [`crate::figures::digest`].
//!
//! Within the answer, from the bottom up: `lines`; the sections `state`, `lists` and `lanes`; `text`, which puts them in order.

mod lanes;
mod lines;
mod lists;
mod state;
mod text;

use std::io::{self, Write};

use anstream::adapter::strip_str;
use anyhow::Context as _;
use hrx_trace_reader::Event;

use crate::cli::Arguments;
use crate::figures::digest::around_captures;
use crate::figures::digest_builder::DigestBuilder;
use crate::input::captures::{Capture, Captures};
use crate::input::conversion::{write_all, write_selected};
use crate::input::filter::Filter;
use crate::input::format::Format;
use crate::input::outcome::Outcome;
use crate::input::selection::Selection;
use crate::output::console::wants_colour;
use crate::output::file::Output;

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
    let summary = Summary::new(arguments.json, colour, &mut output);
    write_all(captures, filter, summary, colour)
        .with_context(|| format!("cannot write {}", output.name()))?;
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
    summary(captures, selection, false)
}

/// The document that `--summary --json` prints, with the figures of [`summary_text`]; spec/OUTPUT.md describes its keys.
///
/// # Errors
/// Those of [`summary_text`].
pub fn summary_json(captures: &Captures, selection: &Selection) -> io::Result<String> {
    summary(captures, selection, true)
}

fn summary(captures: &Captures, selection: &Selection, json: bool) -> io::Result<String> {
    let mut bytes = Vec::new();
    write_selected(captures, selection, Summary::new(json, false, &mut bytes))?;
    String::from_utf8(bytes).map_err(io::Error::other)
}

/// Writes the summary of each capture.
struct Summary<Sink> {
    sink: Sink,
    json: bool,
    colour: bool,
    digests: DigestBuilder,
}

impl<Sink: Write> Summary<Sink> {
    fn new(json: bool, colour: bool, sink: Sink) -> Self {
        Self {
            sink,
            json,
            colour,
            digests: DigestBuilder::default(),
        }
    }
}

impl<Sink: Write> Format for Summary<Sink> {
    const ONE_BY_ONE: bool = true;

    #[inline]
    fn event(&mut self, _: &Capture, event: &Event) -> io::Result<()> {
        self.digests.event(event)
    }

    fn ended(&mut self, capture: &Capture, outcome: &Outcome) -> io::Result<()> {
        let digest = self.digests.digest(capture, outcome, false)?;
        if self.json {
            let (before, _) = around_captures(true)?;
            let before = if capture.index == 0 { &before } else { "," };
            self.sink.write_all(before.as_bytes())?;
            let mut indented = IndentedJson(&mut self.sink);
            indented.write_all(b"\n")?;
            serde_json::to_writer_pretty(indented, &digest)?;
        } else {
            let mut text = text::text(&digest, outcome);
            if capture.index > 0 {
                text.insert(0, '\n');
            }
            if !self.colour {
                text = strip_str(&text).to_string();
            }
            self.sink.write_all(text.as_bytes())?;
        }
        Ok(())
    }

    fn finish(mut self, _: &Captures, _: &[Outcome]) -> io::Result<()> {
        if self.json {
            let (_, after) = around_captures(true)?;
            writeln!(self.sink, "\n  {after}")?;
        }
        self.sink.flush()
    }
}

/// Indents JSON by two levels. JSON has line ends only between its lines.
struct IndentedJson<'sink, Sink>(&'sink mut Sink);

impl<Sink: Write> Write for IndentedJson<'_, Sink> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.0.write_all(part)?;
            if part.ends_with(b"\n") {
                self.0.write_all(b"    ")?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

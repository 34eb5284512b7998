//! Text on the standard output, and messages on the standard error.

use std::env;
use std::fs::{self, File};
use std::io::{self, Write};
use std::ops::RangeInclusive;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anstream::{AutoStream, ColorChoice};
use anyhow::Context;
use rustix::termios::tcgetwinsize;

use crate::output::printable::printable;

/// The width of text that no terminal shows, in columns.
pub const COLUMNS: usize = 100;
/// The widths of terminals that text is fitted to: a narrower one has no room for the tables, and in a wider one a row is hard to follow.
const TERMINAL_COLUMNS: RangeInclusive<usize> = 80..=250;

/// Prints text on the standard output. A closed pipe is no error: a script may ignore the text and check the exit code.
pub fn print(text: &str) -> anyhow::Result<()> {
    match io::stdout()
        .write_all(text.as_bytes())
        .and_then(|()| io::stdout().flush())
    {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(error).context("cannot write the standard output")
        }
        _ => Ok(()),
    }
}

/// Prints a message on the standard error, as one line. It may quote anything. If that fails, the command carries on.
pub fn say(line: &str) {
    let _ = writeln!(io::stderr(), "hrx-convert: {}", printable(line));
}

/// Whether what is written to this stream goes to the regular file `path`.
pub fn is_file(stream: impl AsFd, path: &Path) -> bool {
    let stream = stream.as_fd().try_clone_to_owned().map(File::from);
    let stream = stream.and_then(|stream| stream.metadata());
    match (stream, fs::metadata(path)) {
        (Ok(stream), Ok(file)) => {
            file.is_file() && (stream.dev(), stream.ino()) == (file.dev(), file.ino())
        }
        _ => false,
    }
}

/// Whether to colour text that goes to this file, or to the standard output: only a terminal gets colour, and only if its user has not declined it.
pub fn wants_colour(output: Option<&Path>) -> bool {
    output.is_none() && AutoStream::choice(&io::stdout()) != ColorChoice::Never
}

/// The width of text that goes to this file, or to the standard output: that of the terminal; $COLUMNS, if it is set, as in `COLUMNS=120 … | less`.
pub fn columns(output: Option<&Path>) -> usize {
    if output.is_some() {
        return COLUMNS;
    }
    let asked = env::var("COLUMNS").ok();
    let columns = asked
        .and_then(|columns| columns.trim().parse().ok())
        .or_else(|| {
            tcgetwinsize(io::stdout())
                .ok()
                .map(|size| size.ws_col.into())
        })
        .filter(|columns: &usize| *columns > 0);
    columns.map_or(COLUMNS, |columns| {
        columns.clamp(*TERMINAL_COLUMNS.start(), *TERMINAL_COLUMNS.end())
    })
}

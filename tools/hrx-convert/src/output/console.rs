//! Text on the standard output, and messages on the standard error.

use std::io::{self, Write};
use std::path::Path;

use anstream::{AutoStream, ColorChoice};
use anyhow::Context;

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

/// Prints a message on the standard error. If that fails, the command carries on.
pub fn say(line: &str) {
    let _ = writeln!(io::stderr(), "hrx-convert: {line}");
}

/// Whether to colour text that goes to this file, or to the standard output: only a terminal gets colour, and only if its user has not declined it.
pub fn wants_colour(output: Option<&Path>) -> bool {
    output.is_none() && AutoStream::choice(&io::stdout()) != ColorChoice::Never
}

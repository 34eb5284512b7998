//! The standard output and the standard error of a command that answers in text.

use std::io::{self, Write};

use anyhow::Context;

/// Text on the standard output. A script that checks need not read the verdict.
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

/// A line on the standard error. That nobody listens there is no reason to fail.
pub fn say(line: &str) {
    let _ = writeln!(io::stderr(), "hrx-convert: {line}");
}

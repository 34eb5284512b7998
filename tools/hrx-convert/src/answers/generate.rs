//! `--generate`: the manual page and shell completions, generated from the command line's definition so that they cannot drift from it.

use std::io;

use clap::Command;
use clap_complete::Shell;

use crate::cli::Generated;
use crate::output::console::print;

/// Prints it.
///
/// # Errors
/// The standard output cannot be written.
pub fn answer(what: Generated, command: Command) -> anyhow::Result<()> {
    let text = generate(what, command)?;
    print(&String::from_utf8_lossy(&text))
}

/// Generates the text in memory: the generators panic if a write fails.
fn generate(what: Generated, mut command: Command) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let shell = match what {
        Generated::Man => {
            clap_mangen::Man::new(command).render(&mut text)?;
            return Ok(text);
        }
        Generated::Bash => Shell::Bash,
        Generated::Zsh => Shell::Zsh,
        Generated::Fish => Shell::Fish,
    };
    let name = command.get_name().to_owned();
    clap_complete::generate(shell, &mut command, name, &mut text);
    Ok(text)
}

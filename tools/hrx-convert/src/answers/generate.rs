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
    let text = generated_text(what, command)?;
    print(&text)
}

/// The manual page or the completions of any command, as `--generate` prints those of this one.
///
/// # Errors
/// None that is known: the text is generated in memory, for the generators panic if a write fails.
pub fn generated_text(what: Generated, mut command: Command) -> io::Result<String> {
    let mut text = Vec::new();
    let shell = match what {
        Generated::Man => {
            clap_mangen::Man::new(command).render(&mut text)?;
            return String::from_utf8(text).map_err(io::Error::other);
        }
        Generated::Bash => Shell::Bash,
        Generated::Zsh => Shell::Zsh,
        Generated::Fish => Shell::Fish,
    };
    let name = command.get_name().to_owned();
    clap_complete::generate(shell, &mut command, name, &mut text);
    String::from_utf8(text).map_err(io::Error::other)
}

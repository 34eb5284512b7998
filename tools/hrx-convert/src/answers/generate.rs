//! `--generate`: the manual page and the shells' completions, made of the command line itself, so that they cannot drift from it.

use std::io;

use clap::Command;
use clap_complete::Shell;

use crate::cli::Generated;

/// The text. Made in memory: the generators do not expect a writer to fail.
pub fn generate(what: Generated, mut command: Command) -> io::Result<Vec<u8>> {
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

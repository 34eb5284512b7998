//! The command line.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{ArgGroup, CommandFactory, Parser, ValueEnum};

use crate::answers::Answers;

/// Turn a .hrxt capture of host-observed regions into a trace that viewers open
///
/// Reads a capture while its program records, after it has finished, and after it was killed; never changes it.
/// All times are host-observed: driver and scheduling overhead are in them, and they are never device timestamps.
///
/// Open the JSON in Perfetto (ui.perfetto.dev), chrome://tracing or speedscope.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true, after_help = AFTER_HELP)]
#[command(group(ArgGroup::new("reported").args(["info", "summary"])))]
pub struct Arguments {
    /// The capture to read
    pub file: PathBuf,

    /// Write to OUT instead of the standard output; it appears only once it is whole
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,

    /// What to write
    #[arg(long, value_enum, default_value_t = Format::Chrome)]
    pub format: Format,

    /// Say who recorded, how the capture ended, what is missing and what was running, instead of converting
    #[arg(long, conflicts_with_all = ["format", "output", "check"])]
    pub info: bool,

    /// With --info or --summary: as JSON
    #[arg(long, requires = "reported")]
    pub json: bool,

    /// Say in one line, and by the exit code, whether the capture is intact, instead of converting
    #[arg(long, conflicts_with_all = ["format", "output"])]
    pub check: bool,

    #[command(flatten)]
    pub answers: Answers,
}

/// What to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Chrome's trace JSON, for Perfetto, chrome://tracing and speedscope
    Chrome,
    /// The document of the in-memory tracer, byte for byte, for scripts that read it
    Seed,
}

const AFTER_HELP: &str = "\
Examples:
  hrx-convert run.hrxt -o run.json        to open in a viewer
  hrx-convert run.hrxt | gzip > run.json.gz
  hrx-convert --summary run.hrxt          what was running when it died, what was slow, what failed?
  hrx-convert --info run.hrxt             who recorded, how it ended, what is missing
  hrx-convert --check run.hrxt && echo intact

Exit codes:
  0  done; with --check: intact, and finished or still recording
  1  the file cannot be read or is no trace, or the output cannot be written
  2  the command line is wrong
  3  with --check: intact, but the writer died
  4  with --check: damaged, or with torn records";

impl Arguments {
    /// Parses the command line; leaves with exit code 2 if it is wrong.
    pub fn parse_and_validate() -> Self {
        let arguments = Self::parse();
        if let Some(output) = &arguments.output
            && same_file(&arguments.file, output)
        {
            let message = format!(
                "OUT is FILE itself ({}), which is never changed",
                output.display()
            );
            Self::command()
                .error(ErrorKind::ValueValidation, message)
                .exit();
        }
        arguments
    }
}

/// Whether both names lead to one file.
fn same_file(one: &Path, other: &Path) -> bool {
    let inode = |path| fs::metadata(path).map(|file| (file.dev(), file.ino())).ok();
    inode(one).is_some_and(|inode_of_one| inode(other) == Some(inode_of_one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_consistent() {
        Arguments::command().debug_assert();
    }
}

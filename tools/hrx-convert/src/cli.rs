//! The command line: its options, what they mean together, and the texts of `--help`.
//!
//! May use `formats`, `tracks`, `figures`, `text`, `input`, `output`.

use std::env;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process;

use clap::error::ErrorKind;
use clap::{ArgGroup, Args, CommandFactory, Parser, ValueEnum};

use crate::figures::expect::Expectation;
use crate::formats::FormatName;
use crate::input::files::EXTENSION;
use crate::input::selection::{REVERSED, Selection};
use crate::output::console::{is_file, say};
use crate::output::options::OutputOptions;
use crate::output::printable::{printable, printable_path};
use crate::tracks::extras::Extras;

/// Turn .hrxt captures of host-observed regions into a trace that viewers open
///
/// Reads a capture while its program is recording, after it has finished, and after it was killed; never changes it.
/// All times are host-observed: driver and scheduling overhead are in them, and they are never device timestamps.
///
/// Open the JSON in Perfetto (ui.perfetto.dev), chrome://tracing or speedscope.
///
/// Several captures become one trace with a process for each, aligned by the monotonic clock if all are of one boot, otherwise by wall time.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true, after_help = EXAMPLES, after_long_help = LONG_EXAMPLES)]
#[command(group(ArgGroup::new("reported").args(["info", "summary", "diff"])))]
pub struct Arguments {
    /// The captures to read; a directory stands for its *.hrxt files. Not `-`: a capture is read at any place, which a pipe does not allow
    #[arg(value_name = "FILE", required_unless_present = "generate")]
    pub(crate) files: Vec<PathBuf>,

    /// Write to OUT instead of the standard output; it appears once it is complete. Its extension selects the format: .json, .pftrace, .jsonl, .csv, .html; a further .gz compresses
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,

    /// Replace OUT even if it is write-protected or another user's; its mode is kept
    #[arg(long, requires = "output")]
    force: bool,

    /// The format, whatever the extension of OUT [default: chrome]
    #[arg(long, value_enum)]
    format: Option<FormatName>,

    /// With CSV: put an apostrophe before labels and paths that a spreadsheet would take for a formula, those that begin with = + - @
    #[arg(long, conflicts_with_all = ["reported", "check"])]
    pub(crate) spreadsheet: bool,

    /// Write while the program is recording, until it finishes or dies, or until Ctrl-C. OUT grows in place
    ///
    /// Waits for every FILE that does not exist yet before it reads the first. In a directory, waits for the first capture and any that is just being
    /// created; captures created there later are not followed. Every event is written within a fifth of a second. Events that the program overwrites
    /// before they can be read are counted. The JSON is then an array of events, which Perfetto opens at any moment, even before it is closed.
    #[arg(long)]
    pub(crate) follow: bool,

    /// Show who recorded, how the capture ended, what is missing and what was running
    #[arg(long, conflicts_with_all = ["format", "output", "check", "follow", "Selection"], help_heading = "Instead of converting")]
    pub(crate) info: bool,

    /// With --info, --summary or --diff: print JSON
    #[arg(long, requires = "reported", help_heading = "Instead of converting")]
    pub(crate) json: bool,

    /// Show in one line, and by the exit code, whether the capture is intact
    #[arg(long, conflicts_with_all = ["format", "output", "follow"], help_heading = "Instead of converting")]
    pub(crate) check: bool,

    #[command(flatten)]
    pub(crate) answers: Answers,

    #[command(flatten)]
    pub(crate) selection: Selection,

    #[command(flatten)]
    pub(crate) extras: Extras,
}

const EXAMPLES: &str = "\
Examples:
  hrx-convert --summary run.hrxt        what was running when it died, what was slow, what failed?
  hrx-convert run.hrxt -o report.html   a page with a timeline, offline
  hrx-convert run.hrxt -o run.json      for Perfetto, chrome://tracing and speedscope
More examples, expectations and exit codes: --help";

const LONG_EXAMPLES: &str = "\
Examples:
  hrx-convert run.hrxt -o run.json        to open in a viewer
  hrx-convert run.hrxt -o run.json.gz     the same, compressed
  hrx-convert rank*.hrxt -o run.pftrace   all ranks on one timeline, in Perfetto's own format
  hrx-convert run.hrxt -o report.html     a page: timeline, tables and pictures, offline
  hrx-convert run.hrxt --last 2s --lane compute,NPU --label 'gemm*' -o end.json
  hrx-convert --follow run.hrxt -o run.json
  hrx-convert --summary run.hrxt          what was running when it died, what was slow, what failed?
  hrx-convert --diff A.hrxt B.hrxt        what became slower, and is that more than chance?
  hrx-convert --info run.hrxt             who recorded, how it ended, what is missing
  hrx-convert --check run.hrxt && echo intact
  hrx-convert --check run.hrxt --lane NPU --expect 'count>=5' --expect failed=0 --expect 'p99<2ms'

Expectations (--expect):
  lane=LANE, lane!=LANE     at least one region, or none, is on that lane: a name, a glob or a number
  label=TEXT, label!=TEXT   at least one region, or none, has exactly that label; spaces count
  mark=TEXT, mark!=TEXT     at least one mark, or none, has exactly that label
  ending=WORD, ending!=WORD how the capture ended, in the word of --info --json, such as writer-died
  last:LABEL RELATION NUMBER, least:LABEL, most:LABEL  of the value of that label, as in 'last:gpu bytes<8GiB'
  FIGURE RELATION VALUE     with = != < <= > >= and one of these figures:
    count, failed, cancelled               regions that completed, failed, were cancelled
    unfinished, waiting, hidden            regions that were running at the end; of these, waiting; not in the file
    marks, samples                         marks, and samples of values
    total, mean, p50, p90, p99, max, busy  times such as 250ns, 10us, 1.5ms, 2s, 3m, 1h
    bytes                                  bytes copied, such as 4096, 4KiB, 2GB
    overwritten, torn                      events that the whole capture lost
  They apply to the events that the filters select, and every capture has to meet each of them.
  A figure that does not exist, such as the p99 of no regions, meets none. Percentiles are rounded up by at most 0.1 %.

Exit codes:
  0  done; with --check: intact, and finished, left by exit, being torn down or still recording
  1  no capture can be read, or the output cannot be written
  2  the command line is wrong
  3  with --check: intact, but the writer died, ended without finish or was replaced by exec, or it cannot be told that it was not
  4  with --check: damaged, or with torn records
  5  some of several files cannot be read; the others are done
  6  with --check: an expectation is not met
With --check and several files: the largest of their codes.";

/// The options that ask for an answer instead of a conversion.
#[derive(Debug, Args)]
#[command(next_help_heading = "Instead of converting")]
pub struct Answers {
    /// Show how the capture ended, what was running, what came before, what was slow, what failed and what is missing
    #[arg(long, conflicts_with_all = ["format", "info", "check", "follow"])]
    pub summary: bool,

    /// Show the differences between two captures, A and B, by lane and label: counts, totals, percentiles, GB/s. With -o OUT.html, as a page
    #[arg(long, conflicts_with_all = ["format", "info", "check", "follow", "summary"])]
    pub diff: bool,

    /// Print the manual page, or completions for a shell; `tools/install` installs them
    #[arg(long, value_enum, value_name = "WHAT", exclusive = true)]
    pub generate: Option<Generated>,

    /// With --check: what to expect of the events that the filters select, such as lane=npu, failed=0, 'count>=5', 'p99<2ms'; can be given several times
    #[arg(long, value_name = "EXPECTATION", requires = "check")]
    pub expect: Vec<Expectation>,
}

/// What `--generate` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Generated {
    /// The manual page, in troff
    Man,
    /// Completions for bash
    Bash,
    /// Completions for zsh
    Zsh,
    /// Completions for fish
    Fish,
}

/// The exit code if the command line is wrong.
const WRONG: i32 = 2;

/// What the name of an output selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NamedOutput {
    format: FormatName,
    gzip: bool,
}

impl NamedOutput {
    fn new(output: Option<&Path>) -> Self {
        let name = output.and_then(Path::file_name).unwrap_or_default();
        let name = name.to_string_lossy().to_ascii_lowercase();
        let (name, gzip) = match name.strip_suffix(".gz") {
            Some(name) => (name, true),
            None => (name.as_str(), false),
        };
        let extension = Path::new(name).extension().and_then(|end| end.to_str());
        let format = FormatName::of_extension(extension.unwrap_or_default());
        Self { format, gzip }
    }
}

impl Arguments {
    /// Parses the command line; leaves the process with exit code 2 if it is wrong.
    pub(crate) fn parse_and_validate() -> Self {
        let arguments = Self::try_parse().unwrap_or_else(|error| leave(error));
        if arguments.follow
            && let Some(reason) = arguments.format().why_not_followed()
        {
            refuse(reason.into());
        }
        if arguments.spreadsheet && arguments.format() != FormatName::Csv {
            refuse("--spreadsheet is for CSV: -o OUT.csv or --format csv".into());
        }
        if arguments.selection.is_reversed() {
            refuse(REVERSED.into());
        }
        if arguments.check
            && arguments.answers.expect.is_empty()
            && !arguments.selection.is_everything()
        {
            refuse(
                "--check judges whole captures: filters only select the events for --expect".into(),
            );
        }
        arguments
    }

    /// Leaves the process with exit code 2 if the command line is wrong for these files.
    pub(crate) fn validate(&self, files: &[PathBuf]) {
        // What is printed there would be written into the capture, this refusal too.
        if files.iter().any(|file| is_file(io::stderr(), file)) {
            process::exit(WRONG);
        }
        if files.iter().any(|file| file.as_os_str() == "-") {
            refuse(
                "- is no FILE: a capture is not read from its beginning to its end, so it cannot come through the standard input (./- is a file of that name)"
                    .into(),
            );
        }
        if let Some(output) = &self.output
            && files.iter().any(|file| same_file(file, output))
        {
            refuse(format!(
                "OUT is FILE itself ({}), which is never changed",
                printable_path(output)
            ));
        }
        if self.output.is_none()
            && let Some(file) = files.iter().find(|file| is_file(io::stdout(), file))
        {
            refuse(format!(
                "the standard output is FILE itself ({}), which is never changed",
                printable_path(file)
            ));
        }
        // The shell may have expanded `-o *.hrxt`, which would destroy the trace of the last crash.
        if let Some(output) = &self.output
            && output.extension().is_some_and(|end| end == EXTENSION)
        {
            refuse(format!(
                "OUT is named like a capture ({}), and captures are never written",
                printable_path(output)
            ));
        }
        if let Some(reason) = self.format().why_not_merged(files.len()) {
            refuse(reason);
        }
    }

    fn named(&self) -> NamedOutput {
        NamedOutput::new(self.output.as_deref())
    }

    pub(crate) fn format(&self) -> FormatName {
        self.format.unwrap_or(self.named().format)
    }

    pub(crate) fn output_options(&self) -> OutputOptions {
        OutputOptions {
            gzip: self.named().gzip,
            grows: self.follow,
            tail: self.format().tail(),
            force: self.force,
        }
    }
}

fn refuse(message: String) -> ! {
    leave(Arguments::command().error(ErrorKind::ValueValidation, message))
}

/// Prints the error, or the help that was asked for, and leaves the process.
fn leave(error: clap::Error) -> ! {
    let error = quoting_safely(error);
    let printed = error.print().and_then(|()| io::stdout().flush());
    let code = match printed {
        Err(failure) if !error.use_stderr() && failure.kind() != io::ErrorKind::BrokenPipe => {
            say(&format!(
                "error: cannot write the standard output: {failure}"
            ));
            1
        }
        _ => error.exit_code(),
    };
    process::exit(code)
}

/// The same error, of arguments that are safe to print: it quotes them.
fn quoting_safely(error: clap::Error) -> clap::Error {
    if error.kind() == ErrorKind::ValueValidation && error.context().next().is_none() {
        return error;
    }
    let arguments = env::args_os().map(|argument| printable(&argument.to_string_lossy()));
    match Arguments::command().try_get_matches_from(arguments) {
        Err(safe) => safe,
        Ok(_) => error,
    }
}

/// Whether both paths lead to the same file.
fn same_file(one: &Path, other: &Path) -> bool {
    let inode = |path| fs::metadata(path).map(|file| (file.dev(), file.ino())).ok();
    // A capture that is still to come has no inode yet.
    one == other || inode(one).is_some_and(|inode_of_one| inode(other) == Some(inode_of_one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn what_a_name_selects() {
        let named = |name: &str| {
            let named = NamedOutput::new(Some(Path::new(name)));
            (named.format, named.gzip)
        };
        let json = FormatName::of_extension("json");
        assert_eq!(named("run.json"), (json, false));
        assert_eq!(named("a.csv/run.JSON.GZ"), (json, true));
        assert_eq!(named("out"), (json, false));
        assert_eq!(named("out.gz"), (json, true));
        for end in [
            "pftrace",
            "perfetto-trace",
            "jsonl",
            "ndjson",
            "csv",
            "html",
        ] {
            let format = FormatName::of_extension(end);
            assert_eq!(named(&format!("run.{end}")), (format, false));
            assert_eq!(named(&format!("run.{end}.gz")), (format, true));
        }
        assert_eq!(NamedOutput::new(None).format, json);
    }
}

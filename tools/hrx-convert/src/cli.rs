//! The command line.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{ArgGroup, Args, CommandFactory, Parser, ValueEnum};

use crate::figures::expect::Expectation;
use crate::input::files::EXTENSION;
use crate::input::filter::Selection;
use crate::output::file::Manner;
use crate::tracks::extras::Extras;

/// Turn .hrxt captures of host-observed regions into a trace that viewers open
///
/// Reads a capture while its program records, after it has finished, and after it was killed; never changes it.
/// All times are host-observed: driver and scheduling overhead are in them, and they are never device timestamps.
///
/// Open the JSON in Perfetto (ui.perfetto.dev), chrome://tracing or speedscope.
///
/// Several captures become one trace: a process each, aligned by the monotonic clock where they are of one boot, else by wall time.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true, after_help = EXAMPLES, after_long_help = LONG_EXAMPLES)]
#[command(group(ArgGroup::new("reported").args(["info", "summary", "diff"])))]
pub struct Arguments {
    /// The captures to read; of a directory, its *.hrxt files
    #[arg(value_name = "FILE", required_unless_present = "generate")]
    pub(crate) files: Vec<PathBuf>,

    /// Write to OUT instead of the standard output; it appears only once it is whole. Its name tells the format: .json, .pftrace, .jsonl, .csv, .html; .gz behind it compresses
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,

    /// What to write, whatever OUT is called [default: chrome]
    #[arg(long, value_enum)]
    format: Option<Format>,

    /// Write while the program records, until it finishes or dies, or until Ctrl-C. OUT grows in its place
    ///
    /// A FILE that is not there yet is waited for; of several, all are before the first is read. In a directory, the first capture is waited for, and whatever
    /// is being created beside it; captures that come into it later are not followed. Every event is written within a fifth of a second. What the program overwrites before it can be read is counted. The JSON is an array of events
    /// then: Perfetto opens it at any moment, also before it is closed.
    #[arg(long)]
    pub(crate) follow: bool,

    /// Say who recorded, how the capture ended, what is missing and what was running, instead of converting
    #[arg(long, conflicts_with_all = ["format", "output", "check", "follow", "Selection"], help_heading = "Instead of converting")]
    pub(crate) info: bool,

    /// With --info, --summary or --diff: as JSON
    #[arg(long, requires = "reported", help_heading = "Instead of converting")]
    pub(crate) json: bool,

    /// Say in one line, and by the exit code, whether the capture is intact, instead of converting
    #[arg(long, conflicts_with_all = ["format", "output", "follow"], help_heading = "Instead of converting")]
    pub(crate) check: bool,

    #[command(flatten)]
    pub(crate) answers: Answers,

    #[command(flatten)]
    pub(crate) selection: Selection,

    #[command(flatten)]
    pub(crate) extras: Extras,
}

/// What to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Chrome's trace JSON, for Perfetto, chrome://tracing and speedscope
    Chrome,
    /// Perfetto's own format: a quarter of the size, exact at any time
    Perfetto,
    /// A JSON object a line, for scripts and query engines
    Jsonl,
    /// The same columns as comma-separated values
    Csv,
    /// A page for any browser, without a network: timeline, tables and pictures
    Html,
    /// The document of the in-memory tracer, byte for byte, for scripts that read it; of one capture
    Seed,
}

const EXAMPLES: &str = "\
Examples:
  hrx-convert --summary run.hrxt        what was running when it died, what was slow, what failed?
  hrx-convert run.hrxt -o report.html   a page with a timeline, offline
  hrx-convert run.hrxt -o run.json      for Perfetto, chrome://tracing and speedscope
More of them, expectations and exit codes: --help";

const LONG_EXAMPLES: &str = "\
Examples:
  hrx-convert run.hrxt -o run.json        to open in a viewer
  hrx-convert run.hrxt -o run.json.gz     the same, compressed
  hrx-convert rank*.hrxt -o run.pftrace   all ranks on one timeline, in Perfetto's own format
  hrx-convert run.hrxt -o report.html     a page: timeline, tables and pictures, offline
  hrx-convert run.hrxt --last 2s --lane compute,NPU --label 'gemm*' -o end.json
  hrx-convert --follow run.hrxt -o run.json
  hrx-convert --summary run.hrxt          what was running when it died, what was slow, what failed?
  hrx-convert --diff A.hrxt B.hrxt        what became slower, and can that be told from chance?
  hrx-convert --info run.hrxt             who recorded, how it ended, what is missing
  hrx-convert --check run.hrxt && echo intact
  hrx-convert --check run.hrxt --lane NPU --expect 'count>=5' --expect failed=0 --expect 'p99<2ms'

Expectations (--expect):
  lane=LANE, lane!=LANE     some region, or none, is of that lane: a name or a number
  label=TEXT, label!=TEXT   some region, or none, has exactly that label
  FIGURE RELATION VALUE     with = != < <= > >= and one of these figures:
    count, failed, unfinished              regions that completed, failed, were running at the end
    total, mean, p50, p90, p99, max, busy  times as 250ns, 10us, 1.5ms, 2s, 3m, 1h
    bytes                                  bytes copied, as 4096, 4KiB, 2GB
    overwritten, torn                      events that were lost, of the whole capture
  They are about the events that the filters select, and every capture has to meet each of them.
  A figure of no regions at all, such as their p99, meets none. Percentiles are rounded up by at most 0.1 %.

Exit codes:
  0  done; with --check: intact, and finished or still recording
  1  nothing can be read, or the output cannot be written
  2  the command line is wrong
  3  with --check: intact, but the writer died
  4  with --check: damaged, or with torn records
  5  of several files, some cannot be read; the others are done
  6  with --check: an expectation is not met
With --check and several files: the largest of their codes.";

/// The flags.
#[derive(Debug, Args)]
#[command(next_help_heading = "Instead of converting")]
pub struct Answers {
    /// Say how the capture ended, what was running, what came before, what was slow, what failed and what is missing
    #[arg(long, conflicts_with_all = ["format", "info", "check", "follow"])]
    pub summary: bool,

    /// Say what differs between two captures, A and B, by lane and label: counts, totals, percentiles, GB/s. With -o OUT.html as a page
    #[arg(long, conflicts_with_all = ["format", "info", "check", "follow", "summary"])]
    pub diff: bool,

    /// Print the manual page, or completions for a shell; `tools/install` puts them where they belong
    #[arg(long, value_enum, value_name = "WHAT", exclusive = true)]
    pub generate: Option<Generated>,

    /// With --check: expect something of the events that the filters select, as lane=npu, failed=0, 'count>=5', 'p99<2ms'; may be given several times
    #[arg(long, value_name = "EXPECTATION", requires = "check")]
    pub expect: Vec<Expectation>,
}

/// What to generate.
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

/// What the name of an output asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Named {
    format: Format,
    gzip: bool,
}

impl Named {
    fn new(output: Option<&Path>) -> Self {
        let name = output.and_then(Path::file_name).unwrap_or_default();
        let name = name.to_string_lossy().to_ascii_lowercase();
        let (name, gzip) = match name.strip_suffix(".gz") {
            Some(name) => (name, true),
            None => (name.as_str(), false),
        };
        let format = match Path::new(name).extension().and_then(|end| end.to_str()) {
            Some("pftrace" | "perfetto-trace") => Format::Perfetto,
            Some("jsonl" | "ndjson") => Format::Jsonl,
            Some("csv") => Format::Csv,
            Some("html" | "htm") => Format::Html,
            _ => Format::Chrome,
        };
        Self { format, gzip }
    }
}

impl Arguments {
    /// Parses the command line; leaves with exit code 2 if it is wrong.
    pub(crate) fn parse_and_validate() -> Self {
        let arguments = Self::parse();
        if arguments.follow && arguments.format() == Format::Seed {
            leave("the document of the in-memory tracer begins with how many events were dropped, which --follow cannot know".into());
        }
        if arguments.check
            && arguments.answers.expect.is_empty()
            && !arguments.selection.is_everything()
        {
            leave(
                "--check judges whole captures: filters select the events that --expect is about"
                    .into(),
            );
        }
        if arguments.follow && arguments.format() == Format::Html {
            leave("the page is made of the whole capture, which --follow does not wait for".into());
        }
        arguments
    }

    /// Leaves with exit code 2 if the command line is wrong for these files.
    pub(crate) fn validate(&self, files: &[PathBuf]) {
        if let Some(output) = &self.output
            && files.iter().any(|file| same_file(file, output))
        {
            leave(format!(
                "OUT is FILE itself ({}), which is never changed",
                output.display()
            ));
        }
        // As when the shell expands `-o *.hrxt`: the trace of the last crash would be gone.
        if let Some(output) = &self.output
            && output.extension().is_some_and(|end| end == EXTENSION)
        {
            leave(format!(
                "OUT is called like a capture ({}), and those are never written",
                output.display()
            ));
        }
        if files.len() > 1 && self.format() == Format::Seed {
            leave(format!(
                "the document of the in-memory tracer has no place for {} captures",
                files.len()
            ));
        }
    }

    fn named(&self) -> Named {
        Named::new(self.output.as_deref())
    }

    pub(crate) fn format(&self) -> Format {
        self.format.unwrap_or(self.named().format)
    }

    pub(crate) fn manner(&self) -> Manner {
        Manner {
            gzip: self.named().gzip,
            grows: self.follow,
        }
    }
}

fn leave(message: String) -> ! {
    Arguments::command()
        .error(ErrorKind::ValueValidation, message)
        .exit()
}

/// Whether both names lead to one file.
fn same_file(one: &Path, other: &Path) -> bool {
    let inode = |path| fs::metadata(path).map(|file| (file.dev(), file.ino())).ok();
    // A capture that is waited for has none yet.
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
    fn what_a_name_asks_for() {
        let named = |name: &str| {
            let named = Named::new(Some(Path::new(name)));
            (named.format, named.gzip)
        };
        assert_eq!(named("run.json"), (Format::Chrome, false));
        assert_eq!(named("a.csv/run.JSON.GZ"), (Format::Chrome, true));
        assert_eq!(named("out"), (Format::Chrome, false));
        assert_eq!(named("out.gz"), (Format::Chrome, true));
        for (end, format) in [
            ("pftrace", Format::Perfetto),
            ("perfetto-trace", Format::Perfetto),
            ("jsonl", Format::Jsonl),
            ("ndjson", Format::Jsonl),
            ("csv", Format::Csv),
            ("html", Format::Html),
        ] {
            assert_eq!(named(&format!("run.{end}")), (format, false));
            assert_eq!(named(&format!("run.{end}.gz")), (format, true));
        }
        assert_eq!(Named::new(None).format, Format::Chrome);
    }
}

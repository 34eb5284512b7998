//! The options that select events.

use std::error::Error;
use std::ffi::OsString;
use std::fmt::{self, Display, Formatter};

use clap::Parser;
use globset::Glob;

use crate::input::choice::Choice;
use crate::input::option_values::{DurationNs, TimeBound};

/// Which events to show. The default is all of them.
///
/// It can be made part of another command line, by `#[command(flatten)]` of clap, or be made from options, by [`Selection::from_options`].
#[derive(Debug, Default, clap::Args)]
#[command(
    next_help_heading = "Select (times such as 250ns, 10us, 1.5ms, 2s, 3m, 1h after the start, or end-2s before the end)"
)]
pub struct Selection {
    /// Leave out regions that ended before TIME, which is not after that of --to
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<TimeBound>,

    /// Leave out regions that began at TIME or later
    #[arg(long, value_name = "TIME")]
    pub(crate) to: Option<TimeBound>,

    /// Only the last DURATION: short for --from end-DURATION. Of a large capture, the part before it is not read
    #[arg(long, value_name = "DURATION", conflicts_with = "from")]
    pub(crate) last: Option<DurationNs>,

    /// Only these lanes, by number, name or glob: upload, compute, download, NPU, host, or what the program calls them
    #[arg(long, value_name = "LANE", value_delimiter = ',')]
    pub(crate) lane: Vec<Choice>,

    /// Only what these threads recorded, by number, name or glob
    #[arg(long, value_name = "THREAD", value_delimiter = ',')]
    pub(crate) thread: Vec<Choice>,

    /// Only what has a label or a lane in these groups, by name or glob: domains, categories, devices
    #[arg(long, value_name = "GROUP", value_delimiter = ',')]
    pub(crate) group: Vec<Choice>,

    /// Only failed regions
    #[arg(long)]
    pub(crate) failed: bool,

    /// Only regions whose label matches GLOB, such as 'gemm_*'; can be given several times
    #[arg(long, value_name = "GLOB")]
    pub(crate) label: Vec<Glob>,

    /// Only regions of at least DURATION
    #[arg(long, value_name = "DURATION")]
    pub(crate) min_duration: Option<DurationNs>,

    /// Only regions with these correlation ids
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub(crate) correlation: Vec<u64>,
}

impl Selection {
    /// The selection that these options of the command describe.
    ///
    /// ```
    /// use hrx_convert::Selection;
    ///
    /// let selection = Selection::from_options(["--last", "2s", "--lane", "compute,NPU", "--failed"])?;
    /// assert!(!selection.is_everything());
    /// assert!(Selection::from_options(["--last", "2 parsecs"]).is_err());
    /// # Ok::<(), clap::Error>(())
    /// ```
    ///
    /// # Errors
    /// An option is unknown, or its value cannot be parsed.
    pub fn from_options<Text>(options: impl IntoIterator<Item = Text>) -> Result<Self, clap::Error>
    where
        Text: Into<OsString> + Clone,
    {
        #[derive(Parser)]
        #[command(no_binary_name = true, disable_help_flag = true)]
        struct Options {
            #[command(flatten)]
            selection: Selection,
        }
        Options::try_parse_from(options).map(|options| options.selection)
    }

    /// Whether it leaves nothing out.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        let chosen = [&self.lane, &self.thread, &self.group];
        let chosen = chosen.iter().any(|choices| !choices.is_empty());
        let named = chosen || !self.label.is_empty() || !self.correlation.is_empty();
        let timed = self.from.is_some() || self.to.is_some() || self.last.is_some();
        !named && !timed && !self.failed && self.min_duration.is_none()
    }

    /// Where the window begins, and where it ends.
    pub(crate) fn window(&self) -> (Option<TimeBound>, Option<TimeBound>) {
        (self.last.map(TimeBound::BeforeEnd).or(self.from), self.to)
    }

    /// Whether the window ends before it begins, whatever the captures.
    pub(crate) fn is_reversed(&self) -> bool {
        match self.window() {
            (Some(TimeBound::AfterStart(from)), Some(TimeBound::AfterStart(to))) => from > to,
            (Some(TimeBound::BeforeEnd(from)), Some(TimeBound::BeforeEnd(to))) => from < to,
            _ => false,
        }
    }

    /// Whether it may leave out the beginning of a capture, which is then not read.
    pub(crate) fn begins_late(&self) -> bool {
        self.from.is_some() || self.last.is_some()
    }
}

/// A selection that cannot be applied: the command line is wrong.
#[derive(Debug)]
pub enum SelectionError {
    /// The window ends before it begins. Both in nanoseconds, on the timeline of the captures.
    Reversed { from_ns: u64, to_ns: u64 },
    /// The label patterns together are too large for one matcher.
    Labels(globset::Error),
    /// No capture has a lane of that name. The names that there are.
    NoSuchLane { name: String, known: Vec<String> },
}

/// Why a window that ends before it begins is refused.
pub const REVERSED: &str = "the window ends before it begins: --to lies before --from or --last";

impl Display for SelectionError {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reversed { from_ns, to_ns } => write!(
                formatter,
                "{REVERSED}: in these captures it would last from {from_ns} ns to {to_ns} ns"
            ),
            Self::NoSuchLane { name, known } => write!(
                formatter,
                "no lane is called {name:?}: expected a number or one of {}",
                known.join(", ")
            ),
            Self::Labels(_) => formatter.write_str("the --label patterns are too large together"),
        }
    }
}

impl Error for SelectionError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Reversed { .. } | Self::NoSuchLane { .. } => None,
            Self::Labels(error) => Some(error),
        }
    }
}

//! The options that select events.

use std::ffi::OsString;

use clap::Parser;
use globset::Glob;

use crate::input::option_values::{DurationNs, TimeBound, lane_number};

/// Which events to show. The default is all of them.
///
/// It can be made part of another command line, by `#[command(flatten)]` of clap, or be made from options, by [`Selection::from_options`].
#[derive(Debug, Default, clap::Args)]
#[command(
    next_help_heading = "Select (times such as 250ns, 10us, 1.5ms, 2s, 3m, 1h after the start, or end-2s before the end)"
)]
pub struct Selection {
    /// Leave out regions that ended before TIME
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<TimeBound>,

    /// Leave out regions that began at TIME or later
    #[arg(long, value_name = "TIME")]
    pub(crate) to: Option<TimeBound>,

    /// Only the last DURATION: short for --from end-DURATION. Of a large capture, the part before it is not read
    #[arg(long, value_name = "DURATION", conflicts_with = "from")]
    pub(crate) last: Option<DurationNs>,

    /// Only these lanes, by number or name: upload, compute, download, NPU, host
    #[arg(long, value_name = "LANE", value_delimiter = ',', value_parser = lane_number)]
    pub(crate) lane: Vec<u32>,

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
        let named = !self.lane.is_empty() || !self.label.is_empty() || !self.correlation.is_empty();
        let timed = self.from.is_some() || self.to.is_some() || self.last.is_some();
        !named && !timed && !self.failed && self.min_duration.is_none()
    }

    /// Whether it may leave out the beginning of a capture, which is then not read.
    pub(crate) fn begins_late(&self) -> bool {
        self.from.is_some() || self.last.is_some()
    }
}

//! The captures of a run: the files that programs put into its folder since it began.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use hrx_trace_reader::{Ending, OpenRegion, Reading, Trace};

/// What captures are called.
const EXTENSION: &str = "hrxt";

/// Where to look for them.
#[derive(Clone, Debug)]
pub struct Place {
    folder: PathBuf,
    /// What lay there before.
    others: BTreeSet<PathBuf>,
}

/// What may change in a capture while its program runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    claimed: u64,
    open: Vec<OpenRegion>,
}

impl Place {
    /// That folder; what is in it now belongs to other runs.
    pub fn new(folder: PathBuf) -> Self {
        let others = files(&folder).unwrap_or_default();
        Self { folder, others }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The captures, sorted by name.
    pub fn captures(&self) -> Vec<PathBuf> {
        let mut found = files(&self.folder).unwrap_or_default();
        found.retain(|path| !self.others.contains(path));
        found.into_iter().collect()
    }

    /// The captures whose writers run.
    pub fn live(&self) -> Vec<PathBuf> {
        let mut found = self.captures();
        found.retain(|path| is_live(path));
        found
    }
}

fn files(folder: &Path) -> io::Result<BTreeSet<PathBuf>> {
    let entries = fs::read_dir(folder)?.filter_map(Result::ok);
    let paths = entries.map(|entry| entry.path());
    Ok(paths
        .filter(|path| path.extension().is_some_and(|end| end == EXTENSION) && !path.is_dir())
        .collect())
}

/// Whether its writer runs. A file that is no capture has none.
pub fn is_live(path: &Path) -> bool {
    Trace::open_for_newest(path)
        .is_ok_and(|trace| matches!(trace.ending(), Ending::Live | Ending::Ending))
}

/// What is known of a capture, and read in little time however large it is.
pub fn progress(path: &Path) -> Option<Progress> {
    let trace = Trace::open_for_newest(path).ok()?;
    let mut newest = Reading::default();
    newest.since_ns = trace.latest_ns();
    let report = trace.read(newest).finish();
    Some(Progress {
        claimed: report.account.claimed,
        open: report.open_regions,
    })
}

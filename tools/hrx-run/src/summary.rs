//! What was running, in hrx-convert's words: this file only chooses the captures.

use std::path::PathBuf;

use hrx_convert::{Captures, Expectation, Selection, state_text, unmet_text};
use hrx_trace_reader::{Ending, Trace};

/// Captures whose state is shown; the others are counted.
const SHOWN_MAX: usize = 3;

/// The state of the captures as lines, those whose writers died first, then those that still record.
pub fn states(paths: &[PathBuf]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut readable = Vec::new();
    for path in paths {
        match Trace::open_for_newest(path) {
            Ok(trace) => readable.push((rank(trace.ending()), path.clone())),
            Err(error) => lines.push(error.to_string()),
        }
    }
    readable.sort();
    let more = readable.len().saturating_sub(SHOWN_MAX);
    for (_, path) in readable.into_iter().take(SHOWN_MAX) {
        match state(path) {
            Ok(text) => lines.extend(
                text.lines()
                    .filter(|line| !line.is_empty())
                    .map(str::to_owned),
            ),
            Err(error) => lines.push(error.to_string()),
        }
    }
    if more > 0 {
        lines.push(format!("… and {more} more captures"));
    }
    lines
}

fn rank(ending: Ending) -> u8 {
    match ending {
        Ending::Finished | Ending::LeftByExit => 2,
        Ending::Live | Ending::Ending => 1,
        _ => 0,
    }
}

fn state(path: PathBuf) -> anyhow::Result<String> {
    let everything = Selection::default();
    let captures = Captures::open([path], &everything)?;
    Ok(state_text(&captures, &everything)?)
}

/// What the captures do not meet, as lines; none: they meet everything.
pub fn unmet(paths: &[PathBuf], expectations: &[Expectation]) -> anyhow::Result<Vec<String>> {
    if paths.is_empty() {
        return Ok(vec!["no capture, which meets no expectation".to_owned()]);
    }
    let everything = Selection::default();
    let captures = Captures::open(paths.to_vec(), &everything)?;
    let text = unmet_text(&captures, &everything, expectations)?;
    Ok(text.lines().map(str::to_owned).collect())
}

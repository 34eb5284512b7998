//! What hrx-run says of a run, on the standard error: how it ended, what was running, what to type next; and what is running while it hangs.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hrx_trace_reader::{Ending as CaptureEnding, Trace};
use rustix::process::Pid;

use crate::ending::Ending;
use crate::launch::Program;
use crate::oom::Oom;
use crate::say::say;
use crate::summary;

/// Descendants that are named.
const DESCENDANTS_MAX: usize = 4;

/// What is known of a run that has ended.
pub struct Ended<'run> {
    pub name: &'run OsStr,
    pub program: &'run Program,
    pub ending: Ending,
    pub oom: Oom,
    pub captures: &'run [PathBuf],
    /// Captures of the program that do not say how it ended, a line for each.
    pub unwitnessed: Vec<String>,
    pub folder: Option<&'run Path>,
}

/// Says how a run ended.
pub fn ended(run: &Ended) {
    let Ending { how, .. } = run.ending;
    let mut lines = vec![format!(
        "{} {}{} after {:.2?}; peak memory {:.1} MiB",
        run.name.display(),
        how.text(),
        if run.ending.core_dumped {
            " (core dumped)"
        } else {
            ""
        },
        run.ending.took,
        run.ending.peak_bytes as f64 / f64::from(1 << 20)
    )];
    lines.extend(run.oom.text(how.signal()));
    match (run.captures, run.folder) {
        ([], Some(_)) => lines.push(
            "it left no capture: it has no recorder, or one that does not go by $HRX_TRACE_DIR"
                .to_owned(),
        ),
        (_, None) => {}
        (captures, Some(folder)) => {
            lines.extend(summary::states(captures));
            lines.extend(descendants(captures, run.program));
            lines.extend(run.unwitnessed.iter().cloned());
            lines.push(format!("next: hrx-convert --summary {}", quoted(folder)));
        }
    }
    say(&lines.join("\n  "));
}

/// Says what is running while no event comes.
pub fn stuck(name: &OsStr, pid: Pid, after: Duration, live: &[PathBuf]) {
    let mut lines = vec![format!(
        "no event for {after:.2?}: {}, process {}, may hang; it is left alone",
        name.display(),
        pid
    )];
    match live {
        [] => lines.push("no program of this run has a capture that it records into".to_owned()),
        live => lines.extend(summary::states(live)),
    }
    say(&lines.join("\n  "));
}

/// What is known of processes other than the program, whose parents alone the kernel tells how they ended.
fn descendants(captures: &[PathBuf], program: &Program) -> Option<String> {
    let mut named = Vec::new();
    for path in captures {
        let Ok(trace) = Trace::open_for_newest(path) else {
            continue;
        };
        let identity = trace.identity();
        let process = identity.process_id;
        let own = process == program.child.id()
            && program
                .start_ticks
                .is_none_or(|ticks| ticks == identity.process_start_ticks);
        let end = match trace.ending() {
            CaptureEnding::Live => "still running",
            CaptureEnding::Ending => "ending",
            CaptureEnding::WriterDied | CaptureEnding::EndedWithoutFinish => "end not seen",
            CaptureEnding::ReplacedByExec => "replaced by exec",
            CaptureEnding::CannotTell | CaptureEnding::NotFinished => {
                "cannot be told whether it still runs"
            }
            // One that finished, left by exit, or ended in a way that this version does not know: there is nothing to say.
            _ => continue,
        };
        if !own {
            named.push(format!("process {process} {end}"));
        }
    }
    let more = named
        .len()
        .checked_sub(DESCENDANTS_MAX)
        .filter(|more| *more > 0);
    named.truncate(DESCENDANTS_MAX);
    named.extend(more.map(|more| format!("and {more} more")));
    (!named.is_empty()).then(|| format!("descendants: {}", named.join(", ")))
}

/// A path as a shell reads it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |char: char| char.is_ascii_alphanumeric() || "/._-+:,@%".contains(char);
    match text.chars().all(plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_for_a_shell() {
        let text = |path: &str| quoted(Path::new(path));
        assert_eq!(text("/dev/shm/hrx-run-aB1"), "/dev/shm/hrx-run-aB1");
        assert_eq!(text("my runs/it's"), r"'my runs/it'\''s'");
    }
}

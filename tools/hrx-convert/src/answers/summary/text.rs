//! The text of a summary: its sections in the order in which a crash is understood.

use hrx_trace_reader::Witness;

use crate::answers::summary::lines::Lines;
use crate::answers::summary::{lanes, lists, running, state};
use crate::figures::digest::Digest;
use crate::input::outcome::Outcome;

/// The summary of one capture, with styles, in lines of at most that many columns.
pub fn text(
    digest: &Digest,
    outcome: &Outcome,
    witness: Option<Witness>,
    columns: usize,
) -> String {
    let mut lines = Lines::new(columns);
    state(&mut lines, digest, witness);
    lists::values(&mut lines, digest);
    lists::marks(&mut lines, digest);
    lists::last(&mut lines, digest);
    lists::failures(&mut lines, digest);
    lanes::regions(&mut lines, digest);
    lanes::copies(&mut lines, digest);
    lanes::overlaps(&mut lines, digest);
    lanes::gaps(&mut lines, digest);
    lists::slowest(&mut lines, digest);
    state::missing(&mut lines, digest, outcome);
    lines.into_text()
}

/// Its beginning: how the capture ended and what was running.
pub fn beginning(digest: &Digest, witness: Option<Witness>, columns: usize) -> String {
    let mut lines = Lines::new(columns);
    state(&mut lines, digest, witness);
    lines.into_text()
}

fn state(lines: &mut Lines, digest: &Digest, witness: Option<Witness>) {
    state::head(lines, digest, witness);
    running::running(lines, digest);
}

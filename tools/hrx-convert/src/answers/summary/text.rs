//! The text of a summary: its sections in the order in which a crash is understood.

use crate::answers::summary::lines::Lines;
use crate::answers::summary::{lanes, lists, state};
use crate::figures::digest::Digest;
use crate::input::outcome::Outcome;

/// The summary of one capture, with styles.
pub fn text(digest: &Digest, outcome: &Outcome) -> String {
    let mut lines = Lines::default();
    state::head(&mut lines, digest);
    state::running(&mut lines, digest);
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

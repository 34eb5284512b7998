//! The state of the capture: how it ended, what was running, what is missing.

use anstyle::Style;
use hrx_trace_reader::{Ending, MEASUREMENT, Witness};
use indicatif::HumanCount;

use crate::answers::summary::lines::Lines;
use crate::figures::digest::Digest;
use crate::input::outcome::{Outcome, is_complete};
use crate::text::quantities::{counted, percent_text, short_text};
use crate::text::styles::{BAD, GOOD, QUIET};
use crate::text::words::{account_text, ending_words, losses_text, witness_text};

/// Damaged places that are listed.
const LISTED_MAX: usize = 16;

pub fn head(lines: &mut Lines, digest: &Digest, witness: Option<Witness>) {
    let facts = &digest.facts;
    let ended_ns = facts.last_ns.0.saturating_sub(digest.shift_ns.0);
    let ended = digest.ended.as_deref().map(calendar_text);
    let ended = ended.map_or(String::new(), |ended| format!(" at {ended}"));
    // Of no other ending is the moment known.
    let sign = match facts.ending {
        Ending::Live | Ending::Finished => "",
        _ => "; last sign of life",
    };
    let style = match facts.ending {
        Ending::Live | Ending::Finished | Ending::LeftByExit => GOOD,
        _ => BAD,
    };
    lines.wrapped(
        style.bold(),
        &format!(
            "{}: {}{sign}{ended}, {} after it began",
            digest.file,
            ending_words(facts.ending),
            short_text(ended_ns)
        ),
    );
    if let Some(witness) = witness {
        let seen = short_text(witness.seen_ns);
        let about = if witness.seen_exactly { "" } else { "about " };
        let text = format!(
            "Its end was seen {about}{seen} after it began: {}",
            witness_text(&witness)
        );
        lines.wrapped(style, &text);
    }
    let or = |text: &str, unnamed: &str| match text {
        "" => unnamed.to_owned(),
        text => text.to_owned(),
    };
    let attributes: String = facts
        .attributes
        .iter()
        .map(|(key, value)| format!(", {key}={value}"))
        .collect();
    lines.wrapped(
        Style::new(),
        &format!(
            "{}, process {} on {}{attributes}",
            or(facts.program, "unnamed program"),
            facts.pid,
            or(facts.host, "an unnamed host")
        ),
    );
    let regions = &digest.regions;
    let busy = match regions.busy_share {
        Some(share) => format!(", at least one running {} of it", percent_text(share)),
        None => String::new(),
    };
    lines.wrapped(
        Style::new(),
        &format!(
            "{}, {} failed, {} unfinished, over {}{busy}",
            counted(regions.count.0, "region"),
            HumanCount(regions.failed.0),
            HumanCount(regions.unfinished.0),
            short_text(digest.span_ns.0),
        ),
    );
    if let Some([events, open]) = digest.filtered_out {
        let open = counted(open.0, "open region");
        let text = format!(
            "The filter left out {} and {open}.",
            counted(events.0, "event")
        );
        lines.wrapped(Style::new(), &text);
    }
    let mut times = "Times count from the beginning of the capture".to_owned();
    if digest.shift_ns.0 > 0 {
        times = format!(
            "Times count from the beginning of the first capture, {} before this one",
            short_text(digest.shift_ns.0)
        );
    }
    lines.wrapped(QUIET, &format!("{MEASUREMENT}. {times}."));
}

pub fn missing(lines: &mut Lines, digest: &Digest, outcome: &Outcome) {
    let report = &outcome.report;
    lines.heading("WHAT IS MISSING");
    lines.wrapped(Style::new(), &account_text(&report.account));
    lines.wrapped(
        Style::new(),
        &match (is_complete(report), report.complete_since_ns) {
            (true, _) => "complete from the start: nothing was overwritten".to_owned(),
            (false, since_ns) => format!(
                "complete for all that ended after {}: the last {} of {}",
                short_text(since_ns),
                short_text(report.last_ns.saturating_sub(since_ns)),
                short_text(digest.span_ns.0)
            ),
        },
    );
    match losses_text(report) {
        None => lines.line("no other losses"),
        Some(losses) => lines.wrapped(BAD, &format!("losses: {losses}")),
    }
    for damage in report.damages.iter().take(LISTED_MAX) {
        lines.wrapped(
            BAD,
            &format!("at offset {}: {}", damage.offset, damage.what),
        );
    }
    lines.more(report.damages.len(), LISTED_MAX, "damaged place");
}

/// Turns "2026-11-30T02:01:03.123456789Z" into "2026-11-30 02:01:03.123 UTC".
fn calendar_text(rfc3339: &str) -> String {
    let text = rfc3339.trim_end_matches('Z').replacen('T', " ", 1);
    match text.split_once('.') {
        Some((seconds, fraction)) => format!("{seconds}.{:.3} UTC", fraction),
        None => format!("{text} UTC"),
    }
}

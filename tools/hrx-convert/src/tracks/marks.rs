//! Marks on a capture's timeline: where its events begin, what is missing, how it ended.

use serde_json::{Value, json};

use crate::figures::exact::Exact;
use crate::input::alignment::Alignment;
use crate::input::captures::{Capture, Captures};
use crate::input::outcome::Outcome;
use crate::text::words::{ending_text, left_out_text, losses_text};

/// The name of the track that holds the marks.
pub const TRACK: &str = "capture (host-observed)";

/// The mark at the last moment shown, on each track with a region that never completed.
pub fn unfinished(outcome: &Outcome) -> &'static str {
    match outcome.until_ns {
        None => "unfinished at the last known moment (host-observed)",
        Some(_) => "unfinished beyond the end of the window (host-observed)",
    }
}

/// A note at a moment of the timeline.
pub struct Mark {
    pub at_ns: u64,
    pub name: String,
    /// A JSON object.
    pub args: Value,
}

/// The marks of a capture: its beginning, its losses, its end. The order is not that of time.
pub fn of(captures: &Captures, capture: &Capture, outcome: &Outcome) -> Vec<Mark> {
    let report = &outcome.report;
    let last_ns = outcome.last_shown_ns();
    let overwritten = report.account.overwritten;
    let begin = match overwritten {
        0 => "begin: nothing older was overwritten (host-observed)".to_owned(),
        1 => "begin: 1 older event overwritten (host-observed)".to_owned(),
        _ => format!("begin: {overwritten} older events overwritten (host-observed)"),
    };
    let mut marks = vec![Mark {
        at_ns: report.first_ns.unwrap_or(capture.shift_ns),
        name: begin,
        args: json!({"overwritten": Exact(overwritten)}),
    }];
    if capture.trace.identity().ring_count > 1 && overwritten > 0 {
        marks.push(Mark {
            at_ns: report.complete_since_ns,
            name: "complete: from here on nothing was overwritten in any ring (host-observed)"
                .to_owned(),
            args: json!({}),
        });
    }
    if captures.alignment == Alignment::WallTime {
        marks.push(Mark {
            at_ns: capture.shift_ns,
            name: "start: placed by wall time, which may be off (host-observed)".to_owned(),
            args: json!({}),
        });
    }
    if let Some(left_out) = left_out_text(outcome) {
        marks.push(Mark {
            at_ns: last_ns,
            name: format!("{left_out} (host-observed)"),
            args: json!({}),
        });
    }
    if let Some(losses) = losses_text(report) {
        marks.push(Mark {
            at_ns: last_ns,
            name: format!("losses: {losses} (host-observed)"),
            args: json!({}),
        });
    }
    let end = match outcome.until_ns {
        None => ending_text(report.ending),
        Some(_) => "the window ends here, before the capture does",
    };
    marks.push(Mark {
        at_ns: last_ns,
        name: format!("end: {end} (host-observed)"),
        args: json!({"ending": report.ending}),
    });
    marks
}

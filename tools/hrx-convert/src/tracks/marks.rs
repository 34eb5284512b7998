//! Marks on a capture's timeline: where its events begin, what is missing, how it ended.

use serde_json::{Value, json};

use crate::figures::exact::Exact;
use crate::input::alignment::Alignment;
use crate::input::captures::{Capture, Captures};
use crate::input::outcome::{Outcome, running_until};
use crate::text::quantities::counted;
use crate::text::words::{ending_text, left_out_text, losses_text, witness_text};

/// The name of the track that holds the marks.
pub const TRACK: &str = "capture (host-observed)";

/// The mark at the last moment shown, on each track with a region that has no end.
pub fn unfinished(capture: &Capture, outcome: &Outcome) -> &'static str {
    let (_, seen) = running_until(&capture.trace, &outcome.report, capture.shift_ns);
    match outcome.until_ns {
        None if seen => "unfinished when its process was seen to end (host-observed)",
        None => "unfinished at the last sign of life (host-observed)",
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

/// The marks of a capture: its beginning, its losses, its end, and how a witness saw it end. The order is not that of time. `values_left_out`: how many
/// values the output does not show, because they are not finite.
pub fn of(
    captures: &Captures,
    capture: &Capture,
    outcome: &Outcome,
    values_left_out: u64,
) -> Vec<Mark> {
    let report = &outcome.report;
    let last_ns = outcome.last_shown_ns();
    let overwritten = report.account.overwritten;
    let begin = match overwritten {
        0 => "begin: nothing older was overwritten (host-observed)".to_owned(),
        _ => format!(
            "begin: {} overwritten (host-observed)",
            counted(overwritten, "older event")
        ),
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
    if report.hidden_now > 0 {
        let regions = counted(report.hidden_now, "more region");
        marks.push(Mark {
            at_ns: last_ns,
            name: format!(
                "hidden: {regions} running, not shown because the open table was full (host-observed)"
            ),
            args: json!({"hidden_now": Exact(report.hidden_now)}),
        });
    }
    if values_left_out > 0 {
        let values = counted(values_left_out, "value");
        marks.push(Mark {
            at_ns: last_ns,
            name: format!("left out: {values}, not finite (host-observed)"),
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
    if let Some(witness) = capture.trace.witness() {
        let seen_ns = witness.seen_ns.saturating_add(capture.shift_ns);
        if outcome.until_ns.is_none_or(|until_ns| seen_ns <= until_ns) {
            marks.push(Mark {
                at_ns: seen_ns.max(last_ns),
                name: format!("witness: {} (host-observed)", witness_text(&witness)),
                args: json!({
                    "cause": witness.cause,
                    "status": witness.status,
                    "peak_resident_bytes": Exact(witness.peak_resident_bytes),
                    "seen_exactly": witness.seen_exactly,
                }),
            });
        }
    }
    marks
}

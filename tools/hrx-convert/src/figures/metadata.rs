//! The metadata that an output of one or more captures carries. The fields' names are the keys of the JSON.

use serde::Serialize;

use crate::figures::exact::Exact;
use crate::figures::facts::{Facts, Totals};
use crate::input::alignment::Alignment;
use crate::input::captures::{Capture, Captures};
use crate::input::other_lanes::LaneCount;
use crate::input::outcome::Outcome;

/// The metadata.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Metadata<'trace> {
    /// The facts of a single capture.
    One(Box<FilteredFacts<'trace>>),
    /// The totals of several captures and the facts of each, with all times on the common timeline.
    Several {
        dropped_events: Exact,
        alignment: Alignment,
        /// The file of the capture whose start is the timeline's zero.
        origin: String,
        account: Box<Totals>,
        captures: Vec<CaptureMetadata<'trace>>,
    },
}

/// One of several captures.
#[derive(Debug, Serialize)]
pub struct CaptureMetadata<'trace> {
    pub file: String,
    /// The process id in this output; `pid` is the real one.
    pub shown_pid: u32,
    /// The capture's start on the timeline.
    pub shift_ns: Exact,
    #[serde(flatten)]
    pub facts: FilteredFacts<'trace>,
}

/// A capture's facts, and how much is left out of it.
#[derive(Debug, Serialize)]
pub struct FilteredFacts<'trace> {
    #[serde(flatten)]
    pub facts: Facts<'trace>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filtered_out: Option<Exact>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_filtered_out: Option<Exact>,
    /// Lanes that share the tracks of "other lanes".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_lanes: Option<LaneCount>,
    /// Regions that overlap too many others to have a track.
    #[serde(skip_serializing_if = "Exact::is_zero")]
    pub not_drawn: Exact,
}

impl<'trace> FilteredFacts<'trace> {
    fn new(capture: &'trace Capture, outcome: &Outcome) -> Self {
        let counted = |count| outcome.is_filtered.then_some(Exact(count));
        Self {
            facts: Facts::new(&capture.trace, &outcome.report, capture.shift_ns),
            filtered_out: counted(outcome.filtered_out),
            open_filtered_out: counted(outcome.open_filtered_out),
            other_lanes: outcome.other_lanes,
            not_drawn: Exact(outcome.not_drawn),
        }
    }
}

impl<'trace> Metadata<'trace> {
    pub fn new(captures: &'trace Captures, outcomes: &[Outcome]) -> Self {
        if let ([outcome], 1) = (outcomes, captures.len()) {
            return Self::One(Box::new(FilteredFacts::new(&captures[0], outcome)));
        }
        let account = Totals::sum(outcomes.iter().map(|outcome| &outcome.report));
        Self::Several {
            dropped_events: account.tickets.overwritten,
            alignment: captures.alignment,
            origin: captures.origin().path.display().to_string(),
            account: Box::new(account),
            captures: captures
                .iter()
                .zip(outcomes)
                .map(|(capture, outcome)| CaptureMetadata {
                    file: capture.path.display().to_string(),
                    shown_pid: capture.pid,
                    shift_ns: Exact(capture.shift_ns),
                    facts: FilteredFacts::new(capture, outcome),
                })
                .collect(),
        }
    }
}

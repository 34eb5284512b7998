//! The beginning of a summary of several captures: who is behind, then a row for each capture, those that differ on top and like ones in one row.

use std::collections::BTreeMap;

use anstyle::Style;
use hrx_trace_reader::MEASUREMENT;
use serde::Serialize;

use crate::answers::summary::lines::Lines;
use crate::figures::verdict::{Evidence, StuckStep, Verdict, judge};
use crate::text::columns::{Align, Table};
use crate::text::styles::{BAD, HEADING, QUIET};
use crate::text::words::ending_words;

/// Rows of the table.
const ROWS_MAX: usize = 30;
/// Captures that a line names.
const NAMED_MAX: usize = 12;
/// Labels at which captures stand apart that are listed.
const STEPS_MAX: usize = 8;

/// What is known of each capture, in their order.
#[derive(Debug, Default)]
pub struct Fleet {
    files: Vec<String>,
    evidence: Vec<Evidence>,
}

/// The value of the key `fleet`.
#[derive(Serialize)]
struct Document {
    /// The rank of each capture.
    ranks: Vec<Option<u64>>,
    #[serde(flatten)]
    verdict: Verdict,
}

impl Fleet {
    pub fn add(&mut self, file: String, evidence: Evidence) {
        self.files.push(file);
        self.evidence.push(evidence);
    }

    pub fn json(&self) -> serde_json::Result<String> {
        serde_json::to_string(&Document {
            ranks: self.evidence.iter().map(|one| one.rank).collect(),
            verdict: judge(&self.evidence),
        })
    }

    /// The verdict and the table, with styles, in lines of at most that many columns.
    pub fn text(&self, columns: usize) -> String {
        let verdict = judge(&self.evidence);
        let mut lines = Lines::new(columns);
        let count = self.files.len();
        lines.wrapped(HEADING, &format!("{count} captures"));
        lines.wrapped(QUIET, MEASUREMENT);
        let mut text = lines.into_text();
        let mut lines = Lines::new(columns);
        self.verdict(&mut lines, &verdict);
        text.push('\n');
        text.push_str(&lines.into_text());
        text.push('\n');
        text.push_str(&self.table(&verdict).text(columns));
        text
    }

    fn verdict(&self, lines: &mut Lines, verdict: &Verdict) {
        lines.wrapped(HEADING, "WHO IS BEHIND");
        if !verdict.without_capture.is_empty() {
            let ranks: Vec<String> = verdict
                .without_capture
                .iter()
                .map(|rank| format!("rank {rank}"))
                .collect();
            lines.wrapped(BAD, &format!("no capture at all: {}", listed(&ranks)));
        }
        if !verdict.behind.is_empty() {
            lines.wrapped(BAD, &format!("behind: {}", self.named(&verdict.behind)));
        }
        if !verdict.cannot_be_told.is_empty() {
            let named = self.named(&verdict.cannot_be_told);
            lines.wrapped(
                Style::new(),
                &format!("cannot be told, for what these captures lost: {named}"),
            );
        }
        for step in verdict.steps.iter().take(STEPS_MAX) {
            self.step(lines, step);
        }
        let is_silent = verdict.behind.is_empty()
            && verdict.without_capture.is_empty()
            && verdict.cannot_be_told.is_empty();
        match (is_silent, verdict.steps.is_empty()) {
            (true, true) => lines.wrapped(
                Style::new(),
                "no step is known that some began and others did not",
            ),
            (true, false) => lines.wrapped(
                Style::new(),
                "cannot be told: the steps alone do not set one apart",
            ),
            (false, _) => {}
        }
    }

    fn step(&self, lines: &mut Lines, step: &StuckStep) {
        let (label, number) = (&step.label, step.step.0);
        let last = match &step.completed_by_all {
            Some(last) => format!("all completed {}", last.0),
            None => "no step is known that all completed".to_owned(),
        };
        let parts = [
            ("completed it", &step.completed),
            ("began it and have not ended it", &step.running),
            ("never began it", &step.never_began),
            ("cannot be told", &step.cannot_be_told),
        ];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(_, places)| !places.is_empty())
            .map(|(what, places)| match places.len() > NAMED_MAX {
                true => format!("{} {what}", places.len()),
                false => format!("{} {what} ({})", places.len(), self.named(places)),
            })
            .collect();
        let parts = parts.join(", ");
        lines.wrapped(
            Style::new(),
            &format!("{label} by {}: {last}; of {number}, {parts}", step.by),
        );
    }

    fn table(&self, verdict: &Verdict) -> Table {
        let headings = [
            ("capture", Align::Left),
            ("verdict", Align::Left),
            ("how it ended", Align::Left),
            ("running", Align::Left),
            ("regions", Align::Right),
            ("failed", Align::Right),
            ("overwritten", Align::Right),
        ];
        let mut table = Table::new(headings, 0).sparing(&[6, 5, 4]);
        // Like captures share a row. The counts of regions differ without meaning anything.
        let mut rows: BTreeMap<[String; 4], Vec<usize>> = BTreeMap::new();
        for (place, one) in self.evidence.iter().enumerate() {
            let what = match () {
                () if verdict.behind.contains(&place) => "behind",
                () if verdict.cannot_be_told.contains(&place) => "cannot be told",
                () => "",
            };
            let running: Vec<String> = one
                .running
                .iter()
                .map(|(label, id)| match id {
                    0 => label.clone(),
                    id => format!("{label} {id}"),
                })
                .collect();
            let failed = if one.failed > 0 { "failed" } else { "" };
            let key = [
                what.to_owned(),
                ending_words(one.ending).to_owned(),
                listed(&running),
                failed.to_owned(),
            ];
            rows.entry(key).or_default().push(place);
        }
        let mut rows: Vec<([String; 4], Vec<usize>)> = rows.into_iter().collect();
        rows.sort_by_key(|(key, places)| (key[0].is_empty(), places.len(), places[0]));
        let left = rows.len().saturating_sub(ROWS_MAX);
        for (key, places) in rows.iter().take(ROWS_MAX) {
            let sum = |of: fn(&Evidence) -> u64| {
                let sum: u64 = places.iter().map(|place| of(&self.evidence[*place])).sum();
                sum.to_string()
            };
            let style = if key[0] == "behind" {
                BAD
            } else {
                Style::new()
            };
            let [what, ending, running, _] = key.clone();
            let (regions, failed) = (sum(|one| one.regions), sum(|one| one.failed));
            let overwritten = sum(|one| one.overwritten);
            let name = match places.as_slice() {
                [place] => self.name(*place),
                _ => format!("{} captures: {}", places.len(), self.named(places)),
            };
            table.row(
                style,
                [name, what, ending, running, regions, failed, overwritten],
            );
        }
        if left > 0 {
            let empty = String::new;
            let name = format!("{left} more rows: --json has every capture");
            let cells = [name, empty(), empty(), empty(), empty(), empty(), empty()];
            table.row(QUIET, cells);
        }
        table
    }

    fn name(&self, place: usize) -> String {
        match self.evidence[place].rank {
            Some(rank) => format!("rank {rank}"),
            None => self.files[place].clone(),
        }
    }

    fn named(&self, places: &[usize]) -> String {
        let names: Vec<String> = places.iter().map(|place| self.name(*place)).collect();
        listed(&names)
    }
}

fn listed(names: &[String]) -> String {
    let more = names.len().saturating_sub(NAMED_MAX);
    let shown = names.len().min(NAMED_MAX);
    let mut text = names[..shown].join(", ");
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

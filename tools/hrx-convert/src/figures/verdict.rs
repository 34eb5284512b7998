//! Who is behind: what each capture of a fleet did last, step by step, and which of them kept the others waiting.
//!
//! A step is the label of a region and a number: its correlation id, or its place among the regions of that label where no region has an id. Times are
//! never compared: each process has its own clock, and the clocks of two machines differ by more than a step takes.
//!
//! Invariants:
//! - A capture takes bounded room: the last [`STEPS_MAX`] steps of each of [`LABELS_MAX`] labels.
//! - That a process never began a step is only said where the capture would show it: nothing that completed after the oldest step kept is lost, and
//!   every running region is shown.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use hrx_trace_reader::{Ending, Event};
use serde::Serialize;

use crate::figures::exact::Exact;
use crate::input::captures::Capture;
use crate::input::labels::name_of;
use crate::input::outcome::{Outcome, is_complete};

/// Steps that are kept of a label, the newest. Processes that are further apart do not wait for each other.
const STEPS_MAX: usize = 16;
/// Labels that are kept of a capture.
const LABELS_MAX: usize = 32;
/// Ranks without a capture that are listed.
const MISSING_MAX: u64 = 4096;

/// What one label of one capture has done.
#[derive(Debug, Default)]
struct Steps {
    /// Completed regions, with an id or without.
    count: u64,
    /// The newest completed steps: their number, and when they ended.
    ended: VecDeque<(u64, u64)>,
    running: BTreeSet<u64>,
    /// Whether any region had no id, and any had one.
    without_id: bool,
    with_id: bool,
    /// Whether numbers repeat or fall: then they number no steps.
    out_of_order: bool,
}

impl Steps {
    fn number(&mut self, correlation_id: u64, place: u64) -> u64 {
        match correlation_id {
            0 => {
                self.without_id = true;
                place
            }
            id => {
                self.with_id = true;
                id
            }
        }
    }

    fn newest(&self) -> Option<u64> {
        self.ended.back().map(|(step, _)| *step)
    }
}

/// What is kept of a capture.
#[derive(Debug)]
pub struct Evidence {
    pub rank: Option<u64>,
    pub world_size: Option<u64>,
    program: String,
    pub ending: Ending,
    /// Completed regions.
    pub regions: u64,
    pub failed: u64,
    pub overwritten: u64,
    /// Labels of what was running, with the correlation id.
    pub running: Vec<(String, u64)>,
    labels: BTreeMap<String, Steps>,
    is_complete: bool,
    /// Whether something may be missing at any place.
    is_unsure: bool,
}

/// Gathers the evidence of one capture.
#[derive(Debug, Default)]
pub struct EvidenceBuilder {
    labels: HashMap<u32, Steps>,
    regions: u64,
    failed: u64,
    has_more_labels: bool,
}

impl EvidenceBuilder {
    /// Adds a completed region.
    #[inline]
    pub fn event(&mut self, event: &Event) {
        self.regions += 1;
        self.failed += u64::from(event.failed);
        if self.labels.len() == LABELS_MAX && !self.labels.contains_key(&event.label_id) {
            self.has_more_labels = true;
            return;
        }
        let steps = self.labels.entry(event.label_id).or_default();
        steps.count += 1;
        let step = steps.number(event.correlation_id, steps.count);
        steps.out_of_order |= steps.newest().is_some_and(|newest| step <= newest);
        if steps.ended.len() == STEPS_MAX {
            steps.ended.pop_front();
        }
        steps.ended.push_back((step, event.end_ns()));
    }

    /// The evidence of the capture whose last event was added; the next one begins.
    pub fn finish(&mut self, capture: &Capture, outcome: &Outcome) -> Evidence {
        let gathered = std::mem::take(self);
        let report = &outcome.report;
        let account = &report.account;
        let mut labels: BTreeMap<String, Steps> = BTreeMap::new();
        for (label_id, mut steps) in gathered.labels {
            if !is_complete(report) {
                steps
                    .ended
                    .retain(|(_, end_ns)| *end_ns >= report.complete_since_ns);
            }
            let name = name_of(&capture.trace, label_id).into_owned();
            match labels.get_mut(&name) {
                Some(same) => same.out_of_order = true,
                None => {
                    labels.insert(name, steps);
                }
            }
        }
        let mut running = Vec::new();
        for region in &report.open_regions {
            let name = name_of(&capture.trace, region.label_id).into_owned();
            running.push((name.clone(), region.correlation_id));
            if labels.len() == LABELS_MAX && !labels.contains_key(&name) {
                continue;
            }
            let steps = labels.entry(name).or_default();
            let place = steps.count + steps.running.len() as u64 + 1;
            let step = steps.number(region.correlation_id, place);
            let newest = steps.newest();
            steps.out_of_order |= newest.is_some_and(|newest| step <= newest);
            steps.running.insert(step);
        }
        let attribute = |wanted: &str| {
            let mut attributes = capture.trace.identity().attributes();
            let found = attributes.find(|(key, _)| *key == wanted);
            found.and_then(|(_, value)| value.parse().ok())
        };
        let lost = [
            account.torn,
            account.in_flight,
            account.skipped,
            account.orphaned,
            report.hidden_now,
            report.open_torn,
            report.damages.len() as u64,
        ];
        Evidence {
            rank: attribute("rank"),
            world_size: attribute("world_size"),
            program: capture.trace.identity().program().to_owned(),
            ending: report.ending,
            regions: gathered.regions,
            failed: gathered.failed,
            overwritten: account.overwritten,
            running,
            labels,
            is_complete: is_complete(report),
            is_unsure: gathered.has_more_labels
                || outcome.is_filtered
                || lost.iter().any(|count| *count > 0),
        }
    }
}

/// Where a capture stands at a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Completed,
    Running,
    NeverBegan,
    CannotBeTold,
}

impl Evidence {
    fn standing(&self, label: &str, step: u64) -> Standing {
        let Some(steps) = self.labels.get(label) else {
            return match self.is_unsure || !self.is_complete {
                true => Standing::CannotBeTold,
                false => Standing::NeverBegan,
            };
        };
        if steps.running.contains(&step) {
            return Standing::Running;
        }
        if steps.ended.iter().any(|(ended, _)| *ended == step) {
            return Standing::Completed;
        }
        let oldest = steps.ended.front().map(|(step, _)| *step);
        let reaches_back = match oldest {
            Some(oldest) => {
                step > oldest || (self.is_complete && steps.count == steps.ended.len() as u64)
            }
            None => self.is_complete,
        };
        match reaches_back && !self.is_unsure {
            true => Standing::NeverBegan,
            false => Standing::CannotBeTold,
        }
    }
}

/// Captures by their places in the list.
type Places = Vec<usize>;

/// One label at which captures stand apart.
#[derive(Debug, Serialize)]
pub struct StuckStep {
    pub label: String,
    /// Whether steps are numbered by their correlation ids, or by their order.
    pub by: &'static str,
    /// The last step that all completed; None: none is known.
    pub completed_by_all: Option<Exact>,
    /// The step after it that some began.
    pub step: Exact,
    pub completed: Places,
    pub running: Places,
    pub never_began: Places,
    pub cannot_be_told: Places,
}

/// The verdict on a fleet. Captures are given by their places in the list.
#[derive(Debug, Serialize)]
pub struct Verdict {
    /// The captures that the others waited for.
    pub behind: Places,
    /// Ranks below `world_size` that have no capture.
    pub without_capture: Vec<u64>,
    /// Captures that do not show enough, where that leaves the answer open.
    pub cannot_be_told: Places,
    pub steps: Vec<StuckStep>,
}

/// Judges a fleet.
pub fn judge(fleet: &[Evidence]) -> Verdict {
    let participants = participants(fleet);
    let labels: BTreeSet<&String> = participants
        .iter()
        .flat_map(|place| fleet[*place].labels.keys())
        .collect();
    let steps: Vec<StuckStep> = labels
        .into_iter()
        .filter_map(|label| stuck(fleet, &participants, label))
        .collect();
    let mut behind = BTreeSet::new();
    let mut cannot_be_told = BTreeSet::new();
    for step in &steps {
        let unknown = step.cannot_be_told.len();
        // Where most never began a step, the few that did are ahead by a mistake of their own, or the label is no step of all.
        if 2 * (step.never_began.len() + unknown) < participants.len() {
            behind.extend(&step.never_began);
            cannot_be_told.extend(&step.cannot_be_told);
        }
    }
    if steps.is_empty() {
        let is_blind = |place: &usize| {
            let evidence = &fleet[*place];
            evidence.is_unsure || !evidence.is_complete
        };
        let waits = participants
            .iter()
            .any(|place| !fleet[*place].running.is_empty());
        if waits {
            cannot_be_told.extend(participants.iter().copied().filter(is_blind));
        }
    }
    // All that wait began the same step: those of them that died did not come back from it, if others did not die.
    if behind.is_empty() && cannot_be_told.is_empty() {
        behind.extend(died_alone(fleet, &steps));
    }
    Verdict {
        behind: behind.into_iter().collect(),
        without_capture: without_capture(fleet, &participants),
        cannot_be_told: cannot_be_told.into_iter().collect(),
        steps,
    }
}

/// The captures that are compared: those with a rank, or those of the most frequent program.
fn participants(fleet: &[Evidence]) -> Places {
    let ranked: Places = (0..fleet.len())
        .filter(|place| fleet[*place].rank.is_some())
        .collect();
    if ranked.len() > 1 {
        return ranked;
    }
    let mut programs: BTreeMap<&str, Places> = BTreeMap::new();
    for (place, evidence) in fleet.iter().enumerate() {
        programs.entry(&evidence.program).or_default().push(place);
    }
    let most = programs.into_values().max_by_key(Vec::len);
    most.unwrap_or_default()
}

/// The first step of a label at which the participants stand apart; None: they do not, or the label numbers no steps.
fn stuck(fleet: &[Evidence], participants: &[usize], label: &str) -> Option<StuckStep> {
    let having: Places = participants
        .iter()
        .copied()
        .filter(|place| fleet[*place].labels.contains_key(label))
        .collect();
    // A label of few is no step that all take.
    if having.len() < 2 || 2 * having.len() <= participants.len() {
        return None;
    }
    let steps = || having.iter().map(|place| &fleet[*place].labels[label]);
    if steps().any(|steps| steps.out_of_order) {
        return None;
    }
    let by_id = steps().all(|steps| !steps.without_id);
    let by_order = steps().all(|steps| !steps.with_id)
        && participants
            .iter()
            .all(|place| fleet[*place].is_complete && !fleet[*place].is_unsure);
    if !by_id && !by_order {
        return None;
    }
    let known: BTreeSet<u64> = steps()
        .flat_map(|steps| {
            let ended = steps.ended.iter().map(|(step, _)| *step);
            ended.chain(steps.running.iter().copied())
        })
        .collect();
    let standings = |step: u64| {
        participants
            .iter()
            .map(move |place| (*place, fleet[*place].standing(label, step)))
    };
    let all_completed =
        |step: &u64| standings(*step).all(|(_, standing)| standing == Standing::Completed);
    let completed_by_all = known.iter().rev().copied().find(|step| all_completed(step));
    let step = known
        .iter()
        .copied()
        .filter(|step| completed_by_all.is_none_or(|completed| *step > completed))
        // A step that began and did not end somewhere is one that is waited in.
        .find(|step| standings(*step).any(|(_, standing)| standing == Standing::Running))?;
    let places = |wanted| {
        standings(step)
            .filter(move |(_, standing)| *standing == wanted)
            .map(|(place, _)| place)
            .collect()
    };
    Some(StuckStep {
        label: label.to_owned(),
        by: if by_id { "correlation" } else { "order" },
        completed_by_all: completed_by_all.map(Exact),
        step: Exact(step),
        completed: places(Standing::Completed),
        running: places(Standing::Running),
        never_began: places(Standing::NeverBegan),
        cannot_be_told: places(Standing::CannotBeTold),
    })
}

fn died_alone(fleet: &[Evidence], steps: &[StuckStep]) -> Places {
    let waiting: BTreeSet<usize> = steps
        .iter()
        .flat_map(|step| step.running.iter().copied())
        .collect();
    let died: Places = waiting
        .iter()
        .copied()
        .filter(|place| fleet[*place].ending == Ending::WriterDied)
        .collect();
    match 2 * died.len() < waiting.len() {
        true => died,
        false => Vec::new(),
    }
}

fn without_capture(fleet: &[Evidence], participants: &[usize]) -> Vec<u64> {
    let sizes = participants
        .iter()
        .filter_map(|place| fleet[*place].world_size);
    let Some(size) = sizes.max() else {
        return Vec::new();
    };
    let present: BTreeSet<u64> = fleet.iter().filter_map(|evidence| evidence.rank).collect();
    (0..size.min(MISSING_MAX))
        .filter(|rank| !present.contains(rank))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rank that completed these steps and is inside that one.
    fn rank(rank: u64, ended: std::ops::RangeInclusive<u64>, running: Option<u64>) -> Evidence {
        let mut steps = Steps {
            with_id: true,
            ..Steps::default()
        };
        for step in ended {
            steps.count += 1;
            steps.ended.push_back((step, step * 10));
        }
        steps.running.extend(running);
        Evidence {
            rank: Some(rank),
            world_size: None,
            program: "train".to_owned(),
            ending: Ending::Live,
            regions: steps.count,
            failed: 0,
            overwritten: 0,
            running: running
                .map(|step| ("all_reduce".to_owned(), step))
                .into_iter()
                .collect(),
            labels: [("all_reduce".to_owned(), steps)].into(),
            is_complete: true,
            is_unsure: false,
        }
    }

    #[test]
    fn one_that_never_began_is_behind() {
        let fleet = [
            rank(0, 1..=4, Some(5)),
            rank(1, 1..=4, None),
            rank(2, 1..=4, Some(5)),
        ];
        let verdict = judge(&fleet);
        assert_eq!(verdict.behind, [1]);
        assert_eq!(verdict.steps[0].completed_by_all.as_ref().unwrap().0, 4);
        assert_eq!(verdict.steps[0].step.0, 5);
        assert_eq!(verdict.steps[0].running, [0, 2]);
    }

    #[test]
    fn one_that_skipped_a_step_is_behind() {
        let mut fleet: Vec<Evidence> = (0..5).map(|at| rank(at, 1..=4, Some(5))).collect();
        fleet[3] = rank(3, 1..=4, Some(6));
        assert_eq!(judge(&fleet).behind, [3]);
    }

    #[test]
    fn what_was_overwritten_names_none() {
        let mut blind = rank(1, 1..=0, None);
        blind.is_complete = false;
        let fleet = [rank(0, 1..=4, Some(5)), blind, rank(2, 1..=4, Some(5))];
        let verdict = judge(&fleet);
        assert!(verdict.behind.is_empty());
        assert_eq!(verdict.cannot_be_told, [1]);
    }

    #[test]
    fn lost_records_and_hidden_regions_name_none() {
        let mut unsure = rank(1, 1..=4, None);
        unsure.is_unsure = true;
        let fleet = [rank(0, 1..=4, Some(5)), unsure, rank(2, 1..=4, Some(5))];
        let verdict = judge(&fleet);
        assert!(verdict.behind.is_empty());
        assert_eq!(verdict.cannot_be_told, [1]);
    }

    #[test]
    fn the_one_that_died_among_those_inside_is_behind() {
        let mut fleet: Vec<Evidence> = (0..5).map(|at| rank(at, 1..=4, Some(5))).collect();
        assert!(judge(&fleet).behind.is_empty());
        fleet[2].ending = Ending::WriterDied;
        assert_eq!(judge(&fleet).behind, [2]);
        for evidence in &mut fleet {
            evidence.ending = Ending::WriterDied;
        }
        assert!(judge(&fleet).behind.is_empty());
    }

    #[test]
    fn ranks_without_a_capture_are_listed() {
        let mut fleet = [rank(0, 1..=4, Some(5)), rank(3, 1..=4, Some(5))];
        fleet[0].world_size = Some(4);
        assert_eq!(judge(&fleet).without_capture, [1, 2]);
    }

    #[test]
    fn all_that_completed_everything_leave_none_behind() {
        let fleet = [rank(0, 1..=4, None), rank(1, 1..=4, None)];
        let verdict = judge(&fleet);
        assert!(verdict.behind.is_empty() && verdict.steps.is_empty());
    }
}
